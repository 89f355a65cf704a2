"""Data files by themselves: kerchunk and tifffile make references to one, where installed.

Only to files of who runs this process: these packages open them as they like.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from refexplorer.errors import LeftOutWarning, SourceError
from refexplorer.formats.forms.form import OpeningTerms, SourceFile, SourceForm
from refexplorer.formats.forms.other_files import PROBE, kind_of
from refexplorer.formats.source import Source, cause
from refexplorer.markup import escape

MadeReferences = Mapping[str, Any]


class DataFileForm(SourceForm):
    """HDF5 and NetCDF4, NetCDF3, FITS and TIFF; no chunk is read, only metadata."""

    name = "data file"

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Make references to a file that lies uncompressed in a folder of this machine."""
        if file.local is None:
            return None
        with file.open() as stream:
            make = MAKERS.get(kind_of(stream.read(PROBE)) or "")
        if make is None:
            return None
        if terms.progress is not None:
            terms.progress(0, file.size)
        try:
            made = make(str(file.local.resolve()))
        except ImportError:
            return None  # what the file is, and what to install, is told after the last form
        except Exception as error:  # each library has errors of its own
            raise SourceError(
                f"{escape(file.name)} is a data file, and no references can be made to it: "
                f"{escape(cause(error), 300)}."
            ) from None
        if terms.progress is not None:
            terms.progress(file.size, file.size)
        refs = {key: _plain(value) for key, value in made.get("refs", made).items()}
        return Source(file.name, self.name, file.location, value=refs)


def _of_hdf5(path: str) -> MadeReferences:
    import h5py
    from kerchunk.hdf import SingleHdf5ToZarr

    with h5py.File(path) as file:
        found: list[str] = []
        file.visititems(lambda name, item: found.append(name) if _is_elsewhere(item) else None)
        made: MadeReferences = SingleHdf5ToZarr(file, path, inline_threshold=0).translate()
    if found:
        names = ", ".join(sorted(map(escape, found)))
        warnings.warn(
            f"The values of {names} lie in other files than this one, and kerchunk makes no "
            "references to them: they read as fill values.",
            LeftOutWarning,
            stacklevel=2,
        )
    return made


def _is_elsewhere(item: Any) -> bool:
    """Say whether the values of a dataset are in other files."""
    import h5py

    return isinstance(item, h5py.Dataset) and bool(item.is_virtual or item.external)


def _of_netcdf3(path: str) -> MadeReferences:
    from kerchunk.netCDF3 import NetCDF3ToZarr

    made: MadeReferences = NetCDF3ToZarr(path, inline_threshold=0).translate()
    return made


def _of_fits(path: str) -> MadeReferences:
    from kerchunk.fits import process_file

    made: MadeReferences = process_file(path, inline_threshold=0)
    return made


def _of_tiff(path: str) -> MadeReferences:
    """Take what tifffile writes: kerchunk's own way fails on tags that are tuples."""
    from tifffile import TiffFile

    written = io.StringIO()
    with TiffFile(path) as file, file.aszarr() as store:
        store.write_fsspec(written, str(Path(path).parent), version=0)
    made: MadeReferences = json.loads(written.getvalue())
    return made


MAKERS: Mapping[str, Callable[[str], MadeReferences]] = {
    "hdf5": _of_hdf5,
    "netcdf3": _of_netcdf3,
    "fits": _of_fits,
    "tiff": _of_tiff,
}


def _plain(value: Any) -> Any:
    """Return a reference as V0 has it: kerchunk also gives bytes, tuples and numbers of numpy."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [each if isinstance(each, str) else int(each) for each in value]
    return value
