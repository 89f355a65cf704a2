"""Everything that the template editor may be asked of one text, asked in advance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from refexplorer.core.errors import RefexplorerError
from refexplorer.spec.codes import CODES
from refexplorer.views.editor.editor_controller import ROWS, EditorController
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import Exercise
from refexplorer.views.saved.recorder import Packer, Recorder
from refexplorer.views.wire.requests import Message

_PLACES = 2_000
"""Of the text, which light up their rows and their rules."""


def record_editor(controller: EditorController, facts: Message) -> str:
    """Ask a controller that nobody else uses, and pack what it answers."""
    packer = Packer()
    recorder = Recorder(controller, packer)
    hello, _ = recorder.keep("hello")
    if hello.get("window") is not None:
        raise RefexplorerError("The text is too long for the editor to show it as a whole.")
    if controller.references is None:
        raise RefexplorerError(f"The text makes no keys: {controller.sentence}")
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
    }
    return packer.packed(content)


def keep_text(
    recorder: Recorder, text: str, shown: int = ROWS, explained: int = ROWS
) -> dict[str, Message]:
    """Keep what may be asked of a text that is open, and return its rows by their reader."""
    readers, _ = recorder.keep("readers")
    names = ["", *(each["name"] for each in readers.get("readers", ()) if "name" in each)]
    rows = {name: _rows(recorder, name, shown) for name in names}
    for row in rows[""]["rows"][:explained]:
        recorder.keep("explain", key=row["key"])
    rules, _ = recorder.keep("rules")
    for rule in rules["rules"]:
        recorder.keep("rules.places", name=rule["name"])
    for number, pointer in enumerate(_pointers(text)):
        if number == _PLACES:
            break
        recorder.keep("uses", pointer=pointer)
        recorder.keep("rules.at", pointer=pointer)
    return rows


def _rows(recorder: Recorder, reader: str, number: int) -> Message:
    found, _ = recorder.ask("rows", start=0, n=number, reader=reader)
    return found


def _part(total: int, here: int) -> str:
    if here >= total:
        return f"All {total:,} keys are here." if total != 1 else "Its key is here."
    return f"Of {total:,} keys the first {here:,} are here."


def _pointers(text: str) -> Iterator[str]:
    """Yield the JSON pointers of a text."""
    try:
        document = json.loads(text)
    except ValueError:
        return
    yield from _below("", document)


def _below(pointer: str, value: Any) -> Iterator[str]:
    yield pointer
    members: Iterator[tuple[object, Any]] = iter(())
    if isinstance(value, dict):
        members = iter(value.items())
    elif isinstance(value, list):
        members = iter(enumerate(value))
    for name, member in members:
        escaped = str(name).replace("~", "~0").replace("/", "~1")
        yield from _below(f"{pointer}/{escaped}", member)


_SHOWN = 200
"""Rows of each text, for each of some nine readers; with 1,000 a gen of 10^12 keys took 20 s."""
_EXPLAINED = 20
"""Rows of each text of which the page says how they are made."""


def record_exercise(exercise: Exercise, facts: Message) -> str:
    """Judge the texts that an exercise has, and pack what is said of each."""
    packer = Packer()
    texts = (
        exercise.start,
        exercise.solution,
        *(answer.text for answer in exercise.right),
        *(answer.text for answer in exercise.wrong),
    )
    states = [_judged(exercise, text, packer) for text in dict.fromkeys(texts)]
    content = {
        **facts,
        "document": exercise.start,
        "part": _exercise_part(len(states)),
        "answers": {},
        "defaults": Recorder(_controller(exercise), packer).defaults,
        "states": states,
        "solution": exercise.solution,
        "uncounted": _uncounted(exercise),
    }
    return packer.packed(content)


def _judged(exercise: Exercise, text: str, packer: Packer) -> Message:
    """Return what is said of one text, at each stage of help."""
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


def _uncounted(exercise: Exercise) -> str:
    """Return what is said of a right answer once the solution was shown."""
    controller = _controller(exercise)
    recorder = Recorder(controller, Packer())
    recorder.ask("solution")
    reply, _ = recorder.ask("edit", document=exercise.solution)
    said: dict[str, Any] = reply["result"]
    return str(said["sentence"])


def _controller(exercise: Exercise) -> ExercisesController:
    return ExercisesController(exercise.name, (), [exercise])


def _exercise_part(texts: int) -> str:
    return (
        f"{texts} texts are judged here, in any spacing: the one to begin with, solutions, and "
        "common mistakes. Another text is judged by the set that it makes, which takes Python. "
        f"Where a text makes more than {_SHOWN} keys, the first {_SHOWN} are here."
    )
