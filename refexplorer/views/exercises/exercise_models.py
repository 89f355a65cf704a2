"""An exercise: one TOML file, of `refexplorer.demo.exercises` or of a teacher's folder."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from refexplorer import demo
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import writing
from refexplorer.spec.codes import RULES
from refexplorer.spec.findings import suggest

STAGED = "debugging"
"""The topic in which finding the fault is the task, so that it is revealed in stages."""
JsonType = Literal["object", "array", "string", "number", "boolean"]
GivenRange = dict[str, int] | list[int]  # The values of a dimension, as a gen item has them


class Wrong(Struct, frozen=True, forbid_unknown_fields=True):
    """A wrong answer that must fail, and words that the message must contain."""

    text: str
    says: str


class Right(Struct, frozen=True, forbid_unknown_fields=True):
    """Another correct answer; a note, if any, is shown after the exercise is solved."""

    text: str
    note: str = ""


class RecordFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """The record files of the set, written as parquet with a record size."""

    size: Annotated[int, Meta(ge=1)]
    files: list[str]


class ExerciseCheck(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Conditions for an answer, in addition to generating the references of the solution.

    Attributes
    ----------
    form
        The version of the document.
    templates
        Alternative template tables: with each one substituted for its own, the answer must generate
        the same references as the solution.
    urls
        URLs to render as if they were in `refs`: the result must be that of the solution.
    calls
        Like `urls`, with dimensions: each URL is rendered for each combination of their values.
    items
        The number of gen items.
    ranges
        Alternative values for all dimensions: with each of them, the answer must generate the same
        references as the solution.
    dimensions
        The names of the dimensions of each gen item.
    written
        The largest number of explicit keys.
    kinds
        How the data of a key must be written; for keys that are not listed, any form is accepted.
    types
        JSON types of values, by JSON pointer; ``*`` matches any name or index.
    values
        Values, by JSON pointer as in `types`.
    keeps
        JSON pointers to parts of the initial document that must not change.
    size
        The largest number of characters in the document, without spaces between its parts.
    records
        The record files of the set, written as parquet.
    readers
        Readers that must agree with the specification, by their names in `refexplorer.dialects`.
    """

    form: Literal["V0", "V1"] | None = None
    templates: list[dict[str, str]] = []
    urls: list[str] = []
    calls: dict[str, dict[str, GivenRange]] = {}
    items: int | None = None
    ranges: list[GivenRange] = []
    dimensions: list[str] = []
    written: int | None = None
    kinds: dict[str, Literal["inline", "base64"]] = {}
    types: dict[str, JsonType] = {}
    values: dict[str, str | int | float | bool] = {}
    keeps: list[str] = []
    size: int | None = None
    records: RecordFiles | None = None
    readers: list[str] = []


class Exercise(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A task; a correct answer has the same references as the solution, and fulfils `check`.

    Attributes
    ----------
    name
        The name of its file; it does not change when other exercises are added.
    topic
        Exercises are grouped by topic; those of ``debugging`` show the verdict in stages.
    level
        1 to 3.
    task
        What to do, with code in backquotes.
    start, solution
        The initial text, and an answer that passes.
    hints
        Hints, shown one at a time.
    why
        Why the solution is right; shown after the exercise is solved.
    rules
        Rules of the specification, by their names in `refexplorer.spec.codes`.
    given
        A read-only text, shown below the task.
    wrong, right
        Answers that must fail and answers that must pass.
    """

    name: str
    title: str
    topic: str
    level: Annotated[int, Meta(ge=1, le=3)]
    task: str
    start: str
    solution: str
    hints: tuple[str, ...]
    why: str
    rules: tuple[str, ...] = ()
    given: str = ""
    check: ExerciseCheck = ExerciseCheck()
    wrong: tuple[Wrong, ...] = ()
    right: tuple[Right, ...] = ()

    @property
    def is_staged(self) -> bool:
        """Whether the verdict comes in stages."""
        return self.topic == STAGED


def read_exercise(path: Path) -> Exercise:
    """Read one file."""
    try:
        fields: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        for name in ("start", "solution", "given"):
            if isinstance(fields.get(name), str):
                fields[name] = fields[name].strip() + "\n"
        found = msgspec.convert({"name": path.stem} | fields, Exercise)
    except (OSError, ValueError) as error:
        raise RefexplorerError(f"{path.name} is not an exercise: {error}.") from None
    for rule in found.rules:
        if rule not in RULES:
            said = f"there is no rule `{rule}`. {suggest(rule, RULES)}".rstrip()
            raise RefexplorerError(f"{path.name} is not a valid exercise: {said}")
    return found


class WrittenAnswer(Struct, frozen=True, omit_defaults=True):
    """The text written for an exercise: the last one that passed, or else the last one."""

    text: str
    solution_shown: bool = False  # Before it was solved


class AnswerFile(Struct, frozen=True):
    """The answers of one person, by exercise name."""

    answers: dict[str, WrittenAnswer]
    schema: int = 1


_LARGEST_ANSWERS = 10_000_000  # bytes


def read_answers(path: Path) -> dict[str, WrittenAnswer]:
    """Read an answer file."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_ANSWERS + 1)
        if len(content) > _LARGEST_ANSWERS:
            raise ValueError(f"it is larger than {_LARGEST_ANSWERS // 10**6} MB")
        found = msgspec.json.decode(content, type=AnswerFile)
        if found.schema != 1:
            raise ValueError(f"its schema is {found.schema}, and this version reads schema 1")
        return found.answers
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise RefexplorerError(f"{path} cannot be read: {said}.") from None
    except (ValueError, RecursionError) as error:
        raise RefexplorerError(f"{path} is not an answer file: {error}.") from None


def write_answers(path: Path, answers: dict[str, WrittenAnswer]) -> None:
    """Write an answer file; if interrupted, the existing file is unchanged."""
    with writing(path, as_it_is=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(AnswerFile(answers)), indent=1))


@cache
def exercises() -> tuple[Exercise, ...]:
    """Return the exercises of this package, in the order of their file names."""
    return tuple(map(read_exercise, demo.exercises()))


def exercises_of(folder: Path) -> tuple[Exercise, ...]:
    """Return the exercises of a folder, in the order of their file names."""
    paths = sorted(folder.glob("*.toml"))
    if not folder.is_dir():
        named = f"; to open this built-in exercise, write Exercises(exercise={str(folder)!r})"
        is_name = str(folder) in {each.name for each in exercises()}
        raise RefexplorerError(f"There is no folder {str(folder)!r}{named if is_name else ''}.")
    if not paths:
        raise RefexplorerError(
            f"The folder {str(folder)!r} has no exercises (files that end in .toml)."
        )
    return tuple(map(read_exercise, paths))
