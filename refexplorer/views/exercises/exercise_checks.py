"""Checks of answers to exercises, by meaning, and grading of answer files.

The first fault is reported. Two texts that generate the same references are the same answer, unless
the task requires a certain notation, which is a separate check. A sentence says what is wrong and
where, but does not reveal the solution.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted
from refexplorer.spec.codes import codes_of
from refexplorer.spec.findings import Finding, parts_of, pointer, written
from refexplorer.spec.references import Url
from refexplorer.verbs.opening import dialects
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.exercises.answers import GivenAnswer, difference
from refexplorer.views.exercises.exercise_models import (
    Exercise,
    ExerciseCheck,
    GivenRange,
    RecordFiles,
    WrittenAnswer,
    exercises,
    exercises_of,
    read_answers,
    read_exercise,
)
from refexplorer.views.text.fixes import sentence_of

_GONE = object()
_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Fault:
    """The first unmet condition."""

    sentence: str
    hint: str = ""  # What to do, where it is known
    # A key or a JSON pointer in backquotes, or a place with its line; empty for the whole set
    where: str = ""


def judge(answer: GivenAnswer, exercise: Exercise, solution: GivenAnswer) -> Fault | None:
    """Check an answer against all conditions of an exercise: the first fault, or None."""
    return next(filter(None, _faults(answer, exercise, solution)), None)


def _faults(
    answer: GivenAnswer, exercise: Exercise, solution: GivenAnswer
) -> Iterator[Fault | None]:
    if exercise.check.records is not None:
        # why a store cannot be written explains more than the first key that differs
        yield _records(answer, exercise.check.records)
    yield _same(answer.refs, solution.refs, answer.bends)
    yield from _conditions(answer, exercise.check, solution)
    yield _check_kept(answer, exercise)
    yield _clean(answer.refs, solution.refs)


def proven(folder: Path) -> tuple[Exercise, ...]:
    """Return the exercises of a folder, each validated with its own answers."""
    found = exercises_of(folder)
    for exercise in found:
        prove(exercise)
    return found


def exercise_at(name: str) -> Exercise:
    """Return the exercise of a name, or of a file after validation with its own answers."""
    if name.endswith(".toml"):
        found = read_exercise(Path(name))
        prove(found)
        return found
    by_name = {exercise.name: exercise for exercise in exercises()}
    if name not in by_name:
        raise RefexplorerError(f"There is no exercise {name!r}; they are {', '.join(by_name)}.")
    return by_name[name]


def prove(exercise: Exercise) -> None:
    """Validate the texts of an exercise itself."""
    try:
        solution = GivenAnswer(exercise.solution)
    except RefexplorerError as error:
        raise _unproven(exercise, f"its solution cannot be read: {sentence_of(error)}") from None
    right = [("right", answer.text) for answer in exercise.right]
    for name, text in (("solution", exercise.solution), *right):
        if (said := verdict(text, exercise, solution)) is not None:
            raise _unproven(exercise, f"its `{name}` answer fails: {said}")
    if verdict(exercise.start, exercise, solution) is None:
        raise _unproven(exercise, "its `start` passes already")
    for wrong in exercise.wrong:
        said = verdict(wrong.text, exercise, solution)
        if said is None:
            raise _unproven(exercise, f"a `wrong` answer passes: {wrong.text.strip()}")
        if wrong.says not in said:
            raise _unproven(exercise, f"a `wrong` answer fails for an unexpected reason: {said}")


def verdict(text: str, exercise: Exercise, solution: GivenAnswer) -> str | None:
    """Return what is wrong with a text; None if it solves the exercise."""
    try:
        fault = judge(GivenAnswer(text), exercise, solution)
    except RefexplorerError as error:
        return sentence_of(error)
    return None if fault is None else f"{fault.sentence} {fault.hint}".rstrip()


def _unproven(exercise: Exercise, what: str) -> RefexplorerError:
    return RefexplorerError(f"{exercise.name}.toml is not a valid exercise: {what}")


def _same(found: ReferenceSet, wanted: ReferenceSet, bends: Sequence[int] = ()) -> Fault | None:
    """Find a reference that differs, is missing, or is superfluous."""
    odd = difference(found, wanted, bends)
    if odd is None:
        return None
    known = {one.code for one in _serious(wanted)}
    reasons = (one for one in _serious(found) if one.code not in known)
    reason = next(reasons, None) if odd.is_missing else None
    if reason is None:
        return Fault(odd.sentence, where=f"`{odd.key}`" if odd.key is not None else "")
    return Fault(f"{odd.sentence} {reason.message}", reason.hint, _place_text(reason))


def _clean(found: ReferenceSet, wanted: ReferenceSet) -> Fault | None:
    """Find an error or a warning, not about arrays, of a kind that the solution does not have."""
    expected = {one.code for one in _serious(wanted)} | set(codes_of("arrays"))
    odd = next((one for one in _serious(found) if one.code not in expected), None)
    return None if odd is None else Fault(odd.message, odd.hint, _place_text(odd))


def _serious(refs: ReferenceSet) -> Iterator[Finding]:
    return (one for one in refs.diagnostics if one.severity != "info")


def _place_text(found: Finding) -> str:
    line = "" if found.line is None else f"line {found.line}, column {found.column}: "
    return f"{line}`{written(found.pointer)}`"


def _conditions(
    answer: GivenAnswer, check: ExerciseCheck, solution: GivenAnswer
) -> Iterator[Fault | None]:
    """Yield the conditions that are not met, after the references were compared."""
    if check.form not in (None, answer.refs.source.form):
        version = str(check.form).removeprefix("V")
        yield Fault(f"The references are right, but the document should be version {version}.")
    yield _templates(answer, check, solution)
    yield _urls(answer, check, solution)
    if check.items not in (None, len(answer.items)):
        found = counted(len(answer.items), "item")
        yield Fault(f"`gen` has {found}, but should have {check.items:,}.", where="`/gen`")
    for number, item in enumerate(answer.items if check.dimensions else ()):
        if sorted(item["dimensions"]) != sorted(check.dimensions):
            names = ", ".join(f"`{name}`" for name in check.dimensions)
            said = f"The dimensions of `gen[{number}]` should be {names}, and no others."
            yield Fault(said, where=f"`/gen/{number}/dimensions`")
    explicit = len(answer.refs.numbers("refs"))
    if check.written is not None and explicit > check.written:
        keys = "1 key is" if explicit == 1 else f"{explicit:,} keys are"
        said = f"{keys} written out; generate them with `gen` instead."
        yield Fault(said, where="`/refs`")
    for key, wanted in check.kinds.items():
        if (kind := answer.refs[key].kind.value) != wanted:
            said = f"The data of `{key}` are right, but written as {kind}, not as {wanted}."
            yield Fault(said, where=f"`{key}`")
    said = "is written as {found}, not as {wanted}"
    yield _compared(answer, check.types, lambda value: _TYPES.get(type(value), "number"), said)
    said = "is {found}, but the task requires another value"
    yield _compared(answer, check.values, lambda value: value, said)
    yield _ranges(answer, check, solution)
    size = len(json.dumps(answer.document, separators=(",", ":"), ensure_ascii=False))
    if check.size is not None and size > check.size:
        yield Fault(
            f"The set is right, but the document has {size:,} characters without spaces between "
            f"its parts, and should have at most {check.size:,}."
        )
    yield _readers(answer, check)


def _templates(answer: GivenAnswer, check: ExerciseCheck, solution: GivenAnswer) -> Fault | None:
    for templates in check.templates:
        missing = next((name for name in templates if name not in answer.templates), None)
        if missing is not None:
            said = f"The set is right, but there is no template `{missing}`."
            return Fault(said, where="`/templates`")
        fault = _same(answer.tried(templates), solution.tried(templates))
        if fault is not None:
            given = ", ".join(f"`{name}` = `{value}`" for name, value in templates.items())
            key = fault.where.strip("`")
            if len(templates) == 1 and key in answer.refs:
                (name,) = templates
                if answer.tried(templates).get(key) == answer.refs[key]:
                    said = f"The set is right, but `{key}` does not use the template `{name}`."
                    return replace(fault, sentence=said, hint="")
            said = f"The set is right, but not with {given} instead: {fault.sentence}"
            return replace(fault, sentence=said, hint="")
    return None


def _urls(answer: GivenAnswer, check: ExerciseCheck, solution: GivenAnswer) -> Fault | None:
    calls: list[tuple[str, Mapping[str, GivenRange]]] = [(url, {}) for url in check.urls]
    for url, dimensions in (*calls, *check.calls.items()):
        called = zip(answer.called(url, dimensions), solution.called(url, dimensions), strict=True)
        for (values, found), (_, wanted) in called:
            if found == wanted:
                continue
            given = f" with {values}" if values else ""
            gives = (
                f"gives `{found.url}`, which is not right" if isinstance(found, Url) else "fails"
            )
            said = f"The set is right, but `{url}`{given} {gives}."
            return Fault(said, where="`/templates`")
    return None


def _ranges(answer: GivenAnswer, check: ExerciseCheck, solution: GivenAnswer) -> Fault | None:
    for values in check.ranges:
        fault = _same(answer.ranged(values), solution.ranged(values))
        if fault is not None:
            said = f"The set is right, but not with {json.dumps(values)} as each range instead: "
            return replace(fault, sentence=said + fault.sentence, hint="")
    return None


def _compared(
    answer: GivenAnswer, asked: Mapping[str, object], aspect: Callable[[Any], object], said: str
) -> Fault | None:
    """Find a value of the document that differs from the required one in some aspect."""
    for pattern, wanted in asked.items():
        places = list(_at(answer.document, parts_of(pattern), "", _GONE))
        missing = next((place for place, value in places if value is _GONE), pattern)
        if not places or missing != pattern:
            return Fault(f"The set is right, but there is no `{missing}`.", where=f"`{missing}`")
        for place, value in places:
            found = aspect(value)
            if json.dumps(found) != json.dumps(wanted):  # true is not 1
                told = said.format(found=found, wanted=wanted)
                return Fault(f"The set is right, but `{place}` {told}.", where=f"`{place}`")
    return None


def _readers(answer: GivenAnswer, check: ExerciseCheck) -> Fault | None:
    if not check.readers:
        return None
    verdicts = dialects(answer.text.encode(), readers=check.readers)
    for name in check.readers:
        if verdicts[name].outcome not in ("same", "not run"):
            return Fault(f"{name}: {verdicts[name].summary}. {verdicts[name].reasons[0]}")
    return None


def _check_kept(answer: GivenAnswer, exercise: Exercise) -> Fault | None:
    """Compare parts of the document with those of the initial text."""
    for part in exercise.check.keeps:
        documents = (json.loads(exercise.start), answer.document)
        before, now = (dict(_at(document, parts_of(part), "")) for document in documents)
        if json.dumps(before, sort_keys=True) != json.dumps(now, sort_keys=True):
            return Fault(
                f"The set is right, but `{part}` should stay as it was.", where=f"`{part}`"
            )
    return None


def _at(value: Any, parts: list[str], place: str, gone: object = None) -> Iterator[tuple[str, Any]]:
    """Yield the values matching a pattern, each with its pointer; `gone` if missing."""
    if not parts:
        yield place, value
        return
    if isinstance(value, list):
        value = {str(number): one for number, one in enumerate(value)}
    members = value if isinstance(value, dict) else {}
    names = list(members) if parts[0] == "*" else [parts[0]]
    for name in names:
        if name in members:
            yield from _at(members[name], parts[1:], place + pointer(name), gone)
        elif gone is not None:
            yield place + pointer(*parts), gone


def _records(answer: GivenAnswer, asked: RecordFiles) -> Fault | None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.parq"
        try:
            answer.refs.to_parquet(store, record_size=asked.size)
        except RefexplorerError as error:
            return Fault(sentence_of(error))
        files = sorted(str(path.relative_to(store).as_posix()) for path in store.rglob("*.parq"))
    if files == sorted(asked.files):
        return None
    return Fault(
        f"As parquet this has {counted(len(files), 'record file')}, but should have "
        f"{len(asked.files)}."
    )


class AnswerState(StrEnum):
    """The state of an exercise."""

    SOLVED = "solved"
    SHOWN = "solution shown"
    WRONG = "wrong"
    NONE = "not answered"


class GradedAnswer(Struct, frozen=True):
    """The answer to one exercise.

    Attributes
    ----------
    exercise
        The name of the exercise.
    state
        ``solved``, ``solution shown`` (the text is right, but the solution was shown before),
        ``wrong`` or ``not answered``.
    sentence
        What is wrong with the answer; empty unless it is wrong.
    """

    exercise: str
    state: AnswerState
    sentence: str = ""


class Grade(Struct, frozen=True):
    """The answers of one file.

    Attributes
    ----------
    name
        The name of the file without its suffix.
    answers
        One for each exercise, in the order of the exercises.
    unknown
        Names of exercises that the file has answers to, but that are not among the exercises.
    error
        Why the file cannot be read; empty if it can be.
    """

    name: str
    answers: tuple[GradedAnswer, ...] = ()
    unknown: tuple[str, ...] = ()
    error: str = ""

    def count(self, state: AnswerState | str) -> int:
        """Count the exercises in a state, such as ``"solved"``."""
        return Counter(answer.state for answer in self.answers)[AnswerState(state)]


def grade(
    files: Iterable[str | os.PathLike[str]], folder: str | os.PathLike[str] | None = None
) -> list[Grade]:
    """Grade answer files, such as those written by `Exercises`.

    Each text is checked again; the file is not trusted. Only whether a solution was shown is read
    from the file, which anyone can edit.

    Parameters
    ----------
    files
        The files, one per person.
    folder
        A folder with your own exercises; the exercises of this package by default.

    Returns
    -------
    list of Grade
        One per file, in the same order. A file that cannot be read has an `error`.

    Raises
    ------
    RefexplorerError
        If the folder has no exercises, or one of them fails its own answers.
    """
    asked = exercises() if folder is None else proven(Path(folder))
    solutions = {exercise.name: GivenAnswer(exercise.solution) for exercise in asked}
    return [_graded(Path(file), asked, solutions) for file in files]


def _graded(path: Path, asked: Sequence[Exercise], solutions: dict[str, GivenAnswer]) -> Grade:
    try:
        found = read_answers(path)
    except RefexplorerError as error:
        return Grade(path.stem, error=str(error))
    answers = [_judged(one, found.get(one.name), solutions[one.name]) for one in asked]
    return Grade(path.stem, tuple(answers), tuple(sorted(found.keys() - solutions.keys())))


def _judged(
    exercise: Exercise, answer: WrittenAnswer | None, solution: GivenAnswer
) -> GradedAnswer:
    if answer is None or answer.text.strip() == exercise.start.strip():
        return GradedAnswer(exercise.name, AnswerState.NONE)
    said = verdict(answer.text, exercise, solution)
    if said is not None:
        return GradedAnswer(exercise.name, AnswerState.WRONG, said)
    state = AnswerState.SHOWN if answer.solution_shown else AnswerState.SOLVED
    return GradedAnswer(exercise.name, state)
