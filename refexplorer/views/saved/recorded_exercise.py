"""An exercise with its own answers, each judged in advance: other texts take Python."""

from __future__ import annotations

from typing import Any

from refexplorer.spec.codes import CODES
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.exercises.exercise_models import Exercise
from refexplorer.views.saved.packing import Packer
from refexplorer.views.saved.recorded_editor import ASKED, keep_text
from refexplorer.views.saved.recorder import Recorder, defaults_of
from refexplorer.views.wire.answering import Message
from refexplorer.views.wire.editor.editor_messages import Edit, GreetEditor, SeekRemarks
from refexplorer.views.wire.editor.exercise_messages import ShowHint, Solve
from refexplorer.views.wire.editor.rule_messages import ExplainCode
from refexplorer.views.wire.messages import tag_of

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
        "part": _part(len(states)),
        "answers": {},
        "defaults": {tag_of(kind): defaults_of(kind) for kind in ASKED},
        "states": states,
        "solution": exercise.solution,
        "uncounted": _uncounted(exercise),
    }
    return packer.packed(content)


def _judged(exercise: Exercise, text: str, packer: Packer) -> Message:
    """Return what is said of one text, at each stage of help."""
    recorder = Recorder(_controller(exercise), packer)
    recorder.keep(GreetEditor())
    reply, _ = recorder.ask(Edit(text))
    rows = keep_text(recorder, text, _SHOWN, _EXPLAINED)
    stages: list[Message] = []
    told: Message = reply
    while True:
        notes, _ = recorder.ask(SeekRemarks())
        for code in {note["code"] for note in notes["notes"]} & CODES.keys():
            recorder.keep(ExplainCode(code))
        stages.append({"task": told["task"], "result": told["result"], "notes": notes})
        if told["task"]["ask"] is None:
            break
        told, _ = recorder.ask(ShowHint())
    answers = recorder.answers
    return {"document": text, "reply": reply, "stages": stages, "rows": rows, "answers": answers}


def _uncounted(exercise: Exercise) -> str:
    """Return what is said of a right answer once the solution was shown."""
    controller = _controller(exercise)
    recorder = Recorder(controller, Packer())
    recorder.ask(Solve())
    reply, _ = recorder.ask(Edit(exercise.solution))
    said: dict[str, Any] = reply["result"]
    return str(said["sentence"])


def _controller(exercise: Exercise) -> ExercisesController:
    return ExercisesController(exercise.name, (), [exercise])


def _part(texts: int) -> str:
    return (
        f"{texts} texts are judged here, in any spacing: the one to begin with, solutions, and "
        "common mistakes. Another text is judged by the set that it makes, which takes Python. "
        f"Where a text makes more than {_SHOWN} keys, the first {_SHOWN} are here."
    )
