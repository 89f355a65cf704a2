"""A whole set as tables of many references each, so that nothing is done key by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from refexplorer.refset.chunk_keys import chunk_keys
from refexplorer.refset.generated import generated_tables
from refexplorer.refset.joining import joined_columns
from refexplorer.refset.records import Records
from refexplorer.refset.segments import Generated, Segment
from refexplorer.refset.table import Table, build_table

BLOCK = 100_000
"""References that are worked on together."""


def tables(parts: Iterable[Segment]) -> Iterator[Table]:
    """Yield all references of segments, in order; generated ones that fail are left out."""
    for part in parts:
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


def table_of(parts: Sequence[Segment]) -> Table:
    """Return all references of segments as one table."""
    if len(parts) == 1 and isinstance(parts[0], Table):
        return parts[0]
    return concatenated(list(tables(parts)))


def concatenated(parts: Sequence[Table]) -> Table:
    """Return the rows of several tables, one after the other."""
    keys = [part.keys for part in parts]
    columns = joined_columns([part.columns for part in parts])
    return Table(pa.concat_arrays(keys) if keys else pa.array([], pa.large_string()), columns)
