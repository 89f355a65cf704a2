"""The comparison of a reader's rules with the specification, and the tally of differences."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple, Protocol, runtime_checkable

from refexplorer.markup import counted
from refexplorer.spec.core.references import V0Value
from refexplorer.spec.dialects.survey import (
    EntryForm,
    EntryGroup,
    Survey,
    WrittenItem,
    form_of,
    spread,
)
from refexplorer.spec.dialects.verdicts import (
    Basis,
    KeyDifference,
    Outcome,
    State,
    Verdict,
    VerdictReason,
)
from refexplorer.spec.templates.operations import TemplateProblem

EXAMPLES = 5
LONGEST_EXAMPLE = 10_000
AS_WRITTEN = "Values are taken as they are written; what breaks a rule fails when the key is read."


class Refusal(Exception):
    """The reader raises an error and the whole set cannot be read: one sentence."""


class NotComputed(TemplateProblem):
    """The result would need running the reader's own code."""

    def __init__(self) -> None:
        super().__init__("unsafe-template", "The value is not computed here.")


def attempt(render: Callable[..., str], *arguments: object) -> str | None:
    """Return a piece of a text; None if it is not computed."""
    try:
        return render(*arguments)
    except NotComputed:
        return None


def joined(pieces: Iterable[str | None]) -> str:
    """Join pieces; all are tried first, since a refusal outweighs what is not computed."""
    made = list(pieces)
    if None in made:
        raise NotComputed
    return "".join(piece for piece in made if piece is not None)


def tags(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each ``{{ … }}`` begins and ends, up to the next ``}}`` whatever it holds."""
    start = text.find("{{")
    while start >= 0 and (end := text.find("}}", start + 2)) >= 0:
        yield start, end + 2
        start = text.find("{{", end + 2)


class Theirs(NamedTuple):
    """A reader's value of one key, and the reason where it differs."""

    value: object = None
    reason: str = AS_WRITTEN
    state: State = State.VALUE


def absent(reason: str) -> Theirs:
    """Say that the reader leaves a key out."""
    return Theirs(None, reason, State.ABSENT)


def unknown(reason: str) -> Theirs:
    """Say that the reader has something else, which is not computed here."""
    return Theirs(None, reason, State.UNKNOWN)


class ExplicitEntry(NamedTuple):
    """One explicit entry: as written, and as the specification reads it (None: refused)."""

    form: EntryForm
    key: str
    value: object
    ours: V0Value | None


class VerdictTally:
    """The differences, counted."""

    def __init__(self) -> None:
        self._notes: dict[str, None] = {}
        self._counts = {Outcome.DIFFERENT: 0, Outcome.DROPPED: 0}
        self._reasons: dict[str, int] = {}
        self._examples: list[KeyDifference] = []

    def note(self, sentence: str) -> None:
        """Keep what is worth knowing besides; of equal notes one."""
        self._notes[sentence] = None

    def compare(self, key: str, ours: V0Value | None, theirs: Theirs, count: int = 1) -> None:
        """Count keys that a reader reads in one way, and keep one as an example."""
        is_absent = theirs.state is State.ABSENT
        if ours is None and is_absent:
            return
        if ours is not None and theirs.state is State.VALUE and theirs.value == ours:
            return
        self._count(Outcome.DROPPED if is_absent else Outcome.DIFFERENT, theirs.reason, count)
        if len(self._examples) < EXAMPLES:
            shown = theirs if _is_shown(theirs.value) else unknown(theirs.reason)
            self._examples.append(KeyDifference(key, ours, shown.value, shown.state))

    def drop(self, reason: str, count: int) -> None:
        """Count keys that are left out without looking at them."""
        if count:
            self._count(Outcome.DROPPED, reason, count)

    def _count(self, outcome: Outcome, reason: str, count: int) -> None:
        self._counts[outcome] += count
        self._reasons[reason] = self._reasons.get(reason, 0) + count

    def verdict(self, reader: str) -> Verdict:
        """Return the verdict."""
        outcome = next((o for o, count in self._counts.items() if count), Outcome.SAME)
        return Verdict(
            reader,
            outcome,
            tuple(VerdictReason(sentence, count) for sentence, count in self._reasons.items()),
            tuple(self._notes),
            self._counts[Outcome.DIFFERENT],
            self._counts[Outcome.DROPPED],
            tuple(self._examples),
        )


def _is_shown(value: object) -> bool:
    """Say whether a value can be written down: not too deep, too long, or no JSON."""
    try:
        return len(json.dumps(value)) <= LONGEST_EXAMPLE
    except (TypeError, ValueError, RecursionError):
        return False


def refused(reader: str, why: Refusal) -> Verdict:
    """Return the verdict of a reader that raises an error."""
    return Verdict(reader, Outcome.REFUSED, (VerdictReason(str(why)),))


class ReaderRules(ABC):
    """The rules of one reader."""

    name: str
    basis: Basis

    def judge(self, survey: Survey) -> Verdict:
        """Return the verdict of the reader on a document."""
        tally = VerdictTally()
        try:
            self.open(survey, tally)
            for group in self.groups(survey):
                self._compare(group, survey, tally)
            self.generate(survey, tally)
        except Refusal as refusal:
            return replace(refused(self.name, refusal), basis=self.basis)
        return replace(tally.verdict(self.name), basis=self.basis)

    def groups(self, survey: Survey) -> Iterable[EntryGroup]:
        """Return the explicit entries that it looks at, grouped as it needs them."""
        return survey.groups

    def forms(self, survey: Survey) -> Callable[[str, object], EntryForm]:
        """Return what tells the form of one explicit entry, as `groups` tells them."""
        version = survey.document.version
        return lambda key, value: form_of(key, value, version)

    def _compare(self, group: EntryGroup, survey: Survey, tally: VerdictTally) -> None:
        """Count the entries of one form; the last sample stands for all that are no sample."""
        for number, (key, value) in enumerate(group.samples, 1):
            ours = survey.ours(group, value)
            theirs = self.read(ExplicitEntry(group.form, key, value, ours), survey, tally)
            rest = group.count - number if number == len(group.samples) else 0
            tally.compare(key, ours, theirs, 1 + rest)

    @abstractmethod
    def open(self, survey: Survey, tally: VerdictTally) -> None:
        """Look at the version and the sections; raises `Refusal`."""

    @abstractmethod
    def read(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        """Read one explicit entry; raises `Refusal`."""

    @abstractmethod
    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """Read ``gen``; raises `Refusal`."""


def drop_gen(survey: Survey, tally: VerdictTally, why: str) -> None:
    """Count the keys of every gen item as left out."""
    for item in survey.items:
        tally.drop(f"gen[{item.number}] generates {counted(item.count, 'key')}; {why}", item.count)


@runtime_checkable
class GenRules(Protocol):
    """A reader's rules for ``gen``; everything here raises `Refusal`."""

    def axes(self, item: Mapping[str, object]) -> dict[str, Sequence[object]]:
        """Return the values of each dimension."""

    def check(
        self, item: WrittenItem, combinations: int, survey: Survey, tally: VerdictTally
    ) -> None:
        """Look at an item that makes keys, before any of them is made."""

    def make(
        self, item: Mapping[str, object], values: Mapping[str, object], survey: Survey
    ) -> tuple[str, Theirs]:
        """Return the key and the value of one combination."""


def compare_items(rules: GenRules, survey: Survey, tally: VerdictTally) -> None:
    """Compare a sample of the combinations of every gen item."""
    for item in survey.items:
        if not isinstance(item.written, Mapping):
            raise Refusal(f"gen[{item.number}] is not an object.")
        try:
            axes = rules.axes(item.written)
        except NotComputed:
            why = (
                f"gen[{item.number}] is read, with dimensions that the specification does not "
                "allow."
            )
            tally.compare(f"gen[{item.number}]", None, unknown(why))
            continue
        combinations = prod(map(_size, axes.values()))
        if combinations:
            rules.check(item, combinations, survey, tally)
            _compare_sample(rules, item, axes, survey, tally)


def _compare_sample(
    rules: GenRules,
    item: WrittenItem,
    axes: Mapping[str, Sequence[object]],
    survey: Survey,
    tally: VerdictTally,
) -> None:
    assert isinstance(item.written, Mapping)
    sample = [
        Made(item, values, *rules.make(item.written, values, survey))
        for values in _combinations(axes)
    ]
    odd = {made.key: made for made in sample if made.differs}
    total = item.count or prod(map(_size, axes.values()))
    for number, made in enumerate(odd.values(), 1):
        rest = total - len(sample) if number == len(sample) else 0
        tally.compare(made.key, made.ours, made.explained, 1 + max(rest, 0))


class Made(NamedTuple):
    """A reader's key and value for one combination of a gen item."""

    item: WrittenItem
    values: Mapping[str, object]
    key: str
    theirs: Theirs

    @property
    def differs(self) -> bool:
        """Whether the specification makes another key or value."""
        expected = self.item.ours(self.values)
        return self.theirs.state is not State.VALUE or expected != (self.key, self.theirs.value)

    @property
    def ours(self) -> V0Value | None:
        """The value of the key by the specification."""
        made = self.item.ours(self.values)
        return made[1] if made is not None and made[0] == self.key else None

    @property
    def explained(self) -> Theirs:
        """The reader's value; the reason is another one where the specification makes none."""
        if self.item.read is not None:
            return self.theirs
        number = self.item.number
        return self.theirs._replace(
            reason=f"gen[{number}] is read, although the specification does not allow it."
        )


def _size(values: Sequence[object]) -> int:
    """Return the length; exact also where `len` would overflow."""
    if isinstance(values, range):
        span = values.stop - values.start
        return max(0, -(-span // values.step))
    return len(values)


def _combinations(axes: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    for positions in spread([_size(values) for values in axes.values()]):
        chosen = zip(axes.items(), positions, strict=True)
        yield {name: values[position] for (name, values), position in chosen}
