"""The check of a document that was just written, line by line, against its source.

What is written has a block of references a line, so that each line is an object but for its
braces. It goes through the same reading as any other document.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from refexplorer.errors import SourceError
from refexplorer.formats.files.compression import plain
from refexplorer.formats.json.writer import json_text
from refexplorer.limits import Limits
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.batches import tables
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.write.sameness import check_in_any_order, check_in_order, differs

Open = Callable[[bytes], OpenedSet]
"""Opens a document."""
WatchBlocks = Callable[[Iterable[Table]], Iterable[Table]]
"""Passes blocks on and shows how many of them there were."""
_REFS = b',"refs":{\n'
_BUFFER = 2**20


def check_v0(wanted: Iterable[Table], written: Path, limits: Limits, opens: Open) -> int:
    """Compare references with a V0 document, in their order; return how many there are.

    Raises
    ------
    RefexplorerError
        If the document cannot be read, or says anything else.
    """
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
