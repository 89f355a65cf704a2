"""Explicit references: read as entries, stored as a column of keys next to references."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import PickledByFields
from refexplorer.core.limits import MOST_BYTES
from refexplorer.formats.columns.references import (
    Columns,
    ColumnsBuilder,
    distinct,
    flags_of,
    number_column,
    numbers_of,
    text_column,
)
from refexplorer.formats.columns.texts import BLOCK, WORD, spans_of
from refexplorer.spec.references import Base64, Inline, Reference
from refexplorer.spec.zarr_metadata import METADATA_NAMES


class GrowingNumbers:
    """A column of numbers of one type."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = kind
        # grows in place like an array, whose resize would write zeros first
        self._data = bytearray()

    def append(self, values: np.ndarray) -> None:
        """Append values, shape ``(m,)``."""
        self._data += np.ascontiguousarray(values, self._kind).data

    def finish(self) -> np.ndarray:
        """Return the column, shape ``(n,)``; nothing may be appended afterwards."""
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
        buffers = [None, pa.py_buffer(self._offsets.finish()), pa.py_buffer(self._data.finish())]
        return pa.Array.from_buffers(pa.large_string(), self._count, buffers)


# columns hold int64; larger numbers are kept as separate values
LARGEST = 2**63 - 1
# numpy turns integers into objects from here on
_TOO_LARGE = 2**64
WHOLE = -1  # The length of a reference to a whole file in these columns
_SUSPECT = r"[{\r\n]"
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
        """Return some rows, or all, as a V0 document; the last of duplicate keys wins."""
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

    def as_written(self, has_templates: bool) -> Iterator[tuple[str, object, int]]:
        """Yield the values, and with templates each URL that may have one, and its first key."""
        for row, value in self.values.items():
            yield self.keys[row].as_py(), value, 1
        if not has_templates:
            return
        suspects = flags_of(pc.match_substring_regex(self.urls, _SUSPECT))
        if not suspects.any():
            return
        firsts = np.full(len(suspects) + 1, -1)
        firsts[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        counts = np.bincount(self.codes + 1)[1:]
        chosen = np.flatnonzero(suspects & (firsts[:-1] >= 0))
        chosen = chosen[np.argsort(firsts[chosen], kind="stable")]
        keys = self.keys.take(number_column(firsts[chosen])).to_pylist()
        urls = self.urls.take(number_column(chosen)).to_pylist()
        for key, url, count in zip(keys, urls, counts[chosen].tolist(), strict=True):
            yield key, [url], count


class EntriesBuilder:
    """Collects references in batches."""

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
            raise ValueError("keys, urls, offsets and lengths must have the same length")
        codes = self._codes_of(places)
        others = dict(values or {})
        for row in np.flatnonzero((starts > MOST_BYTES) | (sizes > MOST_BYTES)).tolist():
            others.setdefault(row, [places[row].as_py(), int(starts[row]), int(sizes[row])])
        rows = list(others)
        codes[rows], starts[rows], sizes[rows] = -1, 0, 0
        self._values.update({len(self._keys) + row: value for row, value in others.items()})
        self._append(names, codes, starts.astype(np.int64), sizes.astype(np.int64))

    def add_whole(self, keys: Texts, urls: Texts) -> None:
        """Append references that each cover a whole file."""
        names, places = _texts(keys, "keys"), _texts(urls, "urls")
        if len(names) != len(places):
            raise ValueError("keys and urls must have the same length")
        whole = np.full(len(names), WHOLE, np.int64)
        self._append(names, self._codes_of(places), np.zeros_like(whole), whole)

    def _codes_of(self, urls: pa.LargeStringArray) -> np.ndarray:
        """Add distinct URLs; return the position of each URL."""
        encoded = urls.dictionary_encode()
        codes = numbers_of(encoded.indices).astype(np.int32) + np.int32(len(self._urls))
        self._urls.append(encoded.dictionary)
        return codes

    def add_values(self, values: Mapping[str, object]) -> None:
        """Append references by key in V0 form: text, ``base64:`` text, lists."""
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
        """Return everything appended; nothing may be appended afterwards."""
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
        raise ValueError(f"{name} contain a null")
    return column


def _numbers(numbers: Numbers, name: str) -> np.ndarray:
    """Return a 64-bit copy of non-negative integers."""
    if isinstance(numbers, np.ndarray):
        is_whole = numbers.ndim == 1 and numbers.dtype.kind in "iu"
        least = numbers.min(initial=0) if is_whole else 0
    else:  # numpy itself makes floats of numbers of which some need the 64th bit
        is_whole = {*map(type, numbers)} <= {int} and max(numbers, default=0) < _TOO_LARGE
        least = min(numbers, default=0) if is_whole else 0
    if not is_whole:
        raise ValueError(f"{name} are not whole numbers of at most 64 bits")
    if least < 0:
        raise ValueError(f"{name} contain a negative number")
    return np.array(numbers, np.uint64)


_FACTOR = secrets.randbits(64) | 1  # Random, so no file can have keys that all collide
# Python's integers do not overflow, but those of the columns do
_MASK = 2**64 - 1
_HALF = 32  # High bits are mixed into low ones, which products do not change
_LONG = 512  # longer keys are hashed by blake2b: see `hash_of`


class KeyIndex:
    """The hashes and rows of a column of keys."""

    def __init__(self, keys: pa.LargeStringArray, block: int = BLOCK) -> None:
        self._keys, self._block = keys, block
        self._bits = max(len(keys) - 1, 1).bit_length()
        # the low bits hold the row, as many as the number of keys needs; the hash has the rest
        self._high = np.uint64(_MASK >> self._bits << self._bits)
        self._marks = np.empty(len(keys), np.uint64)
        for start in range(0, len(keys), block):
            hashes = _hashes(keys.slice(start, block)) & self._high
            rows = np.arange(start, start + len(hashes), dtype=np.uint64)
            self._marks[start : start + block] = hashes | rows
        self._marks.sort()

    def __reduce__(self) -> tuple[type[KeyIndex], tuple[pa.LargeStringArray]]:
        return KeyIndex, (self._keys,)  # another process has another factor, and other hashes

    @property
    def is_sound(self) -> bool:
        """Whether the hashes agree with those of this process."""
        return np.array_equal(self._marks, KeyIndex(self._keys)._marks)

    @property
    def unique(self) -> bool:
        """Whether all keys are different."""
        pairs = [self._equal(start) for start in range(0, len(self._marks), self._block)]
        first = np.concatenate([np.zeros(0, np.int64), *pairs])
        positions = distinct(np.concatenate([first, first + 1]))
        if not len(positions):
            return True
        keys = self._keys.take(number_column(self._marks[positions] & ~self._high))
        return bool(pc.count_distinct(keys).as_py() == len(keys))

    def _equal(self, start: int) -> np.ndarray:
        """Return the positions in a block whose hash is that of the next position."""
        marks = self._marks[start : start + self._block + 1]
        return start + np.flatnonzero((marks[1:] ^ marks[:-1]) & self._high == 0)

    def find(self, key: str) -> int | None:
        """Return the row of a key, or None."""
        wanted = np.uint64(hash_of(key.encode("utf-8", "surrogatepass"))) & self._high
        position = int(np.searchsorted(self._marks, wanted))
        while position < len(self._marks) and self._marks[position] & self._high == wanted:
            row = int(self._marks[position] & ~self._high)
            if self._keys[row].as_py() == key:
                return row
            position += 1
        return None

    def find_many(self, keys: pa.LargeStringArray) -> np.ndarray:
        """Return the rows of keys, int64, shape ``(n,)``; -1 for unknown keys."""
        rows = np.full(len(keys), -1, np.int64)
        if not len(self._marks):
            return rows
        wanted = _hashes(keys) & self._high
        positions = np.searchsorted(self._marks, wanted)
        marks = self._marks[np.minimum(positions, len(self._marks) - 1)]
        hits = np.flatnonzero(marks & self._high == wanted)
        found = (marks[hits] & ~self._high).astype(np.int64)
        stored, asked = (c.take(number_column(r)) for c, r in ((self._keys, found), (keys, hits)))
        same = flags_of(pc.equal(stored, asked))
        rows[hits[same]] = found[same]
        for position in hits[~same].tolist():  # another key with the same hash comes first
            row = self.find(keys[position].as_py())
            rows[position] = -1 if row is None else row
        return rows


def hash_of(key: bytes) -> int:
    # the loop over words runs once for the longest key of a column, so one of 64 kB would slow all
    if len(key) > _LONG:
        return int.from_bytes(blake2b(key, digest_size=WORD).digest(), "little")
    found = len(key)
    for end in range(len(key), 0, -WORD):
        word = int.from_bytes(key[max(end - WORD, 0) : end].rjust(WORD, b"\0"), "little")
        found = (found ^ word) * _FACTOR & _MASK
        found ^= found >> _HALF
    return found


def _hashes(keys: pa.LargeStringArray) -> np.ndarray:
    """Compute `hash_of` for every key of a column, shape ``(n,)`` uint64."""
    spans = spans_of(keys)
    found = spans.sizes.astype(np.uint64)
    for rows, words, kept in spans.words(_LONG):
        mixed = (found[rows] ^ words) * np.uint64(_FACTOR)
        mixed ^= mixed >> np.uint64(_HALF)
        found[rows] = np.where(kept > 0, mixed, found[rows])
    for row in np.flatnonzero(spans.sizes > _LONG).tolist():
        found[row] = hash_of(spans.data[spans.starts[row] : spans.ends[row]].tobytes())
    return found


_ENDINGS = np.array([int.from_bytes(name[-4:].encode(), "little") for name in METADATA_NAMES], "u8")
_IS_LAST = np.isin(np.arange(256), [ord(name[-1]) for name in METADATA_NAMES])
"""For each byte, whether a metadata name ends in it; chunk names end in digits."""


@dataclass(frozen=True)
class Table(PickledByFields):
    """The explicit references of a set, in the order of the document."""

    keys: pa.LargeStringArray  # Column of texts, n rows
    columns: Columns  # The references, n rows
    origin: str = "refs"  # Their section in the set

    folder = ""
    is_read = True

    @property
    def count(self) -> int:
        """The number of keys."""
        return len(self.keys)

    @property
    def bound(self) -> int:
        """The same as `count`: all keys are here."""
        return self.count

    @cached_property
    def size(self) -> int:
        """Bytes of all references."""
        return int(self.columns.lengths.sum())

    def key_at(self, row: int) -> str:
        return str(self.keys[row].as_py())

    def keys_at(self, rows: np.ndarray) -> pa.LargeStringArray:
        """Return the keys of some rows, in the order given, shape ``(n,)``."""
        return self.keys.take(number_column(rows))

    def reference_at(self, row: int) -> Reference:
        return self.columns.reference_at(row)

    @cached_property
    def metadata(self) -> dict[str, int]:
        """The rows of the metadata keys."""
        rows = np.concatenate(
            [np.empty(0, np.int64)]
            + [
                start + _with_ending(self.keys.slice(start, BLOCK))
                for start in range(0, self.count, BLOCK)
            ]
        )
        return {
            key: row
            for row in rows.tolist()
            if (key := self.key_at(row)).rpartition("/")[2] in METADATA_NAMES
        }

    @cached_property
    def index(self) -> KeyIndex:
        """Finds the row of a key."""
        return KeyIndex(self.keys)

    def find(self, key: str) -> int | None:
        is_metadata = key.rpartition("/")[2] in METADATA_NAMES
        return self.metadata.get(key) if is_metadata else self.index.find(key)

    def holds(self, key: str) -> bool:
        return self.find(key) is not None

    def get(self, key: str) -> Reference | None:
        row = self.find(key)
        return None if row is None else self.reference_at(row)

    def text(self, key: str) -> str | None:
        """Return the inline text of a key; None if there is no such key or it is not inline."""
        reference = self.get(key)
        if isinstance(reference, Base64):
            return reference.data.decode(errors="replace")
        return reference.text if isinstance(reference, Inline) else None

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order."""
        stop = self.count if stop is None else min(stop, self.count)
        for row in range(start, stop):
            yield self.key_at(row), self.reference_at(row)

    def select(self, rows: np.ndarray) -> Table:
        """Return a table of some rows, in the order given."""
        return Table(self.keys.take(number_column(rows)), self.columns.select(rows), self.origin)


def _with_ending(keys: pa.LargeStringArray) -> np.ndarray:
    """Return the rows that end in the same four bytes as a metadata name."""
    # names of metadata differ in their last four bytes from nearly all chunks, so few keys are read
    spans = spans_of(keys)
    rows = np.flatnonzero(_IS_LAST[spans.last()])
    for found, words, _ in spans.take(rows).words(WORD):
        return rows[found][np.isin(words >> np.uint64(32), _ENDINGS)]
    return np.empty(0, np.int64)


def build_table(entries: Iterable[tuple[str, Reference]], origin: str = "refs") -> Table:
    """Put references into columns."""
    keys: list[str] = []
    builder = ColumnsBuilder()
    for key, reference in entries:
        keys.append(key)
        builder.add(reference)
    return Table(text_column(keys), builder.build(), origin)
