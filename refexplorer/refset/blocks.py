"""A whole set as tables of many references each, so that nothing is done key by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from refexplorer.formats.arrow import number_column, text_column
from refexplorer.formats.json_writing import joined
from refexplorer.refset.columns import RANGE, URL, Columns
from refexplorer.refset.joining import joined_columns
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.records import Records
from refexplorer.refset.segments import Generated, Segment
from refexplorer.refset.table import Table, build_table
from refexplorer.spec.arrays import ArrayMeta
from refexplorer.spec.gen import GenItem
from refexplorer.spec.runs import Run, runs

BLOCK = 100_000
"""References that are worked on together."""


def tables(opened: OpenedSet) -> Iterator[Table]:
    """Yield all references of a set, in order; generated ones that fail are left out."""
    for part in opened.parts:
        for start in range(0, part.count, BLOCK):
            yield block_of(part, start, min(start + BLOCK, part.count))


def block_of(part: Segment, start: int, stop: int) -> Table:
    """Return the references numbered `start` to `stop` of a segment."""
    if isinstance(part, Table):
        columns = part.columns.select(np.arange(start, stop))
        return Table(part.keys.slice(start, stop - start), columns, part.origin)
    if isinstance(part, Records):
        numbers, columns = part.between(start, stop)
        return Table(chunk_keys(part.array, numbers), columns, part.origin)
    if isinstance(part, Generated) and start < stop:
        return _generated(part, part.number(start), part.number(stop - 1) + 1)
    return build_table(part.iterate(start, stop), part.origin)


def _generated(part: Generated, start: int, stop: int) -> Table:
    """Return the keys between two numbers of a gen item, less those that are hidden."""
    made = []
    for run in runs(part.item, start, stop):
        shown = np.flatnonzero(~np.isin(run.numbers, part.hidden))
        table = table_of_run(run)
        made.append(table if len(shown) == table.count else table.select(shown))
    return concatenated(made)


def table_of_item(item: GenItem, start: int = 0, stop: int | None = None) -> Table:
    """Return the keys numbered `start` to `stop` of a gen item; those that fail are left out."""
    return concatenated([table_of_run(run) for run in runs(item, start, stop)])


def table_of_run(run: Run) -> Table:
    """Return a run of generated references as a table."""
    if run.offsets is None or run.lengths is None:
        kind, (offsets, lengths) = URL, np.zeros((2, len(run.keys)), np.int64)
    else:
        kind, offsets, lengths = RANGE, run.offsets, run.lengths
    if offsets.dtype == object or lengths.dtype == object:
        return build_table(run.references())
    kinds = np.full(len(run.keys), kind, np.uint8)
    columns = Columns(kinds, run.targets, run.urls, offsets, lengths, [])
    return Table(text_column(run.keys), columns)


def chunk_keys(array: ArrayMeta, numbers: np.ndarray) -> pa.LargeStringArray:
    """Return the keys of chunks by their numbers in the grid, shape ``(n,)``."""
    if not array.grid:
        return pa.repeat(pa.scalar(array.chunk_key(()), pa.large_string()), len(numbers))
    parts: list[pa.LargeStringArray | str] = [array.folder + array.prefix]
    for index in np.unravel_index(numbers, array.grid):
        parts += [number_column(index).cast(pa.large_string()), array.separator]
    return joined(*parts[:-1])


def whole_table(opened: OpenedSet) -> Table:
    """Return all references of a set as one table."""
    return concatenated(list(tables(opened))) if opened.segments else opened.table


def concatenated(parts: Sequence[Table]) -> Table:
    """Return the rows of several tables, one after the other."""
    keys = [part.keys for part in parts]
    columns = joined_columns([part.columns for part in parts])
    return Table(pa.concat_arrays(keys) if keys else pa.array([], pa.large_string()), columns)
