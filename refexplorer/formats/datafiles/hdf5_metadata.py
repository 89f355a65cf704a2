"""What HDF5 says of one dataset or attribute, in the terms of NumPy and Zarr's codecs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5p, h5s, h5t

from refexplorer.formats.datafiles.data_file import NO_PLAIN_FORM, FileFilter, Unread
from refexplorer.markup import counted, escape, size_text

ATTRIBUTE_BYTES = 2**20
"""Of one attribute; texts of varying length take more than is counted here."""
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
    32026: "imagecodecs_blosc2",
}
_SZIP = ("options_mask", "pixels_per_block", "bits_per_pixel", "pixels_per_scanline")


def plain(value: Any) -> Any:
    """Return an attribute as numbers, texts and lists of these; what has one value is no list."""
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
    """Read an attribute."""
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
    """Return the type of the values as they lie in the file."""
    try:
        dtype: np.dtype[Any] = kind.dtype
    except TypeError:  # an integer of three bytes
        dtype = np.dtype("V0")
    # NumPy is given a wider or a whole number where the file has, say, 12 bits of two bytes.
    is_same = kind.get_size() == dtype.itemsize or dtype.hasobject
    if kind.get_class() in (h5t.INTEGER, h5t.FLOAT):
        is_byte = dtype.itemsize == 1 and kind.get_precision() == 8  # in either byte order
        is_same = is_same and (is_byte or kind.equal(h5t.py_create(dtype)))
    if not is_same:
        raise Unread(
            "expression",
            f"The values of {escape(path)} are of {counted(kind.get_size(), 'byte')} that NumPy "
            "has no type for.",
        )
    return np.lib.format.drop_metadata(dtype)


def filters_of(plist: h5p.PropDCID) -> Iterator[FileFilter]:
    """Yield the filters of a dataset under the names that codecs of Zarr have."""
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
    """Return the fill value: zero by default, None where HDF5 is told to have none."""
    defined = plist.fill_value_defined()
    if defined == h5d.FILL_VALUE_UNDEFINED:
        return None
    value = np.zeros((), dtype)
    if dtype.hasobject:
        return None
    if defined == h5d.FILL_VALUE_USER_DEFINED:
        plist.get_fill_value(value)
    return value.item()
