"""Requests are methods of controllers; messages are checked against their signatures.

A view declares a request with `request`, and a slow one with `job`:

    @job("census.ages", in_turn=True, buffers="The age of each.")
    def ages(self, report: JobReport, city: str, at_most: int = 9) -> tuple[Ages, Buffers]:
        \"\"\"Say how old the people of a city are.\"\"\"

Its parameters are the fields of the request, its return value is the response. `report` reports the
progress of a job, and `number` is the id of the request; neither is sent. With `sends="age"`, the
response is an object whose only field `age` has the returned value. Fields are described in
comments next to or above them, which `refexplorer.hosts.schema` reads.
"""

from __future__ import annotations

import inspect
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, Struct, structs

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import is_out_of_memory, memory_message
from refexplorer.core.text import masked_text

if TYPE_CHECKING:
    from refexplorer.views.wire.jobs import JobAnswer, JobReport, Jobs


ROWS = 1000  # Most rows that one answer carries
EXACT = 2**53  # The largest whole number that every reader of JSON has exactly


def named(name: str, *words: str) -> Meta:
    """Give a type a name of its own in the front end."""
    sent = {"type": "string", "enum": list(words)} if words else OTHERS[name]
    return Meta(extra_json_schema={NAMED: {"title": name, **sent}})


NAMED = "x-named"  # Where a schema keeps the result of `named`
OTHERS: Mapping[str, Mapping[str, object]] = {
    "Count": {"type": ["number", "string"], "description": "A number; above 2^53 it is text."},
    "Real": {"type": ["number", "null"], "description": "A number; null for NaN and infinities."},
    "Bytes": {"tsType": "ArrayBuffer", "description": "Binary data; only the page sends it."},
}
"""Values that not every reader of JSON has, as they are sent."""
Bytes = Annotated[bytes, named("Bytes")]
Count = Annotated[int, named("Count")]
Real = Annotated[float, named("Real")]
ReadOutcome = Annotated[str, named("ReadOutcome", "fetched", "fill", "failed", "ask")]
"""The result of a read; ``ask``: it may not be read until ``grant`` is allowed."""
SENT_AS = {"from_": "from"}  # Fields named like keywords of Python


class Request(Struct, frozen=True, kw_only=True, tag_field="op", forbid_unknown_fields=True):
    """A request of the front end; the name of the operation is the tag of its class."""

    id: str | None = None  # ``"<view>:<number>"``: the answer carries the same


class Event(Struct, frozen=True, tag_field="ev"):
    """A message that is not a response; the name of the event is the tag of its class."""


class Done(Struct, frozen=True):
    """The request was carried out, without a result."""


class JobProgress(Event, frozen=True, tag="progress"):
    """The progress of a request that gets its response later."""

    id: str  # Of the request
    # done, of: The amount done, and the total; null if unknown
    done: int | None
    of: int | None
    label: str  # Both in words


class SourceChanged(Event, frozen=True, tag="opened"):
    """Python shows something else: everything must be requested again."""


def tag_of(kind: type[Event]) -> str:
    """Return the name of an event."""
    return str(kind.__struct_config__.tag)


_Model = TypeVar("_Model", bound=Struct)


def filled(kind: type[_Model], source: object, /, **more: Any) -> _Model:
    """Return a model with the given fields, and all others from the attributes of an object."""
    own = (name for name in kind.__struct_fields__ if name not in more and hasattr(source, name))
    return kind(**{name: getattr(source, name) for name in own}, **more)


def to_wire(value: Any) -> Any:
    """Return the JSON form of a model: integers above 2^53 as text, NaN and infinities as null."""
    # JSON readers round larger integers. Lone surrogates become escapes, and a trailing underscore
    # is not part of a name.
    return _plain(msgspec.to_builtins(value, enc_hook=_builtin))


def from_wire(message: Mapping[str, Any], kind: type[_Model]) -> _Model:
    """Return a message as its model."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert(_with_integers(message), kind)
    try:  # fractions are cut where whole numbers are wanted
        return msgspec.convert(_with_integers(message, is_cut=True), kind)
    except msgspec.ValidationError as error:
        tag = kind.__struct_config__.tag
        raise RefexplorerError(f"The request {tag!r} cannot be read: {error}.") from None


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if kind is int:
        return value if -EXACT <= value <= EXACT else str(value)
    if kind is dict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_plain(item) for item in value]
    if kind is float:
        return value if math.isfinite(value) else None
    return value


def _builtin(value: object) -> object:
    """Convert NumPy and library types in a model to Python's own."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError


def _with_integers(value: Any, is_cut: bool = False) -> Any:
    """Return a message with integers as such: JavaScript writes large ones as ``1e+21``."""
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if is_cut or value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _with_integers(item, is_cut) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_integers(item, is_cut) for item in value]
    return value


Message = dict[str, Any]  # The JSON form of a request, an answer or an event
Buffers = list[bytes]
Post = Callable[[Message, Buffers], None]
"""Sends a message to every view; may be called from any thread."""
_LARGEST = int(sys.float_info.max)


def within(start: int, n: int) -> tuple[int, int]:
    """Return where the requested rows begin, and how many one answer carries."""
    return max(start, 0), min(max(n, 0), ROWS)


def discard(message: Message, buffers: Buffers) -> None:
    """Discard a message: used by a controller until a host sets its `Post`."""


def answered(number: object, reply: object) -> Message:
    """Return the response to the request with an id."""
    return {"id": number, **to_wire(reply)}


def event(said: Event) -> tuple[Message, Buffers]:
    """Return an event as posted."""
    return to_wire(said), []


def floats(values: np.ndarray) -> bytes:
    """Return numbers as a buffer: little-endian float64, C order, clipped to its range."""
    if values.dtype == object:
        values = np.minimum(values, _LARGEST)
    return np.ascontiguousarray(values, "<f8").tobytes()


def failure(number: object, error: Exception) -> Message:
    """Return the error response to the request with an id."""
    return {"id": number, "error": to_wire(sentence(error))}


def sentence(error: Exception) -> str:
    """Return an error as a readable sentence; unexpected ones say so."""
    if isinstance(error, RefexplorerError):
        return str(error)
    if is_out_of_memory(error):
        return memory_message()
    return masked_text(f"Unexpected {type(error).__name__}: {error}".rstrip(": "))


_Method = TypeVar("_Method", bound=Callable[..., Any])
OWN = ("self", "report", "number")  # Parameters that are not fields of a request


@dataclass(frozen=True)
class RequestMethod:
    """A request, as declared by the method that handles it."""

    name: str  # As sent by the front end
    method: Callable[..., Any]
    is_later: bool = False  # Whether it is answered from a thread, after events `progress`
    in_turn: bool = False  # Whether it waits for those before it: they use the same memory
    # Whether it reads a whole set unasked, and gives way to what is asked for
    background: bool = False
    buffers: str = ""  # Description of the buffers sent with the response; empty for none
    unsaved: str = ""  # Text on a saved page without the response; empty for the usual one
    # The one field of the response, which has the returned value; empty: it is a model
    sends: str = ""

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.method, include_extras=True)

    @cached_property
    def asks(self) -> type[msgspec.Struct]:
        """The model of the request."""
        parameters = inspect.signature(self.method).parameters
        fields = [
            (each.name, self._hints[each.name])
            if each.default is each.empty
            else (each.name, self._hints[each.name], each.default)
            for each in parameters.values()
            if each.name not in OWN
        ]
        return msgspec.defstruct(
            self.name, fields, bases=(Request,), module=self.method.__module__,
            tag=self.name, frozen=True, kw_only=True, forbid_unknown_fields=True,
        )  # fmt: skip

    @cached_property
    def reply(self) -> Any:
        """The type of the response."""
        reply = self._hints["return"]
        reply = get_args(reply)[0] if self.buffers else reply
        if self.sends:
            name = "".join(part.title() for part in self.name.split(".")) + "Reply"
            own = {"__doc__": "A response of one field."}
            return msgspec.defstruct(name, [(self.sends, reply)], frozen=True, namespace=own)
        return Done if reply is type(None) else reply

    @cached_property
    def wants(self) -> set[str]:
        """The parameters of the method that are not fields of the request."""
        return {*inspect.signature(self.method).parameters} & {*OWN}


class Attention:
    """Counts the requests and jobs that somebody waits for now."""

    def __init__(self) -> None:
        self.n = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.n += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.n -= 1


Bound = Mapping[str, tuple[RequestMethod, Callable[..., Any]]]
"""The handler of each request, by name."""


def request(name: str, **how: Any) -> Callable[[_Method], _Method]:
    """Let a method respond to a request immediately; `how` are fields of `RequestMethod`."""

    def declare(method: _Method) -> _Method:
        vars(method)["operation"] = RequestMethod(name, method, **how)
        return method

    return declare


job = partial(request, is_later=True)
"""Lets a method respond to a request from a thread."""


def operations(controller: type[Any]) -> Iterator[RequestMethod]:
    """Yield the requests that a class handles, in source order."""
    for base in reversed(controller.__mro__):
        for each in vars(base).values():
            operation = getattr(each, "operation", None)
            if isinstance(operation, RequestMethod):
                yield operation


def bound(controllers: Iterable[Any]) -> Bound:
    """Return the handlers of the requests of some controllers, by name."""
    return {
        each.name: (each, getattr(controller, each.method.__name__))
        for controller in controllers
        for each in operations(type(controller))
    }


def question(name: str, /, **fields: Any) -> Message:
    """Return the message of a request, as sent by the front end."""
    return {"op": name, **to_wire(fields)}


def read(
    known: Bound, message: Mapping[str, Any]
) -> tuple[RequestMethod, Callable[..., Any], dict[str, Any]]:
    """Return the request of a message, its handler, and its fields."""
    name = message.get("op")
    if not isinstance(name, str) or name not in known:
        raise RefexplorerError(f"There is no operation {name!r}.")
    operation, call = known[name]
    fields = structs.asdict(from_wire(message, operation.asks))
    number = fields.pop("id")
    return operation, call, fields | ({"number": number} if "number" in operation.wants else {})


def answer(
    known: Bound, message: object, jobs: Jobs | None = None
) -> list[tuple[Message, Buffers]]:
    """Respond to a message, or let a job do so later; invalid messages are ignored."""
    if not isinstance(message, dict):
        return []
    number = message.get("id")
    try:
        operation, call, fields = read(known, message)

        def work(report: JobReport | None = None) -> JobAnswer:
            own = {"report": report} if "report" in operation.wants else {}
            reply = call(**fields, **own)
            reply, buffers = reply if operation.buffers else (reply, [])
            reply = {operation.sends: reply} if operation.sends else reply
            return Done() if reply is None else reply, buffers

        if operation.is_later:
            assert jobs is not None
            jobs.start(number, work, operation.in_turn, operation.background)
            return []
        with jobs.attention if jobs is not None else nullcontext():
            reply, buffers = work()
        return [(answered(number, reply), buffers)]
    except Exception as error:
        return [(failure(number, error), [])]
