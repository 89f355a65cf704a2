"""References put in the order of their targets, on disk: memory does not grow with the set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from refexplorer.checks.plan.merging import Batches, Interval, in_order, merged
from refexplorer.checks.plan.references import AuditedBlock
from refexplorer.checks.plan.sampling import Sample
from refexplorer.checks.plan.sizes import PlanSizes
from refexplorer.checks.terms import Share
from refexplorer.errors import SourceError
from refexplorer.formats.buffers.arrow import numbers_of, text_column
from refexplorer.formats.columns.references import BASE64, INLINE
from refexplorer.refset.segments import code_targets

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


class Sorter:
    """Takes references in any order, and gives them back by target, offset and length."""

    def __init__(
        self, folder: Path, sample: Sample, sizes: PlanSizes, share: Share | None = None
    ) -> None:
        self.count = 0
        self.rejected = 0
        self._path = folder / "references.arrow"
        self._sample = sample
        self._sizes = sizes
        self._share = share
        self._chosen: list[bool] = []
        self._codes: dict[str | None, int] = {}
        self._held: list[pa.Table] = []
        self._held_rows = 0
        self._batches = Batches(sizes.batch_rows)
        with self._writing():
            # as bytes: Arrow takes a name such as `s3:x` for a URL, and UTF-8 alone as text
            self._file = pa.OSFile(os.fsencode(self._path), "wb")
            self._writer = pa.ipc.new_file(self._file, SORTED)

    @property
    def chosen(self) -> list[bool]:
        """Which of the targets belong to the share."""
        for url in islice(self._codes, len(self._chosen), None):
            self._chosen.append(self._share is None or url is None or self._share.has(url))
        return self._chosen

    @property
    def urls(self) -> list[str | None]:
        """The targets, in the order in which the set first names them."""
        return list(self._codes)

    def put(self, block: AuditedBlock) -> None:
        """Take references in."""
        self.count += len(block)
        self.rejected += block.rejected
        self._held.append(self._rows(block))
        self._held_rows += len(block)
        if self._held_rows >= self._sizes.sorted_rows:
            self._write()

    def intervals(self) -> Iterator[Interval]:
        """Yield all references in order, some 10^5 at a time; no more can be put in."""
        self._write()
        with self._writing():
            self._writer.close()
            self._file.close()
        with pa.OSFile(os.fsencode(self._path)) as file:
            reader = pa.ipc.open_file(file)
            together = self._sizes.interval_batches
            yield from merged(reader.get_batch, self._batches, SORTED, together)

    def _write(self) -> None:
        """Write what is held, in order."""
        rows, ranges = in_order(pa.concat_tables([SORTED.empty_table(), *self._held]))
        self._held, self._held_rows = [], 0
        self._batches.add(ranges)
        with self._writing():
            self._writer.write_table(rows, self._batches.size)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            said = (error.strerror or str(error)).lower()
            raise SourceError(f"{str(self._path)!r} cannot be written: {said}.") from None

    def _rows(self, block: AuditedBlock) -> pa.Table:
        columns = block.table.columns
        chosen = self._sample.chosen(block.arrays, block.chunks)
        held = (columns.kinds == INLINE) | (columns.kinds == BASE64)
        arrays = [
            block.table.keys,
            pa.array(block.arrays),
            pa.array(block.chunks),
            pa.array(code_targets(columns, self._codes)),
            pa.array(columns.kinds),
            pa.array(np.where(held, 0, columns.offsets)),
            pa.array(columns.lengths),
            pa.array(chosen),
            _texts(block, held & chosen),
        ]
        rows = pa.Table.from_arrays(arrays, schema=SORTED)
        if self._share is None:
            return rows
        numbers = numbers_of(rows["number"].combine_chunks())
        kept = np.array([*self.chosen, True])[numbers]  # -1, of no target, is the last
        return rows.filter(pa.array(kept))


def _texts(block: AuditedBlock, needed: np.ndarray) -> pa.Array:
    """Return the texts of some rows, null for the others."""
    rows = np.flatnonzero(needed)
    if not len(rows):
        return pa.nulls(len(needed), pa.large_string())
    columns = block.table.columns
    texts = text_column([columns.texts[int(columns.offsets[row])] for row in rows.tolist()])
    places = np.full(len(needed), -1, np.int64)
    places[rows] = np.arange(len(rows))
    return texts.take(pa.array(places, mask=places < 0))
