"""The document that was found for a set, kept as text in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.formats.files.compression import Progress
from refexplorer.formats.json.writer import json_text
from refexplorer.refset.columns.table import Table
from refexplorer.refset.inference.finding import find_items
from refexplorer.refset.inference.items import FoundItem
from refexplorer.refset.inference.proving import proved, urls_read_back
from refexplorer.refset.inference.url_templates import find_templates
from refexplorer.refset.opened.batches import BLOCK
from refexplorer.refset.write.document_check import WatchBlocks
from refexplorer.refset.write.json_members import means_v1, written
from refexplorer.refset.write.retargeting import retargeted


@dataclass(frozen=True)
class Inferred:
    """A V1 document, or V0 where no template and no gen item makes it shorter.

    Attributes
    ----------
    templates
        The templates section.
    gen
        The gen items.
    table
        All references that the document is for.
    kept
        The rows of those that are written out, shape ``(n,)``.
    write
        Makes of a URL how it is written: a jinja-str of V1, or itself in V0.
    least
        The version that the document has at least.
    """

    templates: dict[str, str]
    gen: tuple[dict[str, Any], ...]
    table: Table
    kept: np.ndarray
    write: Callable[[str], str]
    least: int = 0

    @property
    def version(self) -> int:
        """0 if the document is V0; then its URLs are written as they are."""
        return 1 if self.templates or self.gen else self.least

    @cached_property
    def size(self) -> int:
        """Bytes of the document as JSON."""
        return sum(map(len, self.blocks()))

    def blocks(self, objects: bool = False, watch: WatchBlocks = iter) -> Iterator[bytes]:
        """Yield the document as JSON, a block of references a line, as `written`.

        Parameters
        ----------
        objects
            As `written` takes it.
        watch
            Passes the blocks on that are to be written.
        """
        if self.version:
            head = {"version": 1, "templates": self.templates, "gen": self.gen}
            yield json_text(head)[:-1].encode() + b',"refs":{\n'
        start = b"" if self.version else b"{"
        for block in watch(self._explicit()):
            for members in written(block, objects):
                yield start
                yield members
                start = b",\n"
        yield (b"{" if start == b"{" else b"") + b"}" * (1 + self.version)

    def _explicit(self) -> Iterator[Table]:
        for start in range(0, len(self.kept), BLOCK):
            block = self.table.select(self.kept[start : start + BLOCK])
            yield retargeted(block, [self.write])


def as_it_is(table: Table) -> Inferred:
    """Return references as V0."""
    return Inferred({}, (), table, np.arange(table.count, dtype=np.int32), lambda url: url)


def infer_table(table: Table, least: int = 0, progress: Progress | None = None) -> Inferred:
    """Find the shortest document for the references of a table that their numbers suggest.

    Parameters
    ----------
    least
        The version that it is to have at least; a key called ``version`` needs version 1.
    progress
        Called with how much was done and how much there is: each row is looked at twice, and
        proved.

    Raises
    ------
    RefexplorerError
        If it must be V1, and a URL cannot be written there.
    """
    total = 3 * table.count
    tell = progress or (lambda done, of: None)
    items = find_items(table, lambda rows: tell(rows, total))
    if means_v1(table):
        least = 1
    while True:
        found = _with_templates(table, items, least)
        if found is None and least:
            raise RefexplorerError("A URL of the set is too long to be written as V1.")
        if found is None or not found.version:
            return as_it_is(table)
        rows = [item.rows for item in items]
        good = proved(
            found.gen, found.templates, rows, table, lambda n: tell(2 * table.count + n, total)
        )
        if len(good) == len(items):
            return found
        items = [items[position] for position in good]


def _with_templates(table: Table, items: Sequence[FoundItem], least: int) -> Inferred | None:
    """Return the document with templates; None if its URLs cannot be read back from it."""
    explicit = np.ones(table.count, np.bool_)
    for item in items:
        explicit[item.rows] = False
    kept = np.flatnonzero(explicit).astype(np.int32)
    codes, uses = np.unique(table.columns.targets[kept], return_counts=True)
    first = int(np.searchsorted(codes, 0))
    named = zip(table.columns.urls_at(codes[first:]), uses[first:].tolist(), strict=True)
    used = {url: count for url, count in named if url is not None}
    heads = [item.source["url"].partition("{{")[0] for item in items]
    templates = find_templates([*used], [*used.values()], heads)
    if not urls_read_back(map(templates.write, used), used, templates.texts):
        return None
    gen = tuple({**item.source, "url": templates.write_start(item.source["url"])} for item in items)
    return Inferred(templates.texts, gen, table, kept, templates.write, least)
