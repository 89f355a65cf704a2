"""The law of a repair: what could be read before reads the same after, unless a finding named it.

What does not change needs no proof. Of an array whose metadata change, chunks are decoded before
and after; what cannot be decoded is not changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from refexplorer.checks.report import Report
from refexplorer.data.decode.decoding import steps
from refexplorer.data.fetch.fetch_many import fetch_many
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.errors import LimitError
from refexplorer.limits import Limits
from refexplorer.markup import counted
from refexplorer.refset.grids.chunk_grid import ChunkReferences
from refexplorer.refset.lint.metadata_rules import attributes_of
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.references import Reference
from refexplorer.spec.core.zarr_metadata import METADATA_NAMES, ArrayMeta

DECODED_CHUNKS = 1_000
"""Chunks of one array that are decoded, spread over all of them."""
_TOGETHER = 32
_NOT_DECODING = {"shape", "fill_value", "attributes", "dimension_names"}
"""Metadata that do not change how bytes become a chunk."""
_DECODING = {"dtype", "byte-order", "chunk-shape", "order", "filters"}
"""Causes that may change it."""
_MOVED = {"held-values", "same-coordinate", "misplaced"}
"""Causes that say of a whole file that it is at another place."""
_MASKING = {"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "units",
            "calendar"}  # fmt: skip


class RepairLaw:
    """Holds what a repair makes against the set as it was.

    Parameters
    ----------
    before
        The set as it was.
    targets
        Reads chunks of both.
    limits
        What decoding may take.
    """

    def __init__(self, before: OpenedSet, targets: Targets, limits: Limits) -> None:
        self._before, self._targets, self._limits = before, targets, limits
        self._named: dict[str, set[str]] = {}
        self._differing: dict[str, np.ndarray] = {}
        self._moved: set[str] = set()

    def note(self, found: Report) -> None:
        """Take in what a verification found: only that may be read differently."""
        for each in found.findings:
            self._named.setdefault(each.array, set()).add(each.code)
        for path in self._before.arrays.paths:
            known = self._differing.get(path, np.empty(0, np.int64))
            self._differing[path] = np.union1d(known, found.differing(path))
        for table in found.tables_as_read():
            for row in table.select(["target", "findings"]).to_pylist():
                if any(each["cause"] in _MOVED for each in row["findings"] or ()):
                    self._moved.add(row["target"])

    def refused(self, after: OpenedSet, keys: Iterable[str]) -> dict[str, str]:
        """Return the arrays that may not be changed so, each with the reason.

        Parameters
        ----------
        after
            The set as it would be.
        keys
            Those that are new, gone, or refer to something else.
        """
        changed: dict[str, list[str]] = {}
        for key in keys:
            folder, _, name = key.rpartition("/")
            owner = None if name in METADATA_NAMES else self._before.arrays.of_key(key)
            changed.setdefault(folder if owner is None else owner[0].path, []).append(key)
        found = {}
        for path, several in changed.items():
            meta = self._before.arrays.get(path)
            if meta is None:
                continue  # metadata of a group, and its copies of those of arrays
            reason = next(self._reasons(meta, after, several), None)
            if reason is not None:
                found[path] = reason
        return found

    def _reasons(self, meta: ArrayMeta, after: OpenedSet, keys: Collection[str]) -> Iterator[str]:
        new = after.arrays.get(meta.path)
        chunks = ChunkReferences(self._before, meta)
        if new is None:
            if len(chunks.chunks):
                yield "its metadata could not be read any more"
            return
        named = self._named.get(meta.path, set())
        if meta.shape != new.shape:
            yield from _of_shape(meta, new, chunks, named)
        yield from self._of_attributes(meta, new, after, named)
        if _decoding(meta) != _decoding(new):
            yield from self._of_decoding(meta, new, after, chunks, named)
        else:
            yield from self._of_references(meta, new, after, keys, named)

    def _of_attributes(
        self, meta: ArrayMeta, new: ArrayMeta, after: OpenedSet, named: set[str]
    ) -> Iterator[str]:
        ours, theirs = attributes_of(self._before.table, meta), attributes_of(after.table, new)
        for name in _MASKING:
            if ours.get(name) != theirs.get(name) and name not in named:
                yield f"its {name} would change, and no finding says that it is wrong"
        if meta.fill_value != new.fill_value and not named & {"fill_value", "_FillValue"}:
            yield "its fill value would change, and no finding says that it is wrong"

    def _of_decoding(
        self,
        meta: ArrayMeta,
        new: ArrayMeta,
        after: OpenedSet,
        chunks: ChunkReferences,
        named: set[str],
    ) -> Iterator[str]:
        """Yield why chunks may not be decoded in another way."""
        if not chunks.complete:
            yield "it has too many generated chunks to decode some before and after"
            return
        indices = chunks.chunks.indices
        if not len(indices):
            return
        places = np.unique(np.linspace(0, len(indices) - 1, DECODED_CHUNKS).astype(np.int64))
        keys = [meta.chunk_key(index) for index in indices[places].tolist()]
        count = 0
        for key, one, other in self._decoded(meta, new, after, keys):
            count += other is not None
            if one is not None and other is None:
                yield f"{key} can be decoded, and could not be any more"
                return
            is_named = bool(named & _DECODING)
            if one is not None and other is not None and not (is_named or _is_same(one, other)):
                yield f"{key} would read differently, and no finding says that it is wrong"
                return
        if not count:
            yield (
                f"none of {counted(len(keys), 'chunk')} can be decoded with the new metadata, so "
                "that nothing shows that they are right"
            )

    def _of_references(
        self,
        meta: ArrayMeta,
        new: ArrayMeta,
        after: OpenedSet,
        keys: Collection[str],
        named: set[str],
    ) -> Iterator[str]:
        """Yield why references may not be changed that no finding names."""
        doubtful = []
        for key in keys:
            index = meta.chunk_index(key)
            if index is None or not meta.contains(index):
                continue
            before = self._before.lookup(key)
            now = after.lookup(key)
            if before is None:
                if now is not None and not named & {"no-reference", "shape"}:
                    yield f"{key} has no reference, and no finding says that it lacks one"
                    return
            elif now is None or before[1] != now[1]:
                number = meta.chunk_number(index)
                is_named = getattr(before[1], "url", None) in self._moved
                if not (is_named or np.isin(number, self._differing[meta.path])):
                    doubtful.append(key)
        for key, one, other in self._decoded(meta, new, after, doubtful):
            if one is not None and (other is None or not _is_same(one, other)):
                yield f"{key} can be read, and no finding says that its reference is wrong"
                return

    def _decoded(
        self, meta: ArrayMeta, new: ArrayMeta, after: OpenedSet, keys: Sequence[str]
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield chunks by key as they were and as they would be; None for what is no chunk."""
        for start in range(0, len(keys), _TOGETHER):
            some = keys[start : start + _TOGETHER]
            one = self._values(self._before, meta, some)
            other = self._values(after, new, some)
            for key in some:
                yield key, one.get(key), other.get(key)

    def _values(self, opened: OpenedSet, meta: ArrayMeta, keys: Iterable[str]) -> dict[str, Any]:
        references: dict[str, Reference] = {}
        for key in keys:
            if (found := opened.lookup(key)) is not None:
                references[key] = found[1]
        try:
            data: Mapping[str, Any] = dict(fetch_many(self._targets, references))
        except LimitError:
            return {}
        values = {}
        for key, each in data.items():
            if isinstance(each, Exception):
                continue
            try:
                for step in steps(meta, self._limits):
                    each = step.run(each)
                values[key] = np.asarray(each).reshape(meta.chunks)
            except Exception:  # codecs raise what they like
                continue
        return values


def _decoding(meta: ArrayMeta) -> dict[str, Any]:
    return {name: each for name, each in meta.metadata.items() if name not in _NOT_DECODING}


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    is_alike = one.shape == other.shape and one.dtype == other.dtype
    return is_alike and one.tobytes() == other.tobytes()


def _of_shape(
    meta: ArrayMeta, new: ArrayMeta, chunks: ChunkReferences, named: set[str]
) -> Iterator[str]:
    """Yield why an array may not have another shape: none that has data loses any."""
    if "shape" not in named:
        yield "its shape would change, and no finding says that it is wrong"
        return
    if not chunks.complete:
        yield "it has too many generated chunks to see which of them a smaller shape loses"
        return
    found = np.concatenate([chunks.chunks.indices, chunks.left_out.indices])
    if not len(found):
        return
    last = found.max(axis=0)
    for axis, (length, step) in enumerate(zip(new.shape, meta.chunks, strict=True)):
        if length < meta.shape[axis] and length <= int(last[axis]) * step:
            yield (
                f"it would be cut from {meta.shape[axis]:,} to {length:,} along dimension {axis}, "
                f"and has references up to {int(last[axis]) * step + step:,}"
            )
