"""URLs among those of neighbouring chunks: one letter that only one of them has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import numbers_of, text_column
from refexplorer.refset.columns.reference_columns import Columns
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.segment import Segment
from refexplorer.spec.core.diagnostics import Findings, pointer

_NEIGHBOURS = 3
"""Other chunks of the array that must agree on how their URLs are spelt."""
_COMPARED = 1_000
"""Spellings that are compared; more than these are names without a pattern."""


class _Odd(NamedTuple):
    """A URL that one letter sets apart: its target, and the targets of the usual spelling."""

    target: int
    usual: np.ndarray


def lint_neighbours(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note URLs that differ by one letter from those of the other chunks of an array."""
    for part, columns in opened.columns():
        for odd in _odd_urls(columns):
            _note(opened, part, columns, odd, base, findings)


def _odd_urls(columns: Columns) -> Iterator[_Odd]:
    """Yield the URLs whose spelling, numbers aside, is one letter from that of many others."""
    counts = np.bincount(columns.targets[columns.targets >= 0], minlength=len(columns.urls))
    used = np.flatnonzero(counts)
    if len(used) < 2:
        return
    urls = text_column([url or "" for url in columns.urls_at(used)])
    spelt = pc.replace_substring_regex(urls, "[0-9]+", "#").dictionary_encode()
    spellings, codes = _texts(spelt.dictionary), numbers_of(spelt.indices)
    if not 1 < len(spellings) <= _COMPARED:
        return
    of_spelling = np.bincount(codes)
    references = np.bincount(codes, counts[used]).astype(np.int64)
    for rare in np.flatnonzero(of_spelling == 1).tolist():
        for common in np.flatnonzero(references >= _NEIGHBOURS * references[rare]).tolist():
            if _is_one_letter(spellings[rare], spellings[common]):
                yield _Odd(int(used[codes == rare][0]), used[codes == common])
                break


def _texts(column: pa.Array) -> list[str]:
    texts: list[str] = column.to_pylist()
    return texts


def _is_one_letter(one: str, other: str) -> bool:
    """Say whether texts differ by one letter: another, one more, one less, or two exchanged."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    if "#" in one + other:  # a number that the other has not, as names in a series often are
        return False
    is_exchange = len(one) == len(other) == 2 and one == other[::-1]
    return is_exchange or (max(len(one), len(other)) == 1 and (one + other).strip() != "")


def _note(
    opened: OpenedSet, part: Segment, columns: Columns, odd: _Odd, base: str, findings: Findings
) -> None:
    rows = np.flatnonzero(columns.targets == odd.target)
    key = part.key_at(int(rows[0]))
    found = opened.arrays.of_key(key)
    if found is None:
        return
    array = found[0]
    others = np.flatnonzero(np.isin(columns.targets, odd.usual))
    own = [
        row for row in _nearest(others, int(rows[0])) if part.key_at(row).startswith(array.folder)
    ]
    if len(own) < _NEIGHBOURS:
        return
    url, usual = columns.urls[odd.target], columns.urls[columns.targets[own[0]]]
    findings.add(
        "odd-url",
        base + pointer(key),
        f"`{key}` refers to {url}, which differs by one letter from {usual} of its neighbour "
        f"`{part.key_at(own[0])}`.",
        "Check the spelling of the URL.",
        key=key,
        count=len(rows),
    )


def _nearest(rows: np.ndarray, row: int) -> list[int]:
    """Return a few of ascending rows that are nearest to another."""
    place = int(np.searchsorted(rows, row))
    near: list[int] = rows[max(place - _NEIGHBOURS, 0) : place + _NEIGHBOURS].tolist()
    return sorted(near, key=lambda other: abs(other - row))
