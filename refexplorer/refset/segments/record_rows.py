"""The references in the rows of a record file, and diagnostics of these rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import number_column
from refexplorer.formats.parquet.record_columns import RecordColumns
from refexplorer.refset.columns.reference_columns import (
    BASE64,
    INLINE,
    RANGE,
    URL,
    Columns,
    UrlColumn,
)
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.core.reference_parsing import read_held
from refexplorer.spec.core.references import Inline

FAILED = 255
"""In place of a kind: a row that was counted and cannot be used; no key is found there."""

CODES = {"offset": "bad-offset", "size": "bad-length"}
"""What is found where a number of a column is no count of bytes."""
NO_COUNT = "not an integer number of bytes from 0 to 2**63 - 1"
_BOTH = "has both `raw` and `path`; `raw` is used"
_WHOLE = "has an offset but size 0, which stands for the whole file"


def failed_rows(count: int) -> Columns:
    """Return rows none of which can be used."""
    numbers = np.zeros(count, np.int64)
    codes = np.full(count, -1, np.int32)
    return Columns(np.full(count, FAILED, np.uint8), codes, (), numbers, numbers, [])


def read_rows(
    read: RecordColumns, rows: np.ndarray | None, count: int, file: str, findings: Findings
) -> Columns:
    """Return the references of some rows; those that cannot be used are `FAILED`.

    Parameters
    ----------
    rows
        The numbers of the rows, shape ``(count,)``; None stands for the first ones.
    file
        What findings call the file.
    """
    chosen = slice(count) if rows is None else rows
    codes, offsets, sizes = read.codes[chosen], read.offsets[chosen], read.sizes[chosen]
    kinds = np.where(sizes == 0, np.uint8(URL), np.uint8(RANGE))
    texts: list[str] = []
    inline = np.flatnonzero(read.raw_codes[chosen] >= 0)
    if len(inline):
        codes, offsets, sizes = codes.copy(), offsets.copy(), sizes.copy()
        _note(findings, "parquet-raw-and-path", file, codes[inline] >= 0, _BOTH)
        raw_codes = read.raw_codes[chosen][inline]
        kinds[inline], sizes[inline], texts = _read_raw(read.raw, raw_codes)
        codes[inline], offsets[inline] = -1, np.arange(len(texts))
    _note(findings, "parquet-offset-without-size", file, (kinds == URL) & (offsets != 0), _WHOLE)
    bad = (kinds > BASE64) & ((offsets < 0) | (sizes < 0) | (codes < 0))
    if bad.any():
        kinds[bad] = FAILED
        codes, sizes = np.where(bad, np.int32(-1), codes), np.where(bad, 0, sizes)
    return Columns(kinds, codes, UrlColumn(read.urls), offsets, sizes, texts)


def note_bad_numbers(
    read: RecordColumns, stop: int, file: str, findings: Findings
) -> dict[str, np.ndarray]:
    """Note offsets and sizes of byte ranges that are no whole numbers of bytes, or floats.

    Parameters
    ----------
    stop
        Rows from this one on are not looked at.
    file
        What findings call the file.

    Returns
    -------
    By the name of the column, the rows with such a number, ascending.
    """
    ranged = ((read.codes >= 0) & (read.raw_codes < 0))[:stop]
    bad: dict[str, np.ndarray] = {}
    for name, numbers in (("offset", read.offsets), ("size", read.sizes)):
        rows, written = np.flatnonzero(ranged & (numbers[:stop] < 0)), read.written[name]
        if len(rows):
            bad[name] = rows
            row = int(rows[0])
            said = f"The {name} of row {row:,} of `{file}` is {written[row].as_py()}, {NO_COUNT}."
            findings.add(CODES[name], file, said, count=len(rows))
    floats = [name for name, column in read.written.items() if pa.types.is_floating(column.type)]
    if floats and ranged.any():
        said = f"The numbers in {' and '.join(floats)} of `{file}` are floats."
        findings.add("float-offset", file, said, "Those without a fraction are read as integers.")
    return bad


def _note(findings: Findings, code: str, file: str, odd: np.ndarray, what: str) -> None:
    """Note that some rows of a file are odd."""
    count = int(np.count_nonzero(odd))
    if count:
        findings.add(code, file, f"A row of `{file}` {what}.", count=count)


def _read_raw(
    values: pa.LargeBinaryArray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the kinds, the sizes in bytes and the texts of inline data, by indices into `values`.

    Rows of equal data share one text.
    """
    used, positions = np.unique(codes, return_inverse=True)
    found = [read_held(value) for value in values.take(number_column(used)).to_pylist()]
    kinds = np.array([INLINE if isinstance(one, Inline) else BASE64 for one in found], np.uint8)
    sizes = np.array([one.size for one in found], np.int64)
    texts = [found[position].text for position in positions.tolist()]
    return kinds[positions], sizes[positions], texts
