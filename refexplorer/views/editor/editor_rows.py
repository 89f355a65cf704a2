"""The rows of the editor's table: the keys of the last good text, and those that it removed."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from refexplorer.readers.running import KeysRead
from refexplorer.refset.contents import internals
from refexplorer.refset.removed import removed_keys
from refexplorer.spec.references import (
    BASE64_PREFIX,
    Base64,
    Inline,
    Kind,
    Range,
    Reference,
    Url,
)
from refexplorer.views.wire.editor.row_messages import EditorRow

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

_TEXT_SHOWN = 500


class EditorRows:
    """Rows of a set, compared with the set before it; what was removed stands where it was."""

    def __init__(self, refs: ReferenceSet, before: ReferenceSet | None = None) -> None:
        self._refs = refs
        self._before = before
        gone = None
        if before is not None:
            gone = removed_keys(internals(before).opened, internals(refs).opened)
        self.removed = 0 if gone is None else gone.count
        self.is_exact = gone is None or gone.is_exact
        self._gone = () if gone is None else tuple(key for _, key in gone.positions)
        self._places = [] if gone is None else [place for place, _ in gone.positions]
        self._shown = [place + earlier for earlier, place in enumerate(self._places)]

    @property
    def total(self) -> int:
        """How many rows there are, with those of removed keys."""
        return self._refs.count + len(self._gone)

    def index(self, number: int) -> int:
        """Return the row of a key, by its number in the set."""
        return number + bisect_right(self._places, number)

    def window(self, start: int, stop: int, reader: KeysRead | None = None) -> list[EditorRow]:
        """Return some rows."""
        stop = min(stop, self.total)
        first, last = bisect_left(self._shown, start), bisect_left(self._shown, stop)
        entries = iter(internals(self._refs).entries_at(start - first, stop - last))
        near = self._before_at(start - first, stop - last)
        gone = {self._shown[place]: self._gone[place] for place in range(first, last)}
        rows = (self._row(index, gone, entries, near) for index in range(start, stop))
        found = [row for row in rows if row is not None]
        return found if reader is None else [self._as_read(row, reader) for row in found]

    def _before_at(self, start: int, stop: int) -> dict[str, Reference]:
        """Return what stood at these numbers before, which is mostly what it is compared with."""
        entries = [] if self._before is None else internals(self._before).entries_at(start, stop)
        return {key: reference for key, reference, _ in entries}

    def _row(
        self,
        index: int,
        gone: dict[int, str],
        entries: Iterator[tuple[str, Reference, str]],
        near: dict[str, Reference],
    ) -> EditorRow | None:
        if index in gone:
            assert self._before is not None
            key = gone[index]
            return _entry(key, self._before[key], self._before.origin(key), "removed")
        entry = next(entries, None)
        if entry is None:
            return None  # a generated key that fails is counted and has no row
        key, reference, origin = entry
        return _entry(key, reference, origin, self._compare(key, reference, near))

    def _compare(self, key: str, reference: Reference, near: dict[str, Reference]) -> str:
        if self._before is None:
            return "same"
        before = near.get(key) or self._before.get(key)
        if before is None:
            return "added"
        return "same" if before == reference else "changed"

    def _as_read(self, row: EditorRow, reader: KeysRead) -> EditorRow:
        """Return a row as a reader has it; what it reads in another way is marked."""
        if row.state == "removed":
            return row
        if row.key not in reader.expected:
            return _blank(row, "unknown", "The reader was not run on this key.")
        if reader.is_same(row.key):
            return replace(row, state="same")
        if row.key not in reader.values:
            return _blank(row, "absent", reader.refusal or "The reader does not have the key.")
        blank = _blank(row, "different", "The reader has a different value.")
        return _of_value(blank, reader.values[row.key])


def values_of(refs: ReferenceSet, key: str) -> dict[str, int]:
    """Return the value of each dimension that made a key; none for a key that no gen item made."""
    return _values_of(refs, key, refs.origin(key))


def _values_of(refs: ReferenceSet, key: str, origin: str) -> dict[str, int]:
    for item in internals(refs).generated:
        if origin == f"gen[{item.number}]" and (number := item.find(key)) is not None:
            return item.values(number)
    return {}


def _entry(key: str, reference: Reference, origin: str, state: str) -> EditorRow:
    text = reference.text if isinstance(reference, Inline | Base64) else None
    return EditorRow(
        key,
        reference.kind,
        reference.url if isinstance(reference, Url | Range) else None,
        reference.offset if isinstance(reference, Range) else None,
        reference.length if isinstance(reference, Range) else None,
        None if text is None else text[:_TEXT_SHOWN],
        origin,
        state,
        None,
    )


def _blank(row: EditorRow, state: str, why: str | None) -> EditorRow:
    return replace(row, url=None, offset=None, length=None, text=None, state=state, why=why)


def _of_value(row: EditorRow, value: object) -> EditorRow:
    """Fill a row with a value that may be what no V0 value can be."""
    if isinstance(value, str):
        kind = Kind.BASE64 if value.startswith(BASE64_PREFIX) else Kind.INLINE
        return replace(row, kind=kind, text=value[:_TEXT_SHOWN])
    if isinstance(value, list) and value and isinstance(value[0], str):
        if len(value) == 1:
            return replace(row, kind=Kind.URL, url=value[0])
        if len(value) == 3 and all(type(number) is int for number in value[1:]):
            return replace(row, kind=Kind.RANGE, url=value[0], offset=value[1], length=value[2])
    text = json.dumps(value, ensure_ascii=False, default=str)
    return replace(row, kind=Kind.INLINE, text=text[:_TEXT_SHOWN])
