"""Changes of keys between two sets: renamed, shifted and moved references."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from refexplorer.core.text import masks_repr
from refexplorer.formats.columns.references import RANGE, URL, Columns, joined_columns, numbers_of
from refexplorer.formats.columns.table import Table
from refexplorer.refset.tree import Node, Tree
from refexplorer.spec.references import Base64, Inline, prefix
from refexplorer.spec.zarr_metadata import is_metadata, parse_metadata

CHANGES = (
    "same", "removed", "added", "moved", "shifted", "resized", "inlined", "embedded", "content",
    "metadata", "rejected",
)  # fmt: skip
"""The changes of a key. A *moved* byte range is in another target, a *shifted* one has another
offset, a *resized* one another length; the first that applies is used. An *inlined* key is text on
one side and as many bytes of a target on the other, *embedded* if they were read and are equal;
*content* has other bytes; of *metadata* a field changed; *rejected* has an error on one side."""
SAME, REMOVED, ADDED, MOVED, SHIFTED, RESIZED, INLINED, EMBEDDED, CONTENT, METADATA, REJECTED = (
    range(11)
)


@dataclass(frozen=True)
class Compared:
    """n keys that are on both sides."""

    changes: np.ndarray  # Positions in `CHANGES`, int8, shape ``(n,)``
    # Positions in `urls` before and after, -1 for text, int64, shape ``(2, n)``
    targets: np.ndarray
    urls: tuple[str | None, ...]  # The distinct URLs of both sides
    # How many bytes further each byte range begins, int64, shape ``(n,)``; 0 for the others
    shifts: np.ndarray
    resized: np.ndarray  # Whether the lengths of both differ, whatever else does, shape ``(n,)``


def compare(before: Table, after: Table, pairs: np.ndarray) -> Compared:
    """Compare the references of pairs of rows, shape ``(2, n)``."""
    rows = before.columns.select(pairs[0]), after.columns.select(pairs[1])
    both = joined_columns(rows)
    kinds, targets, offsets, lengths = (
        column.reshape(2, -1) for column in (both.kinds, both.targets, both.offsets, both.lengths)
    )
    to_target = (kinds == RANGE) | (kinds == URL)
    changes = np.zeros(pairs.shape[1], np.int8)
    ranges = np.all(kinds == RANGE, axis=0)
    changes[to_target.all(axis=0) & ((kinds[0] != kinds[1]) | (lengths[0] != lengths[1]))] = RESIZED
    changes[ranges & (offsets[0] != offsets[1])] = SHIFTED
    changes[to_target.all(axis=0) & (targets[0] != targets[1])] = MOVED
    inlined = to_target[0] != to_target[1]
    changes[inlined] = INLINED
    changes[inlined & np.any(kinds == RANGE, axis=0) & (lengths[0] != lengths[1])] = CONTENT
    for row in np.flatnonzero(~to_target.any(axis=0)).tolist():
        changes[row] = _text_change(rows, row, before.key_at(int(pairs[0, row])))
    shifts = np.where(ranges, offsets[1] - offsets[0], 0)
    resized = ranges & (lengths[0] != lengths[1])
    return Compared(changes, targets.astype(np.int64), tuple(both.urls), shifts, resized)


def _text_change(sides: tuple[Columns, Columns], row: int, key: str) -> int:
    """Compare two texts by bytes, and metadata by their parsed JSON."""
    first, second = (side.reference_at(row) for side in sides)
    assert isinstance(first, Inline | Base64)
    assert isinstance(second, Inline | Base64)
    if first == second or first.data == second.data:
        return SAME
    if not is_metadata(key):
        return CONTENT
    parsed = [parse_metadata(side.data.decode(errors="replace")) for side in (first, second)]
    if None in parsed:
        return CONTENT
    return SAME if parsed[0] == parsed[1] else METADATA


MOST_ARRAYS = 100
"""Arrays of each side that are compared with each other; if there are more, the first ones."""


class ArrayMove(NamedTuple):
    """The array `old` was renamed to `new`, with its number of keys."""

    old: str
    new: str
    keys: int


def find_array_moves(
    before: Table, after: Table, arrays: tuple[Iterable[str], Iterable[str]]
) -> tuple[ArrayMove, ...]:
    """Return the arrays whose references all exist below another path."""
    by_size: dict[int, dict[str, Table]] = defaultdict(dict)
    for path, table in _parts(after, arrays[1]):
        by_size[table.count][path] = table
    found = []
    for path, table in _parts(before, arrays[0]):
        same_size = by_size[table.count]
        new = next((n for n, t in same_size.items() if _are_equal(path, table, n, t)), None)
        if new is not None:
            del same_size[new]
            found.append(ArrayMove(path, new, table.count))
    return tuple(found)


def _parts(table: Table, arrays: Iterable[str]) -> Iterator[tuple[str, Table]]:
    """Yield the paths of arrays with their rows of a table."""
    if not table.count:
        return
    tree = Tree(table, ())
    folders = (folder for path in arrays if (folder := tree.folder(path)) is not None)
    for folder in islice(folders, MOST_ARRAYS):
        yield folder.path, table.select(np.sort(tree.rows_below(folder)))


def _are_equal(old: str, one: Table, new: str, two: Table) -> bool:
    """Return whether two arrays have the same references, with any metadata fields."""
    metadata = set(one.metadata.values())
    row = next((row for row in range(one.count) if row not in metadata), None)
    if old == new or row is None:
        return False
    first = prefix(new) + one.key_at(row)[len(prefix(old)) :]
    if two.get(first) != one.reference_at(row):  # cheaper than comparing all of them
        return False
    names = (pc.utf8_slice_codeunits(t.keys, len(prefix(p))) for p, t in ((old, one), (new, two)))
    positions = pc.index_in(*names)
    if positions.null_count:
        return False
    pairs = np.stack([np.arange(one.count), numbers_of(positions).astype(np.int64)])
    return bool(np.isin(compare(one, two, pairs).changes, (SAME, METADATA)).all())


class ChangeTree:
    """The keys that differ between two sets, by folder."""

    def __init__(self, table: Table, changes: np.ndarray) -> None:
        self.table = table
        self._changes = changes

    @cached_property
    def tree(self) -> Tree:
        """The folders."""
        return Tree(self.table, ())

    def change_of(self, key: str) -> str | None:
        """Return the change of a key; None if it is the same in both, or in neither."""
        row = self.table.find(key)
        return None if row is None else CHANGES[self._changes[row]]

    def counts_below(self, path: str) -> np.ndarray:
        """Count the keys below a folder by change, int64, in the order of `CHANGES`."""
        if (folder := self.tree.folder(path)) is None:
            return np.zeros(len(CHANGES), np.int64)
        return np.bincount(self._changes[self.tree.rows_below(folder)], minlength=len(CHANGES))

    def numbers(self, path: str, change: str | None = None) -> np.ndarray:
        """Return the numbers of the keys below a folder, with one change or all, ascending."""
        if (folder := self.tree.folder(path)) is None:
            return np.empty(0, np.int64)
        rows: np.ndarray = np.sort(self.tree.rows_below(folder))
        if change is not None:
            rows = rows[self._changes[rows] == CHANGES.index(change)]
        return rows

    def count(self, path: str) -> int:
        """Return the number of children of a folder; 0 if it is not a folder."""
        level = self.tree.level(path)
        return 0 if level is None else level.total

    def nodes(self, path: str, first: int, last: int) -> tuple[Node, ...]:
        """Return some children of a folder by their positions."""
        level = self.tree.level(path)
        return () if level is None else level.page(first, last)

    def place(self, path: str) -> tuple[str, int]:
        """Return the folder that contains a path, and its position there."""
        if (found := self.tree.locate(path)) is None:
            raise KeyError(path)
        return found


MOST_PAIRS = 100_000  # Pairs of URLs that rules are made from, the most frequent first


@masks_repr
class Rename(NamedTuple):
    """URLs that start with `old` now start with `new`, which explains this number of keys."""

    old: str
    new: str
    keys: int

    def __str__(self) -> str:
        return f"{self.old}={self.new}"


class Shift(NamedTuple):
    """Byte ranges start this number of bytes later, for this number of keys."""

    by: int
    keys: int


def find_renames(moved: Iterable[tuple[str, str, int]], most: int = 3) -> tuple[Rename, ...]:
    """Return the rules that explain most keys, each among those not explained before."""
    left = sorted(moved, key=lambda pair: -pair[2])[:MOST_PAIRS]
    found: list[Rename] = []
    while left and len(found) < most:
        votes: Counter[tuple[str, str]] = Counter()
        for before, after, keys in left:
            votes[rule(before, after)] += keys
        (old, new), _ = votes.most_common(1)[0]
        explained = [pair for pair in left if renamed(pair[0], old, new) == pair[1]]
        found.append(Rename(old, new, sum(keys for _, _, keys in explained)))
        left = [pair for pair in left if renamed(pair[0], old, new) != pair[1]]
    return tuple(found)


def renamed(url: str, old: str, new: str) -> str | None:
    """Apply a rule to a URL; None if it does not start like that."""
    return new + url[len(old) :] if url.startswith(old) else None


def rule(before: str, after: str) -> tuple[str, str]:
    """Return the differing prefixes of two URLs, up to a slash if there is one."""
    common = 0
    for first, second in zip(reversed(before), reversed(after), strict=False):
        if first != second:
            break
        common += 1
    if common == len(before) and after[: len(after) - common].endswith("/"):
        return "", after[: len(after) - common]
    if common == len(after) and before[: len(before) - common].endswith("/"):
        return before[: len(before) - common], ""
    kept = before[len(before) - common :]
    tail = len(kept) - kept.find("/") - 1 if "/" in kept else 0
    return before[: len(before) - tail], after[: len(after) - tail]


def find_shifts(shifts: np.ndarray, most: int = 3) -> tuple[Shift, ...]:
    """Return the shifts shared by many byte ranges, from an array of shifts in bytes."""
    values, counts = np.unique(shifts, return_counts=True)
    least = max(2, len(shifts) // 100)
    order = np.argsort(-counts, kind="stable")[:most]
    return tuple(
        Shift(int(values[each]), int(counts[each])) for each in order if counts[each] >= least
    )
