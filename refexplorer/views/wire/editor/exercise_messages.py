"""Choosing an exercise, hints and solutions."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.editor.editor_messages import Replaced
from refexplorer.views.wire.editor.exercise_models import Result, Task
from refexplorer.views.wire.messages import Request


class Choose(Request, frozen=True, tag="exercise"):
    """Open another exercise."""

    reply = Replaced

    name: str


class Restart(Request, frozen=True, tag="restart"):
    """Put the text to begin with in place again."""

    reply = Replaced


class Hinted(Struct, frozen=True):
    """The task with one hint more, and what is said of the text now."""

    task: Task
    result: Result


class ShowHint(Request, frozen=True, tag="hint"):
    """Tell more: the next stage of what is wrong, or another hint."""

    reply = Hinted


class Solution(Struct, frozen=True):
    """A text that passes."""

    solution: str


class Solve(Request, frozen=True, tag="solution"):
    """Show a solution."""

    reply = Solution
