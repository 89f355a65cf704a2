"""The controller of the exercises: the template editor with a task checked as you type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from refexplorer.core.errors import RefexplorerError, SpecError
from refexplorer.core.text import counted
from refexplorer.spec.findings import Finding
from refexplorer.verbs.opening import open_references
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.editor.editor_models import (
    EditReply,
    Lesson,
    OtherAnswer,
    Remarks,
    Replaced,
    Result,
    Task,
    Welcome,
)
from refexplorer.views.editor.specification import ListedExercise, TaughtRule, cited, taught
from refexplorer.views.exercises.answers import GivenAnswer
from refexplorer.views.exercises.exercise_checks import Fault, judge, verdict
from refexplorer.views.exercises.exercise_models import Exercise, WrittenAnswer, exercises
from refexplorer.views.text.fixes import EditorDiagnostic, sentence_of
from refexplorer.views.wire.requests import filled, request


class TellingStage(IntEnum):
    """How much was revealed so far."""

    NOTHING = 0
    THAT = 1
    WHERE = 2
    WHAT = 3
    HINT = 4


QUESTIONS = ("Is something wrong?", "Where?", "What?", "Hint", "Another hint")
"""The next question at each stage; the last one repeats."""


def told(fault: Fault, stage: TellingStage) -> str:
    """Return the text about a fault at a stage."""
    if stage is TellingStage.NOTHING:
        return "Not solved yet."
    if stage is TellingStage.THAT:
        return "Something is wrong with this set."
    if stage is TellingStage.WHERE:
        return f"Something is wrong here: {fault.where or 'the set as a whole'}."
    hint = "" if stage is TellingStage.WHAT else fault.hint
    return f"{fault.sentence} {hint}".rstrip()


def notes_told(
    notes: Sequence[EditorDiagnostic], stage: TellingStage
) -> tuple[EditorDiagnostic, ...]:
    """Return the notes as shown at a stage: none, positions only, without or with remedies."""
    if stage < TellingStage.WHERE:
        return ()
    if stage is TellingStage.WHERE:
        text = "Something is wrong here."
        hidden = {"code": "hidden", "meaning": text, "message": text, "rule": None}
        said = [note for note in notes if note.severity != "info"]
        return tuple(replace(note, **hidden, hint=None, fixes=()) for note in said)
    if stage is TellingStage.WHAT:
        return tuple(replace(note, hint=None, fixes=()) for note in notes)
    return tuple(notes)


class Hinted(Struct, frozen=True):
    """The task with one more hint, and the current verdict."""

    task: Task
    result: Result


_FAILED = "The text cannot be read yet: "
UNCOUNTED = "Right. It does not count: the solution was shown."
_UNJUDGED = Result(None, "", None)


class ExercisesController(EditorController):
    """The editor with a task; the text written for each task is kept."""

    def __init__(
        self,
        name: str | None = None,
        answers: Mapping[str, WrittenAnswer] | None = None,
        offered: Sequence[Exercise] | None = None,
    ) -> None:
        listed = exercises() if offered is None else offered
        self._all = {exercise.name: exercise for exercise in listed}
        self._begin(self._named(name or next(iter(self._all))))
        kept = {each: answer for each, answer in (answers or {}).items() if each in self._all}
        self._drafts = {each: answer.text for each, answer in kept.items()}
        self._shown_solutions = {each for each, answer in kept.items() if answer.solution_shown}
        self._passed = {
            each: text
            for each, text in self._drafts.items()
            if verdict(text, self._all[each], GivenAnswer(self._all[each].solution)) is None
        }
        self._solved = self._passed.keys() - self._shown_solutions
        super().__init__(self._drafts.get(self._exercise.name, self._exercise.start))

    @property
    def name(self) -> str:
        """The name of the open exercise."""
        return self._exercise.name

    @property
    def exercise(self) -> Exercise:
        """The open exercise, with its answers."""
        return self._exercise

    @property
    def solved(self) -> list[str]:
        """Names of the solved exercises, sorted."""
        return sorted(self._solved)

    @property
    def written(self) -> dict[str, WrittenAnswer]:
        """The text written for each exercise that was begun, by name."""
        texts = self._drafts | {self._exercise.name: self.document} | self._passed
        return {
            name: WrittenAnswer(texts[name], name in self._shown_solutions)
            for name, exercise in self._all.items()
            if name in self._shown_solutions or texts.get(name, exercise.start) != exercise.start
        }

    @property
    def task(self) -> Task:
        """The task, with the requested hints."""
        one = self._exercise
        # if the task is to find the fault, the rules would reveal it
        rules = () if one.is_staged and self._fault is not None else tuple(map(cited, one.rules))
        given = one.given or None
        return filled(Task, one, given=given, hints=self._hints, ask=self._ask, rules=rules)

    @property
    def result(self) -> Result:
        """Whether the text passes, as far as revealed."""
        fault = self._fault
        if fault is None:
            counts = self._exercise.name not in self._shown_solutions
            one = self._exercise
            others = (OtherAnswer(each.text.strip(), each.note) for each in one.right if each.note)
            lesson = Lesson(one.why, tuple(others))
            return Result(True, "Solved." if counts else UNCOUNTED, lesson)
        is_edited = self.document != self._exercise.start
        if self._is_hidden:
            is_asked = is_edited or self._stage > TellingStage.NOTHING
            return Result(False, told(fault, self._stage), None) if is_asked else _UNJUDGED
        return Result(False, told(fault, TellingStage.HINT), None) if is_edited else _UNJUDGED

    @property
    def sentence(self) -> str:
        """Same as in the editor, as far as revealed."""
        if self._is_hidden and self._stage < TellingStage.WHAT:
            return counted(self._total, "key")
        return super().sentence

    @property
    def diagnostics(self) -> tuple[Finding, ...]:
        """Same as in the editor, as far as revealed."""
        return () if self._is_hidden and self._stage < TellingStage.HINT else super().diagnostics

    def choose(self, name: str) -> None:
        """Open another exercise, with the text written for it before."""
        with self._lock:
            if name != self._exercise.name:
                exercise = self._named(name)
                self._drafts[self._exercise.name] = self.document
                self._begin(exercise)
                self._templates = {}
                self._good = None  # rows of another task are nothing to compare with
                self._replace(self._drafts.get(name, exercise.start))

    def _begin(self, exercise: Exercise) -> None:
        self._exercise, self._helped = exercise, 0
        self._right = GivenAnswer(exercise.solution)
        self._starts_well = _can_be_read(exercise.start)
        self._expected = {one.code for one in self._right.refs.diagnostics}

    def _diagnostics(self) -> list[EditorDiagnostic]:
        """Omit findings about the solution, too: a task concerns a part of a set."""
        return [note for note in super()._diagnostics() if note.code not in self._expected]

    @property
    def _stage(self) -> TellingStage:
        return TellingStage(min(self._helped, TellingStage.HINT))

    @property
    def _is_hidden(self) -> bool:
        """Whether faults are revealed in stages, except for those the person introduced."""
        if not self._exercise.is_staged or self._fault is None:
            return False
        return self._error is None or not self._starts_well

    @property
    def _hints(self) -> tuple[str, ...]:
        before = TellingStage.WHAT if self._exercise.is_staged else TellingStage.NOTHING
        return self._exercise.hints[: max(self._helped - before, 0)]

    @property
    def _ask(self) -> str | None:
        before = TellingStage.WHAT if self._exercise.is_staged else TellingStage.NOTHING
        if self._helped == before + len(self._exercise.hints):
            return None
        if self._exercise.is_staged:
            return QUESTIONS[self._stage]
        return QUESTIONS[TellingStage.HINT if self._hints else TellingStage.WHAT]

    def _found(self) -> Fault | None:
        """Judge the text."""
        if (error := self._error) is not None:
            where = ""
            if isinstance(error, SpecError) and error.line is not None:
                where = f"line {error.line}, column {error.column}"
            return Fault(_FAILED + sentence_of(error), where=where)
        try:
            return judge(GivenAnswer(self.document, self.opened()), self._exercise, self._right)
        except RefexplorerError as failure:
            return Fault(sentence_of(failure))

    @cached_property
    def rules(self) -> tuple[TaughtRule, ...]:
        """The rules of the specification, with exercises for each."""
        told = (one for one in self._all.values() if not one.is_staged)
        return taught((rule, _listed(one)) for one in told for rule in one.rules)

    def _named(self, name: str) -> Exercise:
        if name not in self._all:
            raise RefexplorerError(
                f"There is no exercise {name!r}; they are {', '.join(self._all)}."
            )
        return self._all[name]

    def _follow(self, text: str) -> None:
        super()._follow(text)
        self._fault = self._found()
        if self._fault is None:
            self._passed[self._exercise.name] = self.document
            if self._exercise.name not in self._shown_solutions:
                self._solved.add(self._exercise.name)

    def hello(self) -> Welcome:
        """Begin."""
        return replace(super().hello(), exercises=tuple(map(_listed, self._all.values())))

    def _state(self) -> EditReply:
        state = super()._state()
        return replace(
            state,
            wrap=None if self._is_hidden and self._stage < TellingStage.HINT else state.wrap,
            task=self.task,
            result=self.result,
            solved=tuple(self.solved),
            shown_solutions=tuple(sorted(self._shown_solutions)),
        )

    def notes(self) -> Remarks:
        """Return problems and oddities, as far as they may be revealed."""
        said = super().notes()
        hidden = len(super()._diagnostics()) - len(said.notes)
        said = replace(said, note_count=said.note_count - hidden)
        if not self._is_hidden:
            return said
        notes = notes_told(said.notes, self._stage)
        count = said.note_count if self._stage >= TellingStage.WHAT else len(notes)
        return replace(said, notes=notes, note_count=count)

    def edit(self, document: str, given: bool = False) -> EditReply:
        """Follow the text; a correct answer from a link counts as a shown solution."""
        was_solved = self._exercise.name in self._solved
        state = super().edit(document)
        if not given or was_solved or self._fault is not None:
            return state
        self._solved.discard(self._exercise.name)
        self._shown_solutions.add(self._exercise.name)
        return self._state()

    def show_text(self, example: str | None = None) -> str:
        """Return an example, or the initial text of the task."""
        return self._exercise.start if example is None else super().show_text(example)

    @request("exercise")
    def choose_exercise(self, name: str) -> Replaced:
        """Open another exercise."""
        self.choose(name)
        return self._shown_as(Replaced)

    @request("hint")
    def show_hint(self) -> Hinted:
        """Reveal more: the next stage of the fault, or another hint."""
        if self._ask is not None:
            self._helped += 1
        return Hinted(self.task, self.result)

    @request("solution", sends="solution")
    def show_solution(self) -> str:
        """Return a text that passes."""
        if self._exercise.name not in self._solved:
            self._shown_solutions.add(self._exercise.name)
        return self._exercise.solution

    @request("restart")
    def restart(self) -> Replaced:
        """Restore the initial text."""
        self._replace(self._exercise.start)
        return self._shown_as(Replaced)


def _listed(exercise: Exercise) -> ListedExercise:
    return filled(ListedExercise, exercise)


def _can_be_read(text: str) -> bool:
    try:
        open_references(text.encode())
    except RefexplorerError:
        return False
    return True
