"""The specification beside the text: its rules, and what of the text follows each of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from refexplorer.errors import RefexplorerError
from refexplorer.spec.rules import RULES
from refexplorer.views.editor.rule_places import RulePlaces
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.editor.exercise_models import ListedExercise
from refexplorer.views.wire.editor.rule_messages import (
    AskRules,
    RuleFollowed,
    RulesFollowed,
    SeekRule,
    SeekRulesAt,
    SpecificationRules,
    TaughtRule,
)
from refexplorer.views.wire.models import CitedRule

if TYPE_CHECKING:
    from refexplorer.views.editor.editor_controller import EditorController


class Specification:
    """Answers what the editor asks about the rules of the specification."""

    def __init__(self, editor: EditorController) -> None:
        self._editor = editor
        self._places: RulePlaces | None = None
        self.operations: Operations = {
            AskRules: lambda request: SpecificationRules(taught()),
            SeekRulesAt: self._at,
            SeekRule: self._of,
        }

    def _at(self, request: SeekRulesAt) -> RulesFollowed:
        return RulesFollowed(self._editor.version, self._followed().at(request.pointer))

    def _of(self, request: SeekRule) -> RuleFollowed:
        if request.name not in RULES:
            raise RefexplorerError(f"There is no rule {request.name!r}.")
        if (positions := self._editor.positions) is None:
            raise RefexplorerError("The text cannot be read, so that no place in it is shown.")
        pointers, is_all = self._followed().of(request.name)
        found = [place for each in pointers if (place := positions.seen_at(each)) is not None]
        return RuleFollowed(
            self._editor.version, tuple(found), is_all and len(found) == len(pointers)
        )

    def _followed(self) -> RulePlaces:
        refs = self._editor.references
        if refs is None:
            raise RefexplorerError("No valid text with keys was entered yet.")
        if self._places is None or self._places.refs is not refs:
            self._places = RulePlaces(refs)
        return self._places


def cited(name: str) -> CitedRule:
    """Return a rule as it is cited."""
    rule = RULES[name]
    return CitedRule(name, rule.section, rule.sentence, rule.link)


def taught(trained: Iterable[tuple[str, ListedExercise]] = ()) -> tuple[TaughtRule, ...]:
    """Return the rules in order."""
    pairs = list(trained)
    return tuple(
        TaughtRule(
            **structs.asdict(cited(name)),
            example=rule.example or None,
            exercises=tuple(exercise for other, exercise in pairs if other == name),
        )
        for name, rule in RULES.items()
    )
