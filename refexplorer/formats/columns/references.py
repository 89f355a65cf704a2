"""References as columns: no Python object for each of them.

`pyarrow.array` on a list, `pyarrow.scalar` and `to_numpy` import pandas, which takes longer than
opening a small set; so columns are created from numpy arrays and their buffers here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.spec.references import Base64, Inline, Kind, Range, Reference, Url


def text_column(texts: Sequence[str]) -> pa.LargeStringArray:
    """Create a text column; texts must not contain lone surrogates."""
    joined = "".join(texts)
    # if each character is one byte, all texts can be encoded at once
    sized = texts if joined.isascii() else [text.encode() for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, sized), np.int64, len(texts)), out=offsets[1:])
    return pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(offsets), pa.py_buffer(joined.encode())
    )


def text_scalar(text: str) -> pa.LargeStringScalar:
    """Create a text that is repeated in every row."""
    return text_column([text])[0]


def number_column(numbers: np.ndarray) -> pa.Array:
    """Create an integer column, shape ``(n,)``."""
    numbers = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def numbers_of(column: pa.Array) -> np.ndarray:
    """Return a column of integers without nulls as numpy, shape ``(n,)``."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = np.dtype(str(column.type))  # pyarrow's own conversion may import pandas
    if not len(column):
        return np.empty(0, kind)
    start = column.offset * kind.itemsize
    return np.frombuffer(column.buffers()[1], kind, len(column), start)


def distinct(numbers: np.ndarray) -> np.ndarray:
    """Return the distinct numbers, ascending; `numpy.unique` imports `numpy.ma`."""
    ordered = np.sort(_runs(numbers))  # of many numbers there are often few runs
    return _runs(ordered)


def _runs(numbers: np.ndarray) -> np.ndarray:
    """Return the first number of each run of equal ones."""
    return numbers[np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]]


def flags_of(column: pa.BooleanArray) -> np.ndarray:
    """Return a boolean column without nulls as numpy, shape ``(n,)``."""
    return numbers_of(column.cast(pa.uint8())).view(np.bool_)


LARGEST = 2**63 - 1  # int64, which columns have
# halves of 32 bits: the sum of 2^31 of them fits into 63
_HALF = 32


def exact_sum(numbers: np.ndarray) -> int:
    """Return the sum of non-negative int64 numbers as a Python integer."""
    if int(numbers.max(initial=0)) * len(numbers) <= LARGEST:
        return int(numbers.sum())
    # each half is below 2**32, so that 2**31 of them still fit into 64 bits
    high, low = numbers >> _HALF, numbers & (2**_HALF - 1)
    return (int(high.sum()) << _HALF) + int(low.sum())


KINDS = tuple(Kind)
INLINE, BASE64, URL, RANGE = range(4)


class UrlColumn(Sequence["str | None"]):
    """Distinct URLs as a column, followed by others; None is the target named on opening."""

    def __init__(
        self, texts: pa.LargeStringArray | None = None, more: Sequence[str | None] = ()
    ) -> None:
        self._texts = text_column([]) if texts is None else texts
        self._more = more

    def __len__(self) -> int:
        return len(self._texts) + len(self._more)

    @overload
    def __getitem__(self, position: int) -> str | None: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[str | None]: ...
    def __getitem__(self, position: int | slice) -> str | Sequence[str | None] | None:
        if isinstance(position, slice):
            return [self[one] for one in range(*position.indices(len(self)))]
        if position < len(self._texts):
            return self._texts[position].as_py()
        return self._more[position - len(self._texts)]

    def at(self, positions: np.ndarray) -> list[str | None]:
        """Return the URLs at many positions, ascending, shape ``(n,)``, at once."""
        own = positions[positions < len(self._texts)]
        more = positions[positions >= len(self._texts)] - len(self._texts)
        texts: list[str | None] = self._texts.take(number_column(own)).to_pylist()
        return texts + [self._more[position] for position in more.tolist()]

    def matching(self, pattern: str) -> np.ndarray:
        """Return the positions of URLs that match, and of the few behind the column, ascending."""
        matches = flags_of(pc.match_substring_regex(self._texts, pattern))
        return np.append(np.flatnonzero(matches), np.arange(len(self._texts), len(self)))

    def by_start(self, pattern: str) -> Iterator[tuple[str | None, np.ndarray]]:
        """Yield the URL prefixes that a named group matches, and the positions of each."""
        # A prefix may occur twice; None is the prefix of no URL.
        first = re.match(pattern, self._texts[0].as_py()) if len(self._texts) else None
        if first is not None and first["start"]:
            start = first["start"]  # usually the prefix of all
            if pc.all(pc.starts_with(self._texts, start)).as_py():
                yield start, np.arange(len(self._texts))
                first = None
        if first is not None:
            starts = pc.struct_field(pc.extract_regex(self._texts, pattern), 0).dictionary_encode()
            codes = numbers_of(starts.indices)
            for code, start in enumerate(starts.dictionary.to_pylist()):
                yield start, np.flatnonzero(codes == code)
        behind: dict[str | None, list[int]] = {}
        for position, url in enumerate(self._more, len(self._texts)):
            match = None if url is None else re.match(pattern, url)
            behind.setdefault(None if match is None else match["start"], []).append(position)
        for start, positions in behind.items():
            yield start, np.array(positions)

    def joined(self, others: Sequence[str | None]) -> tuple[UrlColumn, list[int]]:
        """Add other URLs; return the longer column and the position of each of them."""
        texts = text_column([url or "" for url in others])
        known = pc.index_in(texts, value_set=self._texts).to_pylist()
        codes = {url: len(self._texts) + position for position, url in enumerate(self._more)}
        positions = [
            codes.setdefault(url, len(self._texts) + len(codes))
            if url is None or position is None
            else position
            for url, position in zip(others, known, strict=True)
        ]
        return UrlColumn(self._texts, tuple(codes)), positions


@dataclass(frozen=True)
class Columns:
    """n references."""

    kinds: np.ndarray  # Positions in `KINDS`, uint8
    targets: np.ndarray  # Positions in `urls` for whole files and ranges, -1 for the others, int32
    urls: UrlColumn  # The distinct URLs
    offsets: np.ndarray  # Bytes for a range; the index into `texts` for inline text and base64
    lengths: np.ndarray  # Bytes; 0 for a whole file, whose size is not known
    texts: Sequence[str]  # The inline texts

    def __len__(self) -> int:
        return len(self.kinds)

    def reference_at(self, row: int) -> Reference:
        url = self.urls[self.targets[row]] if self.targets[row] >= 0 else None
        numbers = self.kinds[row], int(self.offsets[row]), int(self.lengths[row])
        return self._reference(url, *numbers)

    def references_at(self, rows: np.ndarray) -> list[Reference]:
        """Return many references by row, shape ``(n,)``, in the given order."""
        targets = self.targets[rows]
        used = distinct(targets[targets >= 0])
        urls = dict(zip(used.tolist(), self.urls.at(used), strict=True))
        numbers = (column[rows].tolist() for column in (self.kinds, self.offsets, self.lengths))
        found = map(urls.get, targets.tolist())
        return list(map(self._reference, found, *numbers))

    def _reference(self, url: str | None, kind: int, position: int, size: int) -> Reference:
        if kind == RANGE:
            return Range(url, position, size)
        if kind == URL:
            return Url(url)
        return Inline(self.texts[position]) if kind == INLINE else Base64(self.texts[position])

    def total(self, rows: np.ndarray | None = None) -> int:
        """Return the sum of the lengths of some rows, or of all, without whole files."""
        return exact_sum(self.lengths if rows is None else self.lengths[rows])

    def used(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the positions of the URLs that some rows, or all, refer to, ascending."""
        is_used = np.zeros(len(self.urls) + 1, np.bool_)
        # -1, no target, is the last one
        is_used[self.targets if rows is None else self.targets[rows]] = True
        return np.flatnonzero(is_used[:-1])

    def urls_used(self) -> UrlColumn:
        """Return the URLs that a row refers to."""
        return UrlColumn(more=self.urls.at(self.used()))

    def select(self, rows: np.ndarray | slice) -> Columns:
        """Return some rows, in the given order; a slice is not copied."""
        # numpy would widen narrow numbers of rows again for each column
        places = rows if isinstance(rows, slice) or rows.dtype == bool else rows.astype(np.intp)
        return Columns(
            self.kinds[places],
            self.targets[places],
            self.urls,
            self.offsets[places],
            self.lengths[places],
            self.texts,
        )

    def overwritten(self, rows: np.ndarray, others: Columns) -> Columns:
        """Overwrite some rows of these columns in place; they must not contain text."""
        urls, positions = self.urls.joined(others.urls)
        self.kinds[rows] = others.kinds
        self.targets[rows] = np.array([*positions, -1], np.int32)[others.targets]
        self.offsets[rows], self.lengths[rows] = others.offsets, others.lengths
        return replace(self, urls=urls, texts=others.texts)


class ColumnsBuilder:
    """A builder of columns from single references."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int]] = []
        self._codes: dict[str | None, int] = {}
        self._texts: list[str] = []

    def add(self, reference: Reference) -> None:
        """Append a row."""
        if isinstance(reference, Range):
            code = self._code(reference.url)
            self._rows.append((RANGE, code, reference.offset, reference.length))
        elif isinstance(reference, Url):
            self._rows.append((URL, self._code(reference.url), 0, 0))
        else:
            kind = INLINE if isinstance(reference, Inline) else BASE64
            self._rows.append((kind, -1, len(self._texts), reference.size))
            self._texts.append(reference.text)

    def _code(self, url: str | None) -> int:
        return self._codes.setdefault(url, len(self._codes))

    def build(self) -> Columns:
        columns = np.array(self._rows, np.int64).reshape(-1, 4).T
        return Columns(
            columns[0].astype(np.uint8),
            columns[1].astype(np.int32),
            UrlColumn(more=tuple(self._codes)),
            columns[2].copy(),
            columns[3].copy(),
            self._texts,
        )


def build_columns(references: Iterable[Reference | None]) -> Columns:
    """Collect references in columns; invalid ones are omitted."""
    builder = ColumnsBuilder()
    for reference in references:
        if reference is not None:
            builder.add(reference)
    return builder.build()


def joined_columns(parts: Sequence[Columns]) -> Columns:
    """Concatenate the rows of several columns, over the URLs of all of them."""
    urls: dict[str | None, int] = {}
    texts: list[str] = []
    targets, offsets = [], []
    for part in parts:
        used = np.unique(part.targets[part.targets >= 0])
        codes = np.full(len(part.urls) + 1, -1, np.int32)
        codes[used] = [urls.setdefault(url, len(urls)) for url in part.urls.at(used)]
        targets.append(codes[part.targets])
        is_text = (part.kinds == INLINE) | (part.kinds == BASE64)
        offsets.append(np.where(is_text, part.offsets + len(texts), part.offsets))
        texts += part.texts
    none = np.empty(0, np.int64)
    return Columns(
        np.concatenate([none.astype(np.uint8), *(part.kinds for part in parts)]),
        np.concatenate([none.astype(np.int32), *targets]),
        UrlColumn(more=tuple(urls)),
        np.concatenate([none, *offsets]),
        np.concatenate([none, *(part.lengths for part in parts)]),
        texts,
    )


_ESCAPED = r'["\\\x00-\x1f\x7f]'


def json_text(value: object) -> str:
    """Write a value as JSON, compactly; text stays readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_column(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Format each text of a column as a JSON string."""
    quoted = joined('"', texts, '"')
    odd = pc.match_substring_regex(texts, _ESCAPED)
    if not pc.any(odd).as_py():
        return quoted
    escaped = [json_text(text) for text in texts.filter(odd).to_pylist()]
    return pc.replace_with_mask(quoted, odd, text_column(escaped))


def range_values(
    urls: Sequence[str], codes: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
) -> pa.LargeStringArray:
    """Format byte ranges as ``["url",offset,length]``."""
    starts = text_column([f"[{url}," for url in urls]).take(number_column(codes))
    first, last = (number_column(numbers).cast(pa.large_string()) for numbers in (offsets, lengths))
    return joined(starts, first, ",", last, "]")


def members(keys: pa.LargeStringArray, values: pa.LargeStringArray) -> bytes:
    """Return the members of an object, between its braces."""
    if not len(keys):
        return b""
    lines = joined(json_column(keys), ":", values, ",")
    size = pc.sum(pc.binary_length(lines)).as_py()
    return lines.buffers()[2][: size - 1].to_pybytes()


def joined(*parts: pa.LargeStringArray | str) -> pa.LargeStringArray:
    """Concatenate columns and texts row by row."""
    columns = [text_scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, text_scalar(""))


def placed(
    count: int, parts: Sequence[tuple[np.ndarray, pa.LargeStringArray]]
) -> pa.LargeStringArray:
    """Merge columns whose texts belong into the rows given with each."""
    parts = [part for part in parts if len(part[0])]
    if len(parts) == 1:
        return parts[0][1]
    places = np.empty(count, np.int64)
    places[np.concatenate([rows for rows, _ in parts])] = np.arange(count)
    return pa.concat_arrays([texts for _, texts in parts]).take(number_column(places))
