"""A set as kerchunk generates it for HDF5 files: chunks of irregular sizes, long URLs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.helpers.loops import without_loop

URL = "s3://climate-archive/reanalysis/daily/surface/2020/01/reanalysis_sfc_2020-01-{:02d}_v5.nc"
"""The location of the files according to the set."""
DAYS = 7


def write_day(path: Path, day: int) -> None:
    """Write one file: three compressed variables of a day in hours, the chunks of unlike sizes."""
    chance = np.random.default_rng(day)
    with h5py.File(path, "w") as file:
        for name, size in (("time", 24), ("lat", 32), ("lon", 64)):
            values = np.arange(size, dtype="f8") + 24 * day * (name == "time")
            file.create_dataset(name, data=values).make_scale(name)
        file["time"].attrs["units"] = "hours since 2020-01-01"
        for name in ("t2m", "u10", "precipitation"):
            values = np.round(chance.normal(280, 5, (24, 32, 64)), 1).astype("f4")
            options = {"chunks": (3, 16, 64), "compression": "gzip", "shuffle": True}
            variable = file.create_dataset(name, data=values, **options)
            variable.attrs["long_name"] = f"{name} of the reanalysis"
            for axis, scale in enumerate(("time", "lat", "lon")):
                variable.dims[axis].attach_scale(file[scale])


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile.

    kerchunk (0.2.10) holds h5py's lock in `visititems` while it waits for the thread of Zarr. If
    that thread happens to collect objects of h5py it waits for the lock, and both stand still.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def translated(path: Path, inline: int = 0) -> dict[str, Any]:
    """Return the references that kerchunk generates for one file."""
    hdf = pytest.importorskip("kerchunk.hdf")

    def make() -> dict[str, Any]:
        with uncollected():
            made: dict[str, Any] = hdf.SingleHdf5ToZarr(
                str(path), inline_threshold=inline
            ).translate()
        return made

    return made_once(make, [path], inline)


_MADE: dict[Hashable, tuple[list[Path], dict[str, Any]]] = {}


def made_once(
    make: Callable[[], dict[str, Any]], paths: list[Path], *given: object
) -> dict[str, Any]:
    """Return what kerchunk makes of files, once for each content: it takes some ten milliseconds.

    Parameters
    ----------
    make
        Has kerchunk make a set.
    paths
        The files, as the references name them.
    given
        What else the set depends on.
    """
    contents = (blake2b(path.read_bytes()).digest() for path in paths)
    about = (make.__qualname__, *contents, *(path.name for path in paths), repr(given))
    if about not in _MADE:
        _MADE[about] = paths, make()
    before, made = _MADE[about]
    places = {str(old): str(new) for old, new in zip(before, paths, strict=True)}
    refs = {
        key: [places.get(value[0], value[0]), *value[1:]] if isinstance(value, list) else value
        for key, value in made["refs"].items()
    }
    return made | {"refs": refs}


def concatenated(singles: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Return what kerchunk's `MultiZarrToZarr` makes of several sets, with its options."""
    combine = pytest.importorskip("kerchunk.combine")
    made = combine.MultiZarrToZarr(singles, **options)
    found: dict[str, Any] = without_loop(made.translate)
    return found


def combined(folder: Path) -> dict[str, Any]:
    """Return what kerchunk makes of the files of all days, concatenated in time."""
    hdf = pytest.importorskip("kerchunk.hdf")
    singles = []
    for day in range(DAYS):
        path = folder / f"{day}.nc"
        write_day(path, day)
        with path.open("rb") as file, uncollected():
            url = URL.format(day + 1)
            singles.append(hdf.SingleHdf5ToZarr(file, url, inline_threshold=600).translate())
    return concatenated(singles, concat_dims=["time"], identical_dims=["lat", "lon"])
