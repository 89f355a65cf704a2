"""References to data files, made by kerchunk and tifffile, where installed.

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
from typing import Any

from refexplorer import memory
from refexplorer.errors import LeftOutWarning, SourceError
from refexplorer.formats.making.fits import of_fits
from refexplorer.formats.making.grib import of_grib
from refexplorer.formats.making.streams import PlainReferences, WatchedStream
from refexplorer.formats.making.uncollected import uncollected
from refexplorer.markup import counted, escape

MadeReferences = Mapping[str, Any]
Maker = Callable[[WatchedStream, str, bool], MadeReferences]
"""Takes an open file, its path or URL, and whether somebody else chose it."""
_SHOWN = 10
_RECORDS = "record_array"
"""What kerchunk calls all variables with records together."""
_PADDING = 3
"""Bytes after the last record of a NetCDF3 file that some writers leave out."""


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
        made = MAKERS[kind](stream, url, guarded)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # each library has errors of its own
        stream.raise_again()
        raise UnmakeableError(_clause(error)) from None
    else:
        stream.raise_again()  # some libraries pass over what a read raises
    finally:
        stream.forget()
    refs = {key: _plain(value) for key, value in made.get("refs", made).items()}
    return PlainReferences(refs, list(_beyond(refs, url, stream.size)))


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


def _of_hdf5(stream: WatchedStream, url: str, guarded: bool) -> MadeReferences:
    import h5py
    from kerchunk.hdf import SingleHdf5ToZarr

    from refexplorer.formats.making.lent_files import lent  # it opens the name of an open file, too

    with uncollected(), lent(stream) as name, h5py.File(stream, "r") as file:
        found: list[str] = []
        file.visititems(lambda name, item: found.append(name) if _is_elsewhere(item) else None)
        names = ", ".join(sorted(map(escape, found))[:_SHOWN])
        if found and guarded:  # reading the shape of a virtual dataset can open those files
            raise SourceError(
                f"the values of {names} lie in other files, and no such file is opened for a "
                "visitor of a page"
            )
        made: MadeReferences = SingleHdf5ToZarr(file, name, inline_threshold=0).translate()
    if found:
        _warn(
            f"The values of {names} lie in other files than this one, and kerchunk makes no "
            "references to them: they read as fill values."
        )
    return _renamed(made, name, url)


def _is_elsewhere(item: Any) -> bool:
    """Say whether the values of a dataset are in other files."""
    import h5py

    return isinstance(item, h5py.Dataset) and bool(item.is_virtual or item.external)


def _of_netcdf3(stream: WatchedStream, url: str, guarded: bool) -> MadeReferences:
    from kerchunk.netCDF3 import NetCDF3ToZarr

    from refexplorer.formats.making.lent_files import lent  # it takes fsspec

    with lent(stream) as name:
        maker = NetCDF3ToZarr(name, inline_threshold=0)
        for variable, found in maker.chunks.items():
            start, size = (found[0] if variable == _RECORDS else found)[:2]
            if size < 0 or start + size - _PADDING > stream.size:
                what = (
                    "the records" if variable == _RECORDS else f"the values of {escape(variable)}"
                )
                raise UnmakeableError(
                    f"by its header {what} end at byte {start + size:,}, and the file has only "
                    f"{stream.size:,} bytes"
                )
        made: MadeReferences = maker.translate()
    return _renamed(made, name, url)


def _of_tiff(stream: WatchedStream, url: str, guarded: bool) -> MadeReferences:
    """Take what tifffile writes: kerchunk's own way fails on tags that are tuples."""
    from tifffile import TiffFile

    folder, _, name = url.rpartition("/")
    written = io.StringIO()
    # by its path the other files of a series in OME-XML are found; a visitor may not open those
    by_path = not guarded and "://" not in url
    given: Any = stream
    opened = TiffFile(url) if by_path else TiffFile(given, name=name, _multifile=False)
    with opened as file, file.aszarr() as store:
        _check_tiff(file, stream.size)
        store.write_fsspec(written, folder, version=0)
    made: MadeReferences = json.loads(written.getvalue())
    return made


def _check_tiff(file: Any, size: int) -> None:
    """Refuse images of more tiles or strips than the file lists: tifffile goes through them all."""
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


def _renamed(made: MadeReferences, name: str, url: str) -> MadeReferences:
    """Return references with the URL of a file for the name that it was lent under."""
    path = name.partition("://")[2]
    return {
        key: [url, *value[1:]]
        if isinstance(value, list | tuple) and value[0] in (name, path)
        else value
        for key, value in made.get("refs", made).items()
    }


def _warn(sentence: str) -> None:
    warnings.warn(sentence, LeftOutWarning, stacklevel=2)


MAKERS: Mapping[str, Maker] = {
    "hdf5": _of_hdf5,
    "netcdf3": _of_netcdf3,
    "fits": of_fits,
    "tiff": _of_tiff,
    "grib": of_grib,
}
_PACKAGES = {
    "hdf5": ("h5py", "kerchunk.hdf"),
    "netcdf3": ("kerchunk.netCDF3",),
    "fits": ("astropy.io.fits", "kerchunk.fits"),
    "tiff": ("tifffile",),
    "grib": ("eccodes", "cfgrib", "kerchunk.grib2"),
}
