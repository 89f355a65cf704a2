"""The references and metadata that a set should have of a file, where what it has is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from refexplorer.checks.compare.inline import MatchedFile
from refexplorer.checks.compare.metadata import PACKING_FIELDS
from refexplorer.checks.compare.origins import CertainOrigins
from refexplorer.checks.compare.placing import FileReferences, aligned, expected, is_cut
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.records import WHOLE, FileDifference, FileValue, Remade
from refexplorer.formats.datafiles.data_file import FileArray, Unread

_NONE = FileReferences(*(np.empty(0, np.int64) for _ in range(3)))


def remade(
    matched: MatchedFile,
    origins: CertainOrigins,
    path: str,
    native: FileArray | None,
    found: FileReferences | None,
    findings: Iterable[FileDifference],
) -> Remade | None:
    """Return what is to be changed of one array so that it says what the file says."""
    ours = matched.arrays[path]
    if native is None:
        return Remade(reason="the file has no array of that name")
    causes = {each.cause for each in findings}
    is_held = path in matched.held.arrays and not matched.held.arrays[path].is_lent
    if is_held and "held-values" in causes:
        causes.add("units")  # times may be right but for what they are counted in
    said = list(_said(ours, native, causes)) if is_held or found is not None else []
    is_known = is_held and matched.held.arrays[path].known.all()
    if is_known or "chunk-shape" in causes or "rank" in causes:
        return Remade(said)
    try:
        result = _references(matched, origins, ours, native, found or _NONE)
    except Unread as reason:
        result = Remade(reason=str(reason))
    result.said = said
    return result


def _references(
    matched: MatchedFile,
    origins: CertainOrigins,
    ours: SetArray,
    native: FileArray,
    found: FileReferences,
) -> Remade:
    filed = matched.filed
    known = filed.chunks[filed.places[native.name]]
    lie = aligned(ours, native)
    if known is None or lie is None:
        raise Unread("expression", filed.untold.get(native.name, "the file has more dimensions"))
    cut = is_cut(ours, native, lie)
    whole = bool(ours.meta.varying) or ours.meta.chunks == lie.chunks
    if not (whole or cut):
        raise Unread("expression", "the file has another chunk shape")
    if cut and any(w % p for w, p in zip(lie.chunks, ours.meta.chunks, strict=True)):
        raise Unread("expression", "pieces of its chunks are not all of one size")
    origin = origins.of(ours, lie)
    wanted = expected(known, lie, origin, ours, cut)
    offsets = known.offsets[wanted.rows] + wanted.inside
    lengths = known.lengths[wanted.rows]
    if cut:
        lengths = np.full(len(offsets), prod(ours.meta.chunks) * native.dtype.itemsize)
    if known.masks is not None and (known.masks[wanted.rows] != 0).any():
        raise Unread("expression", "some of its chunks leave filters out, which no codec can say")
    order = np.argsort(wanted.numbers, kind="stable")
    numbers, offsets, lengths = wanted.numbers[order], offsets[order], lengths[order]
    if len(np.unique(numbers)) < len(numbers):
        raise Unread("expression", "several of its chunks have the same place")
    at = np.searchsorted(numbers, found.numbers)
    held = np.minimum(at, max(len(numbers) - 1, 0))
    inside_grid = found.numbers >= 0
    right = np.zeros(len(found.numbers), np.bool_)
    if len(numbers):
        has = np.asarray(inside_grid & (numbers[held] == found.numbers))
        given = np.where(found.lengths < 0, lengths[held], found.lengths)
        right = np.asarray(has & (offsets[held] == found.offsets) & (lengths[held] == given))
    if len(found.lengths) and (found.lengths < 0).all() and (offsets == 0).all():
        lengths = np.full(len(lengths), WHOLE)  # each chunk is a file, and stays one
    left = np.setdiff1d(np.arange(len(numbers)), held[right])
    return Remade(
        [],
        numbers[left].tolist(),
        offsets[left].tolist(),
        lengths[left].tolist(),
        origin.tolist(),
        list(lie.shape),
    )


def _said(ours: SetArray, native: FileArray, causes: set[str]) -> Iterable[FileValue]:
    """Yield what the file says of the fields that differ, as JSON; null removes an attribute."""
    for cause in sorted(causes):
        try:
            value = _plain(_value(cause, ours, native))
            yield FileValue(cause, json.dumps(value, sort_keys=True, allow_nan=False))
        except (Unread, TypeError, ValueError):
            continue


def _value(cause: str, ours: SetArray, native: FileArray) -> Any:
    """Return what the file says of one field; Unread if no field can say it."""
    if cause in PACKING_FIELDS and cause not in native.unread:
        return native.attributes.get(cause)
    if cause in ("dtype", "byte-order") and native.dtype.kind in "biufcSU":
        return native.dtype.str
    if cause == "order" and ours.meta.zarr_format == 2:
        return native.order
    if (
        cause == "chunk-shape"
        and not ours.meta.varying
        and (lie := aligned(ours, native)) is not None
    ):
        return lie.chunks
    if cause == "filters" and native.filters is not None:
        return [[each.name, dict(each.settings)] for each in native.filters]
    if cause == "fill_value":
        mark = native.attributes.get("_FillValue")
        return native.fill_value if mark is None else mark
    if cause == "dimensions" and len(native.dimensions or ()) == len(ours.meta.shape):
        return [name.rpartition("/")[2] for name in native.dimensions or ()]
    raise Unread("expression", cause)


def _plain(value: Any) -> Any:
    """Return a value as the JSON of Zarr has it: NaN and infinities as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    return value
