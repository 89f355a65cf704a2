"""Records responses; all that the template editor may be asked about a text."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from refexplorer.core.errors import RefexplorerError
from refexplorer.spec.codes import CODES
from refexplorer.spec.findings import pointer
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.editor.specification import members
from refexplorer.views.exercises.exercise_controller import UNCOUNTED, ExercisesController
from refexplorer.views.exercises.exercise_models import Exercise
from refexplorer.views.wire.requests import ROWS, Bound, Buffers, Message, question, to_wire

if TYPE_CHECKING:
    from refexplorer.views.explorer.explorer_controller import ExplorerController

_LEVEL = 6  # Level 9 takes four times as long for 2.5 % less


class Packer:
    """Collects buffers, and writes them after the JSON that contains their offsets."""

    def __init__(self) -> None:
        self._buffers: dict[bytes, tuple[int, int]] = {}
        self.size = 0  # Bytes of the buffers so far

    def place(self, buffer: bytes) -> tuple[int, int]:
        """Store a buffer once, and return its start and length."""
        kept = bytes(buffer)
        if kept not in self._buffers:
            self._buffers[kept] = self.size, len(kept)
            self.size += len(kept)
        return self._buffers[kept]

    def packed(self, content: dict[str, Any]) -> str:
        """Return everything: JSON length (4 bytes, little-endian), JSON, buffers."""
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        head = text.encode()
        return packed_text(b"".join([len(head).to_bytes(4, "little"), head, *self._buffers]))


def packed_text(content: bytes) -> str:
    """Return bytes as base64 of gzip; deterministic."""
    return base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode()


_ID = "saved"


class Recorder:
    """Sends requests to a controller that nobody else uses."""

    def __init__(self, controller: ExplorerController | EditorController, packer: Packer) -> None:
        self._controller = controller
        self._packer = packer
        self._posted: list[tuple[Message, Buffers]] = []
        controller.post = lambda message, buffers: self._posted.append((message, buffers))
        self.answers: dict[str, Message] = {}

    def ask(self, request: str, /, **fields: Any) -> tuple[Message, Buffers]:
        """Return the response to a request, by name and fields."""
        self._posted.clear()
        answers = self._controller.handle({**question(request, **fields), "id": _ID})
        reply, buffers = next(each for each in (*answers, *self._posted) if "ev" not in each[0])
        return {name: value for name, value in reply.items() if name != "id"}, buffers

    def keep(self, request: str, /, **fields: Any) -> tuple[Message, Buffers]:
        """Return a response, and keep it with its buffers."""
        reply, buffers = self.ask(request, **fields)
        self.answers[self.name_of(request, **fields)] = self.placed(reply, buffers)
        return reply, buffers

    def keep_all(self, request: str, arrays: Iterable[str]) -> None:
        """Keep a response about the set, and one per array if the request has one."""
        operation, _ = self._controller.answers[request]
        needs = {each.encode_name: each.required for each in msgspec.structs.fields(operation.asks)}
        if not needs.get("array"):
            self.keep(request)
        for path in arrays if "array" in needs else ():
            self.keep(request, array=path)

    def placed(self, reply: Message, buffers: Buffers) -> Message:
        """Return a response with the offsets of its buffers, which are kept."""
        kept = {**reply, "buffers": [self._packer.place(each) for each in buffers]}
        return kept if buffers else reply

    def name_of(self, request: str, /, **fields: Any) -> str:
        """Return the key that identifies a request."""
        message = question(request, **fields)
        return name_of(message, self.defaults[message["op"]])

    @cached_property
    def defaults(self) -> dict[str, dict[str, Any]]:
        """The default field values of requests, by request name."""
        return defaults_of(self._controller.answers)

    @property
    def unsaved(self) -> dict[str, str]:
        """The text in place of responses that were not kept, by request name."""
        found = {name: each.unsaved for name, (each, _) in self._controller.answers.items()}
        return {name: text for name, text in found.items() if text}


def name_of(message: Message, defaults: Mapping[str, Any]) -> str:
    """Return the key that identifies a request, like `nameOf` in `saved/replay.ts`."""
    said = {
        name: value
        for name, value in message.items()
        if name != "id" and (name not in defaults or value != defaults[name])
    }
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def defaults_of(answers: Bound) -> dict[str, dict[str, Any]]:
    """Return the optional fields of requests, by request name."""
    return {
        name: {
            field.encode_name: to_wire(field.default)
            for field in msgspec.structs.fields(operation.asks)
            if field.default not in (msgspec.NODEFAULT, msgspec.UNSET)
        }
        for name, (operation, _) in answers.items()
    }


_PLACES = 2_000  # Of the text, which light up their rows and their rules


def record_editor(controller: EditorController, facts: Message) -> str:
    """Record the responses of a controller that nobody else uses, and pack them."""
    packer = Packer()
    recorder = Recorder(controller, packer)
    hello, _ = recorder.keep("hello")
    if hello.get("window") is not None:
        raise RefexplorerError("The text is too long to be shown completely.")
    if controller.references is None:
        raise RefexplorerError(f"The text has no keys: {controller.sentence}")
    notes, _ = recorder.keep("notes")
    for code in {note["code"] for note in notes["notes"]}:
        recorder.keep("code", code=code)
    rows = keep_text(recorder, controller.document)
    recorder.keep("text")
    recorder.keep("v0")
    recorder.keep("v0", sure=True)
    content = {
        **facts,
        "document": controller.document,
        "part": _part(int(hello["total"]), len(rows[""]["rows"])),
        "rows": rows,
        "answers": recorder.answers,
        "defaults": recorder.defaults,
        "unsaved": recorder.unsaved,
    }
    return packer.packed(content)


def keep_text(
    recorder: Recorder, text: str, shown: int = ROWS, explained: int = ROWS
) -> dict[str, Message]:
    """Keep all responses about an open text, and return its rows by reader."""
    readers, _ = recorder.keep("readers")
    names = ["", *(each["name"] for each in readers.get("readers", ()) if "name" in each)]
    rows = {name: recorder.ask("rows", start=0, n=shown, reader=name)[0] for name in names}
    for row in rows[""]["rows"][:explained]:
        recorder.keep("explain", key=row["key"])
    rules, _ = recorder.keep("rules")
    for rule in rules["rules"]:
        recorder.keep("rules.places", name=rule["name"])
    for place in islice(_pointers(text), _PLACES):
        recorder.keep("uses", pointer=place)
        recorder.keep("rules.at", pointer=place)
    return rows


def _part(total: int, here: int) -> str:
    if here >= total:
        return f"All {total:,} keys are on this page." if total != 1 else "Its key is on this page."
    return f"This page has the first {here:,} of {total:,} keys."


def _pointers(text: str) -> Iterator[str]:
    """Yield the JSON pointers of a text."""
    with suppress(ValueError):
        yield from _below("", json.loads(text))


def _below(place: str, value: Any) -> Iterator[str]:
    yield place
    for name, member in members(value):
        yield from _below(place + pointer(name), member)


_SHOWN = 200
"""Rows of each text, for each of some nine readers; with 1,000 a gen of 10^12 keys took 20 s."""
_EXPLAINED = 20  # Rows of each text of which the page says how they are made


def record_exercise(exercise: Exercise, facts: Message) -> str:
    """Judge the texts of an exercise, and pack the verdict on each."""
    packer = Packer()
    others = [*(each.text for each in exercise.right), *(each.text for each in exercise.wrong)]
    texts = (exercise.start, exercise.solution, *others)
    recorder = Recorder(_controller(exercise), packer)
    states = [_judged(exercise, text, packer) for text in dict.fromkeys(texts)]
    content = {
        **facts,
        "document": exercise.start,
        "part": _exercise_part(len(states)),
        "answers": {},
        "defaults": recorder.defaults,
        "unsaved": recorder.unsaved,
        "states": states,
        "solution": exercise.solution,
        "uncounted": UNCOUNTED,
    }
    return packer.packed(content)


def _judged(exercise: Exercise, text: str, packer: Packer) -> Message:
    """Return the verdict on one text, at each stage of help."""
    recorder = Recorder(_controller(exercise), packer)
    recorder.keep("hello")
    reply, _ = recorder.ask("edit", document=text)
    rows = keep_text(recorder, text, _SHOWN, _EXPLAINED)
    stages: list[Message] = []
    told: Message = reply
    while True:
        notes, _ = recorder.ask("notes")
        for code in {note["code"] for note in notes["notes"]} & CODES.keys():
            recorder.keep("code", code=code)
        stages.append({"task": told["task"], "result": told["result"], "notes": notes})
        if told["task"]["ask"] is None:
            break
        told, _ = recorder.ask("hint")
    answers = recorder.answers
    return {"document": text, "reply": reply, "stages": stages, "rows": rows, "answers": answers}


def _controller(exercise: Exercise) -> ExercisesController:
    return ExercisesController(exercise.name, offered=[exercise])


def _exercise_part(texts: int) -> str:
    return (
        f"This page can check {texts} texts, in any spacing: the initial one, solutions, and "
        "common mistakes. Checking other texts needs Python. "
        f"If a text has more than {_SHOWN} keys, the first {_SHOWN} are shown."
    )
