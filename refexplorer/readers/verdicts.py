"""The verdict of a reader about a reference set, as data, as text and as HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from refexplorer.core.text import code, counted, escape, items, masks_repr, shown
from refexplorer.spec.references import V0Value

SHOWN = 200  # characters of a value: a file may hold any text


class Outcome(StrEnum):
    """The outcome for the set as a whole, the worst outcome of its keys."""

    SAME = "same"  # Every key as in the specification
    DROPPED = "dropped"  # Keys are missing without an error or a warning
    DIFFERENT = "different"  # Keys differ, or the specification rejects some of them
    REFUSED = "refused"  # The reader raises an error, and no key can be read
    NOT_RUN = "not run"  # The reader was not run, and lacks nothing known that the set uses


@masks_repr
@dataclass(frozen=True, slots=True)
class KeyDifference:
    """One key that a reader reads differently."""

    key: str
    ours: V0Value | None  # The V0 value by the specification; None if it has no such key
    # The reader's value, which may be what no V0 value can be; None if it has no such key
    theirs: object
    is_absent: bool = False  # Whether the reader has no such key

    def __str__(self) -> str:
        return f"{escape(self.key, SHOWN)}: {self._texts[0]}  →  {self._texts[1]}"

    def _repr_html_(self) -> str:
        has = (self.ours is not None, not self.is_absent)
        parts = (code(t) if known else t for t, known in zip(self._texts, has, strict=True))
        return f"{code(self.key, SHOWN)}: {' → '.join(parts)}"

    @property
    def _texts(self) -> tuple[str, str]:
        absent = "no such key"
        return (
            absent if self.ours is None else _json(self.ours),
            absent if self.is_absent else _json(self.theirs),
        )


def _json(value: object) -> str:
    return escape(json.dumps(value, ensure_ascii=False, default=str), SHOWN)


@masks_repr
@dataclass(frozen=True, slots=True)
class VerdictReason:
    """One reason for a verdict, and the number of affected keys; 0 for the whole set."""

    sentence: str
    keys: int = 0

    def __str__(self) -> str:
        about = f" ({counted(self.keys, 'key')})" if self.keys else ""
        return f"{escape(self.sentence, 3 * SHOWN)}{about}"


@dataclass(frozen=True, slots=True)
class Basis:
    """The basis of a verdict, which shows whether it is outdated."""

    version: str  # Of the reader
    # When the reader was tried or its source was read, as ISO 8601; empty if it was run just now
    date: str
    # ``"run"``: it was run for this verdict; ``"seen"``: it was run by hand, and a table has the
    # result; ``"source"``: its source was read, and it was not run
    how: str

    def __str__(self) -> str:
        return f"{_HOW[self.how]} {self.version}" + (f", {self.date}" if self.date else "")


_HOW = {
    "run": "run:",
    "seen": "not run here; tried with",
    "source": "not run here; by the source of",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One reader's verdict on the set.

    Attributes
    ----------
    reader
        Its name, with the option that matters, if any.
    different, dropped
        Numbers of keys, among those that the reader was run on.
    reasons
        Why they differ, or why the set is rejected.
    notes
        Other facts, such as the number of keys that the reader was run on.
    examples
        The first few keys that differ.
    basis
        The basis of the verdict; None for the specification.
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
    def is_run(self) -> bool:
        """Whether the reader was run."""
        return self.basis is not None and self.basis.how == "run"

    @property
    def summary(self) -> str:
        """The outcome, with numbers."""
        counts = [(self.different, "different"), (self.dropped, "dropped")]
        counts_text = ", ".join(
            f"{counted(count, 'key')} {name}" for count, name in counts if count
        )
        return counts_text if self.is_run and counts_text else str(self.outcome)

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
    """The verdicts of all readers on one set, the specification first."""

    verdicts: tuple[Verdict, ...]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, reader: str) -> Verdict:
        """Return the verdict of a reader by name; KeyError if there is none."""
        for verdict in self.verdicts:
            if verdict.reader == reader:
                return verdict
        raise KeyError(reader)

    @property
    def has_losses(self) -> bool | None:
        """Whether a reader that was run loses or changes keys; None if no reader was run.

        A reader that rejects the set reports it, which counts as a loss only if all reject it.
        """
        found = {verdict.outcome for verdict in self.verdicts if verdict.is_run}
        if not found:
            return None
        return bool(found & {Outcome.DROPPED, Outcome.DIFFERENT}) or found == {Outcome.REFUSED}

    def __str__(self) -> str:
        return "\n".join(map(str, self.verdicts))

    def _repr_html_(self) -> str:
        return f"<div>{items(verdict._repr_html_() for verdict in self.verdicts)}</div>"
