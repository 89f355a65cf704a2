"""A document as one reader has it, looked up key by key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from refexplorer.spec.core.references import V0Value
from refexplorer.spec.dialects.judging import (
    ExplicitEntry,
    GenRules,
    ReaderRules,
    Refusal,
    Theirs,
    VerdictTally,
    absent,
    unknown,
)
from refexplorer.spec.dialects.survey import Survey
from refexplorer.spec.dialects.verdicts import Outcome, Verdict

_NO_GEN = "`gen` is not read."


class Rendition:
    """A reader's values of single keys, by the rules of its verdict.

    Parameters
    ----------
    reader
        Its rules.
    survey
        The document.
    """

    def __init__(self, reader: ReaderRules, survey: Survey) -> None:
        self._reader = reader
        self._survey = survey
        self._tally = VerdictTally()
        self._form = reader.forms(survey)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the whole document."""
        return self._reader.judge(self._survey)

    @property
    def is_refused(self) -> bool:
        """Whether it reads no key at all."""
        return self.verdict.outcome is Outcome.REFUSED

    def explicit(self, key: str, ours: V0Value) -> Theirs:
        """Render a key of the explicit references."""
        value = self._survey.document.refs[key]
        try:
            entry = ExplicitEntry(self._form(key, value), key, value, ours)
            return self._reader.read(entry, self._survey, self._tally)
        except Refusal as refusal:
            return unknown(str(refusal))

    def generated(self, number: int, values: Mapping[str, int], key: str) -> Theirs:
        """Render a key of a gen item, by its number and its dimensions."""
        rules, item = self._reader, self._survey.items[number].written
        if not isinstance(rules, GenRules) or not isinstance(item, Mapping):
            return absent(_NO_GEN)
        try:
            made, theirs = rules.make(item, values, self._survey)
        except Refusal as refusal:
            return unknown(str(refusal))
        return theirs if made == key else absent(f"It generates the key `{made[:100]}` instead.")
