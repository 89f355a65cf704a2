"""The keys of one set that another one no longer has; generated ones by arithmetic if possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow.compute as pc

from refexplorer.core.errors import LimitError
from refexplorer.formats.columns.arrow import flags_of, text_column
from refexplorer.formats.columns.table import Table
from refexplorer.refset.opened_set import OpenedSet, number_of
from refexplorer.refset.overriding import may_generate
from refexplorer.refset.segments import Generated, Segment
from refexplorer.spec.gen.dimensions import Dimension, values_at

SHOWN = 200
"""Removed keys that are named, each with its number in the later set."""
RUN = 10
"""Of keys that stood one behind the other, so many are named."""
SCANNED = 2_000
"""Keys of one segment that are looked up one by one."""
_INTERSECTED = 100_000  # values of a dimension that are compared one by one: see `_shared`


@dataclass(frozen=True, slots=True)
class Removed:
    """Keys that were removed."""

    count: int  # How many; a lower bound unless `is_exact`
    is_exact: bool
    # The first of them in order, each with the number of the key of the later set before which it
    # stood
    positions: tuple[tuple[int, str], ...]


def removed_keys(before: OpenedSet, after: OpenedSet) -> Removed:
    """Compare the keys of two sets."""
    count, is_exact = 0, True
    overridden: list[tuple[Segment, int]] = []
    for part in before.parts:
        rows, counted = _removed_rows(part, after)
        overridden += [(part, row) for row in rows]
        count += len(rows) if counted is None else max(counted, len(rows))
        is_exact = is_exact and counted is not None
    first = sorted(_placed(overridden[:SHOWN], before, after), key=lambda placed: placed[0])
    return Removed(count, is_exact, tuple(first))


def _removed_rows(part: Segment, after: OpenedSet) -> tuple[list[int], int | None]:
    """Return rows that are gone, the first ones, and how many there are if that is known."""
    if isinstance(part, Table):
        suspects = np.flatnonzero(~flags_of(pc.is_in(part.keys, value_set=after.table.keys)))
        rows = [row for row in suspects[:SCANNED].tolist() if not _has(after, part.key_at(row))]
        return rows, len(rows) + max(0, len(suspects) - SCANNED)
    twin = next((one for one in after.segments if _is_twin(part, one)), None)
    kept = None if twin is None else _kept(part, twin)
    if kept == part.count:
        return [], 0
    rows = _scanned(part, twin, after)
    if part.count <= SCANNED:
        return rows, len(rows)
    return rows, None if kept is None else part.count - kept


def _scanned(part: Segment, twin: Segment | None, after: OpenedSet) -> list[int]:
    """Return which of the first rows are gone; generated ones that fail are not looked at."""
    overridden: list[int] = []
    for numbers, keys in _first_keys(part):
        rows = np.flatnonzero(~_made_by(part, twin, numbers))
        asked = [keys[row] for row in rows.tolist()]
        maybe = _may_have(after, asked, twin).tolist()
        overridden += [
            row
            for row, key, is_maybe in zip(numbers[rows].tolist(), asked, maybe, strict=True)
            if not (is_maybe and _has(after, key))
        ]
    return overridden


def _first_keys(part: Segment) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Yield the numbers of the first rows, and their keys."""
    if isinstance(part, Generated):
        yield from ((run.numbers, run.keys) for run in part.runs(0, SCANNED))
    else:
        rows = range(min(part.count, SCANNED))
        yield np.array(rows), [part.key_at(row) for row in rows]


def _made_by(part: Segment, twin: Segment | None, numbers: np.ndarray) -> np.ndarray:
    """Say of which rows the twin makes the key, too; shape ``(n,)`` bool."""
    if not (isinstance(part, Generated) and isinstance(twin, Generated)):
        return np.zeros(len(numbers), np.bool_)
    made = np.ones(len(numbers), np.bool_)
    others = {dimension.name: dimension for dimension in twin.item.dimensions}
    for name, column in values_at(part.item.varying, numbers).items():
        values, positions = np.unique(column, return_inverse=True)
        inside = [others[name].index(value) is not None for value in values.tolist()]
        made &= np.array(inside, np.bool_)[positions]
    return made


def _may_have(after: OpenedSet, keys: list[str], twin: Segment | None) -> np.ndarray:
    """Say which keys are worth being looked up in what is there beside the twin."""
    column = text_column(keys)
    found = flags_of(pc.is_in(column, value_set=after.table.keys))
    for segment in after.segments:
        if segment is not twin:
            found |= may_generate(segment, column) if isinstance(segment, Generated) else True
    return found


def _has(after: OpenedSet, key: str) -> bool:
    try:
        return after.find(key) is not None
    except LimitError:
        return True


def _is_twin(one: Segment, other: Segment) -> bool:
    """Say whether two gen items write their keys in the same way."""
    if not (isinstance(one, Generated) and isinstance(other, Generated)):
        return False
    a, b = one.item, other.item
    names = a.key.names
    return (
        a.key.text == b.key.text
        and not one.overridden
        and not other.overridden
        and a.inverter is not None
        and b.inverter is not None
        and all(a.templates.get(name) == b.templates.get(name) for name in names)
        and {d.name for d in a.dimensions} & names == {d.name for d in b.dimensions} & names
    )


def _kept(one: Segment, other: Segment) -> int | None:
    """Return how many keys two such items share; None if a dimension is too long to compare."""
    assert isinstance(one, Generated)
    assert isinstance(other, Generated)
    others = {dimension.name: dimension for dimension in other.item.dimensions}
    used = [d for d in one.item.dimensions if d.name in one.item.key.names]
    shared = [_shared(dimension, others[dimension.name]) for dimension in used]
    return None if None in shared else prod(number or 0 for number in shared)


def _shared(one: Dimension, other: Dimension) -> int | None:
    a, b = one.values, other.values
    if a == b:
        return one.size
    if isinstance(a, range) and isinstance(b, range) and a.step == b.step == 1:
        return max(0, min(a.stop, b.stop) - max(a.start, b.start))
    # this runs at each keystroke of the editor, where a set of 10**6 values would be felt
    if max(one.size, other.size) > _INTERSECTED:
        return None
    return len(set(a) & set(b))


def _placed(
    gone: list[tuple[Segment, int]], before: OpenedSet, after: OpenedSet
) -> Iterator[tuple[int, str]]:
    """Yield each key with its number: after the key that stood before it and is still there."""
    before_it: tuple[Segment, int] | None = None
    named = number = 0
    for part, row in gone:
        follows = before_it is not None and before_it[0] is part and before_it[1] == row - 1
        before_it = part, row
        named = named + 1 if follows else 1
        if named == 1:
            number = _number_after(part, row - 1, before, after)
        if named <= RUN:
            yield number, part.key_at(row)


def _number_after(part: Segment, last: int, before: OpenedSet, after: OpenedSet) -> int:
    """Return the number after that of a row, or where its segment would begin."""
    try:
        if last >= 0:
            return number_of(after, part.key_at(last)) + 1
        first = 0
        for other in after.parts:
            if other.origin == part.origin:
                return first
            first += other.count
    except (KeyError, LimitError):
        pass
    return after.count
