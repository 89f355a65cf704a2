"""Sets of other formats than HDF5, as their writers make them and with mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.data.verify.report.verification import Verification
from tests.helpers.verifying import codes

tifffile = pytest.importorskip("tifffile")

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
    """Return what tifffile writes of a file of one of `SHAPES`."""
    shape, options = SHAPES[name]
    values = np.random.default_rng(0).integers(1, 200, shape, "u2" if len(shape) == 2 else "u1")
    path, source = folder / f"{name}.tif", folder / f"{name}.json"
    tifffile.imwrite(path, values, **options)
    with tifffile.imread(path, aszarr=True) as store:
        store.write_fsspec(source, url=f"file://{folder}", version=0)
    found: dict[str, Any] = json.loads(source.read_text())
    return found


def verified(document: dict[str, Any], folder: Path) -> Verification:
    return rx.open_references(document).verify(allow=[f"file://{folder}"], values="all")


@pytest.mark.parametrize("name", SHAPES)
def test_tifffile(tmp_path: Path, name: str) -> None:
    found = verified(tiff_set(tmp_path, name), tmp_path)
    assert found.findings == ()
    assert found.good, str(found)
    assert dict(found.counts.forms) == {"TIFF": 1}


def test_mistakes_in_a_set_of_a_tiff(tmp_path: Path) -> None:
    document = tiff_set(tmp_path, "deflated")
    document["1.2"], document["2.1"] = document["2.1"], document["1.2"]
    document["0.0"][1] += 1
    document["3.3"][2] -= 1
    array = json.loads(document[".zarray"])
    document[".zarray"] = json.dumps(array | {"dtype": ">u2"})
    found = verified(document, tmp_path)
    assert {("misplaced", ""), ("offset", ""), ("length", ""), ("byte-order", "")} <= codes(found)
    (mine,) = [each for each in found.findings if each.code == "misplaced"]
    assert set(mine.keys) == {"1.2", "2.1"}


def test_zeros_of_a_tiff_are_masked_by_the_fill_value(tmp_path: Path) -> None:
    """tifffile writes a fill value of 0, which xarray masks in Zarr v2."""
    document = tiff_set(tmp_path, "volume")
    with tifffile.TiffFile(tmp_path / "volume.tif", mode="r+b") as file:
        start = file.pages[0].dataoffsets[0]
    with (tmp_path / "volume.tif").open("r+b") as raw:
        raw.seek(start)
        raw.write(b"\0")
    found = verified(document, tmp_path)
    assert codes(found) == {("masked", "")}
    assert (found.counts.false_nan, found.good) == (1, True)


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
    """Return what kerchunk makes of three files."""
    kerchunk = pytest.importorskip("kerchunk.netCDF3")
    combine = pytest.importorskip("kerchunk.combine")
    paths = [netcdf3(folder / f"{number}.nc", number) for number in range(3)]
    found: dict[str, Any] = combine.MultiZarrToZarr(
        [kerchunk.NetCDF3ToZarr(str(path), inline_threshold=inline).translate() for path in paths],
        concat_dims=["time"], identical_dims=["s"], inline_threshold=inline,
    ).translate()  # fmt: skip
    return found


@pytest.mark.parametrize("inline", [0, 30])
def test_netcdf3_of_kerchunk(tmp_path: Path, inline: int) -> None:
    found = verified(netcdf3_set(tmp_path, inline), tmp_path)
    assert found.findings == ()
    assert found.good, str(found)


def test_mistakes_in_a_set_of_netcdf3(tmp_path: Path) -> None:
    document = netcdf3_set(tmp_path)
    refs = document["refs"]
    refs["v/5.0"], refs["v/6.0"] = refs["v/6.0"], refs["v/5.0"]
    refs["w/0.0"] = [refs["w/0.0"][0], refs["w/0.0"][1] + 4, refs["w/0.0"][2]]
    attributes = json.loads(refs["v/.zattrs"])
    refs["v/.zattrs"] = json.dumps(attributes | {"scale_factor": 0.25})
    found = verified(document, tmp_path)
    assert {("misplaced", "v"), ("offset", "w"), ("scale_factor", "v")} <= codes(found)
    (mine,) = [each for each in found.findings if each.code == "misplaced"]
    assert [Path(url).name for url in mine.files] == ["1.nc"]
    assert set(mine.keys) == {"v/5.0", "v/6.0"}


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_of_zarr_as_targets(tmp_path: Path, version: Literal[2, 3]) -> None:
    import zarr

    group = zarr.open_group(tmp_path / "z", mode="w", zarr_format=version)
    array = group.create_array("a", shape=(6, 6), chunks=(3, 3), dtype="i4")
    array[:] = np.arange(36).reshape(6, 6) + 1
    folder = tmp_path / "z" / "a"
    refs: dict[str, Any] = {
        f"a/{path.relative_to(folder).as_posix()}": [str(path)]
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".zarray", ".zattrs", "zarr.json")
    }
    assert len(refs) == 4
    keys = sorted(refs)
    metadata = "zarr.json" if version == 3 else ".zarray"
    refs[f"a/{metadata}"] = (folder / metadata).read_text()
    found = verified(refs, tmp_path)
    assert (found.findings, found.good) == ((), True)
    refs[keys[0]], refs[keys[1]] = refs[keys[1]], refs[keys[0]]
    found = verified(refs, tmp_path)
    assert ("misplaced", "a") in codes(found)
    (mine,) = [each for each in found.findings if each.code == "misplaced"]
    assert set(mine.keys) == set(keys[:2])
    assert found.counts.of("differs") == 2
