"""Exercises: what is asked, and what came of it."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.models import CitedRule


class ListedExercise(Struct, frozen=True):
    """An exercise in the list of all."""

    name: str
    title: str
    topic: str
    level: int


class Task(Struct, frozen=True):
    """The exercise that is open: hints and solution only as far as they were asked for.

    Attributes
    ----------
    level
        1 to 3.
    task
        What to do; what is code stands in backquotes.
    given
        A text to read; null for none.
    ask
        What `hint` shows next, as a question or a word; null where all is shown.
    rules
        Of the specification, that it trains; none as long as finding what is wrong is the task.
    """

    name: str
    title: str
    topic: str
    level: int
    task: str
    given: str | None
    hints: tuple[str, ...]
    ask: str | None
    rules: tuple[CitedRule, ...]


class OtherAnswer(Struct, frozen=True):
    """Another text that passes, and what is worth knowing about it."""

    text: str
    note: str


class Lesson(Struct, frozen=True):
    """What there is to know once an exercise is solved.

    Attributes
    ----------
    why
        Why it is right.
    next
        The next one that is not solved; null at the end.
    """

    why: str
    others: tuple[OtherAnswer, ...]
    rules: tuple[CitedRule, ...]
    next: ListedExercise | None


class Result(Struct, frozen=True):
    """Whether the text passes, and the first thing that does not hold, in one sentence.

    Attributes
    ----------
    passed
        Null before the first edit.
    lesson
        Null until it passes.
    """

    passed: bool | None
    sentence: str
    lesson: Lesson | None
