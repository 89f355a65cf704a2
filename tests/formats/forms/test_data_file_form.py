"""Data files open by themselves: the values are those that the file's own library reads."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile

import refexplorer as rx
from refexplorer.data.access.policy import AccessPolicy
from refexplorer.opening import open_guarded
from tests.helpers.commands import run

VALUES = np.arange(60, dtype="<i4").reshape(6, 10)


def hdf5(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file.create_dataset("g/x", data=VALUES, chunks=(4, 5), compression="gzip", shuffle=True)
        file.create_dataset("y", data=VALUES[0])
        file.attrs["title"] = "made here"
    return path


def test_hdf5(tmp_path: Path) -> None:
    path = hdf5(tmp_path / "a.nc")
    refs = rx.open_references(path)
    assert (refs.source.form, refs.source.location) == ("data file", str(tmp_path))
    group: Any = refs.to_zarr()
    assert np.array_equal(group["g/x"][:], VALUES)
    assert np.array_equal(group["y"][:], VALUES[0])
    with h5py.File(path) as file:
        found: list[Any] = []
        file["g/x"].id.chunk_iter(found.append)
    for chunk in found:
        index = tuple(at // size for at, size in zip(chunk.chunk_offset, (4, 5), strict=True))
        key = refs.array("g/x").chunk_key(index)
        assert refs[key] == rx.Range(str(path), chunk.byte_offset, chunk.size)


def test_it_is_saved_and_diffs_as_a_set(tmp_path: Path) -> None:
    refs = rx.open_references(hdf5(tmp_path / "a.nc"))
    refs.to_json(tmp_path / "a.json")
    assert not rx.diff(tmp_path / "a.nc", tmp_path / "a.json")
    ran = run("convert", tmp_path / "a.nc", tmp_path / "b.json")
    assert ran.status == 0, ran.err
    told = json.loads(run("info", tmp_path / "a.nc", "--json").out)
    assert [array["path"] for array in told["arrays"]] == ["g/x", "y"]


def test_netcdf3(tmp_path: Path) -> None:
    io: Any = pytest.importorskip("scipy.io", reason="scipy is not installed")
    path = tmp_path / "a.nc"
    with io.netcdf_file(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 10)
        file.createVariable("v", "i4", ("time", "x"))[:] = VALUES
        file.createVariable("x", "f8", ("x",))[:] = VALUES[0]
    group: Any = rx.open_references(path).to_zarr()
    assert np.array_equal(group["v"][:], VALUES)
    assert np.array_equal(group["x"][:], VALUES[0])


def test_fits(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    path = tmp_path / "a.fits"
    fits.PrimaryHDU(VALUES.astype(">i4")).writeto(path)
    group: Any = rx.open_references(path).to_zarr()
    assert np.array_equal(group["PRIMARY"][:], VALUES)


@pytest.mark.parametrize("more", [{}, {"tile": (16, 16)}, {"bigtiff": True}])
def test_tiff(tmp_path: Path, more: dict[str, Any]) -> None:
    values = np.arange(32 * 48, dtype="<u2").reshape(32, 48)
    tifffile.imwrite(tmp_path / "a.tif", values, **more)
    array: Any = rx.open_references(tmp_path / "a.tif").to_zarr()
    assert np.array_equal(array[:], values)


def test_progress_is_told_and_may_stop_it(tmp_path: Path) -> None:
    path, told = hdf5(tmp_path / "a.nc"), list[tuple[int, int]]()
    rx.open_references(path, progress=lambda done, size: told.append((done, size)))
    size = path.stat().st_size
    assert told == [(0, size), (size, size)]

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rx.open_references(path, progress=stop)


def test_values_in_other_files_are_told(tmp_path: Path) -> None:
    hdf5(tmp_path / "a.nc")
    with h5py.File(tmp_path / "b.nc", "w") as file:
        layout = h5py.VirtualLayout((10,), "<i4")
        layout[:] = h5py.VirtualSource(tmp_path / "a.nc", "y", (10,))
        file.create_virtual_dataset("v", layout)
        file.create_dataset("e", (4,), "u1", external=[(str(tmp_path / "raw"), 0, 4)])
        file["own"] = VALUES[0]
        file["link"] = h5py.ExternalLink(str(tmp_path / "a.nc"), "y")
    with pytest.warns(rx.LeftOutWarning, match="The values of e, v lie in other files"):
        refs = rx.open_references(tmp_path / "b.nc")
    targets = {target.url for target in refs.targets()}
    assert targets == {str(tmp_path / "b.nc")}


@pytest.mark.parametrize("size", [10, 100, 600, 1500])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, size: int) -> None:
    data = hdf5(tmp_path / "a.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(data[:size])
    with pytest.raises(rx.SourceError, match=r"^cut\.nc is a data file, and no references .*\.$"):
        rx.open_references(tmp_path / "cut.nc")
    (tmp_path / "bad.tif").write_bytes(b"II*\0" + bytes(size))
    with pytest.raises(rx.SourceError, match=r"^bad\.tif is a data file"):
        rx.open_references(tmp_path / "bad.tif")


def test_a_visitor_opens_none(tmp_path: Path) -> None:
    path = hdf5(tmp_path / "a.nc")
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    with pytest.raises(rx.SpecError, match="is an HDF5 or NetCDF4 file, not a reference set"):
        open_guarded(str(path), policy, rx.Limits())


def test_without_kerchunk_the_sentence_says_what_to_install(tmp_path: Path) -> None:
    path = hdf5(tmp_path / "a.nc")
    code = f"""
import sys
sys.modules["kerchunk"] = None
import refexplorer
try:
    refexplorer.open_references({str(path)!r})
except refexplorer.SpecError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "an HDF5 or NetCDF4 file, not a reference set" in ran.stdout
    assert "with `refexplorer[virtual]` installed" in ran.stdout


def test_a_packed_file_is_no_target(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.nc.gz").write_bytes(gzip.compress(hdf5(tmp_path / "a.nc").read_bytes()))
    with warnings.catch_warnings(), pytest.raises(rx.SpecError, match="an HDF5 or NetCDF4 file"):
        rx.open_references(tmp_path / "a.nc.gz")


def test_a_pattern_opens_each_file_as_a_group(tmp_path: Path) -> None:
    for day in ("01", "02"):
        (tmp_path / day).mkdir()
        hdf5(tmp_path / day / "a.nc")
    tifffile.imwrite(tmp_path / "01/b.tif", VALUES.astype("u2"))
    refs = rx.open_references(f"{tmp_path}/*/*.*")
    arrays = ("01/a.nc/g/x", "01/a.nc/y", "01/b.tif", "02/a.nc/g/x", "02/a.nc/y")
    assert refs.arrays() == arrays
    assert refs.source.location == str(tmp_path)
    group: Any = refs.to_zarr()
    assert np.array_equal(group["02/a.nc/g/x"][:], VALUES)
    assert {target.url for target in refs.targets()} == {
        str(tmp_path / name) for name in ("01/a.nc", "01/b.tif", "02/a.nc")
    }
    again = rx.open_references(refs.source.place)
    assert again.to_v0() == refs.to_v0()


def test_a_pattern_of_other_files_or_none(tmp_path: Path) -> None:
    hdf5(tmp_path / "a.nc")
    (tmp_path / "b.json").write_text('{"x": "y"}')
    with pytest.raises(rx.SourceError, match=r"b\.json' is no data file, and a pattern opens"):
        rx.open_references(str(tmp_path / "*"))
    with pytest.raises(rx.SourceError, match="none that it fits as a pattern"):
        rx.open_references(str(tmp_path / "*.grib"))
    (tmp_path / "[odd]*.json").write_text('{"x": "y"}')
    assert rx.open_references(str(tmp_path / "[odd]*.json")).count == 1
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    with pytest.raises(rx.SourceError, match="There is no file"):
        open_guarded(str(tmp_path / "*.nc"), policy, rx.Limits())
