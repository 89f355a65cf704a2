"""A difference as text and static HTML: counts with their marks, rules, fields, the first keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from refexplorer.markup import code, counted, escape, shown, table
from refexplorer.refset.contents import SetLike
from refexplorer.refset.differences import FieldChange, KeyChange
from refexplorer.refset.moves import ArrayMove, Rename, Shift
from refexplorer.spec.references import Base64, Inline, Range, Reference

MARKS = {
    "same": "=",
    "removed": "-",
    "added": "+",
    "moved": "M",
    "shifted": "S",
    "resized": "L",
    "inlined": "I",
    "embedded": "i",
    "content": "C",
    "metadata": "F",
}
"""A letter for each change, so that none is told by colour alone."""
SHOWN = 20
_CHARS = 100


class ShownDifference(Protocol):
    """The part of a difference that is shown; `refexplorer.differing.Difference` has it all."""

    @property
    def before(self) -> SetLike:
        """One set."""

    @property
    def after(self) -> SetLike:
        """The other."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Keys by their change."""

    @property
    def total(self) -> int:
        """How many keys differ."""

    @property
    def keys(self) -> int:
        """How many keys either set has."""

    @property
    def equal(self) -> int:
        """How many of them are the same."""

    @property
    def arrays_moved(self) -> tuple[ArrayMove, ...]:
        """Arrays under another name."""

    @property
    def renames(self) -> tuple[Rename, ...]:
        """The rules that explain moved targets."""

    @property
    def shifts(self) -> tuple[Shift, ...]:
        """The rules that explain shifted byte ranges."""

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """Changed fields of metadata."""

    def rows(self, start: int = 0, stop: int | None = None) -> list[KeyChange]:
        """Return the first keys that differ."""


def difference_text(found: ShownDifference) -> str:
    """Return the summary and the first keys in lines."""
    lines = [title(found)]
    lines += [f"  {MARKS[name]}  {name:<9}{count:>15,}" for name, count in found.counts.items()]
    lines += map(escape, sentences(found))
    lines += ["  " + "  ".join(escape(cell, _CHARS) for cell in row) for row in _rows(found)]
    if found.total > SHOWN:
        lines.append(f"  … {found.total - SHOWN:,} more")
    return "\n".join(lines)


def difference_html(found: ShownDifference) -> str:
    """Return the summary and the first keys as tables."""
    counts = ((code(MARKS[name]), name, f"{count:,}") for name, count in found.counts.items())
    rows = ([code(cell, _CHARS) for cell in row] for row in _rows(found))
    parts = [f"<p>{shown(title(found))}</p>", table(("", "Change", "Keys"), counts)]
    parts += [f"<p>{shown(sentence)}</p>" for sentence in sentences(found)]
    if found.total:
        parts.append(table(("", "Key", "Before", "After"), rows))
    if found.total > SHOWN:
        parts.append(f"<p>… {found.total - SHOWN:,} more</p>")
    return f'<div class="refexplorer">{"".join(parts)}</div>'


def title(found: ShownDifference) -> str:
    """Return one sentence."""
    names = (
        f"{escape(found.before.source.name, _CHARS)} → {escape(found.after.source.name, _CHARS)}"
    )
    differ = f"{counted(found.total, 'key')} differ{'s' if found.total == 1 else ''}"
    equal = f"{found.equal:,} of {counted(found.keys, 'key')} equal ({share(found):.1f} %)"
    return f"{names}: {differ if found.total else 'the same references'}, {equal}."


def share(found: ShownDifference) -> float:
    """Return how many percent of the keys are equal, to a tenth; 100 if no key differs."""
    return math.floor(1000 * found.equal / found.keys) / 10 if found.total else 100.0


def sentences(found: ShownDifference) -> Iterator[str]:
    """Yield sentences that explain the changes."""
    for old, new, keys in found.arrays_moved:
        yield f"What was the array {old!r} is now {new!r}, in {counted(keys, 'key')}."
    for rename in found.renames:
        yield f"{rename.old!r} became {rename.new!r} in {counted(rename.keys, 'key')}."
    for shift in found.shifts:
        way = "later" if shift.by > 0 else "earlier"
        yield f"{counted(shift.keys, 'byte range')} begin {abs(shift.by):,} bytes {way}."
    for field in found.fields[:SHOWN]:
        before, after = (
            "nothing" if side is None else side for side in (field.before, field.after)
        )
        yield f"{field.key} {field.field}: {before[:_CHARS]} became {after[:_CHARS]}."
    if len(found.fields) > SHOWN:
        yield f"… {len(found.fields) - SHOWN:,} more fields."


def reference_text(reference: Reference | None) -> str:
    """Return a reference in a few words."""
    if reference is None:
        return "nothing"
    if isinstance(reference, Inline | Base64):
        return reference.text
    url = "the target" if reference.url is None else reference.url
    if isinstance(reference, Range):
        return f"{url} {reference.offset}+{reference.length}"
    return url


def _rows(found: ShownDifference) -> Iterator[Sequence[str]]:
    for row in found.rows(0, SHOWN):
        yield MARKS[row.change], row.key, reference_text(row.before), reference_text(row.after)
