"""A set written as V0 or V1, and compared with what is read back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import RefexplorerError, SourceError
from refexplorer.core.files import plain
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.arrow import text_column, text_scalar
from refexplorer.formats.columns.references import (
    RANGE,
    URL,
    Columns,
    json_text,
    members,
    placed,
    range_values,
)
from refexplorer.formats.columns.table import Table
from refexplorer.refset.opened_set import BLOCK, OpenedSet, block_of, tables
from refexplorer.refset.writing.comparing import check_in_any_order, check_in_order, differs
from refexplorer.refset.writing.references import retargeted

Open = Callable[[bytes], OpenedSet]
"""Opens a document."""
WatchBlocks = Callable[[Iterable[Table]], Iterable[Table]]
"""Passes blocks on and shows how many of them there were."""
_REFS = b',"refs":{\n'
_BUFFER = 2**20  # bytes that are read at a time


def check_v0(wanted: Iterable[Table], written: Path, limits: Limits, opens: Open) -> int:
    """Compare references with a V0 document, in their order; return how many there are."""
    with _lines(written, limits) as lines:
        return check_in_order(wanted, _readable(_v0_tables(lines, opens)))


def check_v1(wanted: Table, written: Path, limits: Limits, opens: Open, watch: WatchBlocks) -> int:
    """Compare references with a V1 document, in any order; errors and result as `check_v0`."""
    with _lines(written, limits) as lines:
        return check_in_any_order(wanted, watch(_readable(_v1_tables(lines, opens))))


@contextmanager
def _lines(path: Path, limits: Limits) -> Iterator[io.BufferedIOBase]:
    stream = plain(path.open("rb"), path.name, limits)
    with io.BufferedReader(stream, _BUFFER) as lines:
        yield lines


def _readable(found: Iterator[Table]) -> Iterator[Table]:
    """Yield tables; say of what cannot be read that it was written so."""
    try:
        yield from found
    except SourceError as error:
        raise differs(str(error).rstrip(".")) from None


def _v0_tables(lines: io.BufferedIOBase, opens: Open) -> Iterator[Table]:
    if lines.read(1) != b"{":
        raise differs("it does not begin as a reference set does")
    for part in _members(lines, b"}"):
        yield opens(b"{" + part + b"}").table


def _v1_tables(lines: io.BufferedIOBase, opens: Open) -> Iterator[Table]:
    """Yield the references of ``refs``, then the generated ones."""
    head = lines.readline()
    if not head.endswith(_REFS):
        raise differs("it does not begin as a reference set does")
    made = opens(head + b"}}")
    templates = json.loads(head + b"}}").get("templates", {})
    start = json_text({"version": 1, "templates": templates})[:-1].encode() + _REFS
    for part in _members(lines, b"}}"):
        yield opens(start + part + b"}}").table
    yield from tables(made.parts)


def _members(lines: io.BufferedIOBase, end: bytes) -> Iterator[bytes]:
    """Yield the members of an object, those of a line at a time."""
    is_first = True
    for line in lines:
        if line.endswith(b",\n"):
            yield line[:-2]
            is_first = False
            continue
        if not line.endswith(end) or lines.read(1):
            break
        if line != end or not is_first:
            yield line.removesuffix(end)
        return
    raise differs("it does not end as a reference set does")


def written(table: Table, objects: bool = False) -> Iterator[bytes]:
    """Yield the references of a table as members of a JSON object, a block at a time."""
    urls = [json_text(url) for url in table.columns.urls]
    for start in range(0, table.count, BLOCK):
        block = block_of(table, start, min(start + BLOCK, table.count))
        as_object = set(block.metadata.values()) if objects else set()
        yield members(block.keys, _values(block.columns, urls, as_object))


def v0_blocks(blocks: Iterable[Table], objects: bool = False) -> Iterator[bytes]:
    """Yield references as a V0 document, a block a line."""
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
