"""TIFF files, read with tifffile.

Arrays are named as in tifffile's Zarr store: the levels of the first series are ``"0"``, ``"1"``,
…, those of the others ``"1/0"``, ``"1/1"``, …; a single image is also ``""``. Files named in the
OME-XML of a file are not opened.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import IO, Any, Literal

import numpy as np
import tifffile

from refexplorer.core.text import counted
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileFilter,
    FileObject,
    Unread,
    as_unread,
)

PAGES = 100_000  # Pages of a series that are read
_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""Errors that tifffile raises for broken tags."""
_COMPRESSORS = {
    5: "imagecodecs_lzw",
    8: "zlib",
    32773: "imagecodecs_packbits",
    32946: "zlib",
    33003: "imagecodecs_jpeg2k",
    33004: "imagecodecs_jpeg2k",
    33005: "imagecodecs_jpeg2k",
    34712: "imagecodecs_jpeg2k",
    34887: "imagecodecs_lerc",
    34925: "lzma",
    34933: "imagecodecs_png",
    50000: "imagecodecs_zstd",
    50002: "imagecodecs_jpegxl",
    50013: "zlib",
    52546: "imagecodecs_jpegxl",
}
"""Codecs as in tifffile's reference sets, without those that need settings of the page."""
_SUBIFDS = 330  # number of the TIFF tag
_NODATA = 42113  # The tag of GDAL that names the value of missing ones
_DELTA = {2: 1, 34892: 2, 34893: 4}
_FLOAT = {3: 1, 34894: 2, 34895: 4}  # Predictors, and the distance of the values that they subtract


class TiffFile(DataFile):
    """A TIFF file."""

    form = "TIFF"

    def __init__(self, file: IO[bytes]) -> None:
        self._chunks: dict[str, FileChunks] = {}
        with as_unread("tifffile cannot open the file"):
            self._file = tifffile.TiffFile(file, name="target.tif", _multifile=False)
            len(self._file.pages)  # first: otherwise tifffile loops forever over a cycle of pages
            self._levels = dict(_named(self._file.series))
            self._places = set(_directories(file))
        if not self._levels:
            raise Unread("damaged", "tifffile finds no image in the file.")
        self._of_levels = {
            page.offset
            for level in self._levels.values()
            for page in level.pages
            if page is not None
        }
        self.declared = len(self._levels) + len(self._places - self._of_levels)

    def names(self) -> tuple[str, ...]:
        return tuple(self._levels)

    def other_names(self) -> Mapping[str, str]:
        return {"": "0"} if len(self._levels) == 1 else {}

    def objects(self) -> Iterator[FileObject]:
        for name in self._levels:
            shape, stored, barrier = None, 0, None
            try:
                shape = self.array(name).shape
                stored = int(self.chunks(name).lengths.sum())
            except Unread as error:
                barrier = error
            yield FileObject(name, "array", shape, stored, barrier)
        for page in self._file.pages:
            if page.offset not in self._of_levels:
                yield FileObject(f"page at byte {page.offset:,}", "page")

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {}
        for number, series in enumerate(self._file.series):
            levels = [{"path": str(level)} for level in range(len(series.levels))]
            scales = [{"datasets": levels, "metadata": {}, "name": series.name, "version": "0.1"}]
            found[str(number) if number else ""] = {"multiscales": scales} if levels[1:] else {}
        return found

    def array(self, name: str) -> FileArray:
        name = self.other_names().get(name, name)
        series = self._levels[name]
        if any(page is None for page in series.pages):
            raise Unread(
                "expression",
                "Some of its pages are in other files, which are not opened: tifffile's "
                "`aszarr().write_fsspec` makes references to all of them.",
            )
        with as_unread(f"tifffile cannot read {name}", _ERRORS):
            return self._described(name, series)

    def _described(self, name: str, series: Any) -> FileArray:
        page = series.keyframe
        if series.dtype is None or page.dtype is None:
            raise Unread("expression", f"NumPy has no type for the values of {name}.")
        dtype = np.dtype(series.dtype).newbyteorder(page.parent.byteorder)
        shape = tuple(series.shape)
        chunks = _chunks(shape, page)
        return FileArray(
            name,
            shape,
            chunks,
            dtype,
            _filters(page, chunks, dtype),
            page.nodata or self._first(name).keyframe.nodata,
            self._dimensions(name, series),
            {"_FillValue": page.nodata} if _NODATA in page.tags else {},
        )

    def _dimensions(self, name: str, series: Any) -> tuple[str, ...]:
        """Return the letters of the axes; differing lengths get different names."""
        level, first = name.rpartition("/")[2], self._first(name)
        return tuple(
            axis if size == whole else f"{axis}{level}"
            for axis, size, whole in zip(series.axes, series.shape, first.shape, strict=True)
        )

    def _first(self, name: str) -> Any:
        """Return the first level of a series."""
        return self._levels[f"{name.rpartition('/')[0]}/0".removeprefix("/")]

    def chunks(self, name: str) -> FileChunks:
        array = self.array(name)
        with as_unread(f"tifffile cannot read {name}", _ERRORS):
            if array.name not in self._chunks:
                self._chunks[array.name] = _located(array, self._levels[array.name])
            return self._chunks[array.name]

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        import zarr

        array = self.array(name)
        first, _, level = array.name.rpartition("/")
        series = self._file.series[int(first or 0)]
        with (
            as_unread(f"tifffile cannot read the values of {name}"),
            series.aszarr(level=int(level)) as store,
        ):
            opened: Any = zarr.open_array(store, mode="r")
            return np.asarray(opened[selection])

    def close(self) -> None:
        self._file.close()


def _located(array: FileArray, series: Any) -> FileChunks:
    places = np.array(list(_segments(series)), np.int64).reshape(-1, 3)
    numbers, offsets, lengths = places[(places[:, 1] > 0) & (places[:, 2] > 0)].T
    indices = np.stack(np.unravel_index(numbers, _grid(array.shape, array.chunks)), axis=1)
    page = series.keyframe
    rows = page.imagelength % page.rowsperstrip if not page.is_tiled and page.rowsperstrip else 0
    are_short = None
    if rows:
        strips = -(-page.imagelength // page.rowsperstrip)
        are_short = numbers % strips == strips - 1
    return FileChunks(indices.astype(np.int64), offsets, lengths, are_short=are_short)


def _directories(file: IO[bytes]) -> Iterator[int]:
    """Yield the offsets of page directories by following their pointers."""
    file.seek(0)
    head = file.read(16)
    order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
    is_big = int.from_bytes(head[2:4], order) == 43
    width, count_width, entry = (8, 8, 20) if is_big else (4, 2, 12)
    at = int.from_bytes(head[8:16] if is_big else head[4:8], order)
    waiting, met = [at], set[int]()
    while waiting:
        at = waiting.pop()
        while at and at not in met:
            met.add(at)
            yield at
            file.seek(at)
            count = int.from_bytes(file.read(count_width), order)
            size = file.seek(0, 2)
            if at + count_width + count * entry > size:
                raise ValueError(f"the page at byte {at:,} lists {count:,} tags, more than fit")
            file.seek(at + count_width)
            tags, at = file.read(count * entry), int.from_bytes(file.read(width), order)
            waiting += _below(file, tags, entry, width, order)


def _below(
    file: IO[bytes], tags: bytes, entry: int, width: int, order: Literal["little", "big"]
) -> Iterator[int]:
    """Yield the offsets of the pages below a page (SubIFDs)."""
    for start in range(0, len(tags), entry):
        tag = tags[start : start + entry]
        if int.from_bytes(tag[:2], order) == _SUBIFDS:
            count, data = int.from_bytes(tag[4:-width], order), tag[-width:]
            if count * width > width:
                file.seek(int.from_bytes(data, order))
                data = file.read(min(count, PAGES) * width)
            for at in range(0, len(data), width):
                yield int.from_bytes(data[at : at + width], order)


def _named(series: list[Any]) -> Iterator[tuple[str, Any]]:
    for number, each in enumerate(series):
        for level, found in enumerate(each.levels):
            yield f"{number}/{level}" if number else f"{level}", found


def _grid(shape: tuple[int, ...], chunks: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(-(-size // chunk) for size, chunk in zip(shape, chunks, strict=True))


def _chunks(shape: tuple[int, ...], page: Any) -> tuple[int, ...]:
    """Return the shape of a tile or strip with as many dimensions as its series."""
    own = tuple(page.chunks)
    if 0 in shape:
        return (1,) * len(shape)
    per_page = math.prod(page.chunked)
    pages = math.prod(shape) // max(math.prod(page.shape), 1)
    for last in ((), (1,)):  # samples have an axis even if a pixel has only one
        found = ((1,) * len(shape) + own + last)[-len(shape) :] if shape else ()
        grid = _grid(shape, found)
        if math.prod(grid) == pages * per_page and math.prod(found) == math.prod(own):
            return found
    raise Unread("expression", "Its tiles or strips do not form a regular grid.")


def _segments(series: Any) -> Iterator[tuple[int, int, int]]:
    """Yield the number, in C order of the grid, offset and length of each tile or strip."""
    keyframe = series.keyframe
    per_page = math.prod(keyframe.chunked)
    count = math.prod(series.shape) // max(math.prod(keyframe.shape), 1)
    if count > PAGES:
        raise Unread("cost", f"It has {count:,} pages, and {PAGES:,} are read.")
    is_one_block = series.dataoffset is not None
    for number in range(count):
        page = series[0 if is_one_block else number]
        if page is None or page.keyframe is None:
            continue
        before = number * page.size * page.dtype.itemsize if is_one_block else 0
        listed = min(len(page.dataoffsets), len(page.databytecounts))
        if listed < per_page:
            raise Unread(
                "damaged",
                f"Page {number} lists the offsets of {listed:,} of {counted(per_page, 'tile')} or "
                "strips.",
            )
        places = zip(page.dataoffsets[:per_page], page.databytecounts[:per_page], strict=True)
        for at, (offset, length) in enumerate(places, number * per_page):
            yield at, offset + before if offset else 0, length


def _filters(
    page: Any, chunks: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[FileFilter, ...] | None:
    """Return predictor and compressor as in tifffile's reference sets."""
    whole = page.bitspersample in (8, 16, 32, 64, 128) and page.sampleformat in (1, 2, 3, 6)
    if page.fillorder != 1 or not whole:
        return None
    found = []
    if page.predictor > 1:
        known = page.predictor in _DELTA
        distance = (_DELTA if known else _FLOAT).get(page.predictor)
        if distance is None:
            return None
        samples_last = page.planarconfig == 1 and page.samplesperpixel > 1
        settings = {
            "axis": -2 if samples_last else -1,
            "dist": distance,
            "shape": list(chunks),
            "dtype": dtype.str,
        }
        found.append(FileFilter(f"imagecodecs_{'delta' if known else 'floatpred'}", settings))
    if page.compression == 1:
        return tuple(found)
    name = _COMPRESSORS.get(int(page.compression))
    return None if name is None else (*found, FileFilter(name))
