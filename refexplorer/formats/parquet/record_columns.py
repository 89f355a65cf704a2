"""The columns of a record file as numpy: no text and no bytes are held twice.

A row of a dictionary column takes a few bits of a file, however long its value is; so values stay
apart from the rows that have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import flags_of, numbers_of
from refexplorer.formats.parquet.footer import NUMBERS


class RecordColumns(NamedTuple):
    """The n rows of a record file."""

    codes: np.ndarray  # Positions in `urls`, -1 where ``path`` is null, shape ``(n,)`` int32
    urls: pa.LargeStringArray  # Column of the distinct values of ``path``
    # offsets, sizes: In bytes, 0 where null, shape ``(n,)`` int64; less than 0 where there is no
    # such number
    offsets: np.ndarray
    sizes: np.ndarray
    raw_codes: np.ndarray  # Positions in `raw`, -1 where ``raw`` is null, shape ``(n,)`` int32
    raw: pa.LargeBinaryArray  # Column of the distinct values of ``raw``
    written: Mapping[str, pa.ChunkedArray]  # The columns ``offset`` and ``size`` as they are

    @property
    def held(self) -> np.ndarray:
        """Which rows hold a reference that can be used, shape ``(n,)`` bool."""
        ranged = (self.codes >= 0) & (self.offsets >= 0) & (self.sizes >= 0)
        held: np.ndarray = ranged | (self.raw_codes >= 0)
        return held

    def sizes_by_row(self) -> dict[str, int]:
        """Return how many bytes ``path`` and ``raw`` would take with each value written out."""
        found = {"path": (self.codes, self.urls), "raw": (self.raw_codes, self.raw)}
        return {name: _size(codes, values) for name, (codes, values) in found.items()}


def to_columns(table: pa.Table) -> RecordColumns:
    """Take the columns of a record file apart; texts are checked."""
    codes, urls = _coded(table["path"], pa.large_string())
    urls.validate(full=True)
    raw_codes, raw = _coded(table["raw"], pa.large_binary())
    written = {name: table[name] for name in NUMBERS}
    offsets, sizes = map(byte_counts, written.values())
    return RecordColumns(codes, urls, offsets, sizes, raw_codes, raw, written)


def byte_counts(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers as int64, 0 for null; what is no count of bytes is less than 0."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):  # of 64 bits without a sign, large ones turn negative
        return _filled(column.cast(pa.int64(), safe=False).combine_chunks(), 0)
    floats = _filled(column.cast(pa.float64()).combine_chunks(), 0)
    whole = (floats == np.floor(floats)) & (np.abs(floats) < 2.0**63)
    return np.where(whole, floats, -1).astype(np.int64)


def valid_rows(column: pa.ChunkedArray) -> np.ndarray:
    """Return which rows are not null, shape ``(n,)`` bool."""
    # always a copy: a buffer of Arrow cannot be written to
    flags = [flags_of(chunk.is_valid()) for chunk in column.chunks]
    return np.concatenate([np.empty(0, np.bool_), *flags])


def _coded(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[np.ndarray, pa.Array]:
    """Return the places of the values among the distinct values, -1 for null, and these."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(kind).dictionary_encode()
    coded = column.unify_dictionaries().combine_chunks()
    return _filled(coded.indices.cast(pa.int32()), -1), coded.dictionary.cast(kind)


def _filled(column: pa.Array, number: int) -> np.ndarray:
    """Return a column of numbers with `number` for null."""
    numbers = numbers_of(column)
    if not column.null_count:
        return numbers
    filled: np.ndarray = np.where(flags_of(column.is_valid()), numbers, numbers.dtype.type(number))
    return filled


def _size(codes: np.ndarray, values: pa.Array) -> int:
    sizes = numbers_of(pc.binary_length(values))
    if len(codes) * int(sizes.max(initial=0)) < 2**20:
        return 0
    return int(np.append(sizes, 0)[codes].sum(dtype=np.int64))
