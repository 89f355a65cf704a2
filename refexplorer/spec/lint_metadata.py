"""Lint rules for metadata keys: metadata that no reader can open.

Sources: Zarr v2 and Zarr v3 storage specifications, "Array metadata" and "Data types".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from refexplorer.core.limits import INT64_MAX
from refexplorer.core.text import counted
from refexplorer.spec.lint import LintFinding
from refexplorer.spec.references import odd_json
from refexplorer.spec.zarr_metadata import (
    DIMENSIONS,
    FIELDS_OF_DTYPE,
    ArrayMeta,
    BadMetadata,
    parse_metadata,
    read_array,
    wrong_fill_value,
)

_DTYPE_V2 = re.compile(
    r"\|b1|\|[iu]1|[<>](?:[iu][248]|f[248]|c(?:8|16))|\|O|\|[SV][1-9]\d*|[<>]U[1-9]\d*"
    r"|[<>][Mm]8(?:\[\d*[A-Za-z\u00b5\u03bc]+\])"
)
_ONE_BYTE = re.compile(r"[<>][biu]1")  # GDAL wrote these, and Zarr 3.4 reads them
_DTYPES_V3 = frozenset({
    "bool", "int2", "int4", "int8", "int16", "int32", "int64", "uint2", "uint4", "uint8", "uint16",
    "uint32", "uint64", "bfloat16", "float16", "float32", "float64", "complex64", "complex128",
    "string", "bytes", "variable_length_bytes", "fixed_length_utf32", "null_terminated_bytes",
    "raw_bytes", "struct", "structured", "numpy.datetime64", "numpy.timedelta64",
})  # fmt: skip
"""Names in Zarr's specification and its registry of extensions."""
_MORE_DTYPES_V3 = re.compile(r"r\d+|float[468]_\w+|complex_\w+")

_Rules = Callable[[Mapping[str, object]], Iterator[LintFinding]]


def lint_metadata_text(key: str, text: str) -> Iterator[LintFinding]:
    """Return what is wrong with the text of a metadata key, one remark per code."""
    found: dict[str, LintFinding] = {}
    for remark in _remarks(key, text):
        before = found.get(remark.code)
        if before is not None:  # findings of one code for one key are merged
            remark = remark._replace(message=f"{before.message} {remark.message}")
        found[remark.code] = remark
    yield from found.values()


def is_refused(code: str, text: str) -> bool:
    """Return whether Zarr refuses metadata because of what a remark on their text says."""
    if code == "bad-dtype":
        dtype = (parse_metadata(text) or {}).get("dtype")
        return not (isinstance(dtype, str) and _ONE_BYTE.fullmatch(dtype))
    return code in ("metadata-not-json", "bad-metadata")


def _remarks(key: str, text: str) -> Iterator[LintFinding]:
    value = parse_metadata(text)
    path, _, name = key.rpartition("/")
    if value is not None and (why := odd_json(text)):
        yield LintFinding("odd-metadata-json", why)
    if value is None:
        message = f"The text of `{key}` is not a JSON object{_where_not(text)}."
        yield LintFinding("metadata-not-json", message)
    elif name == ".zmetadata":
        if not isinstance(value.get("metadata"), Mapping):
            yield _bad(f"`metadata` must be an object, but {_got_text(value, 'metadata')}.")
    elif name == ".zgroup":
        yield from _format(value, 2)
    elif name == ".zarray":
        yield from _array(path, value, _version_2)
    elif name == "zarr.json" and value.get("node_type") == "array":
        yield from _array(path, value, _version_3)
    elif name == "zarr.json":
        yield from _group_v3(value)


def _group_v3(value: Mapping[str, object]) -> Iterator[LintFinding]:
    yield from _format(value, 3)
    copies = value.get("consolidated_metadata") or {}
    if not isinstance(copies, Mapping) or copies.get("kind", "inline") != "inline":
        yield _bad('`consolidated_metadata` must be an object with "kind": "inline".')
    if value.get("node_type") != "group":
        yield _bad(f'`node_type` must be "array" or "group", but {_got_text(value, "node_type")}.')


def _where_not(text: str) -> str:
    """Return what a JSON parser says about a text, and its position; empty if it is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f": {error.msg} at character {error.pos + 1:,}"
    except (ValueError, RecursionError):
        pass
    return ""


def _array(path: str, metadata: Mapping[str, object], rules: _Rules) -> Iterator[LintFinding]:
    try:
        array = read_array(path, metadata)
    except BadMetadata as bad:
        yield LintFinding(bad.code, f"{bad}")
    else:
        if any(length > INT64_MAX for length in array.shape):
            yield _bad("A length of `shape` does not fit into 64 bits, so no reader opens it.")
        if 0 in _written_chunks(metadata):
            message = "A chunk has a length of 0, like the array; fsspec divides by it."
            yield LintFinding("bad-chunks", message, "Write 1 instead.")
    yield from rules(metadata)


def _written_chunks(metadata: Mapping[str, object]) -> list[object]:
    """Return the chunk lengths as written; none if they are not a list."""
    grid = metadata.get("chunk_grid")
    settings = grid.get("configuration") if isinstance(grid, Mapping) else None
    within = metadata if metadata.get("zarr_format") != 3 else settings
    name = "chunk_shape" if metadata.get("zarr_format") == 3 else "chunks"
    written = within.get(name) if isinstance(within, Mapping) else None
    return written if isinstance(written, list) else []


def _version_2(metadata: Mapping[str, object]) -> Iterator[LintFinding]:
    yield from _format(metadata, 2)
    yield from _dtype_v2(metadata)
    if metadata.get("order") not in ("C", "F"):
        yield _bad(f'`order` must be "C" or "F", but {_got_text(metadata, "order")}.')
    separator = metadata.get("dimension_separator", ".")
    if separator not in (".", "/"):
        yield _bad(f'`dimension_separator` must be "." or "/", but it is {separator!r}.')
    compressor, filters = metadata.get("compressor"), metadata.get("filters")
    if compressor is not None:
        yield from _codec_v2("`compressor`", compressor)
    if isinstance(filters, list):
        for codec in filters:
            yield from _codec_v2("Each of `filters`", codec)
    elif filters is not None:
        yield _bad(f"`filters` must be a list or null, but it is {filters!r}.")


def _codec_v2(name: str, codec: object) -> Iterator[LintFinding]:
    if not isinstance(codec, Mapping) or not isinstance(codec.get("id"), str):
        yield _bad(f"{name} must be an object that names a codec as `id`, but it is {codec!r}.")


def _dtype_v2(metadata: Mapping[str, object]) -> Iterator[LintFinding]:
    written = metadata.get("dtype")
    dtype = numpy_dtype(written)
    if dtype is None:
        yield LintFinding(
            "bad-dtype",
            f"`dtype` must be a data type of Zarr v2, but {_got_text(metadata, 'dtype')}.",
            'Write byte order, kind and size in bytes, such as "<f4" or "|u1".',
        )
        return
    if written == "|O" and not metadata.get("filters"):
        yield LintFinding(
            "bad-dtype",
            "The data type |O means objects, but no filter says how they were written.",
            'Add the filter that wrote them, such as {"id": "vlen-utf8"}.',
        )
    yield from _fill_value(metadata, dtype, 2)


def numpy_dtype(written: object) -> np.dtype[np.generic] | None:
    """Return the data type for its Zarr v2 notation, None if invalid."""
    if isinstance(written, str):
        if not _DTYPE_V2.fullmatch(written):
            return None
    elif not isinstance(written, list) or not 0 < len(written) <= FIELDS_OF_DTYPE:
        return None
    else:
        written = [tuple(field) if isinstance(field, list) else field for field in written]
    try:
        dtype: np.dtype[np.generic] = np.dtype(written)
    except (TypeError, ValueError, OverflowError):
        return None
    return dtype


def _fill_value(
    metadata: Mapping[str, object], dtype: np.dtype[np.generic], zarr_format: int
) -> Iterator[LintFinding]:
    if "fill_value" not in metadata:
        yield _bad("`fill_value` is missing, and Zarr does not open arrays without it.")
    elif wrong := wrong_fill_value(dtype, metadata["fill_value"], zarr_format):
        value = metadata["fill_value"]
        yield _bad(f"`fill_value` is {value!r}, but for the data type {dtype.str} {wrong}.")


def _version_3(metadata: Mapping[str, object]) -> Iterator[LintFinding]:
    yield from _format(metadata, 3)
    written = metadata.get("data_type")
    name = written.get("name") if isinstance(written, Mapping) else written
    if not isinstance(name, str) or not (name in _DTYPES_V3 or _MORE_DTYPES_V3.fullmatch(name)):
        yield LintFinding(
            "bad-dtype",
            f"`data_type` must be a data type of Zarr v3, but {_got_text(metadata, 'data_type')}.",
            'Write its name, such as "float32".',
        )
    elif metadata.get("fill_value") is None:
        yield _bad(f"`fill_value` must be set in Zarr v3, but {_got_text(metadata, 'fill_value')}.")
    elif isinstance(written, str) and (dtype := _dtype_named(written)) is not None:
        yield from _fill_value(metadata, dtype, 3)
    if not isinstance(metadata.get("attributes", {}), Mapping):
        yield _bad(f"`attributes` must be an object, but {_got_text(metadata, 'attributes')}.")
    codecs = metadata.get("codecs")
    if not isinstance(codecs, list) or not codecs:
        yield _bad(f"`codecs` must be a list of codecs, but {_got_text(metadata, 'codecs')}.")


def _dtype_named(name: str) -> np.dtype[np.generic] | None:
    try:
        dtype: np.dtype[np.generic] = np.dtype(name)
    except TypeError:  # not of numpy, such as bfloat16
        return None
    return dtype if dtype.kind in "biufc" else None


def _format(metadata: Mapping[str, object], number: int) -> Iterator[LintFinding]:
    found = metadata.get("zarr_format")
    if found != number or isinstance(found, bool):
        message = _got_text(metadata, "zarr_format")
        yield _bad(f"`zarr_format` must be the number {number}, but {message}.")


def _got_text(metadata: Mapping[str, object], name: str) -> str:
    """Return what a field is instead, as the end of a sentence."""
    return f"it is {metadata[name]!r}" if name in metadata else "it is missing"


def _bad(message: str) -> LintFinding:
    return LintFinding("bad-metadata", message)


_SINCE = re.compile(
    r"\s*(?:days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|seconds?|secs?|sec|s|milliseconds?"
    r"|millisecs?|msecs?|ms|microseconds?|microsecs?|us|nanoseconds?|nsecs?|ns|weeks?|months?"
    r"|(?:common_)?years?)\s+since\s+[-+]?\d",
    re.IGNORECASE,
)
# 9.97e36 is netCDF's own, -1e34 that of Ferret; no measured value comes near
_FAR_AWAY = 1e30
_LARGE = 1e15  # such numbers, and those of nines alone, are taken for marks of missing values
_NINES = re.compile(r"99[9.]*(?:\.0)?|3276[78](?:\.0)?")
"""Numbers often chosen to mark missing values: -999, -9999.0, -32768 in floats."""
_KINDS = re.compile(r"\|[iu]1|[<>](?:[iu][248]|f[248])")
_NCZARR = "_NCZARR_ARRAY"  # Dimension names as written by netCDF-C, which xarray reads, too
_CALENDARS = frozenset({
    "standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "all_leap", "366_day",
    "360_day", "julian", "",
})  # fmt: skip


def lint_attributes(array: ArrayMeta, attributes: Mapping[str, object]) -> Iterator[LintFinding]:
    """Return why xarray would not open an array (not at the root) because of its attributes."""
    if not array.path:
        return
    yield from _names(array, attributes)
    for name in ("scale_factor", "add_offset"):
        value = attributes.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is not None and not isinstance(value, int | float):
            yield _bad_of_attribute_rules(array, f"`{name}` must be a number, but it is {value!r}")
    units, calendar = attributes.get("units"), attributes.get("calendar", "")
    if isinstance(units, str) and "since" in units:
        if not _SINCE.match(units):
            yield _bad_of_attribute_rules(
                array, f"`units` {units!r} does not say a unit of time since a date"
            )
        elif not isinstance(calendar, str) or calendar.lower() not in _CALENDARS:
            yield _bad_of_attribute_rules(
                array, f"`calendar` {calendar!r} is not one that xarray knows"
            )
    if why := undecoded_structure(array):
        does = "read" if array.fill_value is None else "open"
        message = f"xarray decodes no {why}, so it does not {does} {array.path_text()}."
        yield LintFinding("bad-attribute", message, "Read it with Zarr: `refs.to_zarr()`.")
    coordinates = attributes.get("coordinates")
    if coordinates is not None and not isinstance(coordinates, str):
        yield _bad_of_attribute_rules(
            array, f"`coordinates` must be names with spaces, but it is {coordinates!r}"
        )


def undecoded_structure(array: ArrayMeta) -> str:
    """Return what xarray cannot decode of a structured or raw data type; empty if it can."""
    dtype = array.metadata.get("dtype")
    if array.zarr_format != 2 or not (isinstance(dtype, list) or array.dtype.startswith("|V")):
        return ""
    if array.fill_value is not None:
        return "fill value of a structured or raw data type"
    return "big-endian fields of a structured data type" if '">' in json.dumps(dtype) else ""


def _bad_of_attribute_rules(array: ArrayMeta, message: str) -> LintFinding:
    return LintFinding(
        "bad-attribute",
        f"{message}, so xarray does not open {array.path_text()}.",
        "Write the attribute as in the file, or open the set with `decode_cf=False`.",
    )


def _names(array: ArrayMeta, attributes: Mapping[str, object]) -> Iterator[LintFinding]:
    is_v3, rank = array.zarr_format == 3, len(array.shape)
    field = "dimension_names" if is_v3 else DIMENSIONS
    within: Mapping[str, object] = array.metadata if is_v3 else attributes
    written = within.get(field)
    is_unnamed = is_v3 and isinstance(written, list) and written == [None] * rank
    if is_unnamed or (written is None and (is_v3 or field not in within)):
        if (rank or not is_v3) and _NCZARR not in array.metadata:
            yield LintFinding(
                "no-dimension-names",
                f"{array.path_text(True)} has no `{field}`, so xarray does not open it.",
            )
        return
    names = written if isinstance(written, list) else [None]
    if len(names) != rank or not all(isinstance(name, str) for name in names):
        yield LintFinding(
            "bad-dimension-names",
            f"`{field}` of {array.path_text()} must be a list of {counted(rank, 'name')}, one "
            f"for each dimension, but it is {written!r}; xarray rejects it, or names dimensions "
            "differently.",
        )


def named_arrays(attributes: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the array names in the attributes; ``crs:`` in ``crs: x y`` is the grid mapping."""
    for attribute in ("coordinates", "grid_mapping"):
        text = attributes.get(attribute)
        for word in text.split() if isinstance(text, str) else ():
            yield attribute, word.rstrip(":")


def lint_ignored_fill_value(
    array: ArrayMeta, attributes: Mapping[str, object]
) -> LintFinding | None:
    """Return whether xarray ignores the `_FillValue` of an array, as it does for Zarr v2."""
    written, used = attributes.get("_FillValue"), array.fill_value
    if isinstance(written, list) and len(written) == 1:
        written = written[0]
    if not isinstance(written, int | float) or not isinstance(used, int | float):
        return None
    if array.zarr_format != 2 or not array.path or _is_same(array, written, used):
        return None
    return LintFinding(
        "fill-value-ignored",
        f"`_FillValue` of {array.path_text()} is {written!r}, but the fill value of the array is "
        f"{used!r}: xarray reads {used!r} as missing and {written!r} as a value.",
        "Write the same number as `fill_value` of the array.",
    )


def may_be_a_value(array: ArrayMeta, attributes: Mapping[str, object]) -> bool:
    """Return whether the fill value of a Zarr v2 array, which xarray masks, looks like a value."""
    # xarray reads it as missing, even if no attribute marks it as missing. False for the usual
    # markers of missing values, unless the array is a coordinate: those have none.
    value = array.fill_value
    if array.zarr_format != 2 or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if not array.path:  # xarray opens no array at the root
        return False
    if "_FillValue" in attributes or value != value or abs(value) >= _FAR_AWAY:
        return False
    if not _KINDS.fullmatch(array.dtype) or _is_declared(array, value, attributes):
        return False
    return array.is_dimension or not _is_usual(array)


_DEFAULTS = {
    "i1": -127, "u1": 255, "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295,
    "i8": -9223372036854775806, "u8": 18446744073709551614,
}  # fmt: skip
"""netCDF's default fill values of integers; those of floats are far from all real values."""


def _is_declared(array: ArrayMeta, value: float, attributes: Mapping[str, object]) -> bool:
    """Return whether a file declares a value as missing, other than by `_FillValue`."""
    if value == _DEFAULTS.get(array.dtype[1:]):
        return True
    if any(_is_same(array, value, each) for each in _numbers(attributes.get("missing_value"))):
        return True
    flags = _numbers(attributes.get("flag_values"))
    if flags:
        return not any(_is_same(array, value, flag) for flag in flags)
    return _is_outside(array, value, attributes)


def _is_outside(array: ArrayMeta, value: float, attributes: Mapping[str, object]) -> bool:
    """Return whether a stored value is outside the range declared by an array."""
    span = _numbers(attributes.get("valid_range"))
    least = _numbers(attributes.get("valid_min")) or span[:1]
    most = _numbers(attributes.get("valid_max")) or span[1:]
    is_integer = array.dtype[1] in "iu"
    if is_integer and any(isinstance(each, float) for each in (*least, *most)):
        return False  # limits of the unpacked values
    if array.dtype[1] == "i" and str(attributes.get("_Unsigned", "")).lower() == "true":
        bits = 8 * int(array.dtype[2:])
        value, least, most = (
            value % 2**bits,
            [n % 2**bits for n in least],
            [n % 2**bits for n in most],
        )
    return any(value < each for each in least) or any(value > each for each in most)


def _numbers(value: object) -> list[int | float]:
    """Return the numbers of an attribute; none if it contains anything else."""
    values: list[Any] = value if isinstance(value, list) else [value]
    is_number = all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)
    return values if is_number else []


def _is_same(array: ArrayMeta, one: float, other: float) -> bool:
    """Return whether two numbers are equal in the data type of an array."""
    if one == other or not re.fullmatch("[<>]f[248]", array.dtype):
        return one == other
    with np.errstate(over="ignore"):
        stored, its = np.array([one, other], array.dtype)
    return bool(stored == its)


def _is_usual(array: ArrayMeta) -> bool:
    """Return whether a fill value is a common choice, unlike any real value."""
    dtype, value = np.dtype(array.dtype), array.fill_value
    assert isinstance(value, int | float)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        if value in (limits.min, limits.min + 1, limits.max, limits.max - 1):
            return True
    with np.errstate(over="ignore"):
        stored = dtype.type(abs(value)) if dtype.kind == "f" else abs(value)  # -9999.9 in single
    return abs(value) >= _LARGE or _NINES.fullmatch(str(stored)) is not None
