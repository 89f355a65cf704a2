"""Zarr metadata of an array: shape, chunks, codecs, and the names of its chunks.

Sources: Zarr v2 (``.zarray``, ``.zattrs``) and Zarr v3 (``zarr.json``) storage specifications.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import prod
from typing import Any

import numpy as np

from refexplorer.core.errors import PickledByFields
from refexplorer.core.limits import INT64_MAX
from refexplorer.core.text import counted
from refexplorer.spec.chunk_axes import ChunkAxis, read_axis

FIELDS_OF_DTYPE = 1_000  # fields of a compound type; a stranger's type may nest without end
STRUCTURED = "structured"
STRUCTURES = (STRUCTURED, "struct")
# numpy holds text as UTF-32
_CODE_POINT = 4
_TIMES = frozenset({"numpy.datetime64", "numpy.timedelta64"})
_UNITS = {"fixed_length_utf32": _CODE_POINT, "null_terminated_bytes": 1, "raw_bytes": 1}
"""Data types of Zarr v3 that declare their length, and the unit of that length in bytes."""


def itemsize(dtype: object) -> int | None:
    """Return the bytes of an element, None if variable or the data type is unknown."""
    if isinstance(dtype, Mapping):
        return _of_object(dtype)
    if isinstance(dtype, list):
        if len(dtype) > FIELDS_OF_DTYPE:
            return None
        dtype = [tuple(field) if isinstance(field, list) else field for field in dtype]
    try:
        size = np.dtype(dtype).itemsize  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return None
    return int(size) or None


def type_name(dtype: str | np.dtype[np.generic]) -> str:
    """Return a readable data type: ``int16`` for ``<i2``; strings and others unchanged."""
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        return str(dtype)
    return found.newbyteorder("=").name if found.kind in "biufcmM" else str(dtype)


def _of_object(dtype: Mapping[str, object]) -> int | None:
    """Sum the fields of a Zarr v3 data type, however deeply nested."""
    waiting: list[object] = [dtype]
    total = 0
    for each in waiting:
        if isinstance(each, Mapping) and each.get("name") in STRUCTURES:
            fields = _mapping(each.get("configuration")).get("fields")
            waiting += map(_type_of_field, fields) if isinstance(fields, list) else [None]
        elif size := _of_field(each):
            total += size
        else:
            return None
        if len(waiting) > FIELDS_OF_DTYPE:
            return None
    return total or None


def _type_of_field(field: object) -> object:
    """Return the data type of a field: a pair, or an object in `struct` since Zarr 3.2."""
    if isinstance(field, Mapping):
        return field.get("data_type")
    return field[1] if isinstance(field, list) and len(field) == 2 else None


def _of_field(dtype: object) -> int | None:
    if not isinstance(dtype, Mapping):
        return itemsize(dtype) if isinstance(dtype, str) else None
    name = str(dtype.get("name"))
    if name in _TIMES:
        return 8
    length = _mapping(dtype.get("configuration")).get("length_bytes")
    if name not in _UNITS or type(length) is not int or length < 1:
        return None
    return length - length % _UNITS[name] or None


_WORDS = frozenset({"NaN", "Infinity", "-Infinity"})
_HEX = re.compile(r"0x[0-9a-fA-F]+")


def wrong_fill_value(dtype: np.dtype[np.generic], value: object, zarr_format: int) -> str:
    """Return what a fill value must be instead, to end a sentence; ``""`` if it is valid."""
    if value is None:
        return ""
    kind, is_number = dtype.kind, isinstance(value, int) and not isinstance(value, bool)
    if kind in "iu":
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        limits = np.iinfo(dtype)  # type: ignore[type-var]
        if not isinstance(whole, int):
            return "it must be an integer"
        is_good = limits.min <= whole <= limits.max
        return "" if is_good else f"it must be between {limits.min} and {limits.max}"
    if kind == "f":
        words = 'a number, "NaN", "Infinity" or "-Infinity"'
        is_good = _is_float(value, zarr_format)
    elif kind == "c":
        parts, words = value if isinstance(value, list) else [], "a list of two numbers"
        is_good = len(parts) == 2 and all(_is_float(part, zarr_format) for part in parts)
    elif kind == "b":
        words = "true or false"
        is_good = isinstance(value, bool) or (zarr_format == 2 and value in (0, 1))
    elif kind in "SV":
        is_list, words = zarr_format == 3 and isinstance(value, list), "base64 text"
        is_good = is_list or _is_base64(value)
    elif kind in "Mm":
        is_good, words = value == "NaT" or is_number, 'an integer or "NaT"'
    else:  # objects may have any
        is_good, words = kind != "U" or isinstance(value, str), "text"
    return "" if is_good else f"it must be {words}"


def _is_float(value: object, zarr_format: int) -> bool:
    if not isinstance(value, str):
        return isinstance(value, int | float)
    return value in _WORDS or (zarr_format == 3 and _HEX.fullmatch(value) is not None)


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        return False
    return True


_KEY_CHARS = 4000  # More than a chunk key has, and fewer digits than Python refuses
METADATA_NAMES = frozenset({".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json"})


def is_metadata(key: str) -> bool:
    """Return whether a key contains Zarr metadata, which is JSON."""
    return key.rpartition("/")[2] in METADATA_NAMES


def parse_metadata(text: str) -> Mapping[str, object] | None:
    """Parse the text of a metadata key; None if it is not a JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


DIMENSIONS = "_ARRAY_DIMENSIONS"  # The attribute with dimension names that xarray writes for v2
_ADDED = {
    "bytes": 0, "endian": 0, "transpose": 0, "shuffle": 0, "fletcher32": 4, "crc32": 4, "crc32c": 4,
    "adler32": 4,
}  # fmt: skip
"""Codecs that add a fixed number of bytes to their input, and that number."""
_RANK = 64  # Most dimensions of NumPy arrays


class BadMetadata(Exception):
    """Array metadata breaks a rule: a diagnostic code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ArrayMeta(PickledByFields):
    """The metadata of one array.

    Attributes
    ----------
    path
        The path of the array; ``""`` is the root.
    shape, chunks
        Lengths of the array and of a chunk, in elements, one for each dimension; if chunks have
        different lengths, those of the longest.
    dtype
        The data type as written.
    itemsize
        Bytes of an element, None if variable or unknown.
    dimensions
        Names, or None.
    metadata
        The parsed ``.zarray`` or ``zarr.json``.
    """

    path: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str
    itemsize: int | None
    fill_value: object
    dimensions: tuple[str, ...] | None
    attributes: Mapping[str, object]
    zarr_format: int
    metadata: Mapping[str, object]
    prefix: str
    separator: str
    varying: tuple[ChunkAxis, ...] | None = None

    @cached_property
    def pipeline(self) -> tuple[tuple[str, Any], ...]:
        """The codecs in the order of encoding: their names, and their settings as written."""
        written: Any = self.metadata
        if self.zarr_format == 3:
            codecs = written.get("codecs")
            named = (
                each if isinstance(each, Mapping) else {"name": each}
                for each in (codecs if isinstance(codecs, list) else ())
            )
            return tuple((str(c.get("name", "")), c.get("configuration") or {}) for c in named)
        filters = written.get("filters") or []
        steps = [*filters, written.get("compressor")] if isinstance(filters, list) else []
        return tuple(
            (str(c.get("id", "")), {name: c[name] for name in c if name != "id"})
            for c in steps
            if isinstance(c, Mapping)
        )

    @cached_property
    def codecs(self) -> tuple[str, ...]:
        """From values to bytes, in the order of encoding, such as ``"shuffle(elementsize=2)"``."""
        settings = (", ".join(f"{k}={v}" for k, v in _mapping(s).items()) for _, s in self.pipeline)
        names = (name or "?" for name, _ in self.pipeline)
        pairs = zip(names, settings, strict=True)
        return tuple(f"{name}({inside})" if inside else name for name, inside in pairs)

    def path_text(self, is_start: bool = False) -> str:
        """Return its path as a part of a sentence, or as its start."""
        return f"`{self.path}`" if self.path else f"{'T' if is_start else 't'}he root array"

    @property
    def is_dimension(self) -> bool:
        """Whether it is the coordinate of a dimension, as in xarray."""
        return self.dimensions == (self.path.rpartition("/")[2],)

    @cached_property
    def axes(self) -> tuple[ChunkAxis, ...]:
        """The chunks along each dimension."""
        pairs = zip(self.shape, self.chunks, strict=True)
        return self.varying or tuple(ChunkAxis(extent, (length,)) for extent, length in pairs)

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each dimension, including partial edge chunks."""
        return tuple(axis.count for axis in self.axes)

    def chunk_at(self, place: Sequence[int]) -> tuple[int, ...]:
        """Return the index of the chunk that contains an element."""
        return tuple(axis.number_at(at) for axis, at in zip(self.axes, place, strict=True))

    def starts_of(self, indices: np.ndarray) -> np.ndarray:
        """Return the first element of chunks, int64 ``(n, rank)``, of int64 ``(n, rank)``."""
        pairs = zip(self.axes, indices.T, strict=True)
        starts = [axis.starts_of(column) for axis, column in pairs]
        return np.stack(starts, axis=1) if starts else indices

    def element_counts(self, indices: np.ndarray) -> np.ndarray:
        """Return the stored element counts of chunks, int64, of int64 ``(n, rank)``."""
        found = np.ones(len(indices), np.int64)
        for at, axis in enumerate(self.axes):
            found *= axis.lengths_of(indices[:, at])
        return found

    def chunk_shape(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the stored shape of a chunk."""
        return tuple(axis.length_at(at) for axis, at in zip(self.axes, index, strict=True))

    def chunk_array(self, index: Sequence[int]) -> ArrayMeta:
        """Return metadata for decoding a chunk: those of an array with regular chunks."""
        if self.varying is None:
            return self
        shape = self.chunk_shape(index)
        metadata = dict(self.metadata) | {"shape": list(shape), "chunk_grid": regular_grid(shape)}
        return replace(self, shape=shape, chunks=shape, metadata=metadata, varying=None)

    @cached_property
    def narrow_grid(self) -> tuple[int, ...]:
        """The grid in 64 bits; beyond these, columns of chunks have no numbers and no indices."""
        return tuple(min(size, INT64_MAX) for size in self.grid)

    @cached_property
    def chunk_count(self) -> int:
        """Chunks of the whole array."""
        return prod(self.grid)

    @property
    def encoded_size(self) -> int | None:
        """Stored bytes of every chunk; None if they vary, as for compressed chunks."""
        if self.varying or self._added is None:
            return None
        return prod(self.chunks) * (self.itemsize or 0) + self._added

    def encoded_sizes(self, indices: np.ndarray) -> np.ndarray | None:
        """Return the stored bytes of chunks, int64, of int64 ``(n, rank)``; None as above."""
        if self._added is None:
            return None
        return self.element_counts(indices) * (self.itemsize or 0) + self._added

    @cached_property
    def _added(self) -> int | None:
        """The bytes that codecs add to the values; None if the size varies."""
        names = (codec.partition("(")[0].removeprefix("numcodecs.") for codec in self.codecs)
        added = [_ADDED.get(name) for name in names]
        if self.itemsize is None or self.dtype == "|O" or None in added:
            return None
        return sum(filter(None, added))

    @property
    def form_text(self) -> str:
        """Shape and data type as a short text."""
        lengths = " \N{MULTIPLICATION SIGN} ".join(f"{length:,}" for length in self.shape)
        return f"{lengths} {type_name(self.dtype)}".strip()

    @property
    def folder(self) -> str:
        """The path with a slash, or ``""`` for the root."""
        return self.path + "/" if self.path else ""

    @property
    def metadata_key(self) -> str:
        """The key of its metadata."""
        return self.folder + ("zarr.json" if self.zarr_format == 3 else ".zarray")

    def chunk_key(self, index: Sequence[int]) -> str:
        """Return the full key of the chunk with this index, one number for each dimension."""
        if not index:
            return self.folder + (self.prefix.rstrip(self.separator) or "0")
        return self.folder + self.prefix + self.separator.join(map(str, index))

    def chunk_index(self, key: str) -> tuple[int, ...] | None:
        """Return the chunk index of a key, or None if the key is not a chunk.

        The index may have a different number of dimensions from the array, or be outside its grid.
        """
        if not key.startswith(self.folder):
            return None
        name = key[len(self.folder) :]
        if not self.shape and key == self.chunk_key(()):
            return ()
        match = self._pattern.fullmatch(name)
        if match is None:
            return None
        return tuple(int(part) for part in match[1].split(self.separator))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        number = r"(?:0|[1-9]\d{0,999})"  # Python reads few thousand digits
        separator = re.escape(self.separator)
        return re.compile(rf"{re.escape(self.prefix)}({number}(?:{separator}{number})*)", re.ASCII)

    def number_of_key(self, key: str) -> int | None:
        """Return the number of the chunk for a key; None if it is not in the grid."""
        if len(key) > len(self.folder) + _KEY_CHARS:
            return None
        index = self.chunk_index(key)
        if index is None or not self.contains(index) or self.chunk_key(index) != key:
            return None
        return self.chunk_number(index)

    def chunk_number(self, index: Sequence[int]) -> int:
        """Return the number of a chunk of the grid, counted in C order from 0."""
        number = 0
        for position, size in zip(index, self.grid, strict=True):
            number = number * size + position
        return number

    def key_at(self, number: int) -> str:
        """Return the full key of the chunk with this number."""
        return self.chunk_key(self.index_at(number))

    def index_at(self, number: int) -> tuple[int, ...]:
        """Return the index of the chunk with this number, as `chunk_number` counts."""
        index: list[int] = []
        for size in reversed(self.grid):
            number, position = divmod(number, size)
            index.append(position)
        return tuple(reversed(index))

    def inside(self, indices: np.ndarray) -> np.ndarray:
        """Return whether each index is in the grid, shape ``(n,)`` bool, of int64 ``(n, rank)``."""
        found = np.ones(len(indices), np.bool_)
        for axis, size in enumerate(self.narrow_grid):  # column by column: many rows of few numbers
            found &= indices[:, axis] < size
        return found

    def contains(self, index: Sequence[int]) -> bool:
        """Return whether the grid has a chunk with this index."""
        return len(index) == len(self.grid) and all(
            0 <= i < n for i, n in zip(index, self.grid, strict=True)
        )


def read_array(
    path: str, metadata: Mapping[str, object], attributes: Mapping[str, object] | None = None
) -> ArrayMeta:
    """Parse array metadata of Zarr v2 or v3."""
    if metadata.get("zarr_format", 2) == 3:
        return _read_v3(path, metadata)
    return _read_v2(path, metadata, attributes or {})


def _read_v2(
    path: str, metadata: Mapping[str, object], attributes: Mapping[str, object]
) -> ArrayMeta:
    shape = _lengths(metadata, "shape")
    chunks = _chunks(_lengths(metadata, "chunks"), shape)
    dtype = metadata.get("dtype", "")
    names = attributes.get(DIMENSIONS)
    separator = metadata.get("dimension_separator", ".")
    return ArrayMeta(
        path,
        shape,
        chunks,
        dtype if isinstance(dtype, str) else STRUCTURED,
        itemsize(dtype),
        metadata.get("fill_value"),
        _names(names, shape),
        {name: value for name, value in attributes.items() if name != DIMENSIONS},
        2,
        metadata,
        "",
        separator if isinstance(separator, str) and separator else ".",
    )


def _read_v3(path: str, metadata: Mapping[str, object]) -> ArrayMeta:
    shape = _lengths(metadata, "shape")
    grid = _mapping(metadata.get("chunk_grid"))
    if (varying := _varying(grid, shape)) is None:
        chunks = _chunks(_lengths(_mapping(grid.get("configuration")), "chunk_shape"), shape)
    else:
        chunks = tuple(axis.longest for axis in varying)
    dtype = metadata.get("data_type", "")
    prefix, separator = _key_encoding(metadata.get("chunk_key_encoding"))
    return ArrayMeta(
        path,
        shape,
        chunks,
        dtype if isinstance(dtype, str) else str(_mapping(dtype).get("name", STRUCTURED)),
        itemsize(dtype),
        metadata.get("fill_value"),
        _names(metadata.get("dimension_names"), shape),
        _mapping(metadata.get("attributes")),
        3,
        metadata,
        prefix,
        separator,
        varying,
    )


def regular_grid(chunks: Sequence[int]) -> dict[str, object]:
    """Return a chunk grid in the notation of Zarr v3."""
    return {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}


def written_grid(axes: Sequence[ChunkAxis]) -> dict[str, object]:
    """Return the chunk grid of some axes in the notation of Zarr v3."""
    if all(axis.is_regular for axis in axes):
        return regular_grid([axis.longest for axis in axes])
    shapes = [axis.written_form for axis in axes]
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}


def _varying(grid: Mapping[str, object], shape: tuple[int, ...]) -> tuple[ChunkAxis, ...] | None:
    """Parse a rectilinear chunk grid; None for a regular or equivalent one."""
    name, settings = grid.get("name"), _mapping(grid.get("configuration"))
    if name == "regular":
        return None
    if name != "rectilinear" or settings.get("kind") != "inline":
        kind = f" of kind {settings.get('kind')!r}" if name == "rectilinear" else ""
        raise BadMetadata(
            "bad-metadata",
            f"The chunk grid {name!r}{kind} is not known: Zarr itself has "
            "`regular`, and `rectilinear` of kind `inline`.",
        )
    written = settings.get("chunk_shapes")
    if not isinstance(written, list):
        raise BadMetadata("bad-metadata", "`chunk_shapes` must be a list.")
    _check_rank(len(written), shape)
    axes = tuple(map(read_axis, written, shape, count()))
    if wrong := next((axis for axis in axes if isinstance(axis, str)), None):
        raise BadMetadata("bad-chunks", wrong)
    return axes  # type: ignore[return-value]


def _key_encoding(written: object) -> tuple[str, str]:
    """Return the prefix of the index, and the separator of its numbers."""
    encoding = _mapping({"name": written} if isinstance(written, str) else written)
    if (name := encoding.get("name", "default")) not in ("default", "v2"):
        raise BadMetadata(
            "bad-metadata",
            f"The chunk key encoding {name!r} is not known, so the keys of the chunks are not.",
        )
    is_v2 = name == "v2"
    separator = _mapping(encoding.get("configuration")).get("separator", "." if is_v2 else "/")
    if not isinstance(separator, str) or not separator:
        separator = "/"
    return ("" if is_v2 else "c" + separator), separator


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _lengths(metadata: Mapping[str, object], name: str) -> tuple[int, ...]:
    value = metadata.get(name)
    if not isinstance(value, list) or not all(type(n) is int and n >= 0 for n in value):
        raise BadMetadata("bad-metadata", f"`{name}` must be a list of non-negative integers.")
    return tuple(value)


def _check_rank(rank: int, shape: tuple[int, ...]) -> None:
    if rank != len(shape):
        raise BadMetadata(
            "bad-chunks",
            f"The chunk shape has {counted(rank, 'dimension')}, but the array has {len(shape)}.",
        )
    if len(shape) > _RANK:
        raise BadMetadata(
            "bad-metadata",
            f"The array has {len(shape):,} dimensions; NumPy arrays, and so those of Zarr in "
            f"Python, have at most {_RANK}.",
        )


def _chunks(chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    _check_rank(len(chunks), shape)
    if any(chunk == 0 < length for chunk, length in zip(chunks, shape, strict=True)):
        raise BadMetadata("bad-chunks", "Chunks cannot have a length of 0.")
    return tuple(max(chunk, 1) for chunk in chunks)  # kerchunk writes 0 for an empty dimension


def _names(value: object, shape: tuple[int, ...]) -> tuple[str, ...] | None:
    if not isinstance(value, list) or len(value) != len(shape):
        return None
    return tuple(name if isinstance(name, str) else "" for name in value)
