"""Tables of a FlatBuffer, read without its schema: one by one, or all of a vector at once.

Source: FlatBuffers documentation, "Internals".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np


class FlatTable:
    """A table of a FlatBuffer: its fields by their place in the schema."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - int(self._number("<i", at))
        self._size = self._number("<H", self._fields)

    @classmethod
    def root(cls, data: bytes) -> FlatTable:
        """Return the table that a buffer begins with."""
        return cls(data, struct.unpack_from("<I", data)[0])

    def _number(self, form: str, at: int) -> int:
        number: int = struct.unpack_from(form, self._data, at)[0]
        return number

    def _place(self, field: int) -> int | None:
        """Return where a field is; None if it is left out."""
        at = 4 + 2 * field
        offset = self._number("<H", self._fields + at) if at < self._size else 0
        return self._at + offset if offset else None

    def others(self, known: frozenset[int]) -> list[int]:
        """Return the fields that are here and not among those that are known."""
        slots = (self._size - 4) // 2
        return [n for n in range(slots) if n not in known and self._place(n) is not None]

    def number(self, field: int) -> int:
        """Return a number of 64 bits, 0 if it is left out."""
        at = self._place(field)
        return 0 if at is None else self._number("<Q", at)

    def bytes_at(self, field: int, size: int) -> bytes | None:
        """Return a structure of a known size."""
        at = self._place(field)
        return None if at is None else self._data[at : at + size]

    def _vector(self, field: int) -> tuple[int, int] | None:
        """Return where the elements of a vector begin, and how many there are."""
        at = self._place(field)
        if at is None:
            return None
        at += self._number("<I", at)
        return at + 4, self._number("<I", at)

    def data(self, field: int) -> bytes | None:
        """Return a vector of bytes, or a text."""
        vector = self._vector(field)
        return None if vector is None else self._data[vector[0] : sum(vector)]

    def all_tables(self, field: int) -> FlatTables:
        """Return the tables of a vector, all at once."""
        at, count = self._vector(field) or (0, 0)
        if at + 4 * count > len(self._data):
            raise IndexError("a vector is longer than the file")
        places = at + 4 * np.arange(count)
        data = np.frombuffer(self._data, np.uint8)
        return FlatTables(self._data, places + _gathered(data, places, "<u4"))

    def tables(self, field: int) -> Iterator[FlatTable]:
        """Yield the tables of a vector."""
        at, count = self._vector(field) or (0, 0)
        for place in range(at, at + 4 * count, 4):
            yield FlatTable(self._data, place + self._number("<I", place))


class FlatTables:
    """n tables: a field of theirs is a column."""

    def __init__(self, data: bytes, places: np.ndarray) -> None:
        self._bytes = data
        self._data = np.frombuffer(data, np.uint8)
        self._places = places
        self._layouts = places - _gathered(self._data, places, "<i4")
        self._sizes = _gathered(self._data, self._layouts, "<u2")

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, rows: slice) -> FlatTables:
        return FlatTables(self._bytes, self._places[rows])

    def distinct(self) -> Iterator[FlatTable]:
        """Yield one table of each layout: tables of the same layout have the same fields."""
        rows = np.unique(self._layouts, return_index=True)[1]
        yield from (FlatTable(self._bytes, place) for place in self._places[np.sort(rows)].tolist())

    def places_of(self, field: int) -> np.ndarray:
        """Return where a field of each table is, int64, shape ``(n,)``; -1 if it is left out."""
        at = 4 + 2 * field
        places = np.full(len(self), -1, np.int64)
        rows = np.flatnonzero(self._sizes > at)
        offsets = _gathered(self._data, self._layouts[rows] + at, "<u2")
        places[rows] = np.where(offsets > 0, self._places[rows] + offsets, -1)
        return places

    def numbers(self, field: int, form: str = "<u8") -> np.ndarray:
        """Return numbers of 64 bits, or of another form, shape ``(n,)`` uint64; 0 if left out."""
        places = self.places_of(field)
        found = np.zeros(len(self), np.uint64)
        found[places >= 0] = _gathered(self._data, places[places >= 0], form, np.uint64)
        return found

    def vectors(self, field: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where the elements of vectors begin and how many there are, shape ``(n,)`` each.

        -1 and 0 where they are left out.
        """
        starts, counts = self.places_of(field), np.zeros(len(self), np.int64)
        rows = np.flatnonzero(starts >= 0)
        places = starts[rows] + _gathered(self._data, starts[rows], "<u4")
        starts[rows], counts[rows] = places + 4, _gathered(self._data, places, "<u4")
        return starts, counts

    def matrix(self, starts: np.ndarray, width: int) -> np.ndarray:
        """Return numbers of 32 bits that begin at some places, shape ``(n, width)`` int64."""
        if 4 * width > len(self._data):
            raise IndexError("a vector is longer than the file")
        at = (starts[:, None] + 4 * np.arange(width)).ravel()
        return _gathered(self._data, at, "<u4").reshape(len(starts), width)


def _gathered(
    data: np.ndarray, places: np.ndarray, form: str, kind: type[np.generic] = np.int64
) -> np.ndarray:
    """Return the numbers at many places, shape ``(n,)``; IndexError if one is outside."""
    size = np.dtype(form).itemsize
    if len(places) and (places.min() < 0 or places.max() + size > len(data)):
        raise IndexError("a place is outside of the file")
    found: np.ndarray = data[places[:, None] + np.arange(size)].view(form)[:, 0].astype(kind)
    return found
