"""`diff`: the differences between two reference sets."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.text import code, counted, escape, shown, table
from refexplorer.io.access import allowed_names
from refexplorer.refset.differences import Differences, FieldChange, KeyChange, difference
from refexplorer.refset.moves import (
    CHANGES,
    CONTENT,
    EMBEDDED,
    REJECTED,
    SAME,
    ArrayMove,
    ChangeTree,
    Rename,
    Shift,
)
from refexplorer.refset.opened_set import internals
from refexplorer.spec.references import Base64, Inline, Range, Reference
from refexplorer.verbs.migrating import in_one_format
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

MARKS = dict(zip(CHANGES, "=-+MSLIiCFX", strict=True))
"""A letter for each change, so that none is shown by colour alone."""
SHOWN = 20  # changes in the text; `changes` has all
_CHARS = 100  # characters of a cell: a file may hold any text


@dataclass(frozen=True)
class Difference:
    """The differences between two sets: the summary, and pages of details.

    Attributes
    ----------
    before, after
        The sets.
    """

    before: ReferenceSet
    after: ReferenceSet
    _found: Differences = field(repr=False)
    _after_name: str | None = field(default=None, repr=False)  # If it has the name of `before`

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of keys by change: ``same``, ``added``, ``moved`` and so on."""
        return self._found.counts

    @property
    def keys(self) -> int:
        """The number of keys in either set."""
        return sum(self.counts.values())

    @property
    def equal(self) -> int:
        """The number of keys that are the same in both."""
        return self.counts.get(CHANGES[SAME], 0)

    @property
    def total(self) -> int:
        """The number of keys that differ."""
        return self.keys - self.equal

    def __bool__(self) -> bool:
        return self.total > 0

    def __repr__(self) -> str:
        names = f"{self.before.source.name!r} and {self._after_name or self.after.source.name!r}"
        return f"<Difference of {names}: {self.total:,} of {counted(self.keys, 'key')} differ>"

    @property
    def renames(self) -> tuple[Rename, ...]:
        """URL renames that explain most of the moved targets."""
        return self._found.renames

    @cached_property
    def arrays_moved(self) -> tuple[ArrayMove, ...]:
        """The arrays whose references all exist under another name."""
        return self._found.arrays_moved(self.before.arrays(), self.after.arrays())

    @property
    def shifts(self) -> tuple[Shift, ...]:
        """Shifts that explain most of the shifted byte ranges."""
        return self._found.shifts

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """The changed metadata fields."""
        return self._found.fields

    @property
    def tree(self) -> ChangeTree:
        """The differing keys, by folder."""
        return self._found.tree

    def rows(
        self, start: int = 0, stop: int | None = None, *, change: str | None = None
    ) -> list[KeyChange]:
        """Return a page of the differing keys, those of `before` first, then those added.

        Parameters
        ----------
        start, stop
            Indices of the keys among those that differ.
        change
            Only keys with this change.

        Raises
        ------
        RefexplorerError
            If there is no such change.
        """
        return list(self.iterate(start, stop, change=change))

    def rows_at(self, numbers: np.ndarray) -> list[KeyChange]:
        """Return differing keys by their positions in the list of differing keys."""
        return list(self._found.rows(numbers))

    def iterate(
        self, start: int = 0, stop: int | None = None, *, change: str | None = None
    ) -> Iterator[KeyChange]:
        """Yield the differing keys, as for `rows`."""
        if change is not None and change not in CHANGES[1:]:
            names = ", ".join(CHANGES[1:])
            raise RefexplorerError(f"{change!r} is not a kind of change; use one of {names}.")
        return self._found.rows(self._found.of_change(change)[start:stop])

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of the arrays in either set."""
        return tuple(dict.fromkeys([*self.before.arrays(), *self.after.arrays()]))

    def grid(self, path: str) -> np.ndarray:
        """Return how each chunk of the array at a path has changed.

        Returns
        -------
        numpy.ndarray
            int8, in the shape of the chunk grid after the change: indices into
            `refexplorer.refset.moves.CHANGES`, -1 where neither set has a chunk.

        Raises
        ------
        KeyError
            If neither set has such an array.
        LimitError
            If its grid is too large for memory.
        """
        holder = self.after if path in self.after.arrays() else self.before
        return self._found.grid(holder.array(path))

    def __str__(self) -> str:
        lines = [title(self)]
        lines += [f"  {MARKS[name]}  {name:<9}{count:>15,}" for name, count in self.counts.items()]
        lines += map(escape, sentences(self))
        lines += ["  " + "  ".join(escape(cell, _CHARS) for cell in row) for row in _rows(self)]
        if self.total > SHOWN:
            lines.append(f"  … {self.total - SHOWN:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        counts = ((code(MARKS[name]), name, f"{count:,}") for name, count in self.counts.items())
        rows = ([code(cell, _CHARS) for cell in row] for row in _rows(self))
        parts = [f"<p>{shown(title(self))}</p>", table(("", "Change", "Keys"), counts)]
        parts += [f"<p>{shown(sentence)}</p>" for sentence in sentences(self)]
        if self.total:
            parts.append(table(("", "Key", "Before", "After"), rows))
        if self.total > SHOWN:
            parts.append(f"<p>… {self.total - SHOWN:,} more</p>")
        return f'<div class="refexplorer">{"".join(parts)}</div>'


def diff(
    before: object, after: object, *, read: bool = False, allow: Collection[str] = ()
) -> Difference:
    """Compare two sets of any format, key by key.

    If one set is Zarr v2 and the other v3, the first is compared as v3, if its metadata can be
    converted: chunks at the same position then have the same key.

    Parameters
    ----------
    before, after
        A `ReferenceSet` each, or any source accepted by `open_references`.
    read
        Read byte ranges that are inline in the other set, to compare the bytes; if False, no target
        is read.
    allow
        Locations that may be read, in addition to the folders of the reference files, such as
        ``"s3://bucket"``.

    Raises
    ------
    RefexplorerError
        If a source cannot be read.
    LimitError
        If more keys would have to be written out than `Limits.expanded_keys`.
    """
    opened = (
        source if isinstance(source, ReferenceSet) else open_references(source)
        for source in (before, after)
    )
    sides = in_one_format(*opened)
    changes = difference(internals(sides[0]).opened, internals(sides[1]).opened, sides[0].limits)
    if read:
        changes = _decided(changes, sides, allow)
    return Difference(sides[0], sides[1], changes)


def _decided(
    differences: Differences, sides: Sequence[ReferenceSet], allow: Collection[str]
) -> Differences:
    """Read references that are text on one side only, and compare their bytes."""
    texts: tuple[dict[str, tuple[int, bytes]], ...] = ({}, {})
    for place, change in differences.inlined():
        for side, reference in enumerate((change.after, change.before)):
            if isinstance(reference, Inline | Base64):
                texts[side][change.key] = place, reference.data
    changes: dict[int, int] = {}
    for refs, wanted in zip(sides, texts, strict=True):
        if not wanted:
            continue
        size = sum(len(data) for _, data in wanted.values())
        if size > refs.limits.fetch_bytes:
            raise LimitError(
                f"Comparing them would read {size:,} bytes of {refs.source.name}, more than the "
                "limit; `Limits.fetch_bytes` raises the limit."
            )
        files = refs.allowing(*allowed_names(allow)).filesystem()
        for key, data in files.cat(list(wanted), on_error="omit").items():
            index, text = wanted[key]
            changes[index] = EMBEDDED if data == text else CONTENT
    return differences.decided(changes)


def title(result: Difference) -> str:
    """Return the result as one sentence."""
    after = result.after.source.name if result._after_name is None else result._after_name
    names = f"{escape(result.before.source.name, _CHARS)} → {escape(after, _CHARS)}"
    differ = f"{counted(result.total, 'key')} differ{'s' if result.total == 1 else ''}"
    equal = f"{result.equal:,} of {counted(result.keys, 'key')} equal ({share(result):.1f} %)"
    return f"{names}: {differ if result.total else 'the same references'}, {equal}."


def share(result: Difference) -> float:
    """Return the percentage of equal keys, to one decimal; 100 if no key differs."""
    return math.floor(1000 * result.equal / result.keys) / 10 if result.total else 100.0


def sentences(result: Difference) -> Iterator[str]:
    """Yield sentences that explain the changes."""
    for old, new, keys in result.arrays_moved:
        yield f"The array {old!r} is now named {new!r} ({counted(keys, 'key')})."
    for rename in result.renames:
        yield f"{rename.old!r} became {rename.new!r} in {counted(rename.keys, 'key')}."
    number, key = result._found.moved_ranges
    if number == 1:
        yield f"The moved key {key} also has another offset or length."
    elif number:
        moved = counted(result.counts["moved"], "moved key")
        yield f"{number:,} of {moved} also have another offset or length, such as {key}."
    for shift in result.shifts:
        way = "later" if shift.by > 0 else "earlier"
        verb = "begins" if shift.keys == 1 else "begin"
        far = counted(abs(shift.by), "byte")
        yield f"{counted(shift.keys, 'byte range')} {verb} {far} {way}."
    for change in result.fields[:SHOWN]:
        before, after = (
            "nothing" if side is None else side for side in (change.before, change.after)
        )
        yield f"{change.key} {change.field}: {before[:_CHARS]} became {after[:_CHARS]}."
    if len(result.fields) > SHOWN:
        yield f"… {len(result.fields) - SHOWN:,} more fields."


def reference_text(reference: Reference | None) -> str:
    """Return a reference as a short text."""
    if reference is None:
        return "nothing"
    if isinstance(reference, Inline | Base64):
        return reference.text
    url = "the target" if reference.url is None else reference.url
    if isinstance(reference, Range):
        return f"{url} {reference.offset}+{reference.length}"
    return url


def side_texts(row: KeyChange) -> tuple[str, str]:
    """Return both references of a key as short texts."""
    if row.change != CHANGES[REJECTED]:
        return reference_text(row.before), reference_text(row.after)
    sides = (row.before, row.after)
    return tuple("rejected" if each is None else reference_text(each) for each in sides)  # type: ignore[return-value]


def _rows(result: Difference) -> Iterator[Sequence[str]]:
    for row in result.rows(0, SHOWN):
        yield MARKS[row.change], row.key, *side_texts(row)
