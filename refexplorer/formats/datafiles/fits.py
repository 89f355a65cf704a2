"""FITS files, read with astropy.

Images and binary tables are arrays with the names that kerchunk uses: the extension's name or its
number. Images compressed in tables, and columns of variable length, have no byte range that can be
described as an array.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
from astropy.io import fits

from refexplorer.core.text import escape
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileFilter,
    FileObject,
    Unread,
    as_unread,
    gaps,
    one_block,
)

EXTENSIONS = 10_000  # a header of 2,880 bytes is enough for one, so a file may hold any number
_TYPES = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
_INTEGERS = (8, 16, 32, 64)  # ``BITPIX`` of integers
_VARYING = re.compile(r"\d*[PQ]")
_COMMENTS = frozenset({"COMMENT", "HISTORY", ""})


class FitsFile(DataFile):
    """A FITS file."""

    form = "FITS"

    def __init__(self, file: IO[bytes]) -> None:
        self._bytes = file
        self._parts: dict[str, Any] = {}
        self._numbers: dict[str, str] = {}
        self._headers: list[str] = []
        self._ends: list[tuple[int, int]] = []
        options = {"do_not_scale_image_data": True, "disable_image_compression": True}
        with (
            as_unread("astropy cannot open the file"),
            warnings.catch_warnings(action="ignore"),  # reported by `objects` and barriers
        ):
            self._file = fits.open(file, memmap=False, lazy_load_hdus=True, **options)
            self._list()

    def _list(self) -> None:
        for number, part in enumerate(self._file):
            if number >= EXTENSIONS:
                raise Unread("cost", f"The file has more than {EXTENSIONS:,} extensions.")
            at = part.fileinfo()
            self._ends.append((at["hdrLoc"], at["datLoc"] + at["datSpan"]))
            name = part.name or str(number)
            if not part.header.get("NAXIS"):
                self._headers.append(name)
                continue
            if name in self._parts:
                name = f"{name}_{part.ver}"
            if name in self._parts:
                name = f"{part.name}_{number}"
            self._parts[name] = part
            if name != str(number):
                self._numbers[str(number)] = name
        end = max((stop for _, stop in self._ends), default=0)
        self._bytes.seek(end)
        if self._bytes.read(8) == b"XTENSION":  # astropy stops there, with a warning only
            raise Unread("damaged", f"The file ends in the header of the extension at {end:,}.")

    def names(self) -> tuple[str, ...]:
        return tuple(self._parts)

    def other_names(self) -> Mapping[str, str]:
        return self._numbers

    def objects(self) -> Iterator[FileObject]:
        for name in self._headers:
            yield FileObject(name, "header")
        for name, part in self._parts.items():
            stored, shape, barrier = part.fileinfo()["datSpan"], None, None
            try:
                array = self.array(name)
                shape = array.shape
            except Unread as error:
                barrier = error
            yield FileObject(name, "array", shape, stored, barrier)
        yield from gaps(self._ends, self._bytes.seek(0, 2))

    def array(self, name: str) -> FileArray:
        name = self._numbers.get(name, name)
        part = self._parts[name]
        with as_unread(f"astropy cannot read {escape(name)}"):
            dtype, shape = _values(name, part)
            header = {key: part.header[key] for key in part.header if key not in _COMMENTS}
        scaled = _is_scaled(part)
        factors = [header.get("BSCALE", 1), header.get("BZERO", 0)]
        if scaled and not (factors[0] and all(isinstance(each, int | float) for each in factors)):
            why = f"{escape(name)} has values scaled by {factors[0]!r} and {factors[1]!r}"
            raise Unread("expression", f"{why}, which no codec can express.")
        attributes = {
            key: value if isinstance(value, str | bool | int | float) else str(value)
            for key, value in header.items()
        }
        missing = undefined_value(header) if _is_image(part) else None
        if missing is not None:
            attributes["_FillValue"] = missing
        filters: tuple[FileFilter, ...] | None = () if part.is_image or _is_binary(part) else None
        unread = {}
        if scaled:
            filters, dtype = (_scaling(header, dtype),), np.dtype("<f8")
            if missing is not None and _has_neighbours(header, missing):
                unread["BLANK"] = (
                    f"The numbers of {header['BITPIX']} bits are scaled: some next to its BLANK, "
                    f"{header['BLANK']}, become the same, and are missing, too."
                )
        return FileArray(name, shape, shape, dtype, filters, None, None, attributes, unread)

    def chunks(self, name: str) -> FileChunks:
        array = self.array(name)
        part = self._parts[array.name]
        item = _values(array.name, part)[0].itemsize
        if isinstance(part, fits.TableHDU):  # its rows are text, of another length
            item = int(part.header["NAXIS1"])
        size = math.prod(array.shape) * item
        return one_block(len(array.shape), part.fileinfo()["datLoc"], size)

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        array = self.array(name)
        part = self._parts[array.name]
        errors = OSError, ValueError, TypeError, LookupError
        with as_unread(f"astropy cannot read the values of {escape(name)}", errors):
            if isinstance(part, fits.TableHDU):
                return np.array([tuple(row) for row in part.data[selection]], array.dtype)
            if not _is_binary(part):
                image = np.asarray(part.section[selection])
                if _is_scaled(part):
                    scale, zero = part.header.get("BSCALE", 1), part.header.get("BZERO", 0)
                    image = image / (1 / float(scale)) + float(zero)  # as numcodecs computes it
                return image.astype(array.dtype, copy=False)
            start, stop, step = selection[0].indices(array.shape[0])
            self._bytes.seek(part.fileinfo()["datLoc"] + start * array.dtype.itemsize)
            data = self._bytes.read(max(stop - start, 0) * array.dtype.itemsize)
            return np.frombuffer(data, array.dtype)[::step]

    def close(self) -> None:
        self._file.close()


def _is_binary(part: Any) -> bool:
    return isinstance(part, fits.BinTableHDU)


def _is_image(part: Any) -> bool:
    return bool(part.is_image) and not _is_binary(part)


def _scaling(header: Mapping[str, Any], dtype: np.dtype[Any]) -> FileFilter:
    """Return the codec for scaling: FITS multiplies where numcodecs divides."""
    settings = {
        "scale": 1 / float(header.get("BSCALE", 1)),
        "offset": float(header.get("BZERO", 0)),
        "dtype": "<f8",
        "astype": dtype.str,
    }
    return FileFilter("fixedscaleoffset", settings)


def _has_neighbours(header: Mapping[str, Any], missing: float) -> bool:
    """Return whether integers next to the undefined value scale to the same number."""
    around = (header["BLANK"] - 1, header["BLANK"] + 1)
    return any(
        undefined_value({**header, "BLANK": number}) == missing
        for number in around
        if _fits(number, header["BITPIX"])
    )


def _fits(number: int, bits: int) -> bool:
    limits = np.iinfo(f"{'u' if bits == 8 else 'i'}{bits // 8}")
    return limits.min <= number <= limits.max


def undefined_value(header: Mapping[str, Any]) -> int | float | None:
    """Return the value that marks undefined pixels of an image, scaled like its values."""
    blank, bits = header.get("BLANK"), header.get("BITPIX", 0)
    if type(blank) is not int or bits not in _INTEGERS:  # floats have NaN
        return None
    if "BSCALE" not in header and "BZERO" not in header:
        return blank if _fits(blank, bits) else None  # else no value is
    # as numcodecs computes it, so that it equals the values that are read
    return float(blank / (1 / float(header.get("BSCALE", 1))) + float(header.get("BZERO", 0)))


def _is_scaled(part: Any) -> bool:
    """Return whether an extension is an image with scaled values."""
    return _is_image(part) and ("BSCALE" in part.header or "BZERO" in part.header)


def _values(name: str, part: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the data type and shape of an extension."""
    header = part.header
    if header.get("ZIMAGE") is True:
        raise Unread("expression", f"{escape(name)} is a compressed image.")
    if isinstance(part, fits.GroupsHDU):
        raise Unread("expression", f"{escape(name)} has random groups.")
    if _is_image(part):
        rank = int(header["NAXIS"])
        shape = tuple(int(header[f"NAXIS{axis}"]) for axis in range(rank, 0, -1))
        return np.dtype(_TYPES[header["BITPIX"]]), shape
    if isinstance(part, fits.TableHDU):
        kinds = [(column.name, column.format.recformat) for column in part.columns]
        return np.dtype(kinds), (int(header["NAXIS2"]),)
    if not _is_binary(part):
        raise Unread("expression", f"{escape(name)} is neither an image nor a table.")
    if any(_VARYING.match(column.format) for column in part.columns):
        raise Unread("expression", f"{escape(name)} has columns of varying length.")
    dtype = np.dtype(part.columns.dtype).newbyteorder(">")
    if dtype.itemsize != header["NAXIS1"]:
        raise Unread("expression", f"The rows of {escape(name)} have a type that NumPy lacks.")
    return dtype, (int(header["NAXIS2"]),)
