"""Files in formats other than HDF5, with the sets that other tools generate for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from tests.helpers.kerchunk_sets import concatenated

SHAPES: dict[str, Any] = {
    "strips": ((100, 120), {"rowsperstrip": 25}),
    "tiles": ((128, 128), {"tile": (32, 32)}),
    "deflated": ((128, 128), {"tile": (32, 32), "compression": "zlib"}),
    "predicted": ((128, 128), {"tile": (32, 32), "compression": "zlib", "predictor": True}),
    "colours": ((64, 64, 3), {"tile": (32, 32), "photometric": "rgb"}),
    "pages": ((5, 64, 64), {"tile": (32, 32), "photometric": "minisblack"}),
    "volume": ((5, 64, 64), {"photometric": "minisblack"}),
    "big-endian": ((64, 64), {"tile": (32, 32), "byteorder": ">"}),
}


def tiff_set(folder: Path, name: str) -> dict[str, Any]:
    """Return the references that tifffile writes for a file of one of `SHAPES`."""
    tifffile = pytest.importorskip("tifffile")
    shape, options = SHAPES[name]
    values = np.random.default_rng(0).integers(1, 200, shape, "u2" if len(shape) == 2 else "u1")
    path, source = folder / f"{name}.tif", folder / f"{name}.json"
    tifffile.imwrite(path, values, **options)
    with tifffile.imread(path, aszarr=True) as store:
        store.write_fsspec(source, url=f"file://{folder}", version=0)
    found: dict[str, Any] = json.loads(source.read_text())
    return found


def netcdf3(path: Path, number: int) -> Path:
    """Write a file with record variables, and one that is in one block."""
    scipy_io = pytest.importorskip("scipy.io")
    with scipy_io.netcdf_file(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 5)
        for name, kind, dimensions, values in (
            ("time", "i4", ("time",), np.arange(4) + 4 * number + 1),
            ("v", "i2", ("time", "x"), np.arange(20).reshape(4, 5) + 1),
            ("w", "f8", ("time", "x"), np.arange(20).reshape(4, 5) + 1.5),
            ("s", "f8", ("x",), np.arange(5) + 1.5),
        ):
            file.createVariable(name, kind, dimensions)[:] = values
        file.variables["time"].units = "days since 2000-01-01"
        file.variables["v"].scale_factor = 0.5
    return path


def netcdf3_set(folder: Path, inline: int = 0) -> dict[str, Any]:
    """Return the references that kerchunk generates for three files."""
    kerchunk = pytest.importorskip("kerchunk.netCDF3")
    paths = [netcdf3(folder / f"{number}.nc", number) for number in range(3)]
    singles = [kerchunk.NetCDF3ToZarr(str(path), inline_threshold=inline) for path in paths]
    return concatenated(
        [single.translate() for single in singles],
        concat_dims=["time"], identical_dims=["s"], inline_threshold=inline,
    )  # fmt: skip


def zarr_set(folder: Path, version: Literal[2, 3]) -> tuple[dict[str, Any], list[str]]:
    """Return a set that refers to the four chunks of an array of Zarr as files, and their keys."""
    import zarr

    group = zarr.open_group(folder / "z", mode="w", zarr_format=version)
    array = group.create_array("a", shape=(6, 6), chunks=(3, 3), dtype="i4")
    array[:] = np.arange(36).reshape(6, 6) + 1
    place = folder / "z" / "a"
    refs: dict[str, Any] = {
        f"a/{path.relative_to(place).as_posix()}": [str(path)]
        for path in place.rglob("*")
        if path.is_file() and path.name not in (".zarray", ".zattrs", "zarr.json")
    }
    assert len(refs) == 4
    keys = sorted(refs)
    metadata = "zarr.json" if version == 3 else ".zarray"
    refs[f"a/{metadata}"] = (place / metadata).read_text()
    root = "zarr.json" if version == 3 else ".zgroup"
    refs[root] = (folder / "z" / root).read_text()
    return refs, keys
