"""Other URLs for the references of a set: renamed, made absolute, made relative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from refexplorer.refset.columns.table import Table
from refexplorer.spec.core.references import Range


@dataclass(frozen=True)
class Renames:
    """Rules for the starts of URLs, of which the first that fits is applied.

    Attributes
    ----------
    rules
        Start before and start after.
    unused
        The rules that no URL asked for yet.
    """

    rules: Sequence[tuple[str, str]]
    unused: set[tuple[str, str]] = field(init=False)

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
    """Return a table with each change made to each of its distinct URLs, and no others kept."""
    columns = table.columns
    used, inverse = np.unique(columns.targets, return_inverse=True)
    before = int(np.searchsorted(used, 0))
    found = columns.urls_at(used[before:])
    for change in changes:
        found = [url if url is None else change(url) for url in found]
    targets = (inverse - before).astype(np.int32)
    targets[columns.targets < 0] = -1
    large = {
        row: Range(found[targets[row]], reference.offset, reference.length)
        for row, reference in columns.large.items()
    }
    return replace(table, columns=replace(columns, urls=found, targets=targets, large=large))
