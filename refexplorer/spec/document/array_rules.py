"""Lint rules for metadata keys: what no reader opens.

Sources: Zarr v2 and Zarr v3 storage specifications, "Array metadata" and "Data types".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from refexplorer.spec.core.datatypes import FIELDS_OF_DTYPE
from refexplorer.spec.core.fill_values import wrong_fill_value
from refexplorer.spec.core.portability import odd_json
from refexplorer.spec.core.zarr_metadata import BadMetadata, read_array
from refexplorer.spec.document.lint_rules import Remark, parse_metadata

_INT64 = 2**63 - 1
_DTYPE_V2 = re.compile(
    r"\|b1|\|[iu]1|[<>](?:[iu][248]|f[248]|c(?:8|16))|\|O|\|[SV][1-9]\d*|[<>]U[1-9]\d*"
    r"|[<>][Mm]8(?:\[\d*[A-Za-z\u00b5\u03bc]+\])"
)
_DTYPES_V3 = frozenset(
    {
        "bool", "int2", "int4", "int8", "int16", "int32", "int64", "uint2", "uint4", "uint8",
        "uint16", "uint32", "uint64", "bfloat16", "float16", "float32", "float64", "complex64",
        "complex128", "string", "bytes", "variable_length_bytes", "fixed_length_utf32",
        "null_terminated_bytes", "raw_bytes", "struct", "structured", "numpy.datetime64",
        "numpy.timedelta64",
    }
)  # fmt: skip
"""Of the specification and of the registry of extensions of Zarr."""
_MORE_DTYPES_V3 = re.compile(r"r\d+|float[468]_\w+|complex_\w+")

_Rules = Callable[[Mapping[str, object]], Iterator[Remark]]


def remarks_on_metadata(key: str, text: str) -> Iterator[Remark]:
    """Say what is wrong with the text of a metadata key, one remark for each code."""
    found: dict[str, Remark] = {}
    for remark in _remarks(key, text):
        before = found.get(remark.code)
        if before is not None:  # findings of one code at one place are one
            remark = remark._replace(message=f"{before.message} {remark.message}")
        found[remark.code] = remark
    yield from found.values()


def _remarks(key: str, text: str) -> Iterator[Remark]:
    value = parse_metadata(text)
    path, _, name = key.rpartition("/")
    if value is not None and (why := odd_json(text)):
        yield Remark("odd-metadata-json", why)
    if value is None:
        yield Remark("metadata-not-json", f"The text of `{key}` is not a JSON object.")
    elif name == ".zgroup":
        yield from _format(value, 2)
    elif name == ".zarray":
        yield from _array(path, value, _version_2)
    elif name == "zarr.json" and value.get("node_type") == "array":
        yield from _array(path, value, _version_3)
    elif name == "zarr.json":
        yield from _format(value, 3)
        if value.get("node_type") != "group":
            yield _bad(f'`node_type` must be "array" or "group", but {_told(value, "node_type")}.')


def _array(path: str, metadata: Mapping[str, object], rules: _Rules) -> Iterator[Remark]:
    try:
        array = read_array(path, metadata)
    except BadMetadata as bad:
        yield Remark(bad.code, f"{bad}")
    else:
        if any(length > _INT64 for length in array.shape):
            yield _bad("A length of `shape` does not fit into 64 bits, so no reader opens it.")
        if 0 in _written_chunks(metadata):
            said = (
                "A chunk has a length of 0, as the array has: Zarr reads it, fsspec divides by it."
            )
            yield Remark("bad-chunks", said, "Write 1 instead.")
    yield from rules(metadata)


def _written_chunks(metadata: Mapping[str, object]) -> list[object]:
    """Return the lengths of a chunk as written; none where they are no list."""
    grid = metadata.get("chunk_grid")
    settings = grid.get("configuration") if isinstance(grid, Mapping) else None
    within = metadata if metadata.get("zarr_format") != 3 else settings
    name = "chunk_shape" if metadata.get("zarr_format") == 3 else "chunks"
    written = within.get(name) if isinstance(within, Mapping) else None
    return written if isinstance(written, list) else []


def _version_2(metadata: Mapping[str, object]) -> Iterator[Remark]:
    yield from _format(metadata, 2)
    yield from _dtype_v2(metadata)
    if metadata.get("order") not in ("C", "F"):
        yield _bad(f'`order` must be "C" or "F", but {_told(metadata, "order")}.')
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


def _codec_v2(name: str, codec: object) -> Iterator[Remark]:
    if not isinstance(codec, Mapping) or not isinstance(codec.get("id"), str):
        yield _bad(f"{name} must be an object that names a codec as `id`, but it is {codec!r}.")


def _dtype_v2(metadata: Mapping[str, object]) -> Iterator[Remark]:
    written = metadata.get("dtype")
    dtype = _numpy_dtype(written)
    if dtype is None:
        yield Remark(
            "bad-dtype",
            f"`dtype` must be a data type of Zarr v2, but {_told(metadata, 'dtype')}.",
            'Write byte order, kind and size in bytes, such as "<f4" or "|u1".',
        )
        return
    if written == "|O" and not metadata.get("filters"):
        yield Remark(
            "bad-dtype",
            "The data type |O stands for objects, but no filter says how they were written.",
            'Add the filter that wrote them, such as {"id": "vlen-utf8"}.',
        )
    yield from _fill_value(metadata, dtype, 2)


def _numpy_dtype(written: object) -> np.dtype[np.generic] | None:
    """Return the data type that Zarr v2 writes so, None if there is none."""
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
) -> Iterator[Remark]:
    if "fill_value" not in metadata:
        yield _bad("`fill_value` is missing, and without it Zarr opens no array.")
    elif wrong := wrong_fill_value(dtype, metadata["fill_value"], zarr_format):
        value = metadata["fill_value"]
        yield _bad(f"`fill_value` is {value!r}, but for the data type {dtype.str} {wrong}.")


def _version_3(metadata: Mapping[str, object]) -> Iterator[Remark]:
    yield from _format(metadata, 3)
    written = metadata.get("data_type")
    name = written.get("name") if isinstance(written, Mapping) else written
    if not isinstance(name, str) or not (name in _DTYPES_V3 or _MORE_DTYPES_V3.fullmatch(name)):
        yield Remark(
            "bad-dtype",
            f"`data_type` must be a data type of Zarr v3, but {_told(metadata, 'data_type')}.",
            'Write its name, such as "float32".',
        )
    elif metadata.get("fill_value") is None:
        yield _bad(f"`fill_value` must be set in Zarr v3, but {_told(metadata, 'fill_value')}.")
    elif isinstance(written, str) and (dtype := _dtype_named(written)) is not None:
        yield from _fill_value(metadata, dtype, 3)
    if not isinstance(metadata.get("attributes", {}), Mapping):
        yield _bad(f"`attributes` must be an object, but {_told(metadata, 'attributes')}.")
    codecs = metadata.get("codecs")
    if not isinstance(codecs, list) or not codecs:
        yield _bad(f"`codecs` must be a list of codecs, but {_told(metadata, 'codecs')}.")


def _dtype_named(name: str) -> np.dtype[np.generic] | None:
    try:
        dtype: np.dtype[np.generic] = np.dtype(name)
    except TypeError:  # not of numpy, such as bfloat16
        return None
    return dtype if dtype.kind in "biufc" else None


def _format(metadata: Mapping[str, object], number: int) -> Iterator[Remark]:
    found = metadata.get("zarr_format")
    if found != number or isinstance(found, bool):
        told = _told(metadata, "zarr_format")
        yield _bad(f"`zarr_format` must be the number {number}, but {told}.")


def _told(metadata: Mapping[str, object], name: str) -> str:
    """Say what a field is instead, as the end of a sentence."""
    return f"it is {metadata[name]!r}" if name in metadata else "it is missing"


def _bad(message: str) -> Remark:
    return Remark("bad-metadata", message)
