"""An exercise: one TOML file of `refexplorer.demo.exercises`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from refexplorer import demo


@dataclass(frozen=True, slots=True)
class Wrong:
    """A typical wrong answer, and a part of the sentence that it is met with."""

    text: str
    says: str


@dataclass(frozen=True, slots=True)
class Exercise:
    """A task on a text.

    Attributes
    ----------
    name
        Of its file; stays when others are added.
    topic
        ``V0``, ``templates``, ``gen``, ``parquet`` or ``debugging``.
    level
        1 to 3.
    task
        What to do; what is code stands in backquotes.
    start, solution
        The text to begin with, and one that passes.
    hints
        Shown one by one.
    check
        What must hold of the set, as `refexplorer.views.exercises.exercise_checks` lists it.
    wrong
        Held by the tests.
    """

    name: str
    title: str
    topic: str
    level: int
    task: str
    start: str
    solution: str
    hints: tuple[str, ...]
    check: Mapping[str, Any]
    wrong: tuple[Wrong, ...]


def read_exercise(path: Path) -> Exercise:
    """Read one file."""
    fields = tomllib.loads(path.read_text(encoding="utf-8"))
    wrong = tuple(Wrong(**answer) for answer in fields.pop("wrong", ()))
    for name in ("start", "solution"):
        fields[name] = fields[name].strip() + "\n"
    return Exercise(path.stem, hints=tuple(fields.pop("hints")), wrong=wrong, **fields)


@cache
def exercises() -> tuple[Exercise, ...]:
    """Return all exercises, in the order of their file names."""
    return tuple(map(read_exercise, demo.exercises()))
