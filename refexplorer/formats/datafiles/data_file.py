"""The models of a file's own metadata, filled by the readers of all formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from refexplorer.core.text import escape
from refexplorer.spec.chunk_axes import ChunkAxis

_SHOWN = 5  # names in the sentence about what was left out


GRIB_DETAILS = (
    "stepRange", "bottomLevel", "derivedForecast", "percentileValue", "lowerLimit", "upperLimit",
)  # fmt: skip
"""Fields that distinguish messages of the same name and coordinates: sums over 3 hours and 6."""
NO_PLAIN_FORM = "It is of a type without a plain form"  # Why an attribute is not read, if so


UnreadReason = Literal["damaged", "format", "library", "cost", "expression"]
"""Why something is not read: it is damaged; its format is not supported; the library for it is
missing or lacks a feature; it takes more time, memory or bytes than allowed; or it is sound, but
references, or the comparison, have no way to express it."""


class Unread(Exception):
    """A file, an array or a chunk that is not read."""

    def __init__(self, why: UnreadReason, sentence: str) -> None:
        super().__init__(why, sentence)
        self.why: UnreadReason = why
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


def left_out_text(left_out: Mapping[str, object]) -> str:
    """Return the names of omitted objects with reasons, as far as they fit a sentence."""
    shown = [
        f"{escape(name, 100)} ({escape(str(each).rstrip('.'), 200)})"
        for name, each in list(left_out.items())[:_SHOWN]
    ]
    more = f" and {len(left_out) - _SHOWN:,} more" if len(left_out) > _SHOWN else ""
    return ", ".join(shown) + more


def error_text(error: BaseException) -> str:
    """Return the first line of a library's error, without a full stop."""
    text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    return escape((text.strip().partition("\n")[0] or type(error).__name__).rstrip("."), 300)


def why_of(error: BaseException) -> UnreadReason:
    """Return why a library could not read its input, from its error."""
    if isinstance(error, Unread):
        return error.why
    if isinstance(error, MemoryError):
        return "cost"
    # tifffile raises ValueError where a codec of imagecodecs is missing
    is_missing = isinstance(error, ImportError) or "requires the 'imagecodecs'" in str(error)
    return "library" if is_missing else "damaged"


@contextmanager
def as_unread(words: str, kinds: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """Convert errors of a library to `Unread`; codecs and broken headers raise anything."""
    try:
        yield
    except Unread:
        raise
    except kinds as error:
        raise Unread(why_of(error), f"{words}: {error_text(error)}.") from error


@dataclass(frozen=True, slots=True)
class FileFilter:
    """One filter of a file's pipeline, in the order of encoding."""

    # In numcodecs' registry (``"zlib"``); else by its format (``"nbit"``) or ``"hdf5-32013"``
    name: str
    # Those that change how bytes are decoded, by numcodecs' names: ``{"elementsize": 4}``
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileChunks:
    """The stored chunks of an array, n of them."""

    indices: np.ndarray  # Of each chunk in the grid of the file's array, shape ``(n, rank)`` int64
    # offsets, lengths: Bytes in the file, shape ``(n,)`` int64
    offsets: np.ndarray
    lengths: np.ndarray
    masks: np.ndarray | None = None  # Filters that chunks skip, bit masks as in HDF5, uint32
    are_short: np.ndarray | None = None  # Which have fewer values than a whole chunk
    urls: np.ndarray | None = None  # Where they are, if not in the file itself

    def at(self, rows: np.ndarray) -> FileChunks:
        """Return some of them, by a numpy index."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        present = {name: column for name, column in columns.items() if column is not None}
        return replace(self, **{name: column[rows] for name, column in present.items()})


def one_block(rank: int, offset: int | None, size: int) -> FileChunks:
    """Return the only chunk of a contiguous array; none without bytes."""
    count = 1 if size and offset is not None else 0
    columns = (np.full(count, each or 0, np.int64) for each in (offset, size))
    return FileChunks(np.zeros((count, rank), np.int64), *columns)


@dataclass(frozen=True, slots=True)
class FileArray:
    """One array of a file."""

    name: str  # Its path in the file, without a slash at the start
    # shape, chunks: In elements; `chunks` equals `shape` where the array is one contiguous block
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]  # With the byte order of the file
    filters: tuple[FileFilter, ...] | None  # In the order of encoding; None if not expressible
    fill_value: Any  # Of missing chunks; None if the file does not say
    dimensions: tuple[str, ...] | None  # Names, None where the format or the file has none
    attributes: Mapping[str, Any]  # By name, as plain Python: numbers, texts, lists of these
    unread: Mapping[str, str] = field(default_factory=dict)  # Why attributes could not be read
    is_dimension: bool = False  # Whether it stands for a netCDF dimension without values
    order: str = "C"  # How the values of a chunk follow each other: ``"C"`` or ``"F"``
    unlimited: tuple[int, ...] = ()  # Axes without a greatest length
    varying: tuple[ChunkAxis, ...] | None = None  # Chunks of several lengths; `chunks` the longest


def with_used_filters(array: FileArray, chunks: FileChunks) -> tuple[FileArray, FileChunks]:
    """Return an array without the filters that all its chunks skip."""
    masks, filters = chunks.masks, array.filters
    if filters is None or masks is None or not masks.any() or (masks != masks[0]).any():
        return array, chunks
    used = tuple(each for at, each in enumerate(filters) if not int(masks[0]) >> at & 1)
    return replace(array, filters=used), replace(chunks, masks=np.zeros_like(masks))


class FileObject(NamedTuple):
    """One object of a file, whether or not references can be made to it."""

    name: str  # Its path, in the words of `DataFile.names`; of an array one of those names
    # ``"array"``, ``"dimension"``, ``"group"``, ``"type"``, ``"link"``, ``"header"``, ``"page"``
    # (of TIFF, in no array) or ``"gap"`` for bytes outside all objects
    kind: str
    shape: tuple[int, ...] | None = None  # Of arrays, None where it cannot be read
    stored: int = 0  # Bytes that it takes in the file, without its metadata
    barrier: Unread | None = None  # Why no references can be made to it, by its metadata
    title: str = ""  # The variable that it becomes in sets, if `name` is only a number


def gaps(parts: Iterable[tuple[int, int]], size: int) -> Iterator[FileObject]:
    """Yield the bytes of a file outside of its parts, which are given by their ends."""
    at = 0
    for start, end in [*sorted(parts), (size, size)]:
        if start > at:
            yield FileObject(f"bytes {at:,} to {start:,}", "gap", (start - at,), start - at)
        at = max(at, end)


class DataFile(Protocol):
    """An open file, read through the access policy of the set."""

    form: str  # ``"HDF5"``, ``"NetCDF3"``, ``"TIFF"``, ``"GRIB"``, ``"FITS"`` or ``"Zarr"``
    # Objects by the counts in its headers, which `objects` does not use; None without any
    declared: int | None = None

    def objects(self) -> Iterator[FileObject]:
        """Yield everything in the file, including what has no byte ranges or is unreadable."""

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the attributes of all groups by path; the root, ``""``, has none by default."""
        return {"": {}}

    def names(self) -> tuple[str, ...]:
        """Return the paths of all arrays, including those of nested groups."""

    def other_names(self) -> Mapping[str, str]:
        """Return further names of arrays, such as links, with the corresponding one in `names`."""
        return {}

    def array(self, name: str) -> FileArray:
        """Return the metadata of an array, by any of its names."""

    def chunks(self, name: str) -> FileChunks:
        """Return the stored chunks of an array."""

    def held(self, name: str) -> bytes | None:
        """Return the single chunk of an array without a byte range; None for all others."""
        return None

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        """Read values with the library of the format, neither masked nor scaled."""

    def close(self) -> None:
        """Close the file, unless it was opened elsewhere."""
        return


class SizedDataFile(DataFile, Protocol):
    """A data file of known size."""

    size: int  # In bytes
