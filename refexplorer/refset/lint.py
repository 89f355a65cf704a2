"""The lint of a whole set: all rules, and those for URLs and byte ranges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from refexplorer.core.text import counted
from refexplorer.formats.columns.references import (
    RANGE,
    Columns,
    distinct,
    flags_of,
    numbers_of,
    text_column,
)
from refexplorer.formats.columns.texts import BLOCK
from refexplorer.refset.arrays import FEW_KEYS
from refexplorer.refset.generated import Generated
from refexplorer.refset.lint_absent import lint_absent, lint_groups
from refexplorer.refset.lint_arrays import lint_arrays, lint_chunks, lint_generated, lint_metadata
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Segment
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.lint import (
    ODD_KEY,
    ODD_URL,
    URL_START,
    KeyFindings,
    lint_key,
    lint_protocols,
    lint_url,
)
from refexplorer.spec.references import LONGEST_SEGMENT, Range, Url

ColumnLook = Callable[[Segment, Columns], None]  # Looks at the references of a segment
_ENDS_NEEDED = 3  # such ranges in one target; fewer may be chance
_ALL_BUT_LAST, _REST = slice(None, -1), slice(1, None)


class _Sorted(NamedTuple):
    """Byte ranges sorted by target, offset, length and row, shape ``(n,)`` each."""

    targets: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    rows: np.ndarray


def _lint_ranges(opened: OpenedSet, part: Segment, columns: Columns, notes: KeyFindings) -> None:
    """Report implausible ranges of a segment."""
    rows, overlaps, ends, same = _in_order(columns)
    for _, first, count in _by_target(columns, rows, overlaps):
        _note_overlap(part, columns, rows[first : first + 2].tolist(), count, notes)
    for target, first, count in _by_target(columns, rows, ends):
        if count >= _ENDS_NEEDED:
            message = (
                f"The lengths of {count:,} ranges of {columns.urls[target]} equal the offset of "
                "the next range: they look like end offsets."
            )
            hint = "The third element of a reference is the length in bytes, not the end."
            key = part.key_at(int(rows[first]))
            notes.add("length-is-end", key, message, hint, count=count)
    _lint_repeats(opened, part, columns, rows, same, notes)


def _in_order(columns: Columns) -> tuple[np.ndarray, ...]:
    """Return the sorted rows of byte ranges, int32, and the findings of `_pairs`."""
    is_range = (columns.kinds == RANGE) & (columns.lengths > 0)
    rows = np.flatnonzero(is_range).astype(np.int32)
    disorder, *found = _pairs(columns, rows)
    # sorting is what costs here, so an order is tried only where the one before left disorder
    for is_full in (False, True):
        if not len(disorder):
            break
        order = np.lexsort(_at(columns, rows)[::-1]) if is_full else _order_of_places(columns, rows)
        rows = rows[order]
        disorder, *found = _pairs(columns, rows)
    return rows, *found


def _order_of_places(columns: Columns, rows: np.ndarray) -> np.ndarray:
    """Sort by target and offset as one number, which is fast; the order of ties is arbitrary."""
    span = int(columns.offsets[rows].max()) + 1
    if span * len(columns.urls) > np.iinfo(np.int64).max:
        return np.arange(len(rows))
    positions = columns.targets[rows].astype(np.int64)
    positions *= span
    positions += columns.offsets[rows]
    return np.argsort(positions)


def _at(columns: Columns, rows: np.ndarray) -> _Sorted:
    return _Sorted(columns.targets[rows], columns.offsets[rows], columns.lengths[rows], rows)


def _pairs(columns: Columns, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the positions of the ranges that, with the next one, pass each of the tests."""
    tests = (_out_of_order, _overlap, _look_like_ends, _are_same)
    found = [[np.empty(0, np.int64)] for _ in tests]
    for start in range(0, len(rows) - 1, BLOCK):
        ranges = _at(columns, rows[start : start + BLOCK + 1])
        first, second = (_Sorted(*(c[part] for c in ranges)) for part in (_ALL_BUT_LAST, _REST))
        for positions, test in zip(found, tests, strict=True):
            positions.append(start + np.flatnonzero(test(first, second)))
    return tuple(np.concatenate(positions) for positions in found)


def _out_of_order(one: _Sorted, two: _Sorted) -> np.ndarray:
    later = one.rows > two.rows
    for before, after in ((one.lengths, two.lengths), (one.offsets, two.offsets),
                          (one.targets, two.targets)):  # fmt: skip
        later = (before > after) | ((before == after) & later)
    return later


def _overlap(one: _Sorted, two: _Sorted) -> np.ndarray:
    """Return which ranges overlap without being identical."""
    shared = one.lengths > two.offsets - one.offsets
    differ = (one.offsets != two.offsets) | (one.lengths != two.lengths)
    return (one.targets == two.targets) & shared & differ


def _look_like_ends(one: _Sorted, two: _Sorted) -> np.ndarray:
    """Return where a length equals the offset of the next range, as an end would."""
    found: np.ndarray = (one.targets == two.targets) & (one.lengths == two.offsets)
    return found & (one.offsets > 0)


def _are_same(one: _Sorted, two: _Sorted) -> np.ndarray:
    same_start = (one.targets == two.targets) & (one.offsets == two.offsets)
    return same_start & (one.lengths == two.lengths)


def _lint_repeats(
    opened: OpenedSet,
    part: Segment,
    columns: Columns,
    rows: np.ndarray,
    same: np.ndarray,
    notes: KeyFindings,
) -> None:
    """Report chunks of one array that have the range of another; `rows` are sorted."""
    if not len(same):
        return
    if isinstance(part, Records):
        paths: tuple[str, ...] = (part.array.path,)
        arrays = np.zeros(part.count, np.int32)
    else:
        paths, arrays = opened.arrays.paths, opened.arrays.of_rows()
    if np.any(arrays[rows[same]] != arrays[rows[same + 1]]):  # arrays that share ranges
        rows, same = _by_array(rows, same, arrays)
    owners = arrays[rows[same]]
    counts = np.bincount(owners + 1, minlength=len(paths) + 1)[1:]
    for owner in np.flatnonzero(counts).tolist():
        first = int(same[np.argmax(owners == owner)])
        pair = rows[first : first + 2].tolist()
        _note_repeats(part, paths[owner], pair, int(counts[owner]), notes)


def _by_array(
    rows: np.ndarray, same: np.ndarray, arrays: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows of one range by array; return which ones equal the next."""
    ranges = np.ones(len(rows), np.int64)
    ranges[same + 1] = 0
    ranges = np.cumsum(ranges)
    order = np.lexsort((arrays[rows], ranges))
    rows, ranges = rows[order], ranges[order]
    alike = (ranges[1:] == ranges[:-1]) & (arrays[rows[1:]] == arrays[rows[:-1]])
    return rows, np.flatnonzero(alike)


def _by_target(
    columns: Columns, rows: np.ndarray, positions: np.ndarray
) -> Iterator[tuple[int, int, int]]:
    """Yield each target with its first position and its number of positions."""
    targets = columns.targets[rows[positions]]
    found = np.unique(targets, return_index=True, return_counts=True)
    for target, first, count in zip(*(column.tolist() for column in found), strict=True):
        yield target, int(positions[first]), count


def _note_overlap(
    part: Segment, columns: Columns, rows: list[int], count: int, notes: KeyFindings
) -> None:
    before, after = rows
    starts, lengths = columns.offsets[rows].tolist(), columns.lengths[rows].tolist()
    shared = min(map(sum, zip(starts, lengths, strict=True))) - starts[1]
    key, url = part.key_at(after), columns.urls[columns.targets[after]]
    message = f"The byte range of `{key}` shares {shared:,} bytes of {url} with that of "
    message += f"`{part.key_at(before)}`."
    hint = "Check whether an offset or a length is wrong."
    notes.add("overlapping-ranges", key, message, hint, count=count)


def _note_repeats(
    part: Segment, array: str, rows: list[int], count: int, notes: KeyFindings
) -> None:
    before, key = map(part.key_at, rows)
    refer = "refers" if count == 1 else "refer"
    name = f"`{array}`" if array else "the root array"
    message = (
        f"{counted(count, 'chunk')} of {name} {refer} to the byte range of another chunk: "
        f"`{key}` has that of `{before}`."
    )
    hint = "This is correct only where their values are equal, as in empty regions; otherwise an "
    notes.add("repeated-range", key, message, f"{hint}offset was repeated.", count=count)


_NEIGHBOURS = 3  # Other chunks of the array that must agree on how their URLs are spelt
_COMPARED = 1_000  # Spellings that are compared; more than these are names without a pattern


def _unusual_urls(columns: Columns) -> Iterator[tuple[int, np.ndarray]]:
    """Yield targets whose spelling is one letter from that of many others, with these others."""
    counts = np.bincount(columns.targets[columns.targets >= 0], minlength=len(columns.urls))
    used = np.flatnonzero(counts)
    if len(used) < 2:
        return
    urls = text_column([url or "" for url in columns.urls.at(used)])
    spelt = pc.replace_substring_regex(urls, "[0-9]+", "#").dictionary_encode()
    spellings: list[str] = spelt.dictionary.to_pylist()
    codes = numbers_of(spelt.indices)
    if not 1 < len(spellings) <= _COMPARED:
        return
    of_spelling = np.bincount(codes)
    references = np.bincount(codes, counts[used]).astype(np.int64)
    for rare in np.flatnonzero(of_spelling == 1).tolist():
        for common in np.flatnonzero(references >= _NEIGHBOURS * references[rare]).tolist():
            if _is_one_letter(spellings[rare], spellings[common]):
                yield int(used[codes == rare][0]), used[codes == common]
                break


def _is_one_letter(one: str, other: str) -> bool:
    """Return whether texts differ by one letter: changed, added, removed, or swapped."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    if "#" in one + other:  # a number that the other has not, as names in a series often are
        return False
    is_exchange = len(one) == len(other) == 2 and one == other[::-1]
    return is_exchange or (max(len(one), len(other)) == 1 and (one + other).strip() != "")


def _note(
    opened: OpenedSet, part: Segment, columns: Columns, notes: KeyFindings, target: int,
    others: np.ndarray,
) -> None:  # fmt: skip
    rows = np.flatnonzero(columns.targets == target)
    key = part.key_at(int(rows[0]))
    found = opened.arrays.of_key(key)
    if found is None:
        return
    array = found[0]
    others = np.flatnonzero(np.isin(columns.targets, others))
    own = [
        row for row in _nearest(others, int(rows[0])) if part.key_at(row).startswith(array.folder)
    ]
    if len(own) < _NEIGHBOURS:
        return
    url, usual = columns.urls[target], columns.urls[columns.targets[own[0]]]
    message = f"`{key}` refers to {url}, which differs by one letter from {usual} of its neighbour "
    message += f"`{part.key_at(own[0])}`."
    notes.add("odd-url", key, message, "Check the spelling of the URL.", count=len(rows))


def _nearest(rows: np.ndarray, row: int) -> list[int]:
    """Return a few of the ascending rows nearest to another."""
    place = int(np.searchsorted(rows, row))
    near: list[int] = rows[max(place - _NEIGHBOURS, 0) : place + _NEIGHBOURS].tolist()
    return sorted(near, key=lambda other: abs(other - row))


def _lint_generated_urls(
    opened: OpenedSet, version: int | None, starts: list[str | None], notes: KeyFindings
) -> None:
    """Report odd generated URLs, and mixed protocols."""
    for segment in opened.segments:
        if isinstance(segment, Generated):
            starts += _lint_first_url(segment, version, notes.findings)
    remark = lint_protocols(starts)
    if remark is not None and version is not None:
        notes.findings.add(remark.code, "", remark.message, remark.hint)


def _lint_first_url(part: Generated, version: int | None, findings: Findings) -> list[str | None]:
    reference = part.reference_at(0)
    if not isinstance(reference, Url | Range):
        return []
    at = pointer("gen", part.item.number, "url")
    for code, message, hint in lint_url(reference.url, version):
        findings.add(code, at, message, hint, key=part.key_at(0), together=True)
    return [reference.url]


def _lint_column(
    part: Segment, columns: Columns, version: int | None, notes: KeyFindings
) -> list[str | None]:
    """Report each odd URL once, at the first key that uses it; return the URLs' prefixes."""
    used = np.flatnonzero(np.bincount(columns.targets + 1)[1:])  # -1 is no URL
    odd = np.intersect1d(used, columns.urls.matching(ODD_URL), assume_unique=True)
    rows = np.flatnonzero(np.isin(columns.targets, odd))
    _, first, counts = np.unique(columns.targets[rows], return_index=True, return_counts=True)
    for url, row, count in zip(
        columns.urls.at(odd), rows[first].tolist(), counts.tolist(), strict=True
    ):
        notes.add_all(part.key_at(row), lint_url(url, version), count=count, together=True)
    by_start = columns.urls.by_start(URL_START)
    return [start for start, positions in by_start if np.isin(positions, used).any()]


def lint(
    opened: OpenedSet, version: int | None, base: str, looks: Iterable[ColumnLook] = ()
) -> Findings:
    """Return what is odd about a set as a whole; each record file is read once for all rules."""
    notes, urls, odd, chunks, ranges = (KeyFindings(base, Findings()) for _ in range(5))
    starts: list[str | None] = []
    for part, columns in opened.columns():
        starts += _lint_column(part, columns, version, urls)
        for target, others in _unusual_urls(columns):
            _note(opened, part, columns, odd, target, others)
        lint_chunks(opened, part, columns, chunks)
        _lint_ranges(opened, part, columns, ranges)
        for look in looks:
            look(part, columns)
        del part, columns  # before those of the next array are read
    opened.note_strays()
    _lint_generated_urls(opened, version, starts, urls)
    for row in _unusual_keys(opened):
        key = opened.table.key_at(row)
        notes.add_all(key, lint_key(key, version))
    _lint_folders(opened, notes)
    lint_metadata(opened, notes)
    notes.findings.extend(urls.findings)
    notes.findings.extend(odd.findings)
    lint_groups(opened, notes)
    lint_absent(opened, notes)
    lint_arrays(opened, notes)
    lint_generated(opened, notes.findings)
    notes.findings.extend(chunks.findings)
    notes.findings.extend(ranges.findings)
    return notes.findings


def _unusual_keys(opened: OpenedSet) -> list[int]:
    """Return the rows of keys to examine; chunks and metadata of plain paths are never odd."""
    table, may_be_odd = opened.table, np.ones(opened.table.count, np.bool_)
    for path in opened.arrays.paths:
        array, folder = opened.arrays.get(path), opened.tree.folder(path)
        rows = () if folder is None else opened.tree.rows_below(folder)
        is_plain = not path or re.search(ODD_KEY, path) is None
        if array is not None and len(rows) > FEW_KEYS and is_plain and opened.arrays.is_tidy(array):
            may_be_odd[rows] = False
    rows = np.flatnonzero(may_be_odd)
    odd = rows[flags_of(pc.match_substring_regex(table.keys_at(rows), ODD_KEY))]
    long = np.flatnonzero(numbers_of(pc.binary_length(table.keys)) > LONGEST_SEGMENT)
    return distinct(np.concatenate([odd, long])).tolist()


def _lint_folders(opened: OpenedSet, notes: KeyFindings) -> None:
    paths = [folder.path for folder in opened.tree.folders[1:]]
    rows = opened.table.index.find_many(text_column(paths))
    for path in (paths[position] for position in np.flatnonzero(rows >= 0).tolist()):
        message = f"`{path}` is both a key and the parent folder of other keys."
        notes.add("key-is-also-directory", path, message)
