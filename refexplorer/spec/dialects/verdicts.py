"""The verdict of a reader about a reference set, as data, as text and as HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from refexplorer.markup import code, counted, escape, items, shown
from refexplorer.masking import masks_repr
from refexplorer.spec.core.references import V0Value

SHOWN = 200


class Outcome(StrEnum):
    """The outcome for the set as a whole, the worst of those of its keys."""

    SAME = "same"
    """Every key as in the specification."""
    DROPPED = "dropped"
    """Keys are missing without an error or a warning."""
    DIFFERENT = "different"
    """Keys refer to something else, or there are keys that the specification refuses."""
    REFUSED = "refused"
    """The reader raises an error, and no key can be read."""


class State(StrEnum):
    """The state of knowledge about a reader's value of a key."""

    VALUE = "value"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    """It is another one, but telling it would need running the reader's own code."""


@masks_repr
@dataclass(frozen=True, slots=True)
class KeyDifference:
    """One key that a reader reads in another way.

    Attributes
    ----------
    ours
        The V0 value by the specification; None if it has no such key.
    theirs
        The reader's value, where `state` is ``"value"``; may be what no V0 value can be.
    """

    key: str
    ours: V0Value | None
    theirs: object
    state: State = State.VALUE

    def __str__(self) -> str:
        ours = "no such key" if self.ours is None else _json(self.ours)
        return f"{escape(self.key, SHOWN)}: {ours}  →  {self._theirs}"

    def _repr_html_(self) -> str:
        ours = "no such key" if self.ours is None else code(_json(self.ours), SHOWN)
        theirs = code(self._theirs) if self.state is State.VALUE else self._theirs
        return f"{code(self.key, SHOWN)}: {ours} → {theirs}"

    @property
    def _theirs(self) -> str:
        if self.state is State.VALUE:
            return _json(self.theirs)
        return "no such key" if self.state is State.ABSENT else "something else"


def _json(value: object) -> str:
    return escape(json.dumps(value, ensure_ascii=False, default=str), SHOWN)


@masks_repr
@dataclass(frozen=True, slots=True)
class VerdictReason:
    """One reason for a verdict, and the number of keys that it concerns; 0 for the whole set."""

    sentence: str
    keys: int = 0

    def __str__(self) -> str:
        about = f" ({counted(self.keys, 'key')})" if self.keys else ""
        return f"{escape(self.sentence, 3 * SHOWN)}{about}"


@dataclass(frozen=True, slots=True)
class Basis:
    """What the rules of a reader rest on, so that one can tell whether they are stale.

    Attributes
    ----------
    version
        Of the reader.
    date
        When its rules were last held against that version, as ISO 8601.
    how
        ``"run"``: the tests run the reader itself and compare; ``"seen"``: it was run by hand;
        ``"source"``: its source was read, and it was not run.
    """

    version: str
    date: str
    how: str

    def __str__(self) -> str:
        return f"{_HOW[self.how]} {self.version}, {self.date}"


_HOW = {
    "run": "rules held by tests against",
    "seen": "rules seen with",
    "source": "rules read in the source of",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one reader about the set.

    Attributes
    ----------
    reader
        Its name, with the option where one decides.
    different, dropped
        How many keys. Of a gen item a sample is compared, so `different` is a lower bound; keys
        that are made twice count twice in `dropped`.
    reasons
        Why they differ, or why the set is refused.
    notes
        What is worth knowing besides, such as what opening costs.
    examples
        The first few keys that differ.
    basis
        What the rules rest on; None for the specification and for a reader that was run.
    """

    reader: str
    outcome: Outcome
    reasons: tuple[VerdictReason, ...] = ()
    notes: tuple[str, ...] = ()
    different: int = 0
    dropped: int = 0
    examples: tuple[KeyDifference, ...] = ()
    basis: Basis | None = None

    @property
    def summary(self) -> str:
        """The outcome, with numbers."""
        if self.outcome in (Outcome.SAME, Outcome.REFUSED):
            return str(self.outcome)
        counts = [(self.different, "different"), (self.dropped, "dropped")]
        return ", ".join(f"{counted(count, 'key')} {name}" for count, name in counts if count)

    def __str__(self) -> str:
        about = "" if self.basis is None else f"  ({self.basis})"
        lines = [
            f"{self.reader}: {self.summary}{about}",
            *(f"  {reason}" for reason in self.reasons),
        ]
        lines += [f"    {example}" for example in self.examples]
        return "\n".join([*lines, *(f"  {escape(note, 3 * SHOWN)}" for note in self.notes)])

    def _repr_html_(self) -> str:
        parts = [shown(str(reason)) for reason in self.reasons]
        parts += [example._repr_html_() for example in self.examples]
        parts += [shown(note, 3 * SHOWN) for note in self.notes]
        about = "" if self.basis is None else f" <small>({shown(str(self.basis))})</small>"
        head = f"<b>{shown(self.reader)}</b>: {shown(self.summary)}{about}"
        return head + (items(parts) if parts else "")


@dataclass(frozen=True, slots=True)
class Dialects:
    """The verdicts of all readers about one set, the specification first."""

    verdicts: tuple[Verdict, ...]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, reader: str) -> Verdict:
        """Return the verdict of a reader by its name; KeyError if there is none."""
        for verdict in self.verdicts:
            if verdict.reader == reader:
                return verdict
        raise KeyError(reader)

    def __str__(self) -> str:
        return "\n".join(map(str, self.verdicts))

    def _repr_html_(self) -> str:
        return f"<div>{items(verdict._repr_html_() for verdict in self.verdicts)}</div>"
