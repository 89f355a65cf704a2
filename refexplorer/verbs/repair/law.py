"""The rule of a repair: if an existing chunk falls in rank or depth, nothing is written.

The two ledgers are compared completely, one byte per chunk. If metadata change, chunks are decoded
before and after: inline ones, and some of each file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.checks.ledger import BAD_STATES, DEPTHS, RANKS, Ledger
from refexplorer.checks.report import Report
from refexplorer.checks.states import CHUNK_TERMS, FileState, LedgerState, Rank
from refexplorer.core.errors import LimitError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.io.decode.steps import decoded
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.refset.chunk_grid import ChunkReferences
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.codes import Severity
from refexplorer.spec.references import Reference
from refexplorer.spec.zarr_metadata import ArrayMeta

if TYPE_CHECKING:
    from refexplorer.verbs.repair.plan import ArrayPatch, Patch

FILE_CHUNKS, FEW_CHUNKS = 10, 1_000
"""Chunks of one array that are decoded before and after: of each file, and in all where that is
more than one of each file."""
_TOGETHER = 32  # chunks whose encoded bytes are in memory at a time
_COMPARED = [LedgerState.HELD_EQUAL, LedgerState.WRONG_VALUES]
"""States of inline chunks that were compared with a file."""
DECODING = {"dtype", "byte-order", "chunk-shape", "order", "filters"}
"""Fields that change how bytes become a chunk."""
_NEUTRAL = {"shape", "dimensions"}  # Fields that change the meaning of no stored value
_WITHOUT = [LedgerState.EMPTY, LedgerState.UNTOUCHED]
"""States of chunks without a reference that nothing says should have one."""


def is_replaceable(
    ledger: Ledger, path: str, numbers: np.ndarray, is_free: np.ndarray, is_moved: np.ndarray
) -> np.ndarray:
    """Return which chunks may get another reference: good ones keep their own."""
    states = ledger.at(path, numbers)
    # inline values that differ from the file's are a choice of the set
    is_bad = BAD_STATES[states] & (states != LedgerState.WRONG_VALUES)
    return np.asarray(is_bad | is_moved | (is_free & ~np.isin(states, _WITHOUT)))


class RepairLaw:
    """Compares a patched set with the original set."""

    def __init__(self, before: Report, opened: OpenedSet, targets: Targets, limits: Limits) -> None:
        self._before, self._opened = before, opened
        self._targets, self._limits = targets, limits

    def refused(self, patch: Patch, after: OpenedSet) -> dict[str, str]:
        """Return the arrays that may not be changed, each with the rule that forbids it."""
        reasons_by_array: dict[str, str] = {}
        for path, each in patch.arrays.items():
            meta, new = self._opened.arrays.get(path), after.arrays.get(path)
            assert meta is not None
            if each.fields and new is None:
                reasons_by_array[path] = "its metadata can no longer be read"
            elif each.fields and new is not None:
                reasons = (*self._of_shape(meta, new), *self._of_fields(meta, new, after, each))
                reasons_by_array |= dict.fromkeys([path], reasons[0]) if reasons else {}
        return reasons_by_array

    def broken(self, patch: Patch, after: Report) -> dict[str, str]:
        """Return the arrays with a chunk that got worse, or that were changed for nothing."""
        reasons = dict(find_fallen(self._before.ledger, after.ledger))
        for path, each in patch.arrays.items():
            states = after.ledger.at(path, each.dropped)
            if (states != LedgerState.EMPTY).any():
                text = "a reference would be dropped, and the chunk would not read as in the file"
                reasons.setdefault(path, text)
            elif not self._is_better(path, after):
                reasons.setdefault(path, "the change would repair none of the findings")
        return reasons

    def _is_better(self, path: str, after: Report) -> bool:
        """Return whether fewer chunks of an array are bad, or it has fewer errors."""
        one, other = (
            (sum(n for s, n in each.ledger.counts(path).items() if BAD_STATES[s]),
             sum(f.array == path and f.severity is Severity.ERROR for f in each.findings))
            for each in (self._before, after)
        )  # fmt: skip
        return other[0] < one[0] or other[1] < one[1] or not (one[0] or one[1])

    def _of_shape(self, meta: ArrayMeta, new: ArrayMeta) -> Iterator[str]:
        """Yield why an array may not be shortened: only what no file has is cut off."""
        files = self._before.ledger.files.counts
        for axis, (length, new_length) in enumerate(zip(meta.shape, new.shape, strict=True)):
            if new_length >= length:
                continue
            cut = f"it would be cut from {length:,} to {new_length:,} along dimension {axis}"
            if sum(files.values()) != files[FileState.READ]:
                yield f"{cut}, and not all files were read"
            try:
                states = self._before.ledger.states(meta.path)
            except LimitError as error:
                yield f"{cut}: {error}"
                continue
            removed = np.moveaxis(states, axis, 0)[new.axes[axis].count :]
            if (kept := int(np.count_nonzero(removed != LedgerState.HOLE))) > 0:
                yield f"{cut}, where {counted(kept, 'chunk')} may have data"

    def _of_fields(
        self, meta: ArrayMeta, new: ArrayMeta, after: OpenedSet, each: ArrayPatch
    ) -> Iterator[str]:
        """Yield why the metadata of an array may not change."""
        if not each.fields.keys() - _NEUTRAL:
            return
        chunks = ChunkReferences(self._opened, meta)
        if not chunks.complete:
            yield "it has too many generated chunks to compare decoded ones"
            return
        inline, of_files = self._sorted(meta, chunks)
        if not each.fields.keys() & DECODING:
            states = self._before.ledger.at(meta.path, inline)
            if odd := int(np.count_nonzero(~np.isin(states, _COMPARED))):
                verb = "inline chunk would read", "inline chunks would read"
                yield f"{counted(odd, *verb)} differently, and no file says that it is wrong"
            return
        numbers, count = np.concatenate([inline, of_files]), 0
        is_bad = BAD_STATES[self._before.ledger.at(meta.path, numbers)]
        keys = [meta.key_at(number) for number in numbers.tolist()]
        for place, (one, other) in enumerate(self._decoded(meta, new, after, keys)):
            count += other is not None
            if one is not None and other is None:
                yield f"{keys[place]} can be decoded now, but not after the change"
            elif one is not None and not (is_bad[place] or _is_same(one, other)):
                yield f"{keys[place]} would read differently, and no file says that it is wrong"
        if len(keys) and not count:
            yield (
                f"none of {counted(len(keys), 'chunk')} can be decoded with the new metadata, so "
                "nothing confirms them"
            )

    def _sorted(self, meta: ArrayMeta, chunks: ChunkReferences) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of all inline chunks, and of some chunks of each file."""
        columns = chunks.chunks
        indices = np.asarray(columns.indices, np.int64).reshape(len(columns), len(meta.shape))
        grid = meta.narrow_grid
        numbers = np.zeros(len(indices), np.int64)
        if grid:
            numbers = np.asarray(np.ravel_multi_index(tuple(indices.T), grid), np.int64)
        targets = np.asarray(columns.targets)
        is_held = targets < 0
        order = np.argsort(targets[~is_held], kind="stable")
        files, starts = np.unique(targets[~is_held][order], return_index=True)
        count = max(1, min(FILE_CHUNKS, FEW_CHUNKS // max(len(files), 1)))
        of_files = np.split(numbers[~is_held][order], starts[1:])
        some = [
            mine[np.unique(np.linspace(0, len(mine) - 1, count).astype(np.int64))]
            for mine in of_files
            if len(mine)
        ]
        return numbers[is_held], np.concatenate([np.empty(0, np.int64), *some])

    def _decoded(
        self, meta: ArrayMeta, new: ArrayMeta, after: OpenedSet, keys: list[str]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each chunk before and after; None if it is not a chunk."""
        for start in range(0, len(keys), _TOGETHER):
            some = keys[start : start + _TOGETHER]
            one = self._values(self._opened, meta, some)
            other = self._values(after, new, some)
            yield from ((one.get(key), other.get(key)) for key in some)

    def _values(self, opened: OpenedSet, meta: ArrayMeta, keys: Iterable[str]) -> dict[str, Any]:
        references: dict[str, Reference] = {}
        for key in keys:
            if (entry := opened.lookup(key)) is not None:
                references[key] = entry[1]
        try:
            data: Mapping[str, Any] = dict(fetch_many(self._targets, references))
        except LimitError:
            return {}
        values = {}
        for key, each in data.items():
            if isinstance(each, Exception):
                continue
            try:
                chunk = meta.chunk_array(meta.chunk_index(key) or ())
                values[key] = decoded(chunk, each, self._limits)  # risky codecs run in a child
            except Exception:  # codecs raise what they like
                continue
        return values


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    is_alike = one.shape == other.shape and one.dtype == other.dtype
    return is_alike and one.tobytes() == other.tobytes()


def find_fallen(before: Ledger, after: Ledger) -> Iterator[tuple[str, str]]:
    """Yield each array with a chunk that fell in rank or depth, with the first of them."""
    # Chunks are those of the original grid; one outside the new grid is bad, unless it had no
    # reference. For an array with too many chunks for a byte each, chunk counts are compared.
    for path in before.paths:
        if path not in after.paths:
            yield path, "the array would be removed"
            continue
        try:
            old, new = before.states(path), after.states(path)
        except LimitError:
            bad = (sum(n for s, n in each.counts(path).items() if BAD_STATES[s])
                   for each in (before, after))  # fmt: skip
            if next(bad) < next(bad):
                yield path, "more of its chunks would be wrong"
            continue
        if old.ndim != new.ndim:
            yield path, f"it would have {counted(new.ndim, 'dimension')} instead of {old.ndim}"
            continue
        states = _in_grid_of(old, new)
        falls = (RANKS[states] < RANKS[old]) | (
            (RANKS[states] == Rank.GOOD) & (DEPTHS[states] < DEPTHS[old])
        )
        if falls.any():
            chunk = tuple(int(part) for part in np.argwhere(falls)[0])
            was, would = (CHUNK_TERMS[LedgerState(int(each[chunk]))].name for each in (old, states))
            number = int(np.count_nonzero(falls))
            worse = counted(number, "chunk would be worse", "chunks would be worse")
            yield path, f"{worse}: {list(chunk)} is {was!r} and would be {would!r}"


def _in_grid_of(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the new states in the grid of the old ones."""
    if old.shape == new.shape:
        return new
    states = np.where(old == LedgerState.HOLE, old, np.uint8(LedgerState.REJECTED))
    common = tuple(slice(0, min(sizes)) for sizes in zip(old.shape, new.shape, strict=True))
    states[common] = new[common]
    return states
