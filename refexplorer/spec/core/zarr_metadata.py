"""Zarr metadata of an array: shape, chunks, codecs, and the names of its chunks.

Sources: Zarr v2 (``.zarray``, ``.zattrs``) and Zarr v3 (``zarr.json``) storage specifications.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from refexplorer.pickling import PickledByFields
from refexplorer.spec.core.datatypes import STRUCTURED, itemsize

METADATA_NAMES = frozenset({".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json"})
DIMENSIONS = "_ARRAY_DIMENSIONS"
"""The attribute with the names of dimensions, which xarray writes for Zarr v2."""
_ADDED = {
    "bytes": 0,
    "endian": 0,
    "transpose": 0,
    "shuffle": 0,
    "fletcher32": 4,
    "crc32": 4,
    "crc32c": 4,
    "adler32": 4,
}
"""Codecs that add so many bytes to what they are given, whatever it is."""
_INT64 = 2**63 - 1
_RANK = 64
"""Dimensions that NumPy's arrays have at most."""


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
        Where the array is; ``""`` is the root.
    shape, chunks
        Lengths of the array and of a chunk, in elements, one for each dimension.
    dtype
        The data type as written.
    itemsize
        Bytes of an element, None where it varies or is not known.
    codecs
        From values to bytes, in the order of encoding, such as ``"shuffle(elementsize=2)"``.
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
    codecs: tuple[str, ...]
    dimensions: tuple[str, ...] | None
    attributes: Mapping[str, object]
    zarr_format: int
    metadata: Mapping[str, object]
    prefix: str
    separator: str

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each dimension; edge chunks count as whole."""
        return tuple(-(-n // c) if n else 0 for n, c in zip(self.shape, self.chunks, strict=True))

    @cached_property
    def narrow_grid(self) -> tuple[int, ...]:
        """The grid in 64 bits, beyond which columns of chunks have no numbers and no indices."""
        return tuple(min(size, _INT64) for size in self.grid)

    @cached_property
    def chunk_count(self) -> int:
        """Chunks of the whole array."""
        return prod(self.grid)

    @property
    def encoded_size(self) -> int | None:
        """Bytes of every chunk as stored; None where they vary, as those of compressed chunks."""
        names = (codec.partition("(")[0].removeprefix("numcodecs.") for codec in self.codecs)
        added = [_ADDED.get(name) for name in names]
        if self.itemsize is None or self.dtype == "|O" or None in added:
            return None
        return prod(self.chunks) * self.itemsize + sum(filter(None, added))

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
        """Return the index that a key of this array stands for, or None if it names no chunk.

        The index may have another number of dimensions than the array, or lie outside its grid.
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

    def chunk_number(self, index: Sequence[int]) -> int:
        """Return the number of a chunk of the grid, counted in C order from 0."""
        number = 0
        for position, size in zip(index, self.grid, strict=True):
            number = number * size + position
        return number

    def index_at(self, number: int) -> tuple[int, ...]:
        """Return the index of the chunk with this number, as `chunk_number` counts."""
        index: list[int] = []
        for size in reversed(self.grid):
            number, position = divmod(number, size)
            index.append(position)
        return tuple(reversed(index))

    def inside(self, indices: np.ndarray) -> np.ndarray:
        """Say which indices the grid has, shape ``(n,)`` bool, of int64 ``(n, rank)``."""
        found = np.ones(len(indices), np.bool_)
        for axis, count in enumerate(self.narrow_grid):  # each by itself: many rows of few numbers
            found &= indices[:, axis] < count
        return found

    def contains(self, index: Sequence[int]) -> bool:
        """Say whether the grid has a chunk of this index."""
        return len(index) == len(self.grid) and all(
            0 <= i < n for i, n in zip(index, self.grid, strict=True)
        )


def read_array(
    path: str, metadata: Mapping[str, object], attributes: Mapping[str, object] | None = None
) -> ArrayMeta:
    """Read array metadata of Zarr v2 or v3.

    Parameters
    ----------
    path
        Where the array is.
    metadata
        The parsed ``.zarray`` or ``zarr.json``.
    attributes
        The parsed ``.zattrs`` (v2 only).

    Raises
    ------
    BadMetadata
        If a field is missing, of the wrong type, or no array can be like that.
    """
    if metadata.get("zarr_format", 2) == 3:
        return _read_v3(path, metadata)
    return _read_v2(path, metadata, attributes or {})


def _read_v2(
    path: str, metadata: Mapping[str, object], attributes: Mapping[str, object]
) -> ArrayMeta:
    shape = _lengths(metadata, "shape")
    chunks = _chunks(_lengths(metadata, "chunks"), shape)
    dtype = metadata.get("dtype", "")
    filters = metadata.get("filters") or []
    codecs = [*filters, metadata.get("compressor")] if isinstance(filters, list) else []
    names = attributes.get(DIMENSIONS)
    separator = metadata.get("dimension_separator", ".")
    return ArrayMeta(
        path,
        shape,
        chunks,
        dtype if isinstance(dtype, str) else STRUCTURED,
        itemsize(dtype),
        metadata.get("fill_value"),
        tuple(_codec_v2(codec) for codec in codecs if isinstance(codec, Mapping)),
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
    if grid.get("name") != "regular":
        raise BadMetadata("bad-metadata", f"The chunk grid {grid.get('name')!r} is not supported.")
    chunks = _chunks(_lengths(_mapping(grid.get("configuration")), "chunk_shape"), shape)
    dtype = metadata.get("data_type", "")
    codecs = metadata.get("codecs")
    prefix, separator = _key_encoding(_mapping(metadata.get("chunk_key_encoding")))
    return ArrayMeta(
        path,
        shape,
        chunks,
        dtype if isinstance(dtype, str) else str(_mapping(dtype).get("name", STRUCTURED)),
        itemsize(dtype),
        metadata.get("fill_value"),
        tuple(map(_codec_v3, codecs)) if isinstance(codecs, list) else (),
        _names(metadata.get("dimension_names"), shape),
        _mapping(metadata.get("attributes")),
        3,
        metadata,
        prefix,
        separator,
    )


def _key_encoding(encoding: Mapping[str, object]) -> tuple[str, str]:
    """Return the prefix of the index, and the separator of its numbers."""
    is_v2 = encoding.get("name") == "v2"
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


def _chunks(chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(chunks) != len(shape):
        raise BadMetadata(
            "bad-chunks",
            f"The chunk shape has {len(chunks)} dimensions, but the array has {len(shape)}.",
        )
    if len(shape) > _RANK:
        raise BadMetadata(
            "bad-metadata",
            f"The array has {len(shape):,} dimensions; NumPy arrays, and so those of Zarr in "
            f"Python, have at most {_RANK}.",
        )
    if any(chunk == 0 < length for chunk, length in zip(chunks, shape, strict=True)):
        raise BadMetadata("bad-chunks", "Chunks cannot have a length of 0.")
    return tuple(max(chunk, 1) for chunk in chunks)  # kerchunk writes 0 of an empty dimension


def _names(value: object, shape: tuple[int, ...]) -> tuple[str, ...] | None:
    if not isinstance(value, list) or len(value) != len(shape):
        return None
    return tuple(name if isinstance(name, str) else "" for name in value)


def _codec_v2(codec: Mapping[str, object]) -> str:
    settings = {name: value for name, value in codec.items() if name != "id"}
    return _call(str(codec.get("id", "?")), settings)


def _codec_v3(codec: object) -> str:
    if isinstance(codec, str):
        return codec
    settings = _mapping(_mapping(codec).get("configuration"))
    return _call(str(_mapping(codec).get("name", "?")), settings)


def _call(name: str, settings: Mapping[str, object]) -> str:
    inside = ", ".join(f"{key}={value}" for key, value in settings.items())
    return f"{name}({inside})" if inside else name
