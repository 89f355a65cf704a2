"""How much is told of what is wrong where finding it is the task: a stage at a time, on request."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from msgspec.structs import replace

from refexplorer.views.exercises.exercise_checks import Fault
from refexplorer.views.wire.editor.editor_messages import EditorDiagnostic


class TellingStage(IntEnum):
    """What was asked for so far."""

    NOTHING = 0
    THAT = 1
    WHERE = 2
    WHAT = 3
    HINT = 4


QUESTIONS = ("Is something wrong?", "Where?", "What?", "Hint", "Another hint")
"""What is asked for next, at each stage and then again and again."""


def told(fault: Fault, stage: TellingStage) -> str:
    """Return what is said of a fault at a stage."""
    if stage is TellingStage.NOTHING:
        return "Not solved yet."
    if stage is TellingStage.THAT:
        return "Something is wrong with this set."
    if stage is TellingStage.WHERE:
        return f"Something is wrong here: {fault.where or 'the set as a whole'}."
    return (
        fault.sentence if stage is TellingStage.WHAT else f"{fault.sentence} {fault.hint}".rstrip()
    )


def notes_told(
    notes: Sequence[EditorDiagnostic], stage: TellingStage
) -> tuple[EditorDiagnostic, ...]:
    """Return what is shown of notes at a stage: nothing, places, the notes, their remedies."""
    if stage < TellingStage.WHERE:
        return ()
    if stage is TellingStage.WHERE:
        return tuple(
            replace(
                note,
                code="hidden",
                meaning="Something is wrong here.",
                message="Something is wrong here.",
                hint=None,
                fixes=(),
                rule=None,
            )
            for note in notes
            if note.severity != "info"
        )
    if stage is TellingStage.WHAT:
        return tuple(replace(note, hint=None, fixes=()) for note in notes)
    return tuple(notes)
