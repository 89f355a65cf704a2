"""References that tifffile writes lead to the values that tifffile reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile
import zarr

import refexplorer as rx
from tests.helpers.real_sets import ROOT, needs_sets

IMAGE = np.arange(200 * 150, dtype=">u2").reshape(200, 150)


def references(folder: Path, **how: Any) -> Path:
    """Write a picture in tiles of 64 by 64, and references to them."""
    tifffile.imwrite(folder / "picture.tif", IMAGE, tile=(64, 64), **how)
    with tifffile.imread(folder / "picture.tif", aszarr=True) as store:
        store.write_fsspec(str(folder / "picture.json"), url="")
    return folder / "picture.json"


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_the_values_are_those_of_the_picture(tmp_path: Path, compression: str | None) -> None:
    refs = rx.open_references(references(tmp_path, compression=compression))
    picture: Any = refs.to_zarr()
    values = np.asarray(picture[:])
    assert np.array_equal(values, tifffile.imread(tmp_path / "picture.tif"))
    assert refs.ladder("0.0").state == "fetched"


def test_a_codec_of_another_package_is_named(tmp_path: Path) -> None:
    refs = rx.open_references(references(tmp_path, compression="zlib", predictor=True))
    picture: Any = refs.to_zarr
    with pytest.raises(rx.DecodeError, match="`pip install imagecodecs`"):
        picture()[:]


@needs_sets
def test_published_references_lead_to_the_values_of_their_files() -> None:
    folder = ROOT / "tool-tiff-tifffile"
    found = rx.open_references(folder / "refs.json").to_zarr()
    page = tifffile.imread(folder / "lcmap_tiny_cog_2019.tif")
    arrays = [array for _, array in found.arrays()] if isinstance(found, zarr.Group) else [found]
    assert any(np.array_equal(np.squeeze(array[...]), np.squeeze(page)) for array in arrays)
    air: Any = rx.open_references(ROOT / "tool-netcdf4-air/refs.json").to_zarr()
    with h5py.File(ROOT / "tool-netcdf4-air/air.nc") as file:
        for name in ("air", "lat", "lon", "time"):
            assert np.array_equal(air[name][...], file[name][...])
