"""The references of a large JSON document, read in blocks without a Python object for each.

Most of a large set is ``"key": ["url", offset, length]``. The text is split at ``],`` and each
piece is matched against the strict syntax of one such entry; pieces that do not match are joined
with their neighbours and passed to a real parser. A piece inside a string or a nested value leaves
the pieces around it unbalanced, so that the parser fails, and reading in blocks with it: exactly
valid JSON is accepted, and any doubt raises `NotInBlocks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.files import Readable
from refexplorer.formats.columns.references import number_column, numbers_of, text_column
from refexplorer.formats.columns.table import WHOLE, Entries, EntriesBuilder
from refexplorer.formats.columns.texts import Spans
from refexplorer.formats.documents import Noting
from refexplorer.formats.json.positions import Broken, first_member

_Rows: TypeAlias = "np.ndarray | slice"
_QUOTE, _COMMA, _CLOSING, _BACKSLASH = b'",]\\'


class Ranges(NamedTuple):
    """The byte ranges and whole files among n pieces of a block."""

    pieces: Spans  # All pieces, separated by the comma after a closing bracket
    matched: np.ndarray  # Which pieces are a range or a whole file, shape ``(n,)``; m are
    # keys, urls: Columns of their texts, m rows; the URLs as a dictionary
    keys: pa.LargeStringArray
    urls: pa.DictionaryArray
    # offsets, lengths: Bytes, int64, shape ``(m,)``; `WHOLE` is the length of a whole file
    offsets: np.ndarray
    lengths: np.ndarray


class _Marks(NamedTuple):
    """The positions of JSON's structural characters, int64, ascending."""

    quotes: np.ndarray
    commas: np.ndarray
    cuts: np.ndarray  # Closing brackets before a comma
    odd: np.ndarray  # Control characters, and escapes other than of a slash


def match_ranges(block: bytes) -> Ranges:
    """Match each piece of a block against the possible formats of one reference."""
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
        keys, texts = (pc.replace_substring(each, "\\/", "/") for each in (keys, urls.dictionary))
        urls = pa.DictionaryArray.from_arrays(urls.indices, texts)
    return Ranges(pieces, matched, keys, urls, *numbers)


def _find_marks(data: np.ndarray, block: bytes) -> _Marks:
    """Find all marks, searching for rare ones only if there are any."""
    quotes, commas = np.flatnonzero(data == _QUOTE), np.flatnonzero(data == _COMMA)
    cuts = commas[data[np.maximum(commas - 1, 0)] == _CLOSING] - 1
    odd = np.flatnonzero(data < ord(" ")) if data.min() < ord(" ") else commas[:0]
    if b"\\" in block:
        escapes = np.flatnonzero(data == _BACKSLASH)
        escaped = data[np.minimum(escapes + 1, len(data) - 1)]
        odd = np.sort(np.concatenate([odd, escapes[escaped != ord("/")]]))
    return _Marks(quotes, commas, cuts, odd)


def _four_quotes(pieces: Spans, quotes: np.ndarray) -> tuple[_Rows, np.ndarray]:
    """Return which pieces have four quotes, and their positions, shape ``(4, n)``."""
    if (found := pieces.marked(quotes, 4)) is not None:
        return slice(None), found
    first = np.searchsorted(quotes, pieces.starts)
    rows = np.flatnonzero(np.diff(first, append=len(quotes)) == 4)
    return rows, quotes[first[rows] + np.arange(4)[:, None]]


def _is_between(spans: Spans) -> np.ndarray:
    """Return where a colon and an opening bracket are."""
    spans = spans.trimmed()
    good = (spans.sizes > 1) & (spans.first() == ord(":")) & (spans.last() == ord("["))
    inner = Spans(spans.data, spans.starts + 1, np.maximum(spans.ends - 1, spans.starts + 1))
    return good & inner.is_blank()


def _two_numbers(rest: Spans, commas: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Parse ``, offset, length``; return where it matches exactly."""
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
        values, whole = Spans(rest.data, np.minimum(before + 1, ends), ends).trimmed_numbers()
        numbers.append(values)
        good &= whole
    return numbers, good


BLOCK = 2**20  # bytes of the document that become columns at a time
_KEPT = 4 * BLOCK
"""Bytes of a large allocation: once one was freed, the C library of Linux keeps smaller ones for
the next block; before that it returns them to the system, with a thousand page faults a block."""
HEAD = 64 * 2**20  # bytes in which the first references must begin, and that one entry may have
_CUT = b"],"
_BEFORE_REFS = ("version", "templates", "gen")
_SECTIONS = (*_BEFORE_REFS, "refs")


class NotInBlocks(Exception):
    """The document cannot be read in blocks and needs a real parser."""


@dataclass
class DocumentEntries(Entries):
    """The references of a document, in document order; values as in JSON."""

    # The document without its references: V1's other sections, or nothing for V0
    outer: dict[str, Any]
    is_v1: bool  # Whether the references are those of ``refs``

    def written(self) -> dict[str, Any]:
        """Return the document as written, without the byte ranges among its references."""
        rows = np.fromiter(self.values, np.int64, len(self.values))
        keys = self.keys.take(number_column(rows)).to_pylist()
        refs = dict(zip(keys, self.values.values(), strict=True))
        return {**self.outer, "refs": refs} if self.is_v1 else refs


def read_in_blocks(stream: Readable, noting: Noting) -> DocumentEntries:
    """Read a V0 or V1 document from a stream of uncompressed UTF-8."""
    np.empty(_KEPT, np.uint8)  # freed immediately
    head, body, is_v1 = _read_head(stream)
    reader = _Reader(noting)
    pieces = _Cut(_blocks(head[body + 1 :], stream))
    for block in pieces:
        reader.read(block)
    tail = reader.read_rest(pieces.rest)
    outer = _read_outer(head[:body], tail, noting) if is_v1 else {}
    if not is_v1 and tail.strip(" \t\r\n"):
        raise NotInBlocks
    return reader.entries(outer, is_v1)


def _read_head(stream: Readable) -> tuple[bytes, int, bool]:
    """Read until the references begin; return what was read, the position, and if it is V1."""
    head, is_more = bytearray(), True
    while is_more and len(head) < HEAD:
        # each attempt begins at the start: one per block would take quadratic time for a long key
        is_more = _fill(head, max(BLOCK, 2 * len(head)), stream)
        try:
            # JSON's structural characters are ASCII, so latin-1 preserves byte offsets
            name, place = first_member(head.decode("latin-1"), _BEFORE_REFS.__contains__)
        except Broken:
            continue
        if place == len(head):
            continue
        if name == "refs":
            if head[place : place + 1] != b"{":
                break
            return bytes(head), place, True
        return bytes(head), head.index(b"{"), False
    raise NotInBlocks


def _fill(buffer: bytearray, size: int, stream: Readable) -> bool:
    """Fill a buffer to a size; return False if the stream ends before."""
    while len(buffer) < size:
        more = stream.read(BLOCK)
        if not more:
            return False
        buffer += more
    return True


def _blocks(first: bytes, stream: Readable) -> Iterator[bytes]:
    """Yield the bytes already read and the rest of a stream, one block at a time."""
    for at in range(0, len(first), BLOCK):
        yield first[at : at + BLOCK]
    while more := stream.read(BLOCK):
        yield more


class _Cut:
    """Blocks that end at the end of a reference; the cuts between them are omitted."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self.rest = b""

    def __iter__(self) -> Iterator[bytes]:
        parts: list[bytes | memoryview] = []
        for more in self._blocks:
            cut = more.rfind(_CUT)
            if cut >= 0:
                yield b"".join([*parts, memoryview(more)[:cut]])
                parts = [more[cut + len(_CUT) :]]
            elif parts and parts[-1][-1:] == _CUT[:1] and more[:1] == _CUT[1:]:
                yield b"".join(parts)[:-1]
                parts = [more[1:]]
            else:
                parts.append(more)
                if sum(map(len, parts)) > HEAD:
                    raise NotInBlocks
        self.rest = b"".join(parts)


def _read_outer(head: bytes, tail: str, noting: Noting) -> dict[str, Any]:
    """Parse the document around its references."""
    try:
        outer = noting.decoder().decode(_decoded(head) + "{}" + tail)
    except (ValueError, RecursionError):
        raise NotInBlocks from None
    if "version" not in outer or "refs" in noting.repeated:
        raise NotInBlocks
    return outer


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NotInBlocks from None


class _Reader(EntriesBuilder):
    """Turns blocks into columns; an unfinished run of pieces waits for the next block."""

    def __init__(self, noting: Noting) -> None:
        super().__init__()
        self._decoder = noting.decoder()
        self._waiting: list[str] = []

    def read(self, block: bytes) -> None:
        """Parse the text between two cuts."""
        if not block.isascii():
            _decoded(block)
        ranges = match_ranges(block)
        runs = self._parse_runs(block, ranges)
        codes = numbers_of(ranges.urls.indices) + np.int32(len(self._urls))
        self._urls.append(ranges.urls.dictionary)
        columns = [codes, ranges.offsets, ranges.lengths]
        self._insert(ranges.keys, columns, ranges.matched, runs)

    def _parse_runs(self, block: bytes, ranges: Ranges) -> dict[int, dict[str, Any]]:
        """Parse runs of unmatched pieces by the index of the first; a pending run is at -1."""
        # A pending run that does not continue is at -1, before all pieces.
        parsed: dict[int, dict[str, Any]] = {}
        matched, pieces = ranges.matched, ranges.pieces
        if self._waiting and matched[0]:
            parsed[-1], self._waiting = self._parse(self._waiting), []
        for first, last in _runs(matched):
            texts = [block[pieces.starts[first] : pieces.ends[last]].decode()]
            if first == 0:
                texts, self._waiting = self._waiting + texts, []
            if last == len(matched) - 1:
                self._waiting = texts
            else:
                parsed[first] = self._parse(texts)
        return parsed

    def _parse(self, texts: list[str]) -> dict[str, Any]:
        """Parse a run of whole entries."""
        try:
            entries: dict[str, Any] = self._decoder.decode("{" + "],".join(texts) + "]}")
        except (ValueError, RecursionError):
            raise NotInBlocks from None
        return entries

    def _insert(
        self,
        keys: pa.Array,
        ranges: Sequence[np.ndarray],
        matched: np.ndarray,
        runs: dict[int, dict[str, Any]],
    ) -> None:
        """Append a block, with the entries of runs inserted between the matched ones."""
        if runs:
            counts = np.concatenate([[0], matched.astype(np.int64)])
            for place, entries in runs.items():
                counts[place + 1] = len(entries)
            starts = np.cumsum(counts) - counts
            order = np.empty(int(counts.sum()), np.int64)
            order[starts[1:][matched]] = np.arange(len(keys))
            texts: list[str] = []
            for place, entries in runs.items():
                rows = starts[place + 1] + np.arange(len(entries))
                order[rows] = len(keys) + len(texts) + np.arange(len(entries))
                self._values.update(
                    zip((len(self._keys) + rows).tolist(), entries.values(), strict=True)
                )
                texts += entries
            none = [np.full(len(texts), value) for value in (-1, 0, 0)]
            ranges = [np.concatenate(pair)[order] for pair in zip(ranges, none, strict=True)]
            keys = pa.concat_arrays([keys, _keys(texts)]).take(number_column(order))
        self._append(keys, *ranges)

    def read_rest(self, buffer: bytes) -> str:
        """Parse what follows the last cut; return the text after the references."""
        text = "{" + "],".join([*self._waiting, _decoded(buffer)])
        try:
            entries, end = self._decoder.raw_decode(text)
        except (ValueError, RecursionError):
            raise NotInBlocks from None
        if not entries and len(self._keys):  # a trailing comma
            raise NotInBlocks
        none = np.empty(0, np.int64)
        self._insert(text_column([]), [none] * 3, np.empty(0, bool), {-1: entries})
        return text[end:]

    def entries(self, outer: dict[str, Any], is_v1: bool) -> DocumentEntries:
        """Return all entries; without ``refs``, no key may have the name of a section."""
        found = self.finish()
        if not is_v1 and pc.any(pc.is_in(found.keys, text_column(_SECTIONS))).as_py():
            raise NotInBlocks
        return DocumentEntries(**vars(found), outer=outer, is_v1=is_v1)


def _keys(texts: list[str]) -> pa.LargeStringArray:
    try:
        return text_column(texts)
    except UnicodeEncodeError:  # half a surrogate pair
        raise NotInBlocks from None


def _runs(matched: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each run of unmatched pieces."""
    places = np.flatnonzero(~matched)
    if len(places):
        ends = np.flatnonzero(np.diff(places) > 1)
        firsts = places[np.concatenate([[0], ends + 1])]
        lasts = places[np.concatenate([ends, [len(places) - 1]])]
        yield from zip(firsts.tolist(), lasts.tolist(), strict=True)
