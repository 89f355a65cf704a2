"""References to data files, made by kerchunk and tifffile, where installed.

They are given an open file and no name to open, so that a file cannot lead them to others.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from refexplorer.errors import LeftOutWarning, SourceError
from refexplorer.formats.making.fits import of_fits
from refexplorer.formats.making.grib import of_grib
from refexplorer.formats.making.streams import WatchedStream
from refexplorer.formats.making.uncollected import uncollected
from refexplorer.markup import escape

MadeReferences = Mapping[str, Any]
Maker = Callable[[WatchedStream, str, bool], MadeReferences]
"""Takes an open file, its path or URL, and whether somebody else chose it."""
_SHOWN = 10
_QUASHED = "exception was caught and quashed"
for _name in ("h5-to-zarr", "fits-to-zarr", "grib2-to-zarr", "tifffile", "cfgrib"):
    # without any handler Python writes what they log to stderr
    logging.getLogger(_name).addHandler(logging.NullHandler())


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
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made: MadeReferences = SingleHdf5ToZarr(file, name, inline_threshold=0).translate()
        refs = _renamed(made, name, url)
        left_out = list(_left_out(file, refs, [str(each.message) for each in caught]))
    if found:
        _warn(
            f"The values of {names} lie in other files than this one, and kerchunk makes no "
            "references to them: they read as fill values."
        )
    return {"refs": refs, "left_out": left_out}


def _left_out(file: Any, refs: MadeReferences, said: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield name, kind and reason of the datasets that kerchunk made no references to."""
    import h5py

    datasets: dict[str, Any] = {}
    file.visititems(
        lambda name, item: datasets.update({name: item}) if isinstance(item, h5py.Dataset) else None
    )
    missing = [name for name, item in datasets.items() if f"{name}/.zarray" not in refs]
    missing = [name for name in missing if not _is_dimension(datasets[name])]
    # kerchunk (0.2.10) warns of each in turn: a sentence of its own, the error, and its traceback
    reasons = [each.split("\n")[1] for each in said if _QUASHED in each and "\n" in each]
    known = dict(zip(missing, reasons, strict=True)) if len(reasons) == len(missing) else {}
    for name, item in datasets.items():
        if _is_elsewhere(item):
            yield name, "dataset", "its values are in other files"
        elif name in missing:
            reason = known.get(name) or "kerchunk makes no references to it"
            yield name, "dataset", reason.strip().partition(". ")[0].rstrip(".")


def _is_dimension(dataset: Any) -> bool:
    """Say whether a dataset stands for a dimension of netCDF without values."""
    try:
        said = dataset.attrs.get("NAME", b"")
    except (OSError, RuntimeError, ValueError, TypeError):  # a damaged attribute
        return False
    said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return said.startswith("This is a netCDF dimension but not a netCDF variable")


def _is_elsewhere(item: Any) -> bool:
    """Say whether the values of a dataset are in other files."""
    import h5py

    return isinstance(item, h5py.Dataset) and bool(item.is_virtual or item.external)


def _of_netcdf3(stream: WatchedStream, url: str, guarded: bool) -> MadeReferences:
    from kerchunk.netCDF3 import NetCDF3ToZarr

    from refexplorer.formats.making.lent_files import lent  # it takes fsspec

    with lent(stream) as name:
        made: MadeReferences = NetCDF3ToZarr(name, inline_threshold=0).translate()
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
        store.write_fsspec(written, folder, version=0)
    made: MadeReferences = json.loads(written.getvalue())
    return made


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
