"""The explicit keys that were left out because of an error, and what is wrong with each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.arrow import flags_of, text_column
from refexplorer.refset.chunk_names import chunk_indices
from refexplorer.refset.key_index import KeyIndex
from refexplorer.spec.arrays import ArrayMeta
from refexplorer.spec.diagnostics import Diagnostic, Reason, pointer


def _no_keys() -> pa.LargeStringArray:
    return text_column([])


@dataclass(frozen=True)
class LeftOut:
    """n keys whose values cannot be used.

    Attributes
    ----------
    base
        What the pointer of an explicit key starts with.
    keys
        Column of texts, n rows, none twice.
    codes
        What is wrong with each, a place in `reasons`; shape ``(n,)``.
    reasons
        What is wrong.
    """

    base: str = ""
    keys: pa.LargeStringArray = field(default_factory=_no_keys)
    codes: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    reasons: tuple[Reason, ...] = ()

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(self.keys)

    def find(self, key: str) -> Diagnostic | None:
        """Return what is wrong with a key; None if it was not left out."""
        row = self._index.find(key) if len(self.keys) else None
        if row is None:
            return None
        reason: Reason = self.reasons[self.codes[row]]
        return reason.finding(self.base + pointer(key), key)

    def indices(self, array: ArrayMeta) -> np.ndarray:
        """Return the chunks of an array among them, shape ``(n, rank)`` int64, any order."""
        if not array.shape:
            return np.empty((int(self.find(array.chunk_key(())) is not None), 0), np.int64)
        start = array.folder + array.prefix
        rows = np.flatnonzero(flags_of(pc.starts_with(self.keys, start)))
        _, indices = chunk_indices(self.keys, rows, start, array.separator, len(array.shape))
        found: np.ndarray = indices[array.inside(indices)]
        return found


def left_out_of(base: str, reasons: Mapping[str, Reason]) -> LeftOut:
    """Put keys and what is wrong with them into columns."""
    return LeftOut(
        base, text_column(list(reasons)), np.arange(len(reasons)), tuple(reasons.values())
    )
