"""Search for keys: by substring, glob or regular expression, and by kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.errors import RefexplorerError
from refexplorer.formats.arrow import flags_of
from refexplorer.refset.columns import KINDS
from refexplorer.refset.generated import generated_tables
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.segments import Generated, Segment
from refexplorer.refset.table import Table
from refexplorer.spec.references import Kind

MODES = ("glob", "regex", "substring")
_GLOB = re.compile(r"(\[!?\]?[^\]]+\]|[*?])")
_GLOB_MARKS = {"*": ".*", "?": "."}
SEARCHED_KEYS = 1_000_000
"""Generated keys of one segment that a search goes through."""


def find_keys(opened: OpenedSet, text: str, mode: str, kinds: Collection[Kind]) -> Iterator[str]:
    """Yield the keys that match, in the order of the set.

    Parameters
    ----------
    text
        What to look for; a ``*`` of a glob also stands for slashes.
    mode
        One of `MODES`.
    kinds
        Which kinds to look at; none stands for all.

    Raises
    ------
    RefexplorerError
        If the mode is unknown or the regular expression cannot be read.
    """
    pattern = _pattern(text, mode)
    for row in _rows(opened.table, text, mode, pattern, kinds):
        yield opened.table.key_at(row)
    for segment in opened.segments:
        if isinstance(segment, Generated):
            for table in generated_tables(segment, 0, SEARCHED_KEYS):
                for row in _rows(table, text, mode, pattern, kinds):
                    yield table.key_at(row)
        else:
            yield from _search_segment(segment, pattern, kinds)


def _pattern(text: str, mode: str) -> re.Pattern[str]:
    if mode == "substring":
        return re.compile(re.escape(text))
    if mode == "glob":
        text, mode = _regex_of_glob(text), "regex"
    if mode != "regex":
        raise RefexplorerError(f"There is no search mode {mode!r}; use one of {', '.join(MODES)}.")
    try:
        return re.compile(text)
    except re.error as error:
        raise RefexplorerError(f"{text!r} is not a regular expression: {error}.") from None


def _rows(
    table: Table, text: str, mode: str, pattern: re.Pattern[str], kinds: Collection[Kind]
) -> Iterator[int]:
    if mode == "substring":
        fits = pc.match_substring(table.keys, text)
    else:
        try:
            fits = pc.match_substring_regex(table.keys, pattern.pattern)
        except pa.ArrowInvalid:  # RE2 knows less than Python, such as back references
            yield from _rows_one_by_one(table, pattern, kinds)
            return
    found = flags_of(fits)
    if kinds:
        found = found & np.isin(table.columns.kinds, [KINDS.index(kind) for kind in kinds])
    yield from np.flatnonzero(found).tolist()


def _rows_one_by_one(
    table: Table, pattern: re.Pattern[str], kinds: Collection[Kind]
) -> Iterator[int]:
    for row in range(table.count):
        if pattern.search(table.key_at(row)) and _is_of(table, row, kinds):
            yield row


def _regex_of_glob(text: str) -> str:
    """Translate a glob to what Python and RE2 both read, which `fnmatch.translate` is not."""
    parts = _GLOB.split(text)
    return "(?s)^" + "".join(_GLOB_MARKS.get(part) or _glob_part(part) for part in parts) + "$"


def _glob_part(part: str) -> str:
    if len(part) > 2 and part[0] == "[" and part[-1] == "]":
        inside = part[1:-1].replace("\\", "\\\\")
        return f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
    return re.escape(part)


def _search_segment(
    segment: Segment, pattern: re.Pattern[str], kinds: Collection[Kind]
) -> Iterator[str]:
    for row in range(min(segment.count, SEARCHED_KEYS)):
        key = segment.key_at(row)
        if pattern.search(key) and _is_of(segment, row, kinds):
            yield key


def _is_of(segment: Segment, row: int, kinds: Collection[Kind]) -> bool:
    if not kinds:
        return True
    reference = segment.reference_at(row)
    return reference is not None and reference.kind in kinds
