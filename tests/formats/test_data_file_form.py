"""Data files open by themselves: the values are those that the file's own library reads."""

from __future__ import annotations

import json
import os
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
from refexplorer.core.files import FileCount
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded
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
        assert refs[key] == rx.types.Range(str(path), chunk.byte_offset, chunk.size)


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


@pytest.mark.filterwarnings("ignore:.*are left out:refexplorer.core.errors.LeftOutWarning")
def test_each_extension_of_fits_is_an_array(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    path = tmp_path / "a.fits"
    cube = np.arange(120, dtype=">f4").reshape(1, 2, 5, 12)
    table = fits.BinTableHDU.from_columns([fits.Column("a", "J", array=np.arange(3))], name="T")
    units = [
        fits.PrimaryHDU(),
        fits.ImageHDU(VALUES.astype(">i2"), name="SCI"),
        fits.ImageHDU(cube, name="SCI", ver=2),
        table,
        fits.CompImageHDU(np.arange(10000, dtype=">i2").reshape(100, 100), name="PACKED"),
        fits.ImageHDU(VALUES.astype(">i2"), name="SCI"),
    ]
    units[1].header["BSCALE"], units[1].header["BZERO"] = 0.5, 10.0
    fits.HDUList(units).writeto(path)
    said = r"^a\.fits has variables that are left out: PACKED \(PACKED is a compressed image\)\.$"
    with pytest.warns(rx.errors.LeftOutWarning, match=said):
        refs = rx.open_references(path)
    assert refs.arrays() == ("SCI", "SCI_2", "T", "SCI_1")
    group: Any = refs.to_zarr()
    with fits.open(path) as theirs:
        for name, number in (("SCI", 1), ("SCI_2", 2), ("SCI_1", 5)):
            assert np.array_equal(group[name][:], theirs[number].data)
        assert group["T"][:]["a"].tolist() == theirs["T"].data["a"].tolist()
        assert theirs[1].data[0, 1] == 10.5
    with pytest.warns(rx.errors.LeftOutWarning, match="cannot read the values of T: .*big-endian"):
        data: Any = refs.to_xarray()
    assert data["SCI_2"].dims == ("SCI_2_axis4", "SCI_2_z", "SCI_2_y", "SCI_2_x")
    assert np.array_equal(data["SCI_1"], VALUES)  # zeros are values


@pytest.mark.parametrize("scaling", [{}, {"BSCALE": 0.1, "BZERO": 5.0}, {"BZERO": 100}])
@pytest.mark.parametrize(
    ("dtype", "blank"), [(">u1", 255), (">i2", -32768), (">i4", 0), (">i8", 7)]
)
def test_blank_of_fits_is_missing_as_in_astropy(
    dtype: str, blank: int, scaling: dict[str, float], tmp_path: Path
) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    path, values = tmp_path / "a.fits", np.arange(24).astype(dtype).reshape(4, 6)
    values[1, 1] = values[3, 5] = blank
    unit = fits.PrimaryHDU(values)
    for name, value in ({"BLANK": blank} | scaling).items():
        unit.header[name] = value
    unit.writeto(path)
    found = rx.open_references(path).to_xarray()["PRIMARY"].to_numpy()
    with fits.open(path) as theirs:
        data = theirs[0].data
    if blank == 0:  # astropy 8.0 takes no 0 for undefined; the standard does
        data = np.where(values == 0, np.nan, data)
    np.testing.assert_allclose(found, data, rtol=1e-6)
    assert np.isnan(found).sum() == (values == blank).sum()
    refs = rx.open_references(path)
    assert refs.verify(values="all").good
    assert refs.why("PRIMARY", (3, 5)).shown != refs.why("PRIMARY", (3, 4)).shown


@pytest.mark.filterwarnings("ignore:Invalid .*'BLANK' keyword")
def test_a_blank_that_means_nothing(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    for number, (dtype, blank) in enumerate([(">f4", 1), (">i2", 70_000), (">i2", 1.5)]):
        path, unit = tmp_path / f"{number}.fits", fits.PrimaryHDU(VALUES.astype(dtype))
        unit.header["BLANK"] = blank
        unit.writeto(path, output_verify="ignore")
        array = rx.open_references(path).to_xarray(mask_and_scale=False)["PRIMARY"]
        assert np.array_equal(array, VALUES)
        assert "_FillValue" not in array.attrs


def test_a_blank_whose_neighbours_become_the_same_is_reported(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    unit = fits.PrimaryHDU(np.array([1, -(2**63)], ">i8"))
    unit.header["BLANK"], unit.header["BSCALE"] = -(2**63), 0.5
    unit.writeto(tmp_path / "a.fits")
    with pytest.warns(rx.errors.LeftOutWarning, match="The numbers of 64 bits are scaled"):
        refs = rx.open_references(tmp_path / "a.fits")
    assert np.array_equal(refs.to_xarray()["PRIMARY"], [0.5, np.nan], equal_nan=True)


def test_tables_of_fits(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    path, columns = tmp_path / "a.fits", fits.ColDefs
    words = fits.Column("t", "A4", array=["a", "bcd"])
    text = columns([fits.Column("n", "I5", array=[1, 20]), words])
    binary = columns([fits.Column("n", "J", array=[1, 2]), fits.Column("x", "D", array=[0.5, 1])])
    vectors = columns([fits.Column("v", "3E", array=np.zeros((2, 3)))])
    units = [
        fits.PrimaryHDU(),
        fits.TableHDU.from_columns(text, name="TEXT"),
        fits.BinTableHDU.from_columns(binary, name="BINARY"),
        fits.BinTableHDU.from_columns(vectors, name="VECTORS"),
    ]
    fits.HDUList(units).writeto(path)
    with pytest.warns(
        rx.errors.LeftOutWarning, match=r"left out: VECTORS \(It has a field of several"
    ):
        refs = rx.open_references(path)
    group: Any = refs.to_zarr()
    assert group["TEXT"][:].tolist() == [(1, b"a"), (20, b"bcd")]
    assert group["BINARY"][:].tolist() == [(1, 0.5), (2, 1.0)]
    report = refs.verify(values="all")
    assert report.headline.text == "incomplete: its files have 1 variable that it lacks"
    assert [(each.code, each.array) for each in report.findings] == [("left-out", "VECTORS")]


def test_a_compressed_fits_image_is_rejected(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    image = fits.CompImageHDU(np.zeros((9, 9), ">i2"), name="PACKED")
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(tmp_path / "a.fits")
    with pytest.raises(
        rx.errors.SourceError, match=r"nothing in it can be referenced: PACKED \(PACKED is a comp"
    ):
        rx.open_references(tmp_path / "a.fits")


@pytest.mark.parametrize("more", [{}, {"tile": (16, 16)}, {"bigtiff": True}])
def test_tiff(tmp_path: Path, more: dict[str, Any]) -> None:
    values = np.arange(32 * 48, dtype="<u2").reshape(32, 48)
    tifffile.imwrite(tmp_path / "a.tif", values, **more)
    array: Any = rx.open_references(tmp_path / "a.tif").to_zarr()
    assert np.array_equal(array[:], values)


def test_progress_is_reported_and_may_stop_it(tmp_path: Path) -> None:
    path, told = hdf5(tmp_path / "a.nc"), list[tuple[int, int]]()
    rx.open_references(path, progress=lambda done, size: told.append((done, size)))
    size = path.stat().st_size
    assert (told[0], told[-1]) == ((0, size), (size, size))
    assert told == sorted(told)
    assert len(told) > 3

    def stop(done: int, of: int) -> None:
        if done > 100:  # inside of what HDF5 reads
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rx.open_references(path, progress=stop)


@pytest.mark.child
def test_a_program_that_was_stopped_ends_well(tmp_path: Path) -> None:
    """HDF5 keeps nothing of the file that it would free after Python."""
    path = hdf5(tmp_path / "a.nc")
    code = f"""
import refexplorer as rx
def stop(done, of):
    if done > 100:
        raise KeyboardInterrupt
rx.open_references({str(path)!r})
try:
    rx.open_references({str(path)!r}, progress=stop)
except KeyboardInterrupt:
    print("stopped")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "stopped\n"), ran.stderr


def test_values_in_other_files_are_reported(tmp_path: Path) -> None:
    hdf5(tmp_path / "a.nc")
    with h5py.File(tmp_path / "b.nc", "w") as file:
        layout = h5py.VirtualLayout((10,), "<i4")
        layout[:] = h5py.VirtualSource(tmp_path / "a.nc", "y", (10,))
        file.create_virtual_dataset("v", layout)
        file.create_dataset("e", (4,), "u1", external=[(str(tmp_path / "raw"), 0, 4)])
        file["own"] = VALUES[0]
        file["link"] = h5py.ExternalLink(str(tmp_path / "a.nc"), "y")
    with pytest.warns(
        rx.errors.LeftOutWarning,
        match=r"left out: e \(The values of e are in other .*v \(v is a virtual.*link \(",
    ):
        refs = rx.open_references(tmp_path / "b.nc")
    targets = {target.url for target in refs.targets()}
    assert targets == {str(tmp_path / "b.nc")}


@pytest.mark.parametrize("size", [10, 100, 600, 1500])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, size: int) -> None:
    data = hdf5(tmp_path / "a.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(data[:size])
    with pytest.raises(
        rx.errors.SourceError, match=r"^cut\.nc is a data file, and no references .*\.$"
    ):
        rx.open_references(tmp_path / "cut.nc")
    (tmp_path / "bad.tif").write_bytes(b"II*\0" + bytes(size))
    with pytest.raises(rx.errors.SourceError, match=r"^bad\.tif is a data file"):
        rx.open_references(tmp_path / "bad.tif")


def test_a_visitor_opens_what_the_policy_allows(tmp_path: Path) -> None:
    path = hdf5(tmp_path / "a.nc")
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    assert open_guarded(str(path), policy, rx.Limits()).arrays() == ("g/x", "y")
    with pytest.raises(rx.errors.AccessError):
        open_guarded(str(path), AccessPolicy(None, [], served=True), rx.Limits())


def test_a_visitor_is_led_to_no_other_file(tmp_path: Path) -> None:
    hdf5(tmp_path / "a.nc")
    with h5py.File(tmp_path / "b.nc", "w") as file:
        layout = h5py.VirtualLayout((10,), "<i4")
        layout[:] = h5py.VirtualSource(tmp_path / "a.nc", "y", (10,))
        file.create_virtual_dataset("v", layout)
    policy = AccessPolicy(None, [str(tmp_path / "b.nc")], served=True)
    with pytest.raises(rx.errors.SourceError, match="nothing in it can be referenced: v "):
        open_guarded(str(tmp_path / "b.nc"), policy, rx.Limits())


@pytest.mark.child
def test_without_h5py_the_sentence_says_what_to_install(tmp_path: Path) -> None:
    path = hdf5(tmp_path / "a.nc")
    (tmp_path / "h5py.py").write_text("raise ImportError('not installed')")
    command = [sys.executable, "-m", "refexplorer", "info", str(path)]
    ran = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "an HDF5 or NetCDF4 file, not a reference set" in ran.stderr
    assert "run `pip install 'refexplorer[virtual]'`" in ran.stderr


def test_a_packed_file_is_no_target(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.nc.gz").write_bytes(gzip.compress(hdf5(tmp_path / "a.nc").read_bytes()))
    with (
        warnings.catch_warnings(),
        pytest.raises(rx.errors.SpecError, match="an HDF5 or NetCDF4 file"),
    ):
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
    listed = rx.open_references([tmp_path / "01/a.nc", str(tmp_path / "02/a.nc")])
    assert listed.arrays() == ("01/a.nc/g/x", "01/a.nc/y", "02/a.nc/g/x", "02/a.nc/y")


def test_progress_of_several_counts_files(tmp_path: Path) -> None:
    for name in "ab":
        hdf5(tmp_path / f"{name}.nc")
    told: list[tuple[int, int]] = []
    rx.open_references(str(tmp_path / "*.nc"), progress=lambda *done: told.append(done))
    assert {type(each) for pair in told for each in pair} == {FileCount}
    assert {*told} == {(0, 2), (1, 2), (2, 2)}
    assert told == sorted(told)

    def stop(done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rx.open_references(str(tmp_path / "*.nc"), progress=stop)


@pytest.mark.parametrize(
    ("given", "match"),
    [(["a.nc", 3], "no file 'a.nc'"), ([b"x"], "not JSON"), ([None], "not from NoneType")],
)
def test_a_list_of_something_else(given: list[Any], match: str) -> None:
    with pytest.raises(rx.RefexplorerError, match=match):
        rx.open_references(given)


def test_a_pattern_of_other_files_or_none(tmp_path: Path) -> None:
    hdf5(tmp_path / "a.nc")
    (tmp_path / "b.json").write_text('{"x": "y"}')
    with pytest.raises(rx.errors.SourceError, match=r"b\.json' is not a data file, and a pattern"):
        rx.open_references(str(tmp_path / "*"))
    with pytest.raises(rx.errors.SourceError, match="no file matches it as a pattern"):
        rx.open_references(str(tmp_path / "*.grib"))
    (tmp_path / "[odd]*.json").write_text('{"x": "y"}')
    assert rx.open_references(str(tmp_path / "[odd]*.json")).count == 1
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    with pytest.raises(rx.errors.SourceError, match="There is no file"):
        open_guarded(str(tmp_path / "*.nc"), policy, rx.Limits())


def test_zeros_of_tiff_are_values_unless_it_says_otherwise(tmp_path: Path) -> None:
    values = np.array([[0, 1], [2, 0]], "u2")
    for nodata in (None, "2"):
        tags = [] if nodata is None else [(42113, "s", 2, nodata, True)]
        tifffile.imwrite(tmp_path / "a.tif", values, extratags=tags, metadata=None)
        array = rx.open_references(tmp_path / "a.tif").array("")
        assert array.fill_value == (None if nodata is None else 2)


def test_each_series_of_tiff_is_an_array(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as writer:
        writer.write(VALUES.astype("u2"), metadata=None)
        writer.write(VALUES.astype("f4") / 2, metadata=None)
    refs = rx.open_references(path)
    assert {*refs.arrays()} == {"0", "1/0"}
    group: Any = refs.to_zarr()
    assert np.array_equal(group["0"][:], VALUES)
    assert np.array_equal(group["1/0"][:], VALUES / 2)
    assert refs.verify(values="all").good


@pytest.mark.parametrize("compression", [None, "zlib", "lzw"])
def test_a_last_strip_that_is_shorter(compression: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    options: Any = {"rowsperstrip": 16, "compression": compression, "metadata": None}
    values = np.arange(2 * 50 * 40, dtype="f4").reshape(2, 50, 40)
    tifffile.imwrite(path, values, predictor=compression is not None, **options)
    refs = rx.open_references(path)
    array: Any = refs.to_zarr()
    assert np.array_equal(array[:], values)
    assert refs.verify(values="all").good
    tifffile.imwrite(path, np.zeros((50, 4000), "f4"), **options)
    with pytest.raises(
        rx.errors.SourceError, match=r"1 chunk is shorter than the others, .* with tiles"
    ):
        rx.open_references(path)
