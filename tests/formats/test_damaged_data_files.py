"""Data files of strangers with bytes changed: they open or are one sentence, in bounded time."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile

import refexplorer as rx
from refexplorer.core.limits import VisitorLimits
from refexplorer.hosts.page.openings import Openings
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded

pytestmark = pytest.mark.child
VALUES = np.arange(600, dtype="<i4").reshape(20, 30)


def hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("g/x", data=VALUES, chunks=(4, 5), compression="gzip", shuffle=True)
        file["y"] = VALUES[0]
        file["y"].make_scale("y")
        file["s"] = np.array(["a", "bb"], h5py.string_dtype())


def netcdf3(path: Path) -> None:
    io: Any = pytest.importorskip("scipy.io", reason="scipy is not installed")
    with io.netcdf_file(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 30)
        file.createVariable("v", "i4", ("time", "x"))[:] = VALUES


def fits(path: Path) -> None:
    found: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    found.PrimaryHDU(VALUES.astype(">i4")).writeto(path)


def tiff(path: Path) -> None:
    tifffile.imwrite(path, VALUES.astype("u2"), tile=(16, 16))


# importing what reads FITS and TIFF takes longer than a child may before it is replaced
@pytest.mark.parametrize(("write", "damages"), [(hdf5, 12), (netcdf3, 12), (fits, 3), (tiff, 3)])
def test_damaged_bytes(write: Any, damages: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path)
    data, chosen = path.read_bytes(), random.Random(write.__name__)
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    confined, opened = Openings(VisitorLimits(openings=1, seconds=30)), 0
    for _ in range(damages):
        damaged = bytearray(data)
        for _ in range(chosen.choice((1, 2, 8))):
            place = chosen.randrange(8, min(len(damaged), 3000))
            damaged[place] = chosen.choice((0, 127, 255, chosen.randrange(256)))
        path.write_bytes(damaged)
        try:
            confined.open("a", partial(open_guarded, str(path), policy, rx.Limits()))
            opened += 1
        except rx.RefexplorerError as error:
            said = str(error)
            assert not said.startswith("Unexpected"), said
            assert "\n" not in said
            assert said.endswith(".")
    assert opened


def test_a_file_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with h5py.File(path, "w") as file:
        for number in range(3000):
            file.create_dataset(f"x{number}", (1,), "u1")
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    confined = Openings(VisitorLimits(openings=1, seconds=0.3))
    with pytest.raises(rx.errors.LimitError, match=r"Opening a took more than 0\.3 s"):
        confined.open("a", partial(open_guarded, str(path), policy, rx.Limits()))
