"""The keys of two sets beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from refexplorer.errors import LimitError
from refexplorer.limits import Limits
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.batches import table_of
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.spec.gen.item import FIELDS, GenItem
from refexplorer.spec.templates.template import Template


@dataclass(frozen=True)
class Matched:
    """Two sets, key by key.

    Attributes
    ----------
    before, after
        Their references, without those of gen items that both have.
    pairs
        Rows of the same key in `before` and `after`, shape ``(2, n)``.
    removed, added
        Rows of `before` and of `after` whose keys the other one has not.
    alike
        Gen items that both have, which are not expanded.
    """

    before: Table
    after: Table
    pairs: np.ndarray
    removed: np.ndarray
    added: np.ndarray
    alike: tuple[Segment, ...]


def match(before: OpenedSet, after: OpenedSet, limits: Limits) -> Matched:
    """Find the keys that two sets share.

    Raises
    ------
    LimitError
        If more keys would have to be written out than `Limits.expanded_keys`.
    """
    alike = _alike(before.segments, after.segments)
    first = _written_out(before.parts, {position for position, _ in alike}, limits)
    second = _written_out(after.parts, {position for _, position in alike}, limits)
    pairs, removed, added = _joined(first, second)
    shared = tuple(before.segments[position] for position, _ in alike)
    return Matched(first, second, pairs, removed, added, shared)


def _alike(before: Sequence[Segment], after: Sequence[Segment]) -> list[tuple[int, int]]:
    """Return the positions of gen items that make the same references on both sides."""
    texts = {_meaning(segment): position for position, segment in enumerate(before)}
    found = ((texts.get(_meaning(segment)), position) for position, segment in enumerate(after))
    return [(first, position) for first, position in found if first is not None]


def _meaning(segment: Segment) -> object:
    """Return all that the references of a segment follow from; of other segments, themselves."""
    if not isinstance(segment, Generated):
        return id(segment)
    item = segment.item
    fields = [getattr(item, field) for field in FIELDS]
    used = {name for field in fields if field is not None for name in _names(field, item)}
    return (
        tuple(None if field is None else field.text for field in fields),
        tuple((dimension.name, dimension.values) for dimension in item.dimensions),
        tuple((name, item.templates[name].text) for name in sorted(used)),
        segment.overridden,
    )


def _names(template: Template, item: GenItem) -> Iterable[str]:
    return (template.names | {name for name, _ in template.calls}) & item.templates.keys()


def _written_out(parts: Sequence[Segment], skipped: set[int], limits: Limits) -> Table:
    kept = [part for position, part in enumerate(parts, -1) if position not in skipped]
    total = sum(part.bound for part in kept)
    if total > limits.expanded_keys:
        raise LimitError(
            f"{total:,} keys would have to be compared one by one, more than the limit of "
            f"{limits.expanded_keys:,}; `Limits.expanded_keys` raises the limit."
        )
    return table_of(kept)


def _joined(before: Table, after: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs, and the rows of each side that are in none."""
    if before.keys.equals(after.keys):
        rows, none = np.arange(before.count), np.empty(0, np.int64)
        return np.stack([rows, rows]), none, none
    found = after.index.find_many(before.keys)
    first = np.flatnonzero(found >= 0)
    second = found[first]
    is_added = np.ones(after.count, np.bool_)
    is_added[second] = False
    return np.stack([first, second]), np.flatnonzero(found < 0), np.flatnonzero(is_added)
