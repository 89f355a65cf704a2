"""Turns the rows of a record file into references, and notes what is odd about them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refexplorer.formats.arrow import flags_of, number_column
from refexplorer.formats.parquet_records import RecordColumns
from refexplorer.refset.columns import BASE64, INLINE, RANGE, URL, Columns, UrlColumn
from refexplorer.spec.diagnostics import Findings
from refexplorer.spec.reading import read_bytes
from refexplorer.spec.references import Inline

FAILED = 255
"""In place of a kind: a row that was counted and cannot be used; no key is found there."""

_BOTH = "has `raw` and `path`; `raw` is the data"
_WHOLE = "has an offset and size 0: the whole file"


def failed_rows(count: int) -> Columns:
    """Return rows none of which can be used."""
    numbers = np.zeros(count, np.int64)
    codes = np.full(count, -1, np.int32)
    return Columns(np.full(count, FAILED, np.uint8), codes, (), numbers, numbers, [])


def read_rows(
    read: RecordColumns, rows: np.ndarray | None, count: int, place: str, findings: Findings
) -> Columns:
    """Return the references of some rows; those that cannot be used are `FAILED`.

    Parameters
    ----------
    rows
        The numbers of the rows, shape ``(count,)``; None stands for the first ones.
    place
        What findings call the file.
    """
    chosen = slice(count) if rows is None else rows
    codes, offsets, sizes = read.codes[chosen], read.offsets[chosen], read.sizes[chosen]
    kinds = np.where(sizes == 0, np.uint8(URL), np.uint8(RANGE))
    texts: list[str] = []
    if read.raw.null_count < len(read.raw):
        codes, offsets, sizes = codes.copy(), offsets.copy(), sizes.copy()
        filled = np.flatnonzero(flags_of(read.raw.is_valid())[chosen])
        _note(findings, "parquet-raw-and-path", place, codes[filled] >= 0, _BOTH)
        raw = read.raw.take(number_column(filled if rows is None else rows[filled]))
        kinds[filled], sizes[filled], texts = _read_raw(raw)
        codes[filled], offsets[filled] = -1, np.arange(len(texts))
    _note(findings, "parquet-offset-without-size", place, (kinds == URL) & (offsets != 0), _WHOLE)
    bad = (kinds > BASE64) & ((offsets < 0) | (sizes < 0))
    _note(findings, "bad-offset", place, bad, "has a number less than 0")
    bad |= (kinds > BASE64) & (codes < 0)
    if bad.any():
        kinds[bad] = FAILED
        codes, sizes = np.where(bad, np.int32(-1), codes), np.where(bad, 0, sizes)
    return Columns(kinds, codes, UrlColumn(read.urls), offsets, sizes, texts)


def _note(findings: Findings, code: str, place: str, odd: np.ndarray, what: str) -> None:
    """Note that some rows of a file are odd."""
    count = int(np.count_nonzero(odd))
    if count:
        findings.add(code, place, f"A row of `{place}` {what}.", count=count)


def _read_raw(raw: pa.LargeBinaryArray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the kinds, the sizes in bytes and the texts of inline data."""
    found = [read_bytes(value) for value in raw.to_pylist()]
    kinds = [INLINE if isinstance(one, Inline) else BASE64 for one in found]
    sizes = [one.size for one in found]
    return np.array(kinds, np.uint8), np.array(sizes, np.int64), [one.text for one in found]
