"""The models of a file's own metadata, which the readers of all formats fill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np


class BlockSource(Protocol):
    """An open file that is read in blocks, wherever it is."""

    size: int

    def read_at(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` up to ``end``."""

    def begin_values(self) -> None:
        """Lift what limits the reading of metadata."""

    def close(self) -> None:
        """Close the file."""


Why = Literal["damaged", "format", "library", "cost", "expression"]


class NotComparableError(Exception):
    """A file, an array or a chunk cannot be compared; the text is the reason, one sentence.

    Attributes
    ----------
    why
        ``"damaged"``: the library of the format cannot read it, which is as bad as a difference.
        Not known is what is in a file of another ``"format"``, without its ``"library"``, or above
        a limit (``"cost"``). ``"expression"``: no metadata of Zarr can say what is in one array.
    """

    def __init__(self, text: str, why: Why = "expression") -> None:
        super().__init__(text)
        self.why: Why = why


@dataclass(frozen=True, slots=True)
class NativeFilter:
    """One filter of a file's pipeline, in the order of encoding.

    Attributes
    ----------
    name
        As the codec that decodes it is named in numcodecs' registry (``"zlib"``, ``"shuffle"``,
        ``"imagecodecs_lzf"``, …). What no codec decodes has the name of its format
        (``"scaleoffset"``, ``"nbit"``, ``"bitshuffle"``), or its number: ``"hdf5-32013"``.
    settings
        Those that change how bytes are decoded, by numcodecs' names: ``{"elementsize": 4}``.
        A level of compression is none.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NativeChunks:
    """The stored chunks of an array, n of them.

    Attributes
    ----------
    indices
        Of each chunk in the grid of the file's array, shape ``(n, rank)`` int64.
    offsets, lengths
        Bytes in the file, shape ``(n,)`` int64.
    masks
        Filters that were left out for a chunk, bit by bit as HDF5 has them, shape ``(n,)`` uint32;
        None where a format has no such thing.
    """

    indices: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    masks: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class NativeArray:
    """One array of a file.

    Attributes
    ----------
    name
        Its path in the file, without a slash at the start.
    shape, chunks
        In elements; `chunks` equals `shape` where the array is one contiguous block.
    dtype
        With the byte order of the file.
    filters
        The pipeline, in the order of encoding; None where it cannot be told in these words.
    fill_value
        What the file fills missing chunks with, as Python has it; None if it does not say.
    dimensions
        Names, None where the format or the file has none.
    attributes
        By name, as plain Python: numbers, texts, lists of these.
    unread
        Attributes that are there and could not be read, with the reason; not in `attributes`.
    is_dimension
        Whether it stands for a netCDF dimension without values.
    order
        How the values of a chunk follow each other: ``"C"`` or ``"F"``.
    """

    name: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    filters: tuple[NativeFilter, ...] | None
    fill_value: Any
    dimensions: tuple[str, ...] | None
    attributes: Mapping[str, Any]
    unread: Mapping[str, str] = field(default_factory=dict)
    is_dimension: bool = False
    order: str = "C"


class NativeFile(Protocol):
    """A file that is open; it reads through the access policy of the set."""

    form: str
    """``"HDF5"``, ``"NetCDF3"``, ``"TIFF"``, ``"GRIB"``, ``"FITS"`` or ``"Zarr"``."""

    def names(self) -> tuple[str, ...]:
        """Return the paths of all arrays, those of groups within groups too.

        The levels of a TIFF are ``"0"``, ``"1"``, …, as in tifffile's Zarr store; a shard of Zarr
        has the inner chunks of ``name`` in the array ``name/inner``.
        """

    def other_names(self) -> Mapping[str, str]:
        """Return further names of arrays, such as links, and the name in `names` of each."""

    def array(self, name: str) -> NativeArray:
        """Return the metadata of an array, by any of its names.

        Raises
        ------
        KeyError
            If there is none of this name.
        NotComparableError
            If it cannot be told, such as of a virtual dataset.
        """

    def chunks(self, name: str) -> NativeChunks:
        """Return the stored chunks of an array.

        Raises
        ------
        NotComparableError
            If they have no byte ranges of their own, such as HDF5's compact data.
        """

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        """Read values with the library of the format, neither masked nor scaled."""

    def close(self) -> None:
        """Close the file."""
