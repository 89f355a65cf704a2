"""References in columns of plain arrays: what a form of many references gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from refexplorer.formats.columns.arrow import number_column, numbers_of, text_column
from refexplorer.formats.columns.spans import spans_of


class GrowingNumbers:
    """A column of numbers of one type."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = kind
        # grows in place like an array, whose resize would write zeros first
        self._data = bytearray()

    def append(self, values: np.ndarray) -> None:
        """Put values, shape ``(m,)``, behind the others."""
        self._data += np.ascontiguousarray(values, self._kind).data

    def finish(self) -> np.ndarray:
        """Return the column, shape ``(n,)``; nothing may be appended after that."""
        return np.frombuffer(self._data, self._kind)


class GrowingTexts:
    """A column of texts."""

    def __init__(self) -> None:
        self._data = GrowingNumbers(np.uint8)
        self._offsets = GrowingNumbers(np.int64)
        self._offsets.append(np.zeros(1, np.int64))
        self._count = 0
        self._bytes = 0

    def append(self, texts: pa.LargeStringArray) -> None:
        """Put texts behind the others."""
        if len(texts):
            spans = spans_of(texts)
            size = int(spans.ends[-1])
            self._data.append(spans.data[:size])
            self._offsets.append(spans.ends + self._bytes)
            self._bytes += size
            self._count += len(texts)

    def __len__(self) -> int:
        return self._count

    def finish(self) -> pa.LargeStringArray:
        """Return the column; nothing may be appended after that."""
        buffers = [None, pa.py_buffer(self._offsets.finish()), pa.py_buffer(self._data.finish())]
        return pa.Array.from_buffers(pa.large_string(), self._count, buffers)


# columns hold int64; what is larger is kept as a value of its own
LARGEST = 2**63 - 1
# numpy makes objects of numbers from here on
_TOO_LARGE = 2**64
WHOLE = -1
"""The length in these columns of what refers to a whole file."""
Texts: TypeAlias = "pa.Array | Sequence[str]"
Numbers: TypeAlias = "np.ndarray | Sequence[int]"


@dataclass
class Entries:
    """The references of a set, in its order; `EntriesBuilder` makes and checks them."""

    keys: pa.LargeStringArray  # Column of texts, n rows
    urls: pa.LargeStringArray  # Column of the distinct URLs as they are written
    codes: np.ndarray  # Positions in `urls`, -1 for the rows of `values`, int32, shape ``(n,)``
    # offsets, lengths: Bytes, int64, shape ``(n,)``; 0 and `WHOLE` for whole files, 0 for the rows
    # of `values`
    offsets: np.ndarray
    lengths: np.ndarray
    values: dict[int, Any]  # The V0 values of the other rows; a whole file may be among them

    def as_v0(self, rows: np.ndarray | None = None) -> dict[str, Any]:
        """Return some rows, or all, as a V0 document; of equal keys the last one counts."""
        rows = np.arange(len(self.keys)) if rows is None else rows
        urls = self.urls.to_pylist()
        columns = (column[rows].tolist() for column in (self.codes, self.offsets, self.lengths))
        keys = self.keys.take(number_column(rows)).to_pylist()
        found: dict[str, Any] = {}
        for row, key, code, offset, length in zip(rows.tolist(), keys, *columns, strict=True):
            if code < 0:
                found[key] = self.values[row]
            else:
                found[key] = [urls[code]] if length == WHOLE else [urls[code], offset, length]
        return found


class EntriesBuilder:
    """Takes references in batches."""

    def __init__(self) -> None:
        self._keys, self._urls = GrowingTexts(), GrowingTexts()
        self._codes = GrowingNumbers(np.int32)
        self._offsets, self._lengths = GrowingNumbers(np.int64), GrowingNumbers(np.int64)
        self._values: dict[int, Any] = {}

    def add_ranges(
        self,
        keys: Texts,
        urls: Texts,
        offsets: Numbers,
        lengths: Numbers,
        values: Mapping[int, object] | None = None,
    ) -> None:
        """Append byte ranges."""
        names, places = _texts(keys, "keys"), _texts(urls, "urls")
        starts, sizes = _numbers(offsets, "offsets"), _numbers(lengths, "lengths")
        if not len(names) == len(places) == len(starts) == len(sizes):
            raise ValueError("keys, urls, offsets and lengths are not of one length")
        codes = self._codes_of(places)
        others = dict(values or {})
        for row in np.flatnonzero((starts > LARGEST) | (sizes > LARGEST)).tolist():
            others.setdefault(row, [places[row].as_py(), int(starts[row]), int(sizes[row])])
        rows = list(others)
        codes[rows], starts[rows], sizes[rows] = -1, 0, 0
        self._values.update({len(self._keys) + row: value for row, value in others.items()})
        self._append(names, codes, starts.astype(np.int64), sizes.astype(np.int64))

    def add_whole(self, keys: Texts, urls: Texts) -> None:
        """Append references to whole files."""
        names, places = _texts(keys, "keys"), _texts(urls, "urls")
        if len(names) != len(places):
            raise ValueError("keys and urls are not of one length")
        whole = np.full(len(names), WHOLE, np.int64)
        self._append(names, self._codes_of(places), np.zeros_like(whole), whole)

    def _codes_of(self, urls: pa.LargeStringArray) -> np.ndarray:
        """Put distinct URLs behind the others; return the position of each URL."""
        encoded = urls.dictionary_encode()
        codes = numbers_of(encoded.indices).astype(np.int32) + np.int32(len(self._urls))
        self._urls.append(encoded.dictionary)
        return codes

    def add_values(self, values: Mapping[str, object]) -> None:
        """Append references by key as they are in V0: text, ``base64:`` text, lists."""
        names = _texts(list(values), "keys")
        self._values.update(enumerate(values.values(), len(self._keys)))
        none = np.zeros(len(names), np.int64)
        self._append(names, np.full(len(names), -1, np.int32), none, none)

    def _append(
        self, keys: pa.LargeStringArray, codes: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
    ) -> None:
        self._keys.append(keys)
        self._codes.append(codes)
        self._offsets.append(offsets)
        self._lengths.append(lengths)

    def finish(self) -> Entries:
        """Return all that was appended; nothing may be appended after that."""
        urls = self._urls.finish().dictionary_encode()
        codes = np.append(numbers_of(urls.indices), np.int32(-1))[self._codes.finish()]
        numbers = self._offsets.finish(), self._lengths.finish()
        return Entries(self._keys.finish(), urls.dictionary, codes, *numbers, self._values)


def _texts(texts: Texts, name: str) -> pa.LargeStringArray:
    if not isinstance(texts, pa.Array):
        return text_column(texts)
    column = texts.cast(pa.large_string())
    column.validate(full=True)  # that each text is UTF-8
    if column.null_count:
        raise ValueError(f"{name} hold a null")
    return column


def _numbers(numbers: Numbers, name: str) -> np.ndarray:
    """Return a copy of whole numbers from 0, of 64 bits."""
    if isinstance(numbers, np.ndarray):
        is_whole = numbers.ndim == 1 and numbers.dtype.kind in "iu"
        least = numbers.min(initial=0) if is_whole else 0
    else:  # numpy itself makes floats of numbers of which some need the 64th bit
        is_whole = {*map(type, numbers)} <= {int} and max(numbers, default=0) < _TOO_LARGE
        least = min(numbers, default=0) if is_whole else 0
    if not is_whole:
        raise ValueError(f"{name} are not whole numbers of at most 64 bits")
    if least < 0:
        raise ValueError(f"{name} hold a number below 0")
    return np.array(numbers, np.uint64)
