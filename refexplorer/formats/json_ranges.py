"""Pieces of JSON text that are one byte range each, matched by the column.

The form is ``"key": ["url", offset, length`` with any blanks between the marks. A piece is split
at its quotes: five parts, of which the second and fourth are texts without escapes other than
an escaped slash, and the others are held against what may stand there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.arrow import flags_of, number_column, numbers_of

_BLANK = " \t\r\n"
_BETWEEN = re.compile(r"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*")
_ESCAPE = r"\\[^/]|\\$"
_BACKSLASH = b"\\"
_CONTROL = "[\x00-\x1f]"
_DIGITS = 18


class Ranges(NamedTuple):
    """The byte ranges among n pieces.

    Attributes
    ----------
    matched
        Which pieces are a byte range, shape ``(n,)``; m of them are.
    keys
        Column of their keys, m rows.
    urls
        The distinct URLs.
    codes, offsets, lengths
        Places in `urls`, and bytes, int64, shape ``(m,)``.
    """

    matched: np.ndarray
    keys: pa.Array
    urls: list[str]
    codes: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray


def match_ranges(pieces: pa.Array, block: bytes) -> Ranges:
    """Match each piece against the form of one byte range.

    Parameters
    ----------
    pieces
        Column of texts, n rows.
    block
        The bytes that they are from, to look for what is rare once rather than in each.
    """
    quoted = pc.split_pattern(pieces, '"')
    rows = np.flatnonzero(_lengths(quoted) == 5)
    quoted = _kept(quoted, rows)
    rest = pc.split_pattern(pc.list_element(quoted, 4), ",")
    commas = np.flatnonzero(_lengths(rest) == 3)
    rows, quoted, rest = rows[commas], _kept(quoted, commas), _kept(rest, commas)
    before, key, between, url = (pc.list_element(quoted, place) for place in range(4))
    comma, offset, length = (_trimmed(pc.list_element(rest, place)) for place in range(3))
    good = _is_empty(_trimmed(before)) & _is_between(between) & _is_empty(comma)
    good &= _is_number(offset) & _is_number(length)
    good &= _is_plain(key, block) & _is_plain(url, block)
    found = np.flatnonzero(good)
    key, url, offset, length = (_kept(part, found) for part in (key, url, offset, length))
    return _ranges(len(pieces), rows[found], key, url, offset, length, _BACKSLASH in block)


def _ranges(
    count: int,
    rows: np.ndarray,
    key: pa.Array,
    url: pa.Array,
    offset: pa.Array,
    length: pa.Array,
    escaped: bool,
) -> Ranges:
    matched = np.zeros(count, np.bool_)
    matched[rows] = True
    encoded = url.dictionary_encode()
    urls = encoded.dictionary.to_pylist()
    if escaped:
        key = pc.replace_substring(key, "\\/", "/")
        urls = [text.replace("\\/", "/") for text in urls]
    offsets, lengths = (numbers_of(column.cast(pa.int64())) for column in (offset, length))
    return Ranges(matched, key, urls, numbers_of(encoded.indices), offsets, lengths)


def _lengths(lists: pa.Array) -> np.ndarray:
    return numbers_of(pc.list_value_length(lists))


def _kept(column: pa.Array, rows: np.ndarray) -> pa.Array:
    return column if len(rows) == len(column) else column.take(number_column(rows))


def _trimmed(column: pa.Array) -> pa.Array:
    return pc.ascii_trim(column, _BLANK)


def _is_empty(column: pa.Array) -> np.ndarray:
    empty: np.ndarray = numbers_of(pc.binary_length(column)) == 0
    return empty


def _is_between(column: pa.Array) -> np.ndarray:
    """Say where a colon and an opening bracket stand; there are few ways to write them."""
    encoded = column.dictionary_encode()
    good = [_BETWEEN.fullmatch(text) is not None for text in encoded.dictionary.to_pylist()]
    found: np.ndarray = np.array(good, np.bool_)[numbers_of(encoded.indices)]
    return found


def _is_number(column: pa.Array) -> np.ndarray:
    """Say where a whole number of JSON stands that fits into 64 bits."""
    sizes = numbers_of(pc.binary_length(column))
    padded = flags_of(pc.starts_with(column, "0")) & (sizes > 1)
    fits = (sizes > 0) & (sizes <= _DIGITS) & ~padded
    found: np.ndarray = flags_of(pc.ascii_is_decimal(column)) & fits
    return found


def _is_plain(column: pa.Array, block: bytes) -> np.ndarray:
    """Say where a text has no escape but of a slash, and no control character."""
    plain = np.ones(len(column), np.bool_)
    if _BACKSLASH in block:
        plain &= ~flags_of(pc.match_substring_regex(column, _ESCAPE))
    if np.frombuffer(block, np.uint8).min(initial=255) < 32:
        plain &= ~flags_of(pc.match_substring_regex(column, _CONTROL))
    return plain
