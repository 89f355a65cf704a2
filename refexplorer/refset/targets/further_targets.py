"""Targets of generated keys that are too many to be evaluated, by what their URLs vary with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.gen.blocks import blocks
from refexplorer.spec.gen.dimensions import DimensionProduct
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.templates.vectors import TooMuchText, flat

_BLOCK = 4_096


@dataclass(frozen=True)
class FurtherTargets:
    """Targets of generated keys that were not evaluated.

    Attributes
    ----------
    keys
        About how many keys refer to each of them, by its URL.
    unlisted
        How many more there may be at most; they are too many, too.
    """

    keys: dict[str, int]
    unlisted: int


def further_targets(
    parts: Iterable[Generated], known: Collection[str | None], most: int
) -> FurtherTargets:
    """Evaluate the URLs of gen items once for each combination of the dimensions that they use.

    Parameters
    ----------
    parts
        The gen items.
    known
        Targets that are not sought.
    most
        So many URLs are evaluated.
    """
    found: dict[str, int] = {}
    left, unlisted = most, 0
    for part in parts:
        item = part.item
        # dimensions that the URL does not use, such as those of the chunk, would only repeat it
        grid = DimensionProduct(
            tuple(d for d in item.varying.dimensions if d.name in item.url.names)
        )
        count = min(grid.count, left)
        left -= count
        unlisted += grid.count - count
        for url in _urls(item, grid, count):
            if url not in known:
                found[url] = found.get(url, 0) + item.count // grid.count
    return FurtherTargets(found, unlisted)


def _urls(item: GenItem, grid: DimensionProduct, count: int) -> Iterator[str]:
    """Yield the URLs of the first combinations; those that fail are skipped."""
    for block in blocks(grid, 0, count, _BLOCK) if count else ():
        scopes = item.scopes(block.values(grid))
        try:
            urls = flat(scopes.texts(item.url), block.shape)
        except TooMuchText:  # such URLs lead nowhere
            continue
        yield from urls[np.flatnonzero(scopes.good(block.shape))].tolist()
