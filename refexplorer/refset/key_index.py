"""Finds the row of a key among millions by a sorted column of hashes, 12 bytes a key."""

from __future__ import annotations

from functools import lru_cache, reduce

import numpy as np
import pyarrow as pa

BLOCK = 100_000
_BASE = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_INVERSE = pow(_BASE, -1, 2**64)


class KeyIndex:
    """The hashes of a column of keys, in order, and the row of each."""

    def __init__(self, keys: pa.LargeStringArray) -> None:
        self._keys = keys
        hashes = [_hashes(keys.slice(at, BLOCK)) for at in range(0, len(keys), BLOCK)]
        found = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
        self._rows = np.argsort(found).astype(np.int32)
        self._hashes = found[self._rows]

    @property
    def unique(self) -> bool:
        """Whether no two keys are equal; False also where only their hashes are."""
        return not np.any(self._hashes[1:] == self._hashes[:-1])

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
    """Return the polynomial of the bytes, the first with the power 0, modulo 2**64."""
    return reduce(lambda value, byte: (value * _BASE + byte + 1) & _MASK, reversed(key), 0)


def _hashes(keys: pa.LargeStringArray) -> np.ndarray:
    """Compute `hash_of` for every key of a column, shape ``(n,)`` uint64.

    One running sum over all bytes serves every key: the part that belongs to a key is the
    difference of two sums, divided by the power of its first byte.
    """
    buffers = keys.buffers()
    offsets = np.frombuffer(buffers[1], np.int64, len(keys) + 1, keys.offset * 8)
    start, end = int(offsets[0]), int(offsets[-1])
    if start == end:
        return np.zeros(len(keys), np.uint64)
    terms = np.frombuffer(buffers[2], np.uint8, end - start, start) + np.uint64(1)
    terms *= _powers(_BASE, end - start)
    sums = np.zeros(end - start + 1, np.uint64)
    np.cumsum(terms, out=sums[1:])
    places = offsets - start
    found: np.ndarray = np.diff(sums[places]) * _powers(_INVERSE, end - start + 1)[places[:-1]]
    return found


@lru_cache(maxsize=4)
def _powers_to(base: int, count: int) -> np.ndarray:
    powers = np.full(count, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _powers(base: int, count: int) -> np.ndarray:
    """Return the first powers of a base; a few sizes are kept for the next block."""
    size = 1 << (count - 1).bit_length()
    return _powers_to(base, size)[:count]
