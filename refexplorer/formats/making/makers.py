"""References to data files: our own of HDF5 and NetCDF3, else made by kerchunk and tifffile.

They are given an open file and no name to open, so that a file cannot lead them to others.
"""

from __future__ import annotations

import io
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, cast

from refexplorer import memory
from refexplorer.errors import LeftOutWarning
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileChunks,
    StreamBlocks,
    left_out_text,
)
from refexplorer.formats.datafiles.netcdf3 import NetCdf3File
from refexplorer.formats.making.streams import PlainReferences, WatchedStream
from refexplorer.markup import counted, escape

if TYPE_CHECKING:
    from refexplorer.formats.datafiles.references import DataFileReferences


_NODATA = 42113
"""The tag of GDAL that names the value of missing ones."""


class UnmakeableError(Exception):
    """No references can be made; the text is the reason, a clause."""


def plain_references(stream: WatchedStream, kind: str, url: str, guarded: bool) -> PlainReferences:
    """Return references as V0 has them.

    Raises
    ------
    ImportError
        If a package is not installed.
    UnmakeableError
        If they cannot be made.
    RefexplorerError
        What a read of the stream raised.
    """
    try:
        file = OWN[kind](stream)
        own = None if _needs_others(file, url, guarded) else _own(file, stream.size)
        made = {} if own is not None else _of_tiff(stream, url)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # each library has errors of its own
        stream.raise_again()
        raise UnmakeableError(_clause(error)) from None
    else:
        stream.raise_again()  # some libraries pass over what a read raises
    finally:
        stream.forget()
    if own is not None:
        return own
    refs = {key: _plain(value) for key, value in made.get("refs", made).items()}
    return PlainReferences(refs, list(_beyond(refs, url, stream.size)))


def _needs_others(file: Any, url: str, guarded: bool) -> bool:
    """Say whether an image is in several files, which tifffile may open by their paths.

    Raises
    ------
    UnmakeableError
        If they may not be opened.
    """
    if file.form != "TIFF" or not file.has_other_files():
        return False
    if guarded or "://" in url:
        raise UnmakeableError("some of its pages are in other files, which are not opened")
    return True


def _own(file: DataFile, size: int) -> PlainReferences:
    from refexplorer.formats.datafiles.references import references_of

    try:
        made = _grib_references(file) if file.form == "GRIB" else references_of(file)
    finally:
        file.close()
    if made.left_out and not any(key.endswith("/.zarray") for key in made.documents):
        raise UnmakeableError(f"nothing in it can be referenced: {left_out_text(made.left_out)}")
    return PlainReferences(
        dict(made.documents),
        list(made.beyond(size)),
        [(name, *_columns(each)) for name, each in made.chunks.items()],
        [(name, each.why, each.sentence) for name, each in made.left_out.items()],
        True,
    )


def _columns(chunks: FileChunks) -> tuple[int, bytes, bytes, bytes]:
    columns = (chunks.indices, chunks.offsets, chunks.lengths)
    indices, offsets, lengths = (column.astype("<i8").tobytes() for column in columns)
    return chunks.indices.shape[1], indices, offsets, lengths


def _beyond(refs: Mapping[str, Any], url: str, size: int) -> Iterator[tuple[str, int]]:
    found: dict[str, list[str]] = {}
    for key, value in refs.items():
        is_range = isinstance(value, list) and len(value) > 1 and value[0] == url
        if is_range and value[1] + value[2] > size:
            found.setdefault(key.rpartition("/")[0], []).append(key)
    return ((keys[0], len(keys)) for keys in found.values())


def load(kind: str) -> None:
    """Load the packages that a kind of file needs, where they are installed."""
    for name in _PACKAGES[kind]:
        with suppress(ImportError):
            import_module(name)


def _clause(error: BaseException) -> str:
    if memory.is_lacking(error):
        return "there is not enough memory"
    words = getattr(error, "strerror", None) or str(error)
    return str(words).strip().partition("\n")[0].rstrip(". ") or type(error).__name__


def _plain(value: Any) -> Any:
    """Return a reference as V0 has it: kerchunk also gives bytes, tuples and numbers of numpy."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [each if isinstance(each, str) else int(each) for each in value]
    return value


def _of_tiff(stream: WatchedStream, url: str) -> Mapping[str, Any]:
    """Take what tifffile writes for an image in several files, which OME-XML names."""
    from tifffile import TiffFile

    folder, _, name = url.rpartition("/")
    written = io.StringIO()
    with TiffFile(url) as file:
        _check_tiff(file, stream.size)
        with file.aszarr() as store:
            store.write_fsspec(written, folder, version=0)
        others = [escape(each.name or str(at), 80) for at, each in enumerate(file.series) if at]
        has_nodata = _NODATA in file.pages.first.tags
    if others:
        warnings.warn(
            f"{escape(name)} has {counted(len(others), 'series', 'series')} of images that are "
            f"left out, since tifffile makes references to the first: {', '.join(others[:5])}.",
            LeftOutWarning,
            stacklevel=2,
        )
    made: dict[str, Any] = json.loads(written.getvalue())
    return made if has_nodata else {key: _unfilled(key, value) for key, value in made.items()}


def _unfilled(key: str, value: Any) -> Any:
    """Return metadata without the fill value, which tifffile makes 0: xarray would mask zeros."""
    if key.rpartition("/")[2] != ".zarray":
        return value
    return json.dumps(json.loads(value) | {"fill_value": None})


def _check_tiff(file: Any, size: int) -> None:
    """Refuse images of more tiles or strips than the file lists: tifffile goes through them all."""
    len(file.pages)  # first: else tifffile (2026.3) does not end with pages in a circle
    for level in (level for series in file.series for level in series.levels):
        page = level.keyframe
        wanted, listed = math.prod(page.chunked), len(page.dataoffsets)
        if wanted > listed:
            raise UnmakeableError(
                f"an image of shape {page.shape} has {wanted:,} tiles or strips, and the file "
                f"lists the places of {listed:,}"
            )
        if level.dataoffset is not None and level.dataoffset + level.nbytes > size:
            raise UnmakeableError(
                f"the values of shape {level.shape} end at byte "
                f"{level.dataoffset + level.nbytes:,}, and the file has only {size:,} bytes"
            )
        if level.dataoffset is None and level.size > page.size * len(level):
            raise UnmakeableError(
                f"{counted(len(level), 'page')} of shape {page.shape} are no array of shape "
                f"{level.shape}"
            )


def _hdf5(stream: WatchedStream) -> DataFile:
    from refexplorer.formats.datafiles.hdf5 import Hdf5File

    return Hdf5File(cast("IO[bytes]", stream))


def _netcdf3(stream: WatchedStream) -> DataFile:
    return NetCdf3File(StreamBlocks(cast("IO[bytes]", stream)))


def _fits(stream: WatchedStream) -> DataFile:
    from refexplorer.formats.datafiles.fits import FitsFile

    return FitsFile(cast("IO[bytes]", stream))


def _grib(stream: WatchedStream) -> DataFile:
    import kerchunk.codecs  # noqa: F401  its codec decodes the messages

    from refexplorer.formats.datafiles.grib import GribFile

    return GribFile(cast("IO[bytes]", stream))


def _grib_references(file: Any) -> DataFileReferences:
    from refexplorer.formats.datafiles.grib_references import grib_references

    return grib_references(file)


def _tiff(stream: WatchedStream) -> DataFile:
    from refexplorer.formats.datafiles.tiff import TiffFile

    return TiffFile(cast("IO[bytes]", stream))


OWN: Mapping[str, Callable[[WatchedStream], DataFile]] = {
    "hdf5": _hdf5,
    "netcdf3": _netcdf3,
    "fits": _fits,
    "grib": _grib,
    "tiff": _tiff,
}
"""What opens files whose references are our own."""
_PACKAGES = {
    "hdf5": ("refexplorer.formats.datafiles.hdf5", "refexplorer.formats.datafiles.references"),
    "netcdf3": ("refexplorer.formats.datafiles.references",),
    "fits": ("refexplorer.formats.datafiles.fits", "refexplorer.formats.datafiles.references"),
    "tiff": ("tifffile",),
    "grib": ("kerchunk.codecs", "refexplorer.formats.datafiles.grib_references"),
}
