"""Pieces of JSON text that are one byte range each, matched by the block.

The form is ``"key": ["url", offset, length`` with any blanks between the marks. Four quotes part
a piece in five, of which the second and fourth are texts without escapes other than an escaped
slash, and the others are held against what may stand there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.spans import Spans

_QUOTE, _COMMA, _CLOSING, _BACKSLASH = b'",]\\'


class Ranges(NamedTuple):
    """The byte ranges among n pieces of a block.

    Attributes
    ----------
    pieces
        All pieces; a comma after a closing bracket parts them.
    matched
        Which pieces are a byte range, shape ``(n,)``; m of them are.
    keys, urls
        Columns of their texts, m rows; the URLs as a dictionary.
    offsets, lengths
        Bytes, int64, shape ``(m,)``.
    """

    pieces: Spans
    matched: np.ndarray
    keys: pa.LargeStringArray
    urls: pa.DictionaryArray
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
    """Match each piece of a block against the form of one byte range."""
    data = np.frombuffer(block or b" ", np.uint8)
    marks = _find_marks(data, block)
    starts = np.concatenate([[0], marks.cuts + 2])
    pieces = Spans(data, starts, np.concatenate([marks.cuts, [len(data)]]))
    first = np.searchsorted(marks.quotes, starts)
    rows = np.flatnonzero(np.diff(first, append=len(marks.quotes)) == 4)
    quotes = [marks.quotes[first[rows] + number] for number in range(4)]
    numbers, good = _two_numbers(Spans(data, quotes[3] + 1, pieces.ends[rows]), marks.commas)
    key, url = (Spans(data, quotes[n] + 1, quotes[n + 1]) for n in (0, 2))
    good &= Spans(data, pieces.starts[rows], quotes[0]).is_blank()
    good &= _is_between(Spans(data, quotes[1] + 1, quotes[2]))
    if len(marks.odd):
        good &= (key.holding(marks.odd) == 0) & (url.holding(marks.odd) == 0)
    matched = np.zeros(len(starts), np.bool_)
    matched[rows[good]] = True
    keys, urls = (_plain_texts(spans.take(good), block) for spans in (key, url))
    return Ranges(pieces, matched, keys, urls.dictionary_encode(), *(n[good] for n in numbers))


def _find_marks(data: np.ndarray, block: bytes) -> _Marks:
    """Find all marks in one pass, what is rare only where there is any."""
    places = np.flatnonzero((data == _QUOTE) | (data == _COMMA) | (data == _CLOSING))
    found = data[places]
    commas = places[found == _COMMA]
    closing = places[:-1][(found[:-1] == _CLOSING) & (found[1:] == _COMMA)]
    cuts = closing[data[closing + 1] == _COMMA]
    odd = np.flatnonzero(data < ord(" "))
    if b"\\" in block:
        escapes = np.flatnonzero(data == _BACKSLASH)
        escaped = data[np.minimum(escapes + 1, len(data) - 1)]
        odd = np.union1d(odd, escapes[escaped != ord("/")])
    return _Marks(places[found == _QUOTE], commas, cuts, odd)


def _is_between(spans: Spans) -> np.ndarray:
    """Say where a colon and an opening bracket stand."""
    spans = spans.trimmed()
    good = (spans.sizes > 1) & (spans.first() == ord(":")) & (spans.last() == ord("["))
    inner = Spans(spans.data, spans.starts + 1, np.maximum(spans.ends - 1, spans.starts + 1))
    found: np.ndarray = good & inner.is_blank()
    return found


def _two_numbers(rest: Spans, commas: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Read ``, offset, length``; say where it is just that."""
    commas = np.append(commas, [len(rest.data)] * 3)
    first = np.searchsorted(commas, rest.starts)
    one, two, three = (commas[first + number] for number in range(3))
    good = (two < rest.ends) & (three >= rest.ends)
    one, two = np.minimum(one, rest.ends), np.minimum(two, rest.ends)
    good &= Spans(rest.data, rest.starts, one).is_blank()
    numbers = []
    for before, ends in ((one, two), (two, rest.ends)):
        values, whole = Spans(rest.data, np.minimum(before + 1, ends), ends).trimmed().numbers()
        numbers.append(values)
        good &= whole
    return numbers, good


def _plain_texts(spans: Spans, block: bytes) -> pa.LargeStringArray:
    texts = spans.texts()
    return pc.replace_substring(texts, "\\/", "/") if b"\\" in block else texts
