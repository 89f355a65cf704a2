"""The keys that an error keeps out of the set, and the reason for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from refexplorer.core.errors import LimitError, PickledByFields
from refexplorer.formats.columns.arrow import text_column
from refexplorer.formats.columns.chunk_names import chunk_indices
from refexplorer.formats.columns.table import KeyIndex
from refexplorer.spec.findings import Finding, Reason, pointer
from refexplorer.spec.gen.dimensions import blocks
from refexplorer.spec.gen.item import GenItem, values_text
from refexplorer.spec.keys import folders_above
from refexplorer.spec.templates.columns import TooMuchText, flat
from refexplorer.spec.zarr_metadata import ArrayMeta

_WRITTEN_KEYS = 200_000
"""Of gen items with more keys the chunks are not counted."""


def _no_keys() -> pa.LargeStringArray:
    return text_column([])


@dataclass(frozen=True)
class Rejected(PickledByFields):
    """n explicit keys and the gen items that were rejected."""

    base: str = ""  # What the pointer of an explicit key starts with
    # Column of texts, n rows, none twice
    keys: pa.LargeStringArray = field(default_factory=_no_keys)
    # What is wrong with each, an index into `reasons`; shape ``(n,)``
    codes: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    reasons: tuple[Reason, ...] = ()  # What is wrong
    # Gen items that were rejected as a whole; the set has none of their keys
    items: tuple[GenItem, ...] = ()

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(self.keys)

    def find(self, key: str) -> Finding | None:
        """Return why a key was rejected; None if it was not."""
        row = self._index.find(key) if len(self.keys) else None
        if row is None:
            found = (_refusal(item, key) for item in self.items if key.startswith(item.folder))
            return next(filter(None, found), None)
        reason: Reason = self.reasons[self.codes[row]]
        return reason.finding(self.base + pointer(key), key)

    def touches(self, path: str) -> bool:
        """Say whether keys below a path may be among them."""
        return path in self._folders or any(_may_make(item, path) for item in self.items)

    def is_uncounted(self, path: str) -> bool:
        """Say whether a refused gen item has so many keys, maybe of a path, that none is listed."""
        large = (item for item in self.items if item.varying.count > _WRITTEN_KEYS)
        return any(_may_make(item, path) for item in large)

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Every folder above an explicit key."""
        return frozenset(folder for key in self.keys.to_pylist() for folder in folders_above(key))

    def indices(self, array: ArrayMeta) -> np.ndarray:
        """Return the chunks of an array among them, shape ``(n, rank)`` int64, any order."""
        if not array.shape:
            return np.empty((int(self.find(array.chunk_key(())) is not None), 0), np.int64)
        keys = pa.chunked_array([self.keys, *map(_keys_of, self.items)]).combine_chunks()
        indices = chunk_indices(array, keys)[1]
        found: np.ndarray = indices[array.inside(indices)]
        return found


def _may_make(item: GenItem, path: str) -> bool:
    """Say whether a gen item may make keys below a path."""
    folder = f"{path}/" if path else ""
    return item.folder.startswith(folder) or folder.startswith(item.folder)


def _refusal(item: GenItem, key: str) -> Finding | None:
    """Return why the item that would generate a key was rejected."""
    try:
        number = item.find(key)
    except LimitError:
        return None
    if number is None:
        return None
    for values in (item.values(number), *map(item.varied, item.sample())):
        if (bad := item.failure(values)) is not None:
            where = values_text(values)
            message = (
                f"gen[{item.number}] would generate this key, but the item is rejected, "
                f"since it fails for {where}: {bad}"
            )
            at = pointer("gen", item.number, bad.field)
            return Reason(bad.code, message, bad.hint).finding(at, key)
    return None


def _keys_of(item: GenItem) -> pa.LargeStringArray:
    """Write out the keys of an item, if they are not too many; those that fail are skipped."""
    keys: list[str] = []
    count = item.varying.count
    for block in blocks(item.varying, 0, count if count <= _WRITTEN_KEYS else 0):
        scopes = item.scopes(block.values(item.varying))
        try:
            texts = flat(scopes.texts(item.key), block.shape)
        except TooMuchText:
            break
        keys += texts[scopes.good(block.shape)].tolist()
    return text_column(keys)


def rejected_of(base: str, reasons: Mapping[str, Reason]) -> Rejected:
    """Put keys and what is wrong with them into columns."""
    return Rejected(
        base, text_column(list(reasons)), np.arange(len(reasons)), tuple(reasons.values())
    )
