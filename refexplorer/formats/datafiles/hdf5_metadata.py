"""HDF5's description of one dataset or attribute, in terms of NumPy and Zarr's codecs."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5p, h5s, h5t

from refexplorer.core.limits import INT64_MAX
from refexplorer.core.text import counted, escape, size_text
from refexplorer.formats.datafiles.data_file import NO_PLAIN_FORM, FileChunks, FileFilter, Unread

_WITHOUT_USERBLOCK = h5py.version.hdf5_version_tuple < (1, 14, 4)
"""Whether HDF5 counts chunk offsets from the end of the user block (HDFGroup/hdf5#3003)
and those of contiguous data from the start of the file."""
_MOST_COMPARED = (
    64  # Chunks that are read to find out whether HDF5 gives their correct grid indices
)


def chunk_table(dataset: h5d.DatasetID, file: IO[bytes], userblock: int) -> FileChunks:
    """Return the chunk table; numbers take eight bytes each, as there may be millions."""
    starts, offsets, lengths, masks = array("Q"), array("Q"), array("Q"), array("L")
    size = file.seek(0, 2)

    def take(found: h5d.StoreInfo) -> bool | None:
        starts.extend(found[0])
        masks.append(found[1])
        offsets.append(found[2])
        lengths.append(found[3])
        return True if len(masks) > size else None  # this must not raise inside h5py

    dataset.chunk_iter(take)
    plist = dataset.get_create_plist()
    chunk = plist.get_chunk()
    before = userblock if _WITHOUT_USERBLOCK else 0
    places, sizes = _int64(offsets) + before, _int64(lengths)
    if len(places) and int((places + sizes).max()) > size:
        raise ValueError("some end after the file")
    indices, between = np.divmod(_int64(starts).reshape(-1, len(chunk)), np.array(chunk, np.int64))
    steps = np.diff(indices, axis=0)
    first = (steps != 0).argmax(axis=1)
    is_ascending = (steps[np.arange(len(steps)), first] > 0).all()  # HDF5 does not find any others
    if between.any() or not (is_ascending or _inner_unlimited(dataset)):
        raise ValueError("some are not at a position of the grid, or not in its order")
    found = FileChunks(indices, places, sizes, np.array(masks, np.uint32))
    _check_plain(found, plist.get_nfilters(), math.prod(chunk) * dataset.get_type().get_size())
    return _turned(dataset, chunk, found, file)


def _inner_unlimited(dataset: h5d.DatasetID) -> int:
    """Return the only unlimited axis if it is not the first, else 0: see `_turned`."""
    most = dataset.get_space().get_simple_extent_dims(True)
    unlimited = [axis for axis, size in enumerate(most) if size == h5s.UNLIMITED]
    return unlimited[0] if len(unlimited) == 1 else 0


def _check_plain(chunks: FileChunks, filters: int, size: int) -> None:
    """Reject unfiltered chunks that are too short: HDF5 would read memory beyond their end."""
    assert chunks.masks is not None
    every = 2**filters - 1
    if (chunks.masks > every).any():
        raise ValueError("some skip filters that do not exist")
    if (chunks.lengths[chunks.masks == every] != size).any():
        raise ValueError("some without filters differ in size from the others")


def _int64(numbers: array[int]) -> np.ndarray:
    found = np.frombuffer(numbers, np.uint64)
    if len(found) and found.max() > INT64_MAX:
        raise ValueError("some are beyond the end of any file")
    return found.astype(np.int64)


def _turned(
    dataset: h5d.DatasetID, chunk: tuple[int, ...], chunks: FileChunks, file: IO[bytes]
) -> FileChunks:
    """Return chunks with their correct indices.

    If the only unlimited dimension is not the first, HDF5 1.10 and newer number the chunks with
    that dimension first, but up to 2.0 `H5Dchunk_iter` and `H5Dget_chunk_info` return indices as if
    the numbers were in C order. Files in older formats are not affected.
    """
    axis, given = _inner_unlimited(dataset), chunks.indices
    if not axis or not len(given) or given[:, :axis].any():
        return chunks  # C order would leave the axes before it at 0
    most = dataset.get_space().get_simple_extent_dims(True)
    counts = [-(-size // length) for size, length in zip(most, chunk, strict=True)]
    after = tuple(counts[axis + 1 :])
    numbers = given[:, axis] * math.prod(after)
    if after:
        numbers += np.ravel_multi_index(tuple(given[:, axis + 1 :].T), after)
    others = (*counts[:axis], *after)
    first, rest = np.divmod(numbers, math.prod(others))
    columns = list(np.unravel_index(rest, others))
    columns.insert(axis, first)
    turned = np.stack(columns, axis=1)
    different = np.flatnonzero((turned != given).any(axis=1))
    if not len(different) or not _is_turned(dataset, chunk, chunks, turned, different, file):
        return chunks
    return FileChunks(turned, chunks.offsets, chunks.lengths, chunks.masks)


def _is_turned(
    dataset: h5d.DatasetID,
    chunk: tuple[int, ...],
    chunks: FileChunks,
    turned: np.ndarray,
    different: np.ndarray,
    file: IO[bytes],
) -> bool:
    """Determine which indices are correct from the values HDF5 reads, which are never wrong."""

    def stored(index: np.ndarray) -> bytes | None:
        with suppress(OSError, RuntimeError, ValueError):  # there is no such chunk
            return bytes(dataset.read_direct_chunk(tuple((index * chunk).tolist()))[1])
        return None

    for row in different[:_MOST_COMPARED].tolist():
        file.seek(int(chunks.offsets[row]))
        data = file.read(int(chunks.lengths[row]))
        is_given, is_turned = (stored(each[row]) == data for each in (chunks.indices, turned))
        if is_given != is_turned:
            return is_turned
    raise Unread(
        "library", "HDF5 does not say where its chunks are in the grid, and they look alike."
    )


ATTRIBUTE_BYTES = 2**20  # Of one attribute; texts of varying length take more than is counted here
_NAMES = {
    h5py.h5z.FILTER_DEFLATE: "zlib",
    h5py.h5z.FILTER_SHUFFLE: "shuffle",
    h5py.h5z.FILTER_FLETCHER32: "fletcher32",
    h5py.h5z.FILTER_SZIP: "imagecodecs_szip",
    h5py.h5z.FILTER_NBIT: "nbit",
    h5py.h5z.FILTER_SCALEOFFSET: "scaleoffset",
    307: "bz2",
    32000: "imagecodecs_lzf",
    32001: "blosc",
    32004: "imagecodecs_lz4h5",
    32008: "bitshuffle",
    32015: "zstd",
}  # Not Blosc2: HDF5 stores frames, and numcodecs and imagecodecs decode single chunks only
_SZIP = ("options_mask", "pixels_per_block", "bits_per_pixel", "pixels_per_scanline")


def plain(value: Any) -> Any:
    """Return an attribute as numbers, strings and lists of these; a single value is no list."""
    if isinstance(value, np.ndarray):
        return plain(value.flat[0]) if value.size == 1 else [plain(each) for each in value]
    if isinstance(value, np.void):
        return [plain(each) for each in value.item()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, str | bool | int | float):
        return value
    raise Unread("expression", f"{NO_PLAIN_FORM}, {type(value).__name__}.")


def attribute_value(attribute: h5a.AttrID) -> Any:
    space = attribute.get_space()
    if space.get_simple_extent_type() == h5s.NULL:
        return ""
    if (size := attribute.get_storage_size()) > ATTRIBUTE_BYTES:
        raise Unread(
            "cost",
            f"It has {size_text(size)}, more than the {size_text(ATTRIBUTE_BYTES)} that are read.",
        )
    dtype = attribute.dtype
    if dtype.subdtype is not None:
        base, inner = dtype.subdtype
        value = np.zeros(attribute.shape + inner, base)
        kind = h5t.py_create(base, logical=True)
        attribute.read(value, mtype=h5t.array_create(kind, inner))
        return value
    value = np.zeros(attribute.shape, dtype)
    attribute.read(value)
    return value


def dtype_of(path: str, kind: h5t.TypeID) -> np.dtype[Any]:
    """Return the data type of the values as stored in the file."""
    try:
        dtype: np.dtype[Any] = kind.dtype
    except TypeError:  # an integer of three bytes
        dtype = np.dtype("V0")
    if dtype.subdtype is not None:
        words = f"Each value of {escape(path)} is an array, which Zarr has no data type for."
        raise Unread("expression", words)
    # NumPy is given a wider or a whole number where the file has, say, 12 bits of two bytes.
    is_same = kind.get_size() == dtype.itemsize or dtype.hasobject
    if kind.get_class() in (h5t.INTEGER, h5t.FLOAT):
        is_byte = dtype.itemsize == 1 and kind.get_precision() == 8  # in either byte order
        is_same = is_same and (is_byte or kind.equal(h5t.py_create(dtype)))
    if not is_same:
        raise Unread(
            "expression",
            f"NumPy has no type for the values of {escape(path)}, which have "
            f"{counted(kind.get_size(), 'byte')}.",
        )
    return np.lib.format.drop_metadata(dtype)


def filters_of(plist: h5p.PropDCID) -> Iterator[FileFilter]:
    """Yield the filters of a dataset under the names of Zarr codecs."""
    for number in range(plist.get_nfilters()):
        code, _, numbers, _ = plist.get_filter(number)
        name = _NAMES.get(code, f"hdf5-{code}")
        settings: dict[str, Any] = {}
        if name == "shuffle" and numbers:
            settings = {"elementsize": numbers[0]}
        elif name == "imagecodecs_szip":
            settings = dict(zip(_SZIP, numbers, strict=False))
        elif name == "imagecodecs_lzf":
            settings = {"header": False}
        elif name in ("scaleoffset", "nbit", "bitshuffle") or name.startswith("hdf5-"):
            settings = {"parameters": list(numbers)}
        yield FileFilter(name, settings)


def fill_value_of(plist: h5p.PropDCID, dtype: np.dtype[Any]) -> Any:
    """Return the fill value: zero by default, None if HDF5 defines or writes none."""
    defined = plist.fill_value_defined()
    # Values that were never written read as random bytes from the reader's memory.
    is_never = plist.get_fill_time() == h5d.FILL_TIME_NEVER
    if defined == h5d.FILL_VALUE_UNDEFINED or is_never:
        return None
    value = np.zeros((), dtype)
    if dtype.hasobject:
        return None
    if defined == h5d.FILL_VALUE_USER_DEFINED:
        plist.get_fill_value(value)
    return (value.view("i8") if dtype.kind in "mM" else value).item()
