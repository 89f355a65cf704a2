"""Proof of what was inferred: expanded by the specification's rules and compared with the set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from refexplorer.refset.columns.reference_columns import Columns
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.batches import BLOCK, block_of
from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.reference_parsing import BadReference
from refexplorer.spec.document.model import UrlReader, read_document
from refexplorer.spec.gen.item import GenItem


def proved(
    sources: Sequence[Mapping[str, Any]],
    templates: Mapping[str, str],
    rows: Sequence[np.ndarray],
    table: Table,
    tell: Callable[[int], None],
) -> list[int]:
    """Return the positions of the gen items that make exactly the references they stand for.

    Parameters
    ----------
    sources, templates
        Sections of a document.
    rows
        For each gen item, the rows of the table that it is to make, in its order.
    tell
        Called with how many of these rows were compared.
    """
    document = read_document({"version": 1, "templates": templates, "gen": sources})
    good: list[int] = []
    seen = 0
    for made in document.gen:
        wanted = rows[made.number]
        if (
            made.certain
            and made.count == len(wanted)
            and all(_blocks(made, table, wanted, tell, seen))
        ):
            good.append(made.number)
        seen += len(wanted)
    return good


def _blocks(
    made: GenItem, table: Table, rows: np.ndarray, tell: Callable[[int], None], seen: int
) -> Iterator[bool]:
    """Say of each block of rows of the table whether a gen item makes it, in this order."""
    for start in range(0, made.count, BLOCK):
        tell(seen + start)
        expanded = block_of(Generated(made), start, min(start + BLOCK, made.count))
        wanted = table.select(rows[start : start + BLOCK])
        yield wanted.keys.equals(expanded.keys) and _same(wanted.columns, expanded.columns)


def _same(wanted: Columns, found: Columns) -> bool:
    """Say whether two columns hold the same references to targets, row by row."""
    first, second = wanted.targets, found.targets
    if len(first) != len(second) or (first < 0).any() or (second < 0).any():
        return False
    positions = np.full(len(found.urls), -1, np.int64)
    positions[second] = first
    used = np.flatnonzero(positions >= 0)
    return (
        np.array_equal(positions[second], first)
        and [wanted.urls[position] for position in positions[used]] == found.urls_at(used)
        and np.array_equal(wanted.kinds, found.kinds)
        and np.array_equal(wanted.offsets, found.offsets)
        and np.array_equal(wanted.lengths, found.lengths)
    )


def urls_read_back(texts: Iterable[str], urls: Iterable[str], templates: Mapping[str, str]) -> bool:
    """Say whether each jinja-str is read as the URL that it stands for."""
    reader = UrlReader(read_document({"version": 1, "templates": templates}))
    try:
        return all(reader.read(text) == url for text, url in zip(texts, urls, strict=True))
    except BadReference:
        return False
