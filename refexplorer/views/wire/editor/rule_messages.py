"""What other readers make of the text, diagnostic codes and rules of the specification."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from refexplorer.views.wire.editor.exercise_models import ListedExercise
from refexplorer.views.wire.messages import Request, named
from refexplorer.views.wire.models import CitedRule, CodePage


class ReaderVerdict(Struct, frozen=True):
    """The verdict of one reader on the text.

    Attributes
    ----------
    outcome
        ``dropped``: keys are missing and nobody is told; ``refused``: no key can be read.
    summary
        The outcome with its numbers.
    reasons
        Sentences: why, and what else is worth knowing.
    examples
        Keys that differ, each with what the specification and the reader make of it.
    """

    name: str
    outcome: Annotated[
        str, named("Judgement", "same", "dropped", "different", "refused", "not run")
    ]
    summary: str
    reasons: tuple[str, ...]
    examples: tuple[str, ...]


class Readers(Struct, frozen=True):
    """The verdicts of readers on the last good text, the specification first."""

    version: int
    readers: tuple[ReaderVerdict, ...]


class AskReaders(Request, frozen=True, tag="readers"):
    """Ask what other readers make of the last good text."""

    reply = Readers


class CodeExplained(Struct, frozen=True):
    """The page of a diagnostic code."""

    page: CodePage


class ExplainCode(Request, frozen=True, tag="code"):
    """Explain a diagnostic code."""

    reply = CodeExplained

    code: str


class TaughtRule(CitedRule, frozen=True):
    """A rule of the specification with what teaches it.

    Attributes
    ----------
    example
        A text for the editor that follows it; null where JSON cannot show it.
    exercises
        Those that train it.
    """

    example: str | None
    exercises: tuple[ListedExercise, ...]


class SpecificationRules(Struct, frozen=True):
    """The rules of the specification, in order."""

    rules: tuple[TaughtRule, ...]


class AskRules(Request, frozen=True, tag="rules"):
    """Ask for the rules of the specification."""

    reply = SpecificationRules


class RulesFollowed(Struct, frozen=True):
    """The names of the rules that a part of the last good text follows, the nearest first."""

    version: int
    names: tuple[str, ...]


class SeekRulesAt(Request, frozen=True, tag="rules.at"):
    """Find the rules that a part of the text follows.

    Attributes
    ----------
    pointer
        Of the part where the cursor is.
    """

    reply = RulesFollowed

    pointer: str


class RuleFollowed(Struct, frozen=True):
    """Where the text follows a rule.

    Attributes
    ----------
    places
        The first of them: from, and to exclusive; of what has many lines the first.
    is_all
        Whether there are no others.
    """

    version: int
    places: tuple[tuple[int, int], ...]
    is_all: bool


class SeekRule(Request, frozen=True, tag="rules.places"):
    """Find where the text follows a rule; there is nothing to find while it cannot be read.

    Attributes
    ----------
    name
        Of the rule.
    """

    reply = RuleFollowed

    name: str
