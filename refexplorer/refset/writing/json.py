"""A set with other references (inlined, outlined, renamed), written as V0 or V1 and read back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import RefexplorerError, SourceError
from refexplorer.core.files import plain
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.references import (
    BASE64,
    INLINE,
    RANGE,
    URL,
    Columns,
    UrlColumn,
    build_columns,
    joined_columns,
    json_text,
    members,
    placed,
    range_values,
    text_column,
    text_scalar,
)
from refexplorer.formats.columns.table import Table
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import BLOCK, block_of, tables
from refexplorer.refset.writing.comparing import Spool, check_in_any_order, check_in_order, differs
from refexplorer.spec.references import Base64, Inline, Range, Reference, read_bytes

ReadKeys = Callable[[list[str]], Mapping[str, bytes]]
"""Takes keys of the set, and gives their bytes."""


class Inlining:
    """Reads short byte ranges into the set."""

    def __init__(self, most: int, read: ReadKeys, spool: Spool) -> None:
        self._most = most
        self._read = read
        self._spool = spool
        self._put, self._taken = count(), count()

    def apply(self, table: Table) -> Table:
        """Return a table with its short byte ranges read."""
        columns = table.columns
        rows = np.flatnonzero((columns.kinds == RANGE) & (columns.lengths <= self._most))
        keys = table.keys_at(rows).to_pylist()
        data = self._read(keys) if keys else {}
        read = build_columns(read_bytes(data[key]) for key in keys)
        self._spool.put(next(self._put), rows, read)
        return replaced(table, rows, read)

    def again(self, table: Table) -> Table:
        """Yield the tables of the first pass again, one after the other."""
        return replaced(table, *self._spool.take(next(self._taken)))


class Outlining:
    """Moves inline data of chunks from a set to a file; metadata stay."""

    def __init__(self, put: Callable[[bytes], object], url: str) -> None:
        self._put = put
        self._url = url
        self._end = 0

    def apply(self, table: Table) -> Table:
        """Return a table whose data are in the file."""
        kinds = table.columns.kinds
        chosen = (kinds == INLINE) | (kinds == BASE64)
        chosen[list(table.metadata.values())] = False
        rows = np.flatnonzero(chosen)
        moved = (self._moved(table.reference_at(row)) for row in rows.tolist())
        return replaced(table, rows, build_columns(moved))

    def _moved(self, reference: Reference) -> Range:
        assert isinstance(reference, Inline | Base64)
        data, start = reference.data, self._end
        self._put(data)
        self._end += len(data)
        return Range(self._url, start, len(data))


@contextmanager
def read_back(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that compares each chunk's data with the next bytes in a file."""
    with path.open("rb") as file:

        def check(data: bytes) -> None:
            if file.read(len(data)) != data:
                raise differs("the inline data that was moved to a file is not there")

        yield check


def empty_as_text(table: Table) -> Table:
    """Return a table with empty byte ranges as empty text, since a store reads 0 as whole."""
    empty = (table.columns.kinds == RANGE) & (table.columns.lengths == 0)
    rows = np.flatnonzero(empty)
    return replaced(table, rows, build_columns(Inline("") for _ in rows))


def replaced(table: Table, rows: np.ndarray, columns: Columns) -> Table:
    """Return a table with other references in some rows, shape ``(n,)``."""
    if not len(rows):
        return table
    order = np.arange(table.count)
    order[rows] = table.count + np.arange(len(rows))
    both = joined_columns([table.columns, columns])
    return replace(table, columns=both.select(order))


@dataclass(frozen=True)
class Renames:
    """Rules for URL prefixes; the first match is applied."""

    rules: Sequence[tuple[str, str]]  # Start before and start after
    unused: set[tuple[str, str]] = field(init=False)  # The rules that have matched no URL yet

    def __post_init__(self) -> None:
        object.__setattr__(self, "unused", set(self.rules))

    def apply(self, url: str) -> str:
        """Return the new form of a URL."""
        for rule in self.rules:
            if url.startswith(rule[0]):
                self.unused.discard(rule)
                return rule[1] + url[len(rule[0]) :]
        return url


def retargeted(table: Table, changes: Sequence[Callable[[str], str]]) -> Table:
    """Return a table with the changes applied to each of its distinct URLs."""
    columns = table.columns
    used, inverse = np.unique(columns.targets, return_inverse=True)
    before = int(np.searchsorted(used, 0))
    found = columns.urls.at(used[before:])
    for change in changes:
        found = [url if url is None else change(url) for url in found]
    targets = (inverse - before).astype(np.int32)
    targets[columns.targets < 0] = -1
    return replace(table, columns=replace(columns, urls=UrlColumn(more=found), targets=targets))


Open = Callable[[bytes], OpenedSet]  # Opens a document
WatchBlocks = Callable[[Iterable[Table]], Iterable[Table]]
"""Passes blocks on and shows how many of them there were."""
_REFS = b',"refs":{\n'
_BUFFER = 2**20  # bytes that are read at a time


def check_v0(wanted: Iterable[Table], written: Path, limits: Limits, opens: Open) -> int:
    """Compare references with a V0 document, in order; return their number."""
    with _lines(written, limits) as lines:
        return check_in_order(wanted, _readable(_v0_tables(lines, opens)))


def check_v1(wanted: Table, written: Path, limits: Limits, opens: Open, watch: WatchBlocks) -> int:
    """Compare references with a V1 document, in any order; errors and result as for `check_v0`."""
    with _lines(written, limits) as lines:
        return check_in_any_order(wanted, watch(_readable(_v1_tables(lines, opens))))


@contextmanager
def _lines(path: Path, limits: Limits) -> Iterator[io.BufferedIOBase]:
    stream = plain(path.open("rb"), path.name, limits)
    with io.BufferedReader(stream, _BUFFER) as lines:
        yield lines


def _readable(found: Iterator[Table]) -> Iterator[Table]:
    """Yield tables; report that unreadable references were written as they are."""
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
    """Yield the members of an object, one line at a time."""
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
    """Yield the references of a table as members of a JSON object, one block at a time."""
    urls = [json_text(url) for url in table.columns.urls]
    for start in range(0, table.count, BLOCK):
        block = block_of(table, start, min(start + BLOCK, table.count))
        as_object = set(block.metadata.values()) if objects else set()
        yield members(block.keys, _values(block.columns, urls, as_object))


def v0_blocks(blocks: Iterable[Table], objects: bool = False) -> Iterator[bytes]:
    """Yield references as a V0 document, one block per line."""
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
    """Return whether there is a key ``version``, which would make a document look like V1."""
    return bool(pc.any(pc.equal(table.keys, text_scalar("version"))).as_py())


def _values(columns: Columns, urls: Sequence[str], as_object: set[int]) -> pa.LargeStringArray:
    """Format references as JSON, a column of texts."""
    is_range, is_url = columns.kinds == RANGE, columns.kinds == URL
    ranges, whole = np.flatnonzero(is_range), np.flatnonzero(is_url)
    others = np.flatnonzero(~is_range & ~is_url)
    targets, offsets, lengths = columns.targets, columns.offsets, columns.lengths
    of_ranges = range_values(urls, targets[ranges], offsets[ranges], lengths[ranges])
    of_whole = text_column([f"[{urls[code]}]" for code in targets[whole].tolist()])
    texts = [_other(columns, row, row in as_object) for row in others.tolist()]
    parts = [(ranges, of_ranges), (whole, of_whole), (others, text_column(texts))]
    return placed(len(columns), parts)


def _other(columns: Columns, row: int, as_object: bool) -> str:
    """Format a reference that is not a byte range."""
    text = columns.texts[int(columns.offsets[row])]
    return text if as_object and _is_object(text) else json_text(text)


def _is_object(text: str) -> bool:
    """Return whether a text is a JSON object; NaN, which Python accepts, is not JSON."""
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(name: str) -> None:
    raise ValueError(name)
