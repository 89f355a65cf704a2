"""Requests are methods of controllers; what is sent is checked by their signatures.

A view declares a request by `request`, and one that takes long by `job`:

    @job("cost.touches", in_turn=True, buffers="How often each chunk is read.")
    def touches(self, report: JobReport, array: str, access: str) -> tuple[Touches, Buffers]:
        \"\"\"Count how often an access reads each chunk of an array.\"\"\"

Its parameters are the fields of the request, what it returns is the answer. `report` tells how far
a job is, and `number` is the id of the request; neither is sent.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import structs

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import is_out_of_memory, memory_message
from refexplorer.core.masking import masked_text
from refexplorer.views.wire.messages import Done, Event, Request, from_wire, to_wire

if TYPE_CHECKING:
    from refexplorer.views.wire.jobs import JobAnswer, JobReport, Jobs

Message = dict[str, Any]
"""The JSON form of a request, an answer or an event."""
Buffers = list[bytes]
Post = Callable[[Message, Buffers], None]
"""Sends a message to every view; may be called from any thread."""
_LARGEST = int(sys.float_info.max)


def nowhere(message: Message, buffers: Buffers) -> None:
    """Post to nobody: what a controller does until a host gives it a `Post`."""


def answered(number: object, reply: object) -> Message:
    """Return the answer to the request of an id."""
    return {"id": number, **to_wire(reply)}


def event(said: Event) -> tuple[Message, Buffers]:
    """Return an event as it is posted."""
    return to_wire(said), []


def floats(values: np.ndarray) -> bytes:
    """Return numbers as a buffer: little-endian float64, C order, none larger than that has."""
    if values.dtype == object:
        values = np.minimum(values, _LARGEST)
    return np.ascontiguousarray(values, "<f8").tobytes()


def failure(number: object, error: Exception) -> Message:
    """Return the answer, to the request of an id, that says what went wrong."""
    return {"id": number, "error": to_wire(sentence(error))}


def sentence(error: Exception) -> str:
    """Say an error as a person reads it; what was not foreseen says so."""
    if isinstance(error, RefexplorerError):
        return str(error)
    if is_out_of_memory(error):
        return memory_message()
    return masked_text(f"Unexpected {type(error).__name__}: {error}".rstrip(": "))


_Method = TypeVar("_Method", bound=Callable[..., Any])
OWN = ("self", "report", "number")
"""Parameters that are no fields of a request."""


@dataclass(frozen=True)
class RequestMethod:
    """A request, as the method that answers it declares it."""

    name: str  # What the front end asks by
    method: Callable[..., Any]
    is_later: bool  # Whether it is answered from a thread, after events `progress`
    is_in_turn: bool  # Whether it waits for those before it: they use the same memory
    buffers: str  # What travels beside the answer; empty for nothing

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
        """The type of the answer."""
        reply = self._hints["return"]
        reply = get_args(reply)[0] if self.buffers else reply
        return Done if reply is type(None) else reply

    @cached_property
    def wants(self) -> set[str]:
        """What the method takes beside the fields of the request."""
        return {*inspect.signature(self.method).parameters} & {*OWN}


Bound = Mapping[str, tuple[RequestMethod, Callable[..., Any]]]
"""What answers each request, by its name."""


def request(name: str, *, buffers: str = "") -> Callable[[_Method], _Method]:
    """Let a method answer a request at once."""
    return _declared(name, False, False, buffers)


def job(name: str, *, in_turn: bool = False, buffers: str = "") -> Callable[[_Method], _Method]:
    """Let a method answer a request from a thread."""
    return _declared(name, True, in_turn, buffers)


def _declared(name: str, *how: Any) -> Callable[[_Method], _Method]:
    def declare(method: _Method) -> _Method:
        vars(method)["operation"] = RequestMethod(name, method, *how)
        return method

    return declare


def operations(controller: type[Any]) -> Iterator[RequestMethod]:
    """Yield the requests that a class answers, in the order of its text."""
    for base in reversed(controller.__mro__):
        for each in vars(base).values():
            operation = getattr(each, "operation", None)
            if isinstance(operation, RequestMethod):
                yield operation


def bound(controllers: Iterable[Any]) -> Bound:
    """Return what answers each request of some controllers, by its name."""
    return {
        each.name: (each, getattr(controller, each.method.__name__))
        for controller in controllers
        for each in operations(type(controller))
    }


def question(name: str, /, **fields: Any) -> Message:
    """Return the message that asks a request, as the front end sends it."""
    return {"op": name, **to_wire(fields)}


def read(
    known: Bound, message: Mapping[str, Any]
) -> tuple[RequestMethod, Callable[..., Any], dict[str, Any]]:
    """Return which request a message is, what answers it, and its fields."""
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
    """Answer a message, or let a job do so later; what is no message is ignored."""
    if not isinstance(message, dict):
        return []
    number = message.get("id")
    try:
        operation, call, fields = read(known, message)

        def work(report: JobReport | None = None) -> JobAnswer:
            own = {"report": report} if "report" in operation.wants else {}
            reply = call(**fields, **own)
            reply, buffers = reply if operation.buffers else (reply, [])
            return Done() if reply is None else reply, buffers

        if operation.is_later:
            assert jobs is not None
            jobs.start(number, work, is_in_turn=operation.is_in_turn)
            return []
        reply, buffers = work()
        return [(answered(number, reply), buffers)]
    except Exception as error:
        return [(failure(number, error), [])]
