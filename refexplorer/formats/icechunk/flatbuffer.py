"""Tables of a FlatBuffer, read without its schema.

Source: FlatBuffers documentation, "Internals".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator


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

    def numbers(self, field: int) -> tuple[int, ...]:
        """Return a vector of numbers of 32 bits."""
        at, count = self._vector(field) or (0, 0)
        return struct.unpack_from(f"<{count}I", self._data, at)

    def tables(self, field: int) -> Iterator[FlatTable]:
        """Yield the tables of a vector."""
        at, count = self._vector(field) or (0, 0)
        for place in range(at, at + 4 * count, 4):
            yield FlatTable(self._data, place + self._number("<I", place))
