"""Finds the row of a key among millions by a sorted column of hashes, 12 bytes a key."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa

BLOCK = 100_000
_BASE = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


class KeyIndex:
    """The hashes of a column of keys, in order, and the row of each."""

    def __init__(self, keys: pa.LargeStringArray) -> None:
        self._keys = keys
        hashes = [_hashes(keys.slice(at, BLOCK)) for at in range(0, len(keys), BLOCK)]
        found = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
        self._rows = np.argsort(found, kind="stable").astype(np.int32)
        self._hashes = found[self._rows]

    def find(self, key: str) -> int | None:
        """Return the row of a key, or None."""
        wanted = hash_of(key.encode("utf-8", "surrogatepass"))
        place = int(np.searchsorted(self._hashes, np.uint64(wanted)))
        while place < len(self._hashes) and int(self._hashes[place]) == wanted:
            row = int(self._rows[place])
            if self._keys[row].as_py() == key:
                return row
            place += 1
        return None


def hash_of(key: bytes) -> int:
    """Return the value of a polynomial of the bytes, modulo 2**64."""
    return reduce(lambda value, byte: (value * _BASE + byte + 1) & _MASK, key, 0)


def _hashes(keys: pa.LargeStringArray) -> np.ndarray:
    """Compute `hash_of` for every key of a column, shape ``(n,)`` uint64."""
    buffers = keys.buffers()
    offsets = np.frombuffer(buffers[1], np.int64, len(keys) + 1, keys.offset * 8)
    start, end = int(offsets[0]), int(offsets[-1])
    if start == end:
        return np.zeros(len(keys), np.uint64)
    data = np.frombuffer(buffers[2], np.uint8, end - start, start).astype(np.uint64) + 1
    lengths = np.diff(offsets)
    ends = np.repeat(offsets[1:] - start, lengths)
    terms = data * _powers(int(lengths.max()))[ends - 1 - np.arange(end - start)]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    found: np.ndarray = sums[offsets[1:] - start] - sums[offsets[:-1] - start]
    return found


def _powers(count: int) -> np.ndarray:
    powers = np.full(count, _BASE, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)
