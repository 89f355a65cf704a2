"""A whole set as tables of many references each, so that nothing is done key by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import numbers_of, text_column
from refexplorer.refset.columns.chunk_keys import chunk_keys
from refexplorer.refset.columns.joining import joined_columns
from refexplorer.refset.columns.table import Table, build_table
from refexplorer.refset.opened.overriding import COMPARED_KEYS, is_within
from refexplorer.refset.segments.generated_columns import generated_tables
from refexplorer.refset.segments.records import Loaded, Records
from refexplorer.refset.segments.segment import Generated, Segment, warn_of_failing

BLOCK = 100_000
"""References that are worked on together."""


def tables(parts: Iterable[Segment]) -> Iterator[Table]:
    """Yield all references of segments, in order; generated ones that fail are skipped.

    Of equal keys that were not known before the last one counts. Only where there may be such
    keys, all references are held at once; of a parquet store a record file or two.
    """
    parts = list(parts)
    if _may_repeat(parts):
        parts = [_distinct(concatenated(list(_blocks(parts))))]
    yield from _blocks(parts)


def _blocks(parts: Iterable[Segment]) -> Iterator[Table]:
    for part in parts:
        if isinstance(part, Records):
            for loaded in part.blocks(BLOCK):
                yield _table_of_records(part, loaded)
        else:
            made = 0
            for start in range(0, part.count, BLOCK):
                block = block_of(part, start, min(start + BLOCK, part.count))
                made += block.count
                yield block
            warn_of_failing(part, part.count - made)


def _may_repeat(parts: Iterable[Segment]) -> bool:
    """Say whether there are gen items whose keys were not all compared when they were opened."""
    made = [part for part in parts if isinstance(part, Generated)]
    large = [part.folder for part in made if part.count > COMPARED_KEYS]
    return not all(part.item.certain for part in made) or any(
        is_within(one, other) or is_within(other, one) for one, other in combinations(large, 2)
    )


def _distinct(table: Table) -> Table:
    """Return the last row of each key, at the position of the first."""
    codes = numbers_of(table.keys.dictionary_encode().indices)
    rows = np.zeros(codes.max(initial=-1) + 1, np.int64)
    rows[codes] = np.arange(len(codes))
    return table if len(rows) == len(codes) else table.select(rows)


def block_of(part: Segment, start: int, stop: int) -> Table:
    """Return the references numbered `start` to `stop` of a segment."""
    if isinstance(part, Table):
        columns = part.columns.select(np.arange(start, stop))
        return Table(part.keys.slice(start, stop - start), columns, part.origin)
    if isinstance(part, Records):
        return _table_of_records(part, part.between(start, stop))
    if isinstance(part, Generated):
        return concatenated(list(generated_tables(part, start, stop)))
    return build_table(part.iterate(start, stop), part.origin)


def _table_of_records(part: Records, loaded: Loaded) -> Table:
    return Table(chunk_keys(part.array, loaded.numbers), loaded.columns, part.origin)


def table_of(parts: Sequence[Segment]) -> Table:
    """Return all references of segments as one table."""
    if len(parts) == 1 and isinstance(parts[0], Table):
        return parts[0]
    return concatenated(list(tables(parts)))


def concatenated(parts: Sequence[Table]) -> Table:
    """Return the rows of several tables, one after the other."""
    keys = [part.keys for part in parts]
    columns = joined_columns([part.columns for part in parts])
    return Table(pa.concat_arrays(keys) if keys else text_column([]), columns)
