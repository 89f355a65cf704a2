"""The lint of a whole set: all rules, and those on URLs; one letter that only one URL has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.columns.arrow import flags_of, numbers_of, text_column
from refexplorer.formats.columns.references import Columns
from refexplorer.formats.columns.table import Table
from refexplorer.refset.lint_absent import lint_absent, lint_groups
from refexplorer.refset.lint_chunks import lint_arrays, lint_chunks, lint_generated
from refexplorer.refset.lint_metadata import lint_metadata
from refexplorer.refset.lint_ranges import lint_ranges
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Generated, Segment
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.keys import LONGEST_SEGMENT
from refexplorer.spec.lint import (
    ODD_KEY,
    ODD_URL,
    URL_START,
    KeyFindings,
    lint_key,
    lint_protocols,
    lint_url,
)
from refexplorer.spec.references import Range, Url

_NEIGHBOURS = 3
"""Other chunks of the array that must agree on how their URLs are spelt."""
_COMPARED = 1_000
"""Spellings that are compared; more than these are names without a pattern."""


class _Odd(NamedTuple):
    """A URL that one letter sets apart: its target, and the targets of the usual spelling."""

    target: int
    usual: np.ndarray


def lint_neighbours(opened: OpenedSet, notes: KeyFindings) -> None:
    """Note URLs that differ by one letter from those of the other chunks of an array."""
    for part, columns in opened.columns():
        for odd in _unusual_urls(columns):
            _note(opened, part, columns, odd, notes)


def _unusual_urls(columns: Columns) -> Iterator[_Odd]:
    """Yield the URLs whose spelling, numbers aside, is one letter from that of many others."""
    counts = np.bincount(columns.targets[columns.targets >= 0], minlength=len(columns.urls))
    used = np.flatnonzero(counts)
    if len(used) < 2:
        return
    urls = text_column([url or "" for url in columns.urls.at(used)])
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
    opened: OpenedSet, part: Segment, columns: Columns, odd: _Odd, notes: KeyFindings
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
    notes.add(
        "odd-url",
        key,
        f"`{key}` refers to {url}, which differs by one letter from {usual} of its neighbour "
        f"`{part.key_at(own[0])}`.",
        "Check the spelling of the URL.",
        count=len(rows),
    )


def _nearest(rows: np.ndarray, row: int) -> list[int]:
    """Return a few of ascending rows that are nearest to another."""
    place = int(np.searchsorted(rows, row))
    near: list[int] = rows[max(place - _NEIGHBOURS, 0) : place + _NEIGHBOURS].tolist()
    return sorted(near, key=lambda other: abs(other - row))


def lint_urls(opened: OpenedSet, version: int, notes: KeyFindings) -> None:
    """Note what is odd about each distinct URL, and of how many protocols they are."""
    starts: list[str | None] = []
    for part, columns in opened.columns():
        starts += _lint_column(part, columns, version, notes)
    for segment in opened.segments:
        if isinstance(segment, Generated):
            starts += _lint_first_url(segment, version, notes.findings)
    remark = lint_protocols(starts)
    if remark is not None:
        notes.findings.add(remark.code, "", remark.message, remark.hint)


def _lint_first_url(part: Generated, version: int, findings: Findings) -> list[str | None]:
    reference = part.reference_at(0)
    if not isinstance(reference, Url | Range):
        return []
    at = pointer("gen", part.item.number, "url")
    for code, message, hint in lint_url(reference.url, version):
        findings.add(code, at, message, hint, key=part.key_at(0), together=True)
    return [reference.url]


def _lint_column(
    part: Segment, columns: Columns, version: int, notes: KeyFindings
) -> list[str | None]:
    """Note what is odd about each distinct URL, at its first key; return how the URLs start."""
    used = np.flatnonzero(np.bincount(columns.targets + 1)[1:])  # -1 stands for no URL
    odd, starts = _at_a_glance(columns, used)
    rows = np.flatnonzero(np.isin(columns.targets, odd))
    _, first, counts = np.unique(columns.targets[rows], return_index=True, return_counts=True)
    for url, row, count in zip(
        columns.urls.at(odd), rows[first].tolist(), counts.tolist(), strict=True
    ):
        notes.add_all(part.key_at(row), lint_url(url, version), count=count, together=True)
    return starts


_PLAIN_STARTS = frozenset({"s3:", "gs:", "http:", "https:", "az:", "abfs:"})


def _at_a_glance(columns: Columns, used: np.ndarray) -> tuple[np.ndarray, list[str | None]]:
    """Return which of the `used` positions may have odd URLs, and how all of those start."""
    urls = columns.urls
    if (start := urls.plain_start(URL_START)) in _PLAIN_STARTS:
        behind = np.intersect1d(used, urls.behind(), assume_unique=True)
        return behind, [start, *urls.at(behind)]
    odd = np.intersect1d(used, columns.urls.matching(ODD_URL), assume_unique=True)
    return odd, columns.urls.starts(used, URL_START)


def lint(opened: OpenedSet, version: int, base: str, findings: Findings) -> None:
    """Note what is odd about a set as a whole."""
    notes = KeyFindings(base, findings)
    _lint_keys(opened.table, version, notes)
    _lint_folders(opened, notes)
    lint_metadata(opened, notes)
    lint_urls(opened, version, notes)
    lint_neighbours(opened, notes)
    lint_groups(opened, notes)
    lint_absent(opened, notes)
    lint_arrays(opened, notes)
    lint_generated(opened, notes.findings)
    lint_chunks(opened, notes)
    lint_ranges(opened, notes)


def _unusual_keys(table: Table) -> list[int]:
    odd = flags_of(pc.match_substring_regex(table.keys, ODD_KEY))
    long = numbers_of(pc.binary_length(table.keys)) > LONGEST_SEGMENT
    rows: list[int] = np.flatnonzero(odd | long).tolist()
    return rows


def _lint_keys(table: Table, version: int, notes: KeyFindings) -> None:
    for row in _unusual_keys(table):
        key = table.key_at(row)
        notes.add_all(key, lint_key(key, version))


def _lint_folders(opened: OpenedSet, notes: KeyFindings) -> None:
    paths = [folder.path for folder in opened.tree.folders[1:]]
    rows = opened.table.index.find_many(text_column(paths))
    for path in (paths[position] for position in np.flatnonzero(rows >= 0).tolist()):
        notes.add(
            "key-is-also-directory",
            path,
            f"`{path}` is both a key and the parent folder of other keys.",
        )
