"""Tables of references as members of a JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from refexplorer.formats.arrow import text_column
from refexplorer.formats.json_writing import json_text, members, placed, range_values
from refexplorer.refset.blocks import BLOCK, block_of
from refexplorer.refset.columns import RANGE, URL, Columns
from refexplorer.refset.table import Table


def written(table: Table, urls: Sequence[str]) -> Iterator[bytes]:
    """Yield the references of a table as members of a JSON object, a block at a time.

    Parameters
    ----------
    urls
        What to write in the place of each of the table's URLs, as JSON.
    """
    for start in range(0, table.count, BLOCK):
        block = block_of(table, start, min(start + BLOCK, table.count))
        yield members(block.keys, values_of(block.columns, urls))


def values_of(columns: Columns, urls: Sequence[str]) -> pa.LargeStringArray:
    """Write references as JSON, a column of texts."""
    is_range, is_url = columns.kinds == RANGE, columns.kinds == URL
    is_range[list(columns.large)] = False
    ranges, whole = np.flatnonzero(is_range), np.flatnonzero(is_url)
    others = np.flatnonzero(~is_range & ~is_url)
    targets, offsets, lengths = columns.targets, columns.offsets, columns.lengths
    of_ranges = range_values(urls, targets[ranges], offsets[ranges], lengths[ranges])
    of_whole = text_column([f"[{urls[code]}]" for code in targets[whole].tolist()])
    of_others = text_column([_other(columns, row, urls) for row in others.tolist()])
    return placed(len(columns), [(ranges, of_ranges), (whole, of_whole), (others, of_others)])


def _other(columns: Columns, row: int, urls: Sequence[str]) -> str:
    """Write what is no byte range of ordinary numbers."""
    if row in columns.large:
        found = columns.large[row]
        return f"[{urls[columns.targets[row]]},{found.offset},{found.length}]"
    return json_text(columns.texts[int(columns.offsets[row])])
