"""Comparison of array metadata of the set with the array in a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from refexplorer.checks.compare.cf import calendar_of, is_time, same_times
from refexplorer.checks.compare.placing import Alignment
from refexplorer.checks.compare.set_array import SetArray, plain_name
from refexplorer.checks.records import FileDifference
from refexplorer.formats.datafiles.data_file import FileArray, FileFilter

_LOSSLESS = {"level", "clevel", "blocksize", "acc", "typesize", "checksum", "format", "preset"}
"""Settings of codecs that the decoder does not need."""
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "shuffle": {"elementsize": 4},
    "lzf": {"header": True},
    "szip": {"header": True},
}  # What codecs of numcodecs and imagecodecs take for a setting that is not there
_EXPLICIT = {"szip"}  # Codecs that decode nothing without all of their settings
_PACKING = {"scale_factor": 1.0, "add_offset": 0.0}  # Attributes whose absence means a number
PACKING_FIELDS = (*_PACKING, "_FillValue", "missing_value", "_Unsigned", "units", "calendar")
"""Attributes that are compared."""
_NO_NAME = "phony_dim_"  # What h5netcdf and kerchunk call a dimension that has no name


def said(value: Any) -> str:
    """Return a value as a short text."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.10g}"
    if value is None:
        return "none"
    if isinstance(value, list | tuple) and len(value) == 1:
        return said(value[0])
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def metadata_differences(
    ours: SetArray, native: FileArray, lie: Alignment, cut: bool
) -> Iterator[FileDifference]:
    """Yield the fields that differ."""
    # Shapes along concatenated dimensions are compared by the caller, which knows all files.
    yield from _of_type(ours, native)
    if not cut and not ours.meta.varying and ours.meta.chunks != lie.chunks:
        yield FileDifference("chunk-shape", said(ours.meta.chunks), said(native.chunks))
    mine, filed = ours.filters, native.filters
    if mine is not None and filed is not None and not _same_filters(mine, filed):
        yield FileDifference("filters", _names(mine), _names(filed))
    if ours.order not in (None, native.order):
        yield FileDifference("order", said(ours.order), said(native.order))
    if not is_filled_alike(ours, native):
        yield FileDifference("fill_value", said(ours.fill_value), said(native.fill_value))
    yield from _of_attributes(ours, native)
    yield from dimension_differences(ours, native)


def not_compared(ours: SetArray, native: FileArray) -> Iterator[str]:
    """Yield the metadata that cannot be compared, in a few words."""
    if native.filters is None or ours.filters is None:
        yield "filters"
    if ours.dtype is None:
        yield "the data type"
    if native.shape and not (native.dimensions and ours.meta.dimensions):
        yield "dimension names"


def _of_type(ours: SetArray, native: FileArray) -> Iterator[FileDifference]:
    one, other = ours.dtype, native.dtype
    if one is None or "O" in (one.kind, other.kind) or one == other:
        return
    if one.names is not None and other.names is not None:
        if not _same_fields(one, other):
            is_turned = _same_fields(one.newbyteorder("="), other.newbyteorder("="))
            cause = "byte-order" if is_turned else "dtype"
            yield FileDifference(cause, said(_fields(one)), said(_fields(other)))
        return
    is_boolean = "b" in (one.kind, other.kind)  # in HDF5 an enumeration of one byte
    if one.newbyteorder("=") == other.newbyteorder("="):
        yield FileDifference("byte-order", one.str, other.str)
    elif one.itemsize != other.itemsize or not (is_boolean or {one.kind, other.kind} <= set("VS")):
        yield FileDifference("dtype", one.str, other.str)


def _same_fields(ours: np.dtype[Any], theirs: np.dtype[Any]) -> bool:
    """Compare the fields of records; the set may have additional padding fields."""
    one: Mapping[str, Any] = ours.fields or {}
    other: Mapping[str, Any] = theirs.fields or {}
    return ours.itemsize == theirs.itemsize and all(
        name in one and one[name][:2] == other[name][:2] for name in other
    )


def _fields(dtype: np.dtype[Any]) -> str:
    fields: Mapping[str, Any] = dtype.fields or {}
    return ", ".join(f"{name} {fields[name][0].str}" for name in dtype.names or ())


def _same_filters(ours: tuple[FileFilter, ...], theirs: tuple[FileFilter, ...]) -> bool:
    """Compare filter pipelines; a shuffle of single bytes changes nothing."""
    one, other = ([f for f in each if not _is_idle(f)] for each in (ours, theirs))
    if len(one) != len(other):
        return False
    for mine, filed in zip(one, other, strict=True):
        if plain_name(mine.name) != plain_name(filed.name):
            return False
        if not _same_settings(plain_name(mine.name), mine.settings, filed.settings):
            return False
    return True


def _is_idle(found: FileFilter) -> bool:
    """Return whether a filter changes nothing: a shuffle of single bytes, axes in their order."""
    order = found.settings.get("order")
    is_in_order = isinstance(order, list) and order == list(range(len(order)))
    return (found.name, found.settings.get("elementsize")) == ("shuffle", 1) or (
        found.name == "transpose" and is_in_order
    )


def _shard_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reader of shards needs, with the defaults of the specification."""

    def plain(codecs: object) -> list[object]:
        found: list[object] = []
        for codec in codecs if isinstance(codecs, list) else []:
            each = codec if isinstance(codec, Mapping) else {"name": codec}
            name, given = plain_name(str(each.get("name"))), each.get("configuration")
            kept = dict(given) if isinstance(given, Mapping) else {}
            kept = {k: v for k, v in kept.items() if k not in _LOSSLESS and name != "blosc"}
            found.append((name, {"endian": "little"} | kept if name == "bytes" else kept))
        return found

    codecs = {name: plain(settings.get(name)) for name in ("codecs", "index_codecs")}
    return {"index_location": "end"} | dict(settings) | codecs


def _same_settings(codec: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Compare codec settings; one that is only on one side is compared with the codec's default."""
    if codec == "sharding_indexed":
        return _shard_settings(ours) == _shard_settings(theirs)
    idle = _DEFAULTS.get(codec, {})
    for name in {*ours, *theirs} - _LOSSLESS:
        if name in ours and name in theirs:
            is_same = ours[name] == theirs[name]
        elif name in idle:
            is_same = ours.get(name, idle[name]) == theirs.get(name, idle[name])
        else:
            is_same = codec not in _EXPLICIT
        if not is_same:
            return False
    return True


def _is_of_tiff(names: tuple[str, ...]) -> bool:
    """Return whether names are the letters that tifffile gives to axes: the file has no names."""
    return all(name[:1].isupper() and not name[1:].strip("0123456789") for name in names)


def _names(filters: tuple[FileFilter, ...]) -> str:
    def one(found: FileFilter) -> str:
        size, name = found.settings.get("elementsize"), plain_name(found.name)
        others = sorted(found.settings.keys() - _LOSSLESS - {"elementsize", "id"})
        inside = ", ".join(f"{each} {found.settings[each]}" for each in others)
        name += "" if size is None else f" of {size} bytes"
        return f"{name} ({inside})" if inside else name

    return ", ".join(map(one, filters)) or "none"


def is_filled_alike(ours: SetArray, native: FileArray, is_read: bool = False) -> bool:
    """Return whether chunks that were never written read as the same value."""
    # Null matches any value, unless there are such chunks (`is_read`): Zarr reads them as zeros.
    if native.fill_value is None or ours.is_text or native.dtype.kind in "OSUV":
        return True
    marks = _marks(native)
    if ours.fill_value is None and not is_read:
        return True
    mine = 0 if ours.fill_value is None else ours.fill_value
    if same_value(mine, native.fill_value, ours.dtype):
        return True
    if not is_read:  # in Zarr v2, the fill value is also the marker of missing values
        return marks[0] is not None and same_value(mine, marks[0], ours.dtype)
    mine_marks = [ours.missing, _plain(ours.attribute("missing_value"))]
    return _is_missing(mine, mine_marks) and _is_missing(native.fill_value, marks)


def is_fill_masked(ours: SetArray, native: FileArray) -> bool:
    """Return whether xarray masks what was never written in the set, but not in the file."""
    one, other = ours.missing, native.fill_value
    if one is None or other is None or ours.is_text or native.dtype.kind not in "iuf":
        return False
    mine = 0 if ours.fill_value is None else ours.fill_value
    return _is_missing(mine, [one]) and not _is_missing(other, _marks(native))


def _marks(native: FileArray) -> list[Any]:
    return [native.attributes.get(name) for name in ("_FillValue", "missing_value")]


def _is_missing(value: Any, marks: Iterable[Any]) -> bool:
    """Return whether a value reads as missing: it is NaN, or one of the file's or set's markers."""
    return bool(value != value) or any(
        same_value(value, mark) for each in marks if each is not None for mark in np.ravel(each)
    )


def same_value(one: Any, other: Any, dtype: np.dtype[Any] | None = None) -> bool:
    """Return whether two values of metadata are equal: as numbers of the data type, NaN to NaN."""
    if one is None or other is None:
        return one is other
    if isinstance(one, str) or isinstance(other, str):
        return str(one).strip() == str(other).strip()
    try:
        left, right = (np.ravel(np.asarray(each)) for each in (one, other))
        if left.shape != right.shape:
            return False
        if dtype is not None and dtype.kind == "f":
            left, right = left.astype(dtype), right.astype(dtype)
        return bool(np.array_equal(left, right, equal_nan=left.dtype.kind in "fc"))
    except (TypeError, ValueError, OverflowError):
        return bool(one == other)


def packing_differences(ours: SetArray, native: FileArray) -> Iterator[FileDifference]:
    """Yield differences between the attributes that define the packing of values."""
    theirs = native.attributes.get
    for name, idle in _PACKING.items():
        one, other = ours.attribute(name), theirs(name)
        if not _close(idle if one is None else one, idle if other is None else other):
            yield FileDifference(name, said(one), said(other))
    if ours.dtype is not None and {ours.dtype.kind, native.dtype.kind} <= set("iu"):
        one, other = ours.attribute("_Unsigned"), theirs("_Unsigned")
        is_named = one is not None or other is not None  # else `dtype` is what differs
        if is_named and _is_unsigned(one, ours.dtype) != _is_unsigned(other, native.dtype):
            yield FileDifference("_Unsigned", said(one), said(other))
    yield from _of_missing(ours, native)


def _is_unsigned(attribute: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether integers are read as unsigned, as xarray does for netCDF's attribute."""
    text = "" if attribute is None else str(attribute).lower()
    return text == "true" if text in ("true", "false") else dtype.kind == "u"


def _of_attributes(ours: SetArray, native: FileArray) -> Iterator[FileDifference]:
    theirs = native.attributes.get
    yield from packing_differences(ours, native)
    if is_time(theirs("units")) or is_time(ours.attribute("units")):
        if calendar_of(ours.attribute) != calendar_of(theirs):
            yield FileDifference("calendar", calendar_of(ours.attribute), calendar_of(theirs))
        elif not same_times(ours.attribute, theirs):
            yield FileDifference("units", said(ours.attribute("units")), said(theirs("units")))
    elif not same_value(ours.attribute("units"), theirs("units")):
        yield FileDifference("units", said(ours.attribute("units")), said(theirs("units")))


def _of_missing(ours: SetArray, native: FileArray) -> Iterator[FileDifference]:
    """Compare the markers of missing values."""
    # In Zarr v2, xarray uses the fill value for this, so writers may omit ``_FillValue``.
    one, other = ours.attribute("_FillValue"), native.attributes.get("_FillValue")
    kept = ours.missing if one is None and other is not None else one
    # NaN is missing in any case
    is_idle = all(each is None or each != each for each in (kept, other))
    if not is_idle and not same_value(kept, other, ours.dtype):
        yield FileDifference("_FillValue", said(kept), said(other))
    one, other = ours.attribute("missing_value"), native.attributes.get("missing_value")
    if not same_value(_plain(one), _plain(other), ours.dtype):
        yield FileDifference("missing_value", said(one), said(other))


def _plain(value: Any) -> Any:
    """Return a number for its text, as xarray writes NaN into JSON."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _close(one: Any, other: Any) -> bool:
    """Compare factors that writers store as doubles or as single-precision text."""
    try:
        left, right = (float(np.ravel(np.asarray(each))[0]) for each in (one, other))
    except (TypeError, ValueError, IndexError):
        return bool(one == other)
    if left == right or math.isclose(left, right, rel_tol=1e-12):
        return True
    singles = [float(np.float32(each)) for each in (left, right)]
    return singles[0] == singles[1] and (singles[0] == left or singles[1] == right)


def dimension_differences(ours: SetArray, native: FileArray) -> Iterator[FileDifference]:
    """Yield a finding if both name the dimensions differently, or order them differently."""
    names, theirs = ours.meta.dimensions, native.dimensions
    if not theirs or any(not name or name.startswith(_NO_NAME) for name in theirs):
        return
    if not names and len(theirs) == len(ours.meta.shape) and not _is_of_tiff(theirs):
        yield FileDifference("dimensions", "none", ", ".join(theirs))
    if not names or len(theirs) > len(names):
        return
    if _is_of_tiff(theirs):
        theirs, names = (tuple(map(str.casefold, each)) for each in (theirs, names))
        if sorted(theirs) != sorted(names):
            return
    if len(theirs) == len(names):
        same = tuple(n.rpartition("/")[2] for n in theirs) == tuple(names)
    else:
        left = iter(names)
        same = all(name.rpartition("/")[2] in left for name in theirs)
    if not same and not any(name.startswith(_NO_NAME) for name in names):
        yield FileDifference("dimensions", ", ".join(names), ", ".join(theirs))
