"""The chunks of an array: lengths that cannot be, and ranges that changed places."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import numbers_of, text_column
from refexplorer.markup import counted
from refexplorer.refset.columns.reference_columns import RANGE, URL, Columns
from refexplorer.refset.lint.stored_chunks import StoredChunks, stored_chunks
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.diagnostics import Findings, pointer

_FEWEST = 6
"""Chunks from which on their order in the file is plain."""
_SORTED_URLS = 100_000
"""Targets of a set up to which their names are put in order."""
_EXCHANGES = 2
"""Places where the order breaks if two chunks have changed places: one if they are neighbours."""


def lint_chunks(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note chunks of impossible lengths, and those that have each other's ranges."""
    ranks: dict[int, np.ndarray] = {}
    for chunks in stored_chunks(opened):
        _lint_lengths(opened, chunks, base, findings)
        columns = chunks.columns
        if id(columns) not in ranks:
            ranks.clear()  # those of one segment at a time
            ranks[id(columns)] = _ranks(columns)
        _lint_order(opened, chunks, ranks[id(columns)], base, findings)


def _lint_lengths(opened: OpenedSet, chunks: StoredChunks, base: str, findings: Findings) -> None:
    kinds, lengths = chunks.columns.kinds[chunks.rows], chunks.columns.lengths[chunks.rows]
    array, size = chunks.array, chunks.array.encoded_size
    is_empty = (kinds != URL) & (lengths == 0)
    is_odd = (kinds != URL) & ~is_empty & (lengths != size)
    if size is None:
        is_odd[:] = False
    if not (is_empty.any() or is_odd.any()):
        return
    of_grid, _ = chunks.numbers(opened)
    for rows, code in (
        (chunks.rows[is_empty], "empty-chunk"),
        (chunks.rows[is_odd], "chunk-length"),
    ):
        rows = np.intersect1d(rows, of_grid)
        if not len(rows):
            continue
        key = chunks.part.key_at(int(rows[0]))
        length = int(chunks.columns.lengths[rows[0]])
        more = f" {len(rows):,} chunks of `{array.path}` are so." if len(rows) > 1 else ""
        if code == "empty-chunk":
            said = f"`{key}` has a length of 0 bytes, which decode to no chunk.{more}"
            hint = "Leave the key out if the chunk has no data: then it reads as the fill value."
        else:
            said = (
                f"`{key}` has {counted(length, 'byte')}, but a chunk of `{array.path}`, which is "
                f"not compressed, takes {size:,}: {_shape(array.chunks)} elements of "
                f"{array.dtype}.{more}"
            )
            hint = "Check the length, and shape, chunks and data type of the array."
        findings.add(code, base + pointer(key), said, hint, key=key, count=len(rows))


def _shape(lengths: tuple[int, ...]) -> str:
    return " x ".join(map(str, lengths)) or "1"


def _ranks(columns: Columns) -> np.ndarray:
    """Return the place of each URL in their order, shape ``(urls,)``; as they come if many."""
    count = len(columns.urls)
    ranks = np.arange(count)
    if count <= _SORTED_URLS:
        urls = text_column([url or "" for url in columns.urls_at(np.arange(count))])
        ranks[numbers_of(pc.array_sort_indices(urls)).astype(np.int64)] = np.arange(count)
    return ranks


def _lint_order(
    opened: OpenedSet, chunks: StoredChunks, ranks: np.ndarray, base: str, findings: Findings
) -> None:
    """Note two chunks that break the order of all others, and would not in each other's place."""
    columns = chunks.columns
    ranges = chunks.rows[columns.kinds[chunks.rows] == RANGE]
    files = ranks[columns.targets[ranges]]
    if len(ranges) < _FEWEST or not len(_falls(files, columns.offsets[ranges])):
        return  # the keys are written in order, and so nothing has to be read out of them
    rows, numbers = chunks.numbers(opened)
    is_range = columns.kinds[rows] == RANGE
    rows, numbers = rows[is_range], numbers[is_range]
    if np.any(numbers[1:] < numbers[:-1]):
        rows = rows[np.argsort(numbers, kind="stable")]
    found = _exchanged(ranks[columns.targets[rows]], columns, rows)
    if found is None and len(np.unique(columns.targets[rows])) > 1:
        # the names of files may say nothing of order, so each file is looked at by itself
        rows = rows[np.argsort(columns.targets[rows], kind="stable")]
        found = _exchanged(columns.targets[rows], columns, rows)
    if found is None:
        return
    one, other = (chunks.part.key_at(int(rows[place])) for place in found)
    findings.add(
        "swapped-ranges",
        base + pointer(one),
        f"`{one}` and `{other}` seem to have each other's references: {len(rows) - 2:,} other "
        f"chunks of `{chunks.array.path}` follow each other in their files, these two do not.",
        "Exchange the two references, if the values agree.",
        key=one,
    )


def _exchanged(files: np.ndarray, columns: Columns, rows: np.ndarray) -> tuple[int, int] | None:
    """Return the two places that must change for everything to be in order, or None.

    Parameters
    ----------
    files
        The place of the file of each row in the order of files, shape ``(n,)``.
    rows
        Of byte ranges, in the order of their chunks, shape ``(n,)``.
    """
    falls = _falls(files, columns.offsets[rows])
    if len(rows) < _FEWEST or not 1 <= len(falls) <= _EXCHANGES:
        return None
    first, second = int(falls[0]), int(falls[-1]) + 1
    if files[first] != files[second] and not _are_alike(files):
        return None  # one chunk with a file of its own: a lost file rather than an exchange
    near = {place + step for place in (first, second) for step in (-1, 0, 1)}
    places = [place for place in sorted(near) if 0 <= place < len(rows)]
    taken = {place: place for place in places} | {first: second, second: first}
    in_order = all(
        _is_before(files, columns, rows, taken[place], taken[place + 1])
        for place in places
        if place + 1 in taken
    )
    return (first, second) if in_order else None


def _are_alike(files: np.ndarray) -> bool:
    """Say whether each file holds as many of the chunks."""
    counts = np.unique(files, return_counts=True)[1]
    return bool(counts.min() == counts.max())


def _is_before(files: np.ndarray, columns: Columns, rows: np.ndarray, one: int, other: int) -> bool:
    """Say whether the range of a row ends before that of another, or in a file before."""
    if files[one] != files[other]:
        return bool(files[one] < files[other])
    end = int(columns.offsets[rows[one]]) + int(columns.lengths[rows[one]])
    return end <= int(columns.offsets[rows[other]])


def _falls(files: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the places whose range does not stand before the next one, shape ``(m,)``."""
    is_later = (files[1:] == files[:-1]) & (offsets[1:] <= offsets[:-1])
    found: np.ndarray = np.flatnonzero(is_later | (files[1:] < files[:-1]))
    return found
