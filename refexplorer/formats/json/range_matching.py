"""Pieces of JSON text that are one reference to a target each, matched by the block.

The forms are ``"key": ["url", offset, length`` and ``"key": ["url"`` with any blanks between the
marks. Four quotes part a piece in five, of which the second and fourth are texts without escapes
other than an escaped slash, and the others are held against what may stand there.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.entries import WHOLE
from refexplorer.formats.buffers.spans import Spans

_Rows: TypeAlias = "np.ndarray | slice"
_QUOTE, _COMMA, _CLOSING, _BACKSLASH = b'",]\\'


class Ranges(NamedTuple):
    """The byte ranges and whole files among n pieces of a block."""

    pieces: Spans  # All pieces; a comma after a closing bracket parts them
    matched: np.ndarray  # Which pieces are one of them, shape ``(n,)``; m are
    # keys, urls: Columns of their texts, m rows; the URLs as a dictionary
    keys: pa.LargeStringArray
    urls: pa.DictionaryArray
    # offsets, lengths: Bytes, int64, shape ``(m,)``; `WHOLE` is the length of a whole file
    offsets: np.ndarray
    lengths: np.ndarray


class _Marks(NamedTuple):
    """Where the marks of JSON stand, int64, in order."""

    quotes: np.ndarray
    commas: np.ndarray
    cuts: np.ndarray
    """Closing brackets that a comma follows."""
    odd: np.ndarray
    """What a plain text does not hold: control characters, escapes but that of a slash."""


def match_ranges(block: bytes) -> Ranges:
    """Match each piece of a block against the forms of one reference."""
    data = np.frombuffer(block or b" ", np.uint8)
    marks = _find_marks(data, block)
    starts = np.append(0, marks.cuts + 2)
    pieces = Spans(data, starts, np.append(marks.cuts, len(data)))
    rows, quotes = _four_quotes(pieces, marks.quotes)
    rest = Spans(data, quotes[3] + 1, pieces.ends[rows])
    numbers, good = _two_numbers(rest, marks.commas)
    if not good.all():
        is_whole = rest.is_blank()
        pairs = zip(numbers, (0, WHOLE), strict=True)
        numbers = [np.where(is_whole, none, column) for column, none in pairs]
        good |= is_whole
    key, url = (Spans(data, quotes[n] + 1, quotes[n + 1]) for n in (0, 2))
    good &= Spans(data, pieces.starts[rows], quotes[0]).tested(Spans.is_blank)
    good &= Spans(data, quotes[1] + 1, quotes[2]).tested(_is_between)
    if len(marks.odd):
        good &= (key.holding(marks.odd) == 0) & (url.holding(marks.odd) == 0)
    matched = np.zeros(len(starts), np.bool_)
    matched[rows] = good
    if not good.all():
        key, url, numbers = key.take(good), url.take(good), [column[good] for column in numbers]
    keys, urls = key.texts(), url.texts().dictionary_encode()
    if b"\\" in block:
        keys, texts = (_unescaped(column) for column in (keys, urls.dictionary))
        urls = pa.DictionaryArray.from_arrays(urls.indices, texts)
    return Ranges(pieces, matched, keys, urls, *numbers)


def _find_marks(data: np.ndarray, block: bytes) -> _Marks:
    """Find all marks, what is rare only where there is any."""
    quotes, commas = np.flatnonzero(data == _QUOTE), np.flatnonzero(data == _COMMA)
    cuts = commas[data[np.maximum(commas - 1, 0)] == _CLOSING] - 1
    odd = np.flatnonzero(data < ord(" ")) if data.min() < ord(" ") else commas[:0]
    if b"\\" in block:
        escapes = np.flatnonzero(data == _BACKSLASH)
        escaped = data[np.minimum(escapes + 1, len(data) - 1)]
        odd = np.sort(np.concatenate([odd, escapes[escaped != ord("/")]]))
    return _Marks(quotes, commas, cuts, odd)


def _four_quotes(pieces: Spans, quotes: np.ndarray) -> tuple[_Rows, np.ndarray]:
    """Return which pieces have four quotes, and where, shape ``(4, n)``."""
    if (found := pieces.marked(quotes, 4)) is not None:
        return slice(None), found
    first = np.searchsorted(quotes, pieces.starts)
    rows = np.flatnonzero(np.diff(first, append=len(quotes)) == 4)
    return rows, quotes[first[rows] + np.arange(4)[:, None]]


def _is_between(spans: Spans) -> np.ndarray:
    """Say where a colon and an opening bracket stand."""
    spans = spans.trimmed()
    good = (spans.sizes > 1) & (spans.first() == ord(":")) & (spans.last() == ord("["))
    inner = Spans(spans.data, spans.starts + 1, np.maximum(spans.ends - 1, spans.starts + 1))
    found: np.ndarray = good & inner.is_blank()
    return found


def _two_numbers(rest: Spans, commas: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Read ``, offset, length``; say where it is just that."""
    if (found := rest.marked(np.append(commas, len(rest.data)), 2)) is not None:
        (one, two), good = found, np.ones(len(rest.starts), np.bool_)
    else:
        commas = np.append(commas, [len(rest.data)] * 3)
        one, two, three = commas[np.searchsorted(commas, rest.starts) + np.arange(3)[:, None]]
        good = (two < rest.ends) & (three >= rest.ends)
        one, two = np.minimum(one, rest.ends), np.minimum(two, rest.ends)
    good &= Spans(rest.data, rest.starts, one).tested(Spans.is_blank)
    numbers = []
    for before, ends in ((one, two), (two, rest.ends)):
        values, whole = Spans(rest.data, np.minimum(before + 1, ends), ends).spaced_numbers()
        numbers.append(values)
        good &= whole
    return numbers, good


def _unescaped(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    return pc.replace_substring(texts, "\\/", "/")
