"""A whole set as tables of many references each, so that nothing is done key by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from refexplorer.formats.arrow import number_column
from refexplorer.formats.json_writing import joined
from refexplorer.refset.generated import generated_tables
from refexplorer.refset.joining import joined_columns
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.records import Records
from refexplorer.refset.segments import Generated, Segment
from refexplorer.refset.table import Table, build_table
from refexplorer.spec.arrays import ArrayMeta

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
    if isinstance(part, Generated):
        return concatenated(list(generated_tables(part, start, stop)))
    return build_table(part.iterate(start, stop), part.origin)


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
