"""Values read through the set against the same values read by the library of the format."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.compare.files import FileComparison
from refexplorer.checks.compare.inline import compared, marked
from refexplorer.checks.compare.messages import MessageComparison
from refexplorer.checks.compare.metadata import said as text_of
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.records import NAMED_KEYS, FileDifference, Record
from refexplorer.checks.states import LedgerState
from refexplorer.core.errors import LimitError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.formats.columns.references import URL
from refexplorer.formats.datafiles.data_file import DataFile, FileArray, Unread
from refexplorer.io.decode.codecs import missing_codec
from refexplorer.io.decode.steps import error_text, steps
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Range, Reference, Url

FETCHED_CHUNKS = 64
"""Chunks that are fetched together."""


def compare_values(
    comparison: FileComparison | MessageComparison,
    file: DataFile,
    targets: Targets,
    ours: SetArray,
    limits: Limits,
    rows: pa.Table,
    record: Record,
    states: np.ndarray,
    places: np.ndarray,
) -> None:
    """Compare the values of some chunks of one array and file."""
    if (reason := missing_codec(ours.meta)) is not None:
        record.unchecked.append(f"values ({reason.rstrip('.')})")
        states[places] = np.maximum(states[places], LedgerState.NO_CODEC)
        return
    work = _ValueTally(ours, record)
    for start in range(0, rows.num_rows, FETCHED_CHUNKS):
        some = rows.slice(start, FETCHED_CHUNKS).to_pylist()
        fetched = _fetched(targets, {row["key"]: _reference(row) for row in some})
        for at, row in enumerate(some):
            place = int(places[start + at])
            data = fetched[row["key"]]
            try:
                if isinstance(data, Exception):
                    raise data
                values: Any = data
                chunk = ours.meta.chunk_array(ours.meta.index_at(row["chunk"]))
                for step in steps(chunk, limits):
                    values = step.run(values)
                values = np.asarray(values).reshape(chunk.chunks)
            except Exception as error:  # codecs raise what they like
                work.fail(row["key"], error_text(error))
                states[place] = max(states[place], LedgerState.UNDECODABLE)
                continue
            where = comparison.region(ours.meta.path, row["chunk"])
            if where is None:
                record.unchecked.append("values of chunks that have no place in the file")
                continue
            native, region = where
            inside = tuple(slice(0, part.stop - part.start) for part in region)
            extra = (0,) * (values.ndim - len(inside))
            try:
                filed = np.asarray(file.values(native.name, region))
                differs = work.add(row["key"], values[extra + inside], native, filed)
                found = LedgerState.WRONG_VALUES if differs else LedgerState.EQUAL
                states[place] = max(states[place], found)
            except Unread as reason:
                record.unchecked.append(f"values: {reason}")
    work.finish()


class _ValueTally:
    """What comparing the values of one array and file found."""

    def __init__(self, ours: SetArray, record: Record) -> None:
        self._ours, self._record = ours, record
        self._bad: list[str] = []
        self._failed: list[str] = []
        self._reason = ""
        self._masked = 0
        self._masked_keys: list[str] = []
        self._missing = 0

    def fail(self, key: str, reason: str) -> None:
        """Take in a chunk without values."""
        self._reason = self._reason or reason
        self._failed.append(key)

    def add(self, key: str, mine: np.ndarray, native: FileArray, filed: np.ndarray) -> bool:
        """Take in the values of a chunk, and say whether they differ."""
        found = compared(self._ours, mine, native, filed, marked(self._ours, native))
        record = self._record
        record.values += found.differs.size
        self._note_masked(key, mine, native)
        if not found.differs.any():
            return False
        self._bad.append(key)
        if found.ours.dtype.kind == "f":
            record.false_nan += int(
                np.count_nonzero(np.isnan(found.ours) & ~np.isnan(found.theirs))
            )
            self._missing += int(np.count_nonzero(~np.isnan(found.ours) & np.isnan(found.theirs)))
            away = np.abs(found.ours - found.theirs)
            if not np.isnan(away).all():
                most = float(np.nanmax(away))
                if record.largest is None or most > record.largest:
                    record.largest, record.largest_at = most, key
        return True

    def _note_masked(self, key: str, mine: np.ndarray, native: FileArray) -> None:
        """Count values that the fill value of Zarr v2 masks, with which the file marks nothing."""
        ours = self._ours
        fill = ours.missing
        is_number = isinstance(fill, int | float) and mine.dtype.kind in "iuf"
        if not is_number or fill != fill or marked(ours, native) is not None:
            return
        if masked := int(np.count_nonzero(mine == fill)):
            self._record.false_nan += masked
            self._masked += masked
            self._masked_keys.append(key)

    def finish(self) -> None:
        """Put what was found into the record."""
        record = self._record
        if self._bad:
            parts = []
            if record.largest:
                parts.append(f"differ by up to {text_of(record.largest)} ({record.largest_at})")
            if record.false_nan:
                parts.append(f"{counted(record.false_nan, 'value')} of the file read as missing")
            if self._missing:
                parts.append(f"{counted(self._missing, 'missing value')} of the file read as data")
            message = " and ".join(parts) or "differ"
            found = FileDifference(
                "values", None, None, message, len(self._bad), self._bad[:NAMED_KEYS]
            )
            record.findings.append(found)
        if self._masked:
            said = f"{counted(self._masked, 'value')} equal to {text_of(self._ours.missing)}"
            keys = self._masked_keys
            found = FileDifference("masked", None, None, said, len(keys), keys[:NAMED_KEYS])
            record.findings.append(found)
        if self._failed:
            keys = self._failed[:NAMED_KEYS]
            record.findings.append(
                FileDifference("unreadable", None, None, self._reason, len(self._failed), keys)
            )


def _reference(row: dict[str, Any]) -> Reference:
    if row["kind"] == URL:
        return Url(row["target"])
    return Range(row["target"], row["offset"], row["length"])


def _fetched(targets: Targets, references: dict[str, Reference]) -> dict[str, Any]:
    try:
        return dict(fetch_many(targets, references))
    except LimitError as error:
        return dict.fromkeys(references, error)
