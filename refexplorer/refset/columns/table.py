"""Explicit references: a column of keys beside the columns of what they refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import number_column, text_column
from refexplorer.formats.buffers.spans import BLOCK, WORD, spans_of
from refexplorer.pickling import PickledByFields
from refexplorer.refset.columns.key_index import KeyIndex
from refexplorer.refset.columns.reference_columns import Columns, ColumnsBuilder
from refexplorer.spec.core.references import Base64, Inline, Reference
from refexplorer.spec.core.zarr_metadata import METADATA_NAMES
from refexplorer.spec.document.lint_rules import is_metadata

_ENDINGS = np.array([int.from_bytes(name[-4:].encode(), "little") for name in METADATA_NAMES], "u8")
_IS_LAST = np.isin(np.arange(256), [ord(name[-1]) for name in METADATA_NAMES])
"""Of each byte whether a name of metadata ends in it; those of chunks end in digits."""


@dataclass(frozen=True)
class Table(PickledByFields):
    """The explicit references of a set, in the order of the document.

    Attributes
    ----------
    keys
        Column of texts, n rows.
    columns
        The references, n rows.
    origin
        What the set calls them.
    """

    keys: pa.LargeStringArray
    columns: Columns
    origin: str = "refs"

    folder = ""
    is_read = True

    @property
    def count(self) -> int:
        """How many keys there are."""
        return len(self.keys)

    @property
    def bound(self) -> int:
        """The same: all keys are here."""
        return self.count

    @cached_property
    def size(self) -> int:
        """Bytes of all references."""
        return int(self.columns.lengths.sum())

    def key_at(self, row: int) -> str:
        """Return a key by its row."""
        return str(self.keys[row].as_py())

    def keys_at(self, rows: np.ndarray) -> pa.LargeStringArray:
        """Return the keys of some rows, in the order given, shape ``(n,)``."""
        return self.keys.take(number_column(rows))

    def kinds_at(self, rows: np.ndarray) -> np.ndarray:
        """Return the kinds of some rows as indices into `KINDS`, shape ``(n,)`` uint8."""
        kinds: np.ndarray = self.columns.kinds[rows]
        return kinds

    def reference_at(self, row: int) -> Reference:
        """Return a reference by its row."""
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
        return {key: row for row in rows.tolist() if is_metadata(key := self.key_at(row))}

    @cached_property
    def index(self) -> KeyIndex:
        """Finds the row of a key."""
        return KeyIndex(self.keys)

    def find(self, key: str) -> int | None:
        """Return the row of a key, or None."""
        return self.metadata.get(key) if is_metadata(key) else self.index.find(key)

    def holds(self, key: str) -> bool:
        """Say whether there is such a key."""
        return self.find(key) is not None

    def get(self, key: str) -> Reference | None:
        """Return the reference of a key, or None."""
        row = self.find(key)
        return None if row is None else self.reference_at(row)

    def text(self, key: str) -> str | None:
        """Return the text that a key holds inline; None without the key, or if it is elsewhere."""
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
    """Return the rows that end in the same four bytes as a name of metadata."""
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
