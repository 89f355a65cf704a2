"""References put in the order of their targets, on disk: memory does not grow with the set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from refexplorer.data.audit.references import Block
from refexplorer.data.audit.sampling import Sample
from refexplorer.errors import SourceError
from refexplorer.formats.arrow import number_column, text_column
from refexplorer.refset.columns import BASE64, INLINE
from refexplorer.refset.listing import code_targets

SORTED_ROWS = 500_000
"""References that are sorted together, and written."""
SHELF_TARGETS = 512
"""Targets whose references are read back together."""
_INT64 = 2**63 - 1

SORTED = pa.schema(
    {
        "key": pa.large_string(),
        "array": pa.int32(),
        "chunk": pa.int64(),
        "number": pa.int64(),
        "kind": pa.uint8(),
        "offset": pa.int64(),
        "length": pa.int64(),
        "chosen": pa.bool_(),
        "text": pa.large_string(),
    }
)
"""``number`` is that of the target, -1 without one; ``text`` is of inline chunks to be decoded."""


class Shelves:
    """Takes references in any order, and gives them back by target, some targets at a time.

    Parameters
    ----------
    folder
        Where they are kept meanwhile.
    sample
        Chooses what is decoded.

    Attributes
    ----------
    count
        References taken so far.
    left_out
        Keys that have none, since they fail.
    """

    def __init__(self, folder: Path, sample: Sample) -> None:
        self.count = 0
        self.left_out = 0
        self._folder = folder
        self._sample = sample
        self._codes: dict[str | None, int] = {}
        self._held: list[pa.Table] = []
        self._held_rows = 0
        self._files = 0
        self._places: dict[int, list[tuple[int, int]]] = {}

    @property
    def urls(self) -> list[str | None]:
        """The targets, in the order in which the set first names them."""
        return list(self._codes)

    def put(self, block: Block) -> None:
        """Take references in."""
        self.count += len(block)
        self.left_out += block.left_out
        self._held.append(self._rows(block))
        self._held_rows += len(block)
        if self._held_rows >= SORTED_ROWS:
            self.write()

    def write(self) -> None:
        """Write what is still held; `shelves` gives only what was written."""
        if not self._held_rows:
            return
        rows = pa.concat_tables(self._held).combine_chunks()
        numbers = rows["number"].to_numpy()
        own = -1 - self._files  # what has no target stays in the order of the set
        shelf = np.where(numbers < 0, own, numbers // SHELF_TARGETS)
        order = np.argsort(shelf, kind="stable")
        self._write(rows.take(number_column(order)).combine_chunks(), shelf[order])
        self._files += 1
        self._held, self._held_rows = [], 0

    def _write(self, rows: pa.Table, shelf: np.ndarray) -> None:
        """Write one file, a batch for each shelf; `shelf` is ascending."""
        bounds = np.flatnonzero(np.append(True, shelf[1:] != shelf[:-1])).tolist()
        stretches = zip(bounds, [*bounds[1:], len(shelf)], strict=True)
        path = self._path(self._files)
        try:
            with pa.ipc.new_file(str(path), SORTED) as writer:
                for at, (start, stop) in enumerate(stretches):
                    writer.write_table(rows.slice(start, stop - start))
                    self._places.setdefault(int(shelf[start]), []).append((self._files, at))
        except OSError as error:
            said = (error.strerror or str(error)).lower()
            raise SourceError(f"{str(path)!r} cannot be written: {said}.") from None

    def shelves(self) -> Iterator[pa.Table]:
        """Yield all references, those of some targets at a time, by target, offset and length."""
        files = [pa.OSFile(str(self._path(number))) for number in range(self._files)]
        readers = [pa.ipc.open_file(file) for file in files]
        try:
            for shelf in sorted(self._places):
                found = [readers[file].get_batch(at) for file, at in self._places[shelf]]
                rows = pa.Table.from_batches(found, SORTED).combine_chunks()
                names = ("length", "offset", "number") if shelf >= 0 else ()
                yield rows.take(number_column(_order(rows, names))) if names else rows
        finally:
            for file in files:
                file.close()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.arrow"

    def _rows(self, block: Block) -> pa.Table:
        columns = block.table.columns
        chosen = self._sample.chosen(block.arrays, block.chunks)
        held = (columns.kinds == INLINE) | (columns.kinds == BASE64)
        offsets = np.where(held, 0, columns.offsets)
        arrays = [
            block.table.keys,
            pa.array(block.arrays),
            pa.array(block.chunks),
            pa.array(code_targets(columns, self._codes)),
            pa.array(columns.kinds),
            pa.array(offsets),
            pa.array(np.minimum(columns.lengths, _INT64 - offsets)),
            pa.array(chosen),
            _texts(block, held & chosen),
        ]
        return pa.Table.from_arrays(arrays, schema=SORTED)


def _order(rows: pa.Table, names: tuple[str, ...]) -> np.ndarray:
    order: np.ndarray = np.lexsort([rows[name].to_numpy() for name in names])
    return order


def _texts(block: Block, needed: np.ndarray) -> pa.Array:
    """Return the texts of some rows, null for the others."""
    rows = np.flatnonzero(needed)
    if not len(rows):
        return pa.nulls(len(needed), pa.large_string())
    columns = block.table.columns
    texts = text_column([columns.texts[int(columns.offsets[row])] for row in rows.tolist()])
    places = np.full(len(needed), -1, np.int64)
    places[rows] = np.arange(len(rows))
    return texts.take(pa.array(places, mask=places < 0))
