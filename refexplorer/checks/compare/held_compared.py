"""The values that a set holds of one array against those of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from refexplorer.checks.compare.cf import calendar_of, is_time
from refexplorer.checks.compare.inline import (
    ComparedValues,
    InlineArray,
    MatchedFile,
    compared,
    first_difference,
    marked,
)
from refexplorer.checks.compare.metadata import (
    dimension_differences,
    packing_differences,
    said,
)
from refexplorer.checks.compare.origins import Origins
from refexplorer.checks.compare.placing import Alignment, aligned
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.records import UNCOMPARED, FileDifference, Record
from refexplorer.formats.datafiles.data_file import FileArray, Unread
from refexplorer.spec.chunk_axes import ChunkAxis


def compare_inline(
    matched: MatchedFile, origins: Origins, path: str, native: FileArray, record: Record
) -> bool:
    """Compare what the set holds of an array with a file."""
    ours, held = matched.arrays[path], matched.held.arrays[path]
    lie = aligned(ours, native)
    if lie is None:
        return False
    for each in dimension_differences(ours, native):
        record.findings.append(FileDifference(each.cause, each.ours, each.theirs))
    origin = origins.of(ours, lie)
    filed = None if origin is None else matched.whole(native)
    if origin is None or filed is None:
        record.message = matched.unread.get(native.name)
        return bool(record.findings or record.message)
    stops = origin + np.array(lie.shape, np.int64)
    record.start, record.shape = origin.tolist(), list(lie.shape)
    if (stops > np.array(ours.meta.shape, np.int64)).any():
        record.findings.append(FileDifference("shape", said(ours.meta.shape), said(native.shape)))
        return True
    if not _has_same_calendar(ours, native, record):
        return True
    place = tuple(slice(int(a), int(b)) for a, b in zip(origin, stops, strict=True))
    mine = np.asarray(held.values[place], held.values.dtype).reshape(filed.shape)
    try:
        found = compared(ours, mine, native, filed, marked(ours, native))
    except Unread as reason:
        record.message, record.state = str(reason), UNCOMPARED
        return True
    known = _spread(held.known, ours.meta.axes, place).reshape(filed.shape)
    found = found._replace(differs=found.differs & known)
    if found.differs.any():
        record.findings.append(_unlike(ours, native, held, lie, origin, found))
        # of values that were encoded anew the packing may differ, and mean the same
        why = packing_differences(ours, native)
        record.findings += (FileDifference(each.cause, each.ours, each.theirs) for each in why)
    return True


def _has_same_calendar(ours: SetArray, native: FileArray, record: Record) -> bool:
    """Note other units, and other calendars, with which times mean nothing."""
    theirs = native.attributes.get
    units = ours.attribute("units"), theirs("units")
    if is_time(units[0]) and is_time(units[1]):
        calendars = calendar_of(ours.attribute), calendar_of(theirs)
        if calendars[0] != calendars[1]:
            record.findings.append(FileDifference("calendar", *calendars))
            return False
    elif (units[0] or None) != (units[1] or None):
        record.findings.append(FileDifference("units", said(units[0]), said(units[1])))
    return True


def _unlike(
    ours: SetArray,
    native: FileArray,
    held: InlineArray,
    lie: Alignment,
    origin: np.ndarray,
    found: ComparedValues,
) -> FileDifference:
    """Return that values differ, with the first of them."""
    units = ours.attribute("units"), native.attributes.get("units")
    at, both = first_difference(found)
    where = origin.copy()
    where[list(lie.axes)] += np.array(at, np.int64)
    index = ours.meta.chunk_at(where.tolist())
    one, other = (_shown(value, units) for value in both)
    message = f"at {where.tolist()} the set has {one}, the file {other}"
    if units[0] != units[1]:
        message += f", in {said(units[0])} and in {said(units[1])}"
    cause = "same-coordinate" if held.is_lent else "held-values"
    count = int(np.count_nonzero(found.differs))
    return FileDifference(cause, None, None, message, count, [ours.meta.chunk_key(index)])


def _spread(known: np.ndarray, axes: tuple[ChunkAxis, ...], place: tuple[slice, ...]) -> np.ndarray:
    """Return for each element of a region whether its chunk is known."""
    for axis, (along, part) in enumerate(zip(axes, place, strict=True)):
        known = known.take(along.numbers_at(np.arange(part.start, part.stop)), axis=axis)
    return known


def _shown(value: object, units: tuple[Any, Any]) -> str:
    """Return a decoded value as text; a time as its date, if both sides were made such."""
    if isinstance(value, float | np.floating):
        if is_time(units[0]) and units[0] != units[1] and abs(float(value)) > 1e9:
            return str(np.datetime64(round(float(value) / 1e6), "s"))
        return f"{float(value):.10g}"
    return said(value)
