"""Tables of references as members of a JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.errors import RefexplorerError
from refexplorer.formats.buffers.arrow import text_column, text_scalar
from refexplorer.formats.json.writer import json_text, members, placed, range_values
from refexplorer.refset.columns.reference_columns import RANGE, URL, Columns
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.batches import BLOCK, block_of
from refexplorer.refset.write.retargeting import retargeted


def written(table: Table, objects: bool = False) -> Iterator[bytes]:
    """Yield the references of a table as members of a JSON object, a block at a time.

    Parameters
    ----------
    objects
        Write metadata as objects, not as text that holds their JSON.
    """
    urls = [json_text(url) for url in table.columns.urls]
    for start in range(0, table.count, BLOCK):
        block = block_of(table, start, min(start + BLOCK, table.count))
        as_object = set(block.metadata.values()) if objects else set()
        yield members(block.keys, _values(block.columns, urls, as_object))


def v0_blocks(blocks: Iterable[Table], objects: bool = False) -> Iterator[bytes]:
    """Yield references as a V0 document, a block a line.

    Raises
    ------
    RefexplorerError
        If there is a key that would make the document read as V1.
    """
    start = b"{"
    for block in (retargeted(block, ()) for block in blocks):
        if means_v1(block):
            raise RefexplorerError(
                "A key called `version` cannot be written as V0, where it "
                "would look like the version of the document; write V1."
            )
        for part in written(block, objects):
            yield start + part
            start = b",\n"
    yield b"{}" if start == b"{" else b"}"


def means_v1(table: Table) -> bool:
    """Say whether there is a key called ``version``, which a document is taken for V1 by."""
    return bool(pc.any(pc.equal(table.keys, text_scalar("version"))).as_py())


def _values(columns: Columns, urls: Sequence[str], as_object: set[int]) -> pa.LargeStringArray:
    """Write references as JSON, a column of texts."""
    is_range, is_url = columns.kinds == RANGE, columns.kinds == URL
    is_range[list(columns.large)] = False
    ranges, whole = np.flatnonzero(is_range), np.flatnonzero(is_url)
    others = np.flatnonzero(~is_range & ~is_url)
    targets, offsets, lengths = columns.targets, columns.offsets, columns.lengths
    of_ranges = range_values(urls, targets[ranges], offsets[ranges], lengths[ranges])
    of_whole = text_column([f"[{urls[code]}]" for code in targets[whole].tolist()])
    texts = [_other(columns, row, urls, row in as_object) for row in others.tolist()]
    parts = [(ranges, of_ranges), (whole, of_whole), (others, text_column(texts))]
    return placed(len(columns), parts)


def _other(columns: Columns, row: int, urls: Sequence[str], as_object: bool) -> str:
    """Write what is no byte range of ordinary numbers."""
    if row in columns.large:
        found = columns.large[row]
        return f"[{urls[columns.targets[row]]},{found.offset},{found.length}]"
    text = columns.texts[int(columns.offsets[row])]
    return text if as_object and _is_object(text) else json_text(text)


def _is_object(text: str) -> bool:
    """Say whether a text is a JSON object; NaN, which Python reads, is no JSON."""
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(name: str) -> None:
    raise ValueError(name)
