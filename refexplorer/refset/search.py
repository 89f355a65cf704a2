"""Search in keys, one block at a time: 10⁷ keys of a parquet store take 0.5 to 0.8 s of CPU."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.formats.columns.references import (
    KINDS,
    Columns,
    flags_of,
    number_column,
    text_column,
)
from refexplorer.formats.columns.table import Table
from refexplorer.refset.generated import Generated, generated_tables
from refexplorer.refset.numbered_segment import Records, SegmentPart
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.references import Kind, prefix

GLOB_MARKS = re.compile(r"(\[!?\]?[^\]]+\]|[*?])")

MODES = ("glob", "regex", "substring")
_GLOB_MARKS = {"*": ".*", "?": "."}
_IN_CHUNKS = "0123456789./c"  # All that the name of a chunk has
_LITERAL = re.compile(r"\^([A-Za-z0-9_/-]*)(?![A-Za-z0-9_/*?+{-])")


class Matcher:
    """A parsed search pattern."""

    def __init__(self, text: str, mode: str) -> None:
        if mode not in MODES:
            raise RefexplorerError(f"{mode!r} is not a search mode; use one of {', '.join(MODES)}.")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise RefexplorerError(
                "The pattern contains an unpaired surrogate, which no key contains."
            )
        pattern = text if mode == "regex" else re.escape(text)
        if mode == "glob":
            # for RE2, unlike `fnmatch.translate`
            parts = GLOB_MARKS.split(text)
            pattern = f"^{''.join(_GLOB_MARKS.get(part) or _glob_part(part) for part in parts)}$"
        self._pattern = "(?s)" + pattern if mode == "glob" else pattern
        self.start = _start(text, mode)
        self._literal = text if mode == "substring" else None
        self._check(text)

    def may_be_in(self, folder: str) -> bool:
        """Return whether a key in a folder or below it may match."""
        return folder.startswith(self.start) or self.start.startswith(folder)

    def may_be_chunk_in(self, path: str) -> bool:
        """Return whether a chunk of an array may match: only numbers come after its path."""
        text, start = self._literal or "", prefix(path)
        named = len(text.rstrip(_IN_CHUNKS))  # what must be in the path
        if not named or text in start:
            return self.may_be_in(path)
        return any(start.endswith(text[:end]) for end in range(named, len(text) + 1))

    def matches(self, keys: pa.Array) -> np.ndarray:
        """Return which keys match, shape ``(n,)`` bool."""
        if self._literal is not None:
            return flags_of(pc.match_substring(keys, self._literal))
        return flags_of(pc.match_substring_regex(keys, self._pattern))

    def urls_of(self, columns: Columns) -> np.ndarray:
        """Return the positions of matching URLs of some references, ascending."""
        positions = columns.urls.matching(self._pattern)
        urls = [url or "" for url in columns.urls.at(positions)]
        return positions[self.matches(text_column(urls))]

    def _check(self, text: str) -> None:
        try:
            self.matches(text_column([""]))
        except pa.ArrowInvalid as error:
            raise RefexplorerError(_why_not(text, str(error))) from None


def _start(text: str, mode: str) -> str:
    if mode == "glob":
        return GLOB_MARKS.split(text)[0]
    match = None if mode == "substring" or "|" in text else _LITERAL.match(text)
    return "" if match is None else match[1]


def _why_not(text: str, message: str) -> str:
    # RE2 does not say which of its limits was met; Python distinguishes a typing error
    try:
        re.compile(text)
    except re.error as error:
        return f"{text!r} is not a valid regular expression: {error}."
    return (
        f"{text!r} is not supported, since matching it could take unbounded time: use a regular "
        "expression without look-ahead, look-behind and back references "
        f"({message.rpartition(': ')[2]})."
    )


def _glob_part(part: str) -> str:
    if len(part) > 2 and part[0] == "[" and part[-1] == "]":
        inside = part[1:-1].replace("\\", "\\\\")
        return f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
    return re.escape(part)


_BLOCK = 2**17  # keys that are tested at a time
SEARCHED_KEYS = 1_000_000  # Generated keys of one segment that a search goes through
_AT_ONCE = 10_000  # keys that are made at a time
_GENERATED = 16  # stored keys that are tested while one is generated


class SearchStep(NamedTuple):
    """What a search found next; it can be stopped after each step."""

    keys: list[str]  # Those that match
    work: int  # How much was gone through for them, in stored keys
    is_target: bool = False  # Whether only the target of these keys matches


def find_steps(
    opened: OpenedSet, text: str, mode: str, kinds: Collection[Kind] = (), targets: bool = False
) -> Iterator[SearchStep]:
    """Yield the keys that match, in the order of the set; then those whose target does."""
    matcher = Matcher(text, mode)
    return _steps(opened, matcher, bool(text or mode == "glob"), kinds, targets and bool(text))


def _steps(
    opened: OpenedSet, matcher: Matcher, narrows: bool, kinds: Collection[Kind], targets: bool
) -> Iterator[SearchStep]:
    codes = [KINDS.index(kind) for kind in kinds]
    unfinished = []
    for part in opened.parts:
        if isinstance(part, Generated):
            kind = KINDS.index(Kind.URL if part.item.offset is None else Kind.RANGE)
            if not matcher.may_be_in(part.folder) or (codes and kind not in codes):
                continue
            for table in generated_tables(part, 0, SEARCHED_KEYS):
                found = np.flatnonzero(matcher.matches(table.keys))
                yield SearchStep(table.keys_at(found).to_pylist(), _GENERATED * table.count)
            if part.count > SEARCHED_KEYS:
                unfinished.append(part)
        elif isinstance(part, Table | Records):
            yield from _search(part, matcher if narrows else None, codes)
    for part in opened.parts if targets else ():
        if isinstance(part, Table | Records):
            yield from _search_targets(part, matcher, codes)
    if unfinished:
        raise LimitError(
            f"Only the first {SEARCHED_KEYS:,} of the {unfinished[0].count:,} keys of "
            f"{unfinished[0].origin} were searched."
        )


def _files(part: Table | Records) -> Iterator[tuple[int, Table | SegmentPart]]:
    """Yield what is read together, with its first row; what was not read before is not kept."""
    first = 0
    for file in part.parts if isinstance(part, Records) else ():
        is_fresh = not file.is_read
        yield first, file
        first += file.count
        if is_fresh:
            file.release()
    if isinstance(part, Table):
        yield 0, part


def _search_targets(
    part: Table | Records, matcher: Matcher, kinds: list[int]
) -> Iterator[SearchStep]:
    """Yield the keys of a part that do not match, but whose target does."""
    for first, file in _files(part):
        columns = file.columns
        is_found = np.isin(columns.targets, matcher.urls_of(columns))
        if kinds:
            is_found &= np.isin(columns.kinds, kinds)
        rows, work = np.flatnonzero(is_found) + first, len(columns)
        for start in range(0, max(len(rows), 1), _AT_ONCE):
            keys = part.keys_at(rows[start : start + _AT_ONCE])
            others = np.flatnonzero(~matcher.matches(keys))
            yield SearchStep(keys.take(number_column(others)).to_pylist(), work, True)
            work = 0


def _search(
    part: Table | Records, matcher: Matcher | None, kinds: list[int]
) -> Iterator[SearchStep]:
    """Yield the keys of a part that match, a block at a time."""
    if matcher is not None:
        may_be_in = matcher.may_be_chunk_in if isinstance(part, Records) else matcher.may_be_in
        if not may_be_in(part.folder):
            return
    for first, file in _files(part) if kinds else ((0, part),):
        end = first + file.count
        for start in range(first, end, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, end))
            work = len(rows)
            if matcher is not None:
                rows = rows[matcher.matches(part.keys_at(rows))]
            if kinds and len(rows):  # after the keys, so that no record without a match is read
                rows = rows[np.isin(file.columns.kinds[rows - first], kinds)]
            for at in range(0, max(len(rows), 1), _AT_ONCE):
                keys = part.keys_at(rows[at : at + _AT_ONCE])
                yield SearchStep(keys.to_pylist(), work)
                work = 0
