"""Expands what was inferred by the specification's own rules and compares it with the set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from refexplorer.formats.arrow import number_column
from refexplorer.refset.blocks import block_of
from refexplorer.refset.columns import Columns
from refexplorer.refset.segments import Generated
from refexplorer.refset.table import Table
from refexplorer.spec.document import UrlReader, read_document
from refexplorer.spec.gen import GenItem
from refexplorer.spec.reading import BadReference


def proved(
    sources: Sequence[Mapping[str, Any]],
    templates: Mapping[str, str],
    rows: Sequence[np.ndarray],
    table: Table,
    tell: Callable[[int], None],
) -> list[int]:
    """Return the places of the gen items that make exactly the references they stand for.

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
        tell(seen)
        if _makes(made, table, rows[made.number]):
            good.append(made.number)
        seen += len(rows[made.number])
    return good


def _makes(made: GenItem, table: Table, rows: np.ndarray) -> bool:
    """Say whether a gen item makes these rows of the table in this order, and can find them."""
    if not made.certain or made.count != len(rows):
        return False
    expanded = block_of(Generated(made), 0, made.count)
    keys = table.keys.take(number_column(rows))
    return keys.equals(expanded.keys) and same(table.columns.select(rows), expanded.columns)


def same(wanted: Columns, found: Columns) -> bool:
    """Say whether two columns hold the same references to targets, row by row."""
    places: dict[str | None, int] = {}
    codes = [
        np.array([*(places.setdefault(url, len(places)) for url in columns.urls), -1], np.int64)
        for columns in (wanted, found)
    ]
    return (
        np.array_equal(wanted.kinds, found.kinds)
        and np.array_equal(codes[0][wanted.targets], codes[1][found.targets])
        and np.array_equal(wanted.offsets, found.offsets)
        and np.array_equal(wanted.lengths, found.lengths)
    )


def urls_read_back(
    texts: Sequence[str], urls: Sequence[str | None], templates: Mapping[str, str]
) -> bool:
    """Say whether each jinja-str is read as the URL that it stands for."""
    reader = UrlReader(read_document({"version": 1, "templates": templates}))
    try:
        return all(
            url is None or reader.read(text) == url for text, url in zip(texts, urls, strict=True)
        )
    except BadReference:
        return False
