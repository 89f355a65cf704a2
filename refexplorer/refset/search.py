"""Search in keys, as lines of many in one text, so that it looks at many of them at a time.

A text of lines holds no match where no line does, which is most of what a search has to find out.
It costs a byte a key more than the keys, and is written when a search first comes by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.formats.columns.arrow import (
    BLOCK,
    flags_of,
    number_column,
    numbers_of,
    text_column,
)
from refexplorer.formats.columns.chunk_names import chunk_keys, last_parts
from refexplorer.formats.columns.references import KINDS, Columns
from refexplorer.formats.columns.table import Table
from refexplorer.refset.arrays import has_plain_names
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import Records
from refexplorer.refset.segments import Generated, generated_tables
from refexplorer.refset.tree import Tree
from refexplorer.spec.references import Kind
from refexplorer.spec.zarr_metadata import ArrayMeta

GLOB_MARKS = re.compile(r"(\[!?\]?[^\]]+\]|[*?])")
_ATOM = r"(?:[^\\^$.|?*+()\[\]{}/]|\\[.d]|\[(?:[0-9A-Za-z]-[0-9A-Za-z]|[0-9A-Za-z_.])+\])"
_PIECE = re.compile(rf"(?:{_ATOM}(?:[?*+]|\{{\d+(?:,\d*)?\}})?)+")
"""What of a regular expression is sure to match no slash."""
_BETWEEN = re.compile(r"/|(?<!\\)\.[*+]?")


class PatternPart(NamedTuple):
    """A text, or a regular expression."""

    text: str
    is_pattern: bool = False

    def matches(self, texts: pa.Array) -> np.ndarray:
        """Say in which texts it is, shape ``(n,)`` bool."""
        ask = pc.match_substring_regex if self.is_pattern else pc.match_substring
        return flags_of(ask(texts, self.text))


class PatternParts(NamedTuple):
    """The literals of a search."""

    parts: tuple[PatternPart, ...]  # Each is somewhere in every key that matches; there may be none
    is_all: bool  # Whether a key with the one part matches


def literals_of(text: str, mode: str) -> PatternParts:
    """Return the literals of a search; the mode is one of `pattern_matching.MODES`."""
    if mode == "regex":
        return _of_regex(text)
    texts = GLOB_MARKS.split(text)[::2] if mode == "glob" else [text]
    parts = tuple(PatternPart(part) for piece in texts for part in piece.split("/") if part)
    return PatternParts(parts, mode == "substring" and len(parts) == 1 and parts[0].text == text)


def _of_regex(text: str) -> PatternParts:
    body = text.removeprefix("^").removesuffix("$")
    pieces = _BETWEEN.split(body)
    if body.endswith("\\") or not all(_PIECE.fullmatch(piece) for piece in pieces if piece):
        return PatternParts((), False)
    if text.endswith("$") and pieces[-1]:
        pieces[-1] += "$"
    parts = tuple(PatternPart(piece, True) for piece in pieces if piece)
    return PatternParts(parts, len(parts) == 1 and parts[0].text == text)


MODES = ("glob", "regex", "substring")
_GLOB_MARKS = {"*": ".*", "?": "."}
_LITERAL = re.compile(r"\^([A-Za-z0-9_/-]*)(?![A-Za-z0-9_/*?+{-])")
_BOUND_TO_TEXT = re.compile(r"\\[AzZ]|\(\?[A-Za-z]*-")
"""What means something else in a text of many lines: ends of the text, flags taken back."""


class Matcher:
    """A parsed search pattern."""

    def __init__(self, text: str, mode: str) -> None:
        if mode not in MODES:
            raise RefexplorerError(f"{mode!r} is not a search mode; use one of {', '.join(MODES)}.")
        pattern = text if mode == "regex" else re.escape(text)
        if mode == "glob":
            pattern = _regex_of_glob(text)
        self.across_lines = mode != "regex" or _BOUND_TO_TEXT.search(text) is None
        self._per_line = "(?m)" + pattern
        self._pattern = "(?s)" + pattern if mode == "glob" else pattern
        self.start = _start(text, mode)
        self.literals = literals_of(text, mode)
        self._literal = text if mode == "substring" else None
        self._check(text)

    def may_be_in(self, folder: str) -> bool:
        """Say whether a key in a folder or below it may match."""
        return folder.startswith(self.start) or self.start.startswith(folder)

    def matches(self, keys: pa.Array) -> np.ndarray:
        """Say which keys match, shape ``(n,)`` bool."""
        if self._literal is not None:
            return flags_of(pc.match_substring(keys, self._literal))
        return flags_of(pc.match_substring_regex(keys, self._pattern))

    def may_match(self, lines: pa.Array) -> np.ndarray:
        """Say which texts may have a line that matches, shape ``(n,)`` bool; no other one has."""
        return flags_of(pc.match_substring_regex(lines, self._per_line))

    def urls_of(self, columns: Columns) -> np.ndarray:
        """Return the positions of the URLs of some references that match, ascending."""
        positions = columns.urls.matching(self._pattern)
        urls = [url or "" for url in columns.urls.at(positions)]
        found: np.ndarray = positions[self.matches(text_column(urls))]
        return found

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
    # RE2 does not say which of its limits was met; Python tells a typing error from the rest
    try:
        re.compile(text)
    except re.error as error:
        return f"{text!r} is not a valid regular expression: {error}."
    return (
        f"{text!r} is not supported, since matching it could take unbounded time: use a regular "
        "expression without look-ahead, look-behind and back references "
        f"({message.rpartition(': ')[2]})."
    )


def _regex_of_glob(text: str) -> str:
    """Translate a glob to what RE2 reads, which `fnmatch.translate` is not."""
    parts = GLOB_MARKS.split(text)
    return "^" + "".join(_GLOB_MARKS.get(part) or _glob_part(part) for part in parts) + "$"


def _glob_part(part: str) -> str:
    if len(part) > 2 and part[0] == "[" and part[-1] == "]":
        inside = part[1:-1].replace("\\", "\\\\")
        return f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
    return re.escape(part)


MOST_NAMES = 2**22
"""Grids with more chunks have their names not written out."""
_ASKED = 4
"""Answers that are kept: a search asks a name for each part of its pattern."""


class Names:
    """Distinct names, which know the answers to what they were asked last."""

    def __init__(self, texts: pa.LargeStringArray) -> None:
        self.matching = lru_cache(_ASKED)(lambda literal: literal.matches(texts))


@dataclass(frozen=True)
class KeyNames:
    """The folders and names of n keys."""

    names: Names  # Maybe shared with other arrays
    codes: np.ndarray  # The position of each key's name among them, shape ``(n,)``
    folders: pa.LargeStringArray  # Column of texts that end in a slash
    rows: Sequence[np.ndarray | slice]  # For each folder the keys that are directly in it

    def holding(self, literals: Sequence[PatternPart]) -> np.ndarray:
        """Say which keys have all of some literals, shape ``(n,)`` bool."""
        found = np.ones(len(self.codes), np.bool_)
        for literal in literals:
            held: np.ndarray = self.names.matching(literal)[self.codes]
            for position in np.flatnonzero(literal.matches(self.folders)).tolist():
                held[self.rows[position]] = True
            found &= held
        return found


def names_of_tree(tree: Tree) -> KeyNames | None:
    """Return the names of explicit keys; None if most of them have a name of their own."""
    keys = tree.table.keys
    rows = [tree.rows_in(folder) for folder in tree.folders]
    if max(map(len, rows)) > len(keys) // 2 or not all(map(tree.is_exact, tree.folders)):
        return None
    blocks = [last_parts(keys.slice(start, BLOCK)) for start in range(0, len(keys), BLOCK)]
    encoded = pa.chunked_array(blocks).dictionary_encode().chunks
    codes = np.concatenate([numbers_of(chunk.indices) for chunk in encoded])
    paths = text_column([folder.path + "/" for folder in tree.folders[1:]])
    return KeyNames(Names(encoded[-1].dictionary), codes, paths, rows[1:])


class GridNames:
    """The names of the chunks of grids, shared by the arrays of a store."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Names] = {}

    def of(self, records: Records) -> KeyNames | None:
        """Return the names of the chunks of an array; None if they would be too many."""
        array = records.array
        if not array.grid or array.chunk_count > MOST_NAMES or not has_plain_names(array):
            return None
        form = (array.prefix, array.separator, array.grid)
        if form not in self._made:
            self._made[form] = _names_of_grid(array)
        numbers = records.chunk_numbers(np.arange(records.count))
        folders = text_column([array.folder] if array.path else [])
        return KeyNames(self._made[form], numbers, folders, [slice(None)])


def _names_of_grid(array: ArrayMeta) -> Names:
    start = "/" if array.path else ""
    plain = replace(array, path="", prefix=start + array.prefix)
    return Names(chunk_keys(plain, np.arange(array.chunk_count)))


LINES_TESTED = 2**17  # keys of a block, which are kept as text for the next search
FEW = 2_000_000
"""So few keys that are at hand are gone through faster than they are written as lines."""
LINES = 16  # keys in one text: RE2 is called once for all of them


class KeyLines:
    """The keys of a segment, block by block."""

    def __init__(
        self,
        segment: Table | Records,
        make_names: Callable[[], KeyNames | None] = lambda: None,
        few: int = FEW,
    ) -> None:
        self.segment = segment
        self._is_worth_it = isinstance(segment, Records) or segment.count > few
        self._names = cache(make_names)
        self._blocks: dict[int, pa.StringArray | None] = {}

    def matching(self, matcher: Matcher | None, kinds: list[int]) -> Iterator[np.ndarray]:
        """Yield the rows that match, ascending, int64, a block at a time."""
        if matcher is not None and not matcher.may_be_in(self.segment.folder):
            return
        suspects = None if matcher is None else self._suspects(matcher)
        for start in range(0, self.segment.count, LINES_TESTED):
            rows = np.arange(start, min(start + LINES_TESTED, self.segment.count))
            fits = self._fits(rows, kinds) if kinds and self.segment.is_read else None
            if fits is not None and not fits.any():
                continue
            found = rows
            if matcher is not None and suspects is not None:
                found = self._checked(rows[suspects[start : start + LINES_TESTED]], matcher)
            elif matcher is not None:
                found = rows[self._places(start, rows, matcher)]
            if fits is not None:
                found = found[fits[found - start]]
            elif kinds:
                found = found[self._fits(found, kinds)]
            yield found

    def _suspects(self, matcher: Matcher) -> np.ndarray | None:
        """Say which rows may match, by the names of the keys; None if they do not tell."""
        parts = matcher.literals.parts
        names = self._names() if parts and self._is_worth_it else None
        return None if names is None else names.holding(parts)

    def _checked(self, rows: np.ndarray, matcher: Matcher) -> np.ndarray:
        """Return those of the suspected rows that match."""
        if matcher.literals.is_all or not len(rows):
            return rows
        found: np.ndarray = rows[matcher.matches(self.segment.keys_at(rows))]
        return found

    def _fits(self, rows: np.ndarray, kinds: list[int]) -> np.ndarray:
        fits: np.ndarray = np.isin(self.segment.kinds_at(rows), kinds)
        return fits

    def _places(self, start: int, rows: np.ndarray, matcher: Matcher) -> np.ndarray:
        """Return the positions in a block that match."""
        use_lines = self._is_worth_it and matcher.across_lines
        lines = self._lines(start, rows) if use_lines else None
        if lines is None:
            return np.flatnonzero(matcher.matches(self.segment.keys_at(rows)))
        # a text that matches says only that one of its lines may: these are asked again, one by one
        texts = np.flatnonzero(matcher.may_match(lines))
        positions = (texts[:, None] * LINES + np.arange(LINES)).ravel()
        positions = positions[positions < len(rows)]
        keys = pc.list_flatten(pc.split_pattern(lines.take(number_column(texts)), "\n"))
        found: np.ndarray = positions[matcher.matches(keys)]
        return found

    def _lines(self, start: int, rows: np.ndarray) -> pa.StringArray | None:
        """Return the keys of a block as texts of lines; None if a key has several lines."""
        if start not in self._blocks:
            keys = self.segment.keys_at(rows)
            broken = flags_of(pc.match_substring(keys, "\n")).any()
            self._blocks[start] = None if broken else _as_lines(keys)
        return self._blocks[start]


def _as_lines(keys: pa.LargeStringArray) -> pa.StringArray:
    bounds = np.append(np.arange(0, len(keys), LINES), len(keys))
    offsets = number_column(bounds).cast(pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, keys.cast(pa.string())), "\n")


SEARCHED_KEYS = 1_000_000
"""Generated keys of one segment that a search goes through."""
_AT_ONCE = 10_000  # keys that are made at a time, so that a search can be stopped


class KeySearch:
    """A search over the keys of a set; what one search writes out makes the next one faster."""

    def __init__(self, opened: OpenedSet) -> None:
        self._parts: list[KeyLines | Generated] = []
        grids = GridNames()
        for part in opened.parts:
            if isinstance(part, Table):
                self._parts.append(KeyLines(part, lambda: names_of_tree(opened.tree)))
            elif isinstance(part, Records):
                self._parts.append(KeyLines(part, partial(grids.of, part)))
            elif isinstance(part, Generated):
                self._parts.append(part)

    def find(
        self, text: str, mode: str, kinds: Collection[Kind] = (), targets: bool = False
    ) -> Iterator[str]:
        """Yield the keys that match, in the order of the set."""
        matcher = Matcher(text, mode)
        codes = [KINDS.index(kind) for kind in kinds]
        unfinished = []
        for part in self._parts:
            if isinstance(part, Generated):
                if not matcher.may_be_in(part.folder) or not _may_be_of(part, codes):
                    continue
                yield from _search_generated(part, matcher)
                if part.count > SEARCHED_KEYS:
                    unfinished.append(part)
            else:
                for rows in part.matching(matcher if text or mode == "glob" else None, codes):
                    for start in range(0, len(rows), _AT_ONCE):
                        yield from part.segment.keys_at(rows[start : start + _AT_ONCE]).to_pylist()
        if targets and text:
            yield from self._find_in_targets(matcher, codes)
        if unfinished:
            raise LimitError(
                f"Only the first {SEARCHED_KEYS:,} of the {unfinished[0].count:,} keys of "
                f"{unfinished[0].origin} were searched."
            )

    def _find_in_targets(self, matcher: Matcher, codes: list[int]) -> Iterator[str]:
        """Yield the keys that do not match, but whose target does."""
        for part in self._parts:
            if isinstance(part, Generated):
                continue
            columns = part.segment.columns
            is_found = np.isin(columns.targets, matcher.urls_of(columns))
            if codes:
                is_found &= np.isin(columns.kinds, codes)
            rows = np.flatnonzero(is_found)
            for start in range(0, len(rows), _AT_ONCE):
                keys = part.segment.keys_at(rows[start : start + _AT_ONCE])
                others = np.flatnonzero(~matcher.matches(keys))
                yield from keys.take(number_column(others)).to_pylist()


def _may_be_of(part: Generated, codes: list[int]) -> bool:
    made = Kind.URL if part.item.offset is None else Kind.RANGE
    return not codes or KINDS.index(made) in codes


def _search_generated(part: Generated, matcher: Matcher) -> Iterator[str]:
    for table in generated_tables(part, 0, SEARCHED_KEYS):
        found = np.flatnonzero(matcher.matches(table.keys))
        yield from table.keys_at(found).to_pylist()
