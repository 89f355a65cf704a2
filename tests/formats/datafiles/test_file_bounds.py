"""What a header counts is held to the size of its file."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

import refexplorer as rx
from tests.cases import FOLDER
from tests.helpers.commands import run

pytestmark = pytest.mark.child
DAMAGED = FOLDER / "damaged"


def test_more_tiles_than_a_file_lists() -> None:
    why = r"lists the offsets of 16 of 715,473,584 tiles or strips"
    with pytest.raises(rx.errors.SourceError, match=rf"^height\.tif is a data file, .*: .*{why}"):
        rx.open_references(DAMAGED / "height.tif")


def test_more_records_than_a_file_has(tmp_path: Path) -> None:
    body = bytearray((DAMAGED / "records.nc").read_bytes())
    body[4:8] = (2**30).to_bytes(4, "big")
    (tmp_path / "a.nc").write_bytes(body)
    with pytest.warns(
        rx.errors.LeftOutWarning, match=r"left out: r \(The file of 416 B ends before the"
    ):
        refs = rx.open_references(tmp_path / "a.nc")
    assert refs.arrays() == ("a",)


def test_a_size_in_a_header_that_is_not_needed() -> None:
    """netCDF-C computes it, too: the file is sound for it."""
    import netCDF4

    group: Any = rx.open_references(DAMAGED / "records.nc").to_zarr()
    with netCDF4.Dataset(DAMAGED / "records.nc") as file:
        for name, variable in file.variables.items():
            assert np.array_equal(group[name][:], variable[:])


def test_a_described_stack_has_as_many_pages_as_the_file(tmp_path: Path) -> None:
    """tifffile takes the shape of a stack from a text that anybody can write."""
    path = tmp_path / "a.tif"
    for more in ("", ', "truncated": true'):
        shape = f'{{"shape": [99999999, 4, 4]{more}}}'
        tifffile.imwrite(path, np.zeros((4, 4), "u1"), description=shape, metadata=None)
        with suppress(rx.errors.SourceError):
            assert rx.open_references(path).count < 10


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_a_file_that_was_not_copied_whole(tmp_path: Path, compression: str | None) -> None:
    values = np.random.default_rng(1).integers(0, 2**16, (64, 64), "u2")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, values, tile=(16, 16), compression=compression)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 3 // 4])
    refs = rx.open_references(path)
    (found,) = (each for each in refs.diagnostics if each.code == "range-past-end")
    assert (found.severity, 3 < found.count < 6) == ("error", True)
    assert "end after the file." in found.message
    with pytest.warns(rx.errors.LeftOutWarning, match=r"a\.tif has \d errors"):
        array: Any = refs.to_zarr()
    assert np.array_equal(array[:16], values[:16])
    with pytest.raises(rx.RefexplorerError):
        array[48:]
    assert "error range-past-end" in (ran := run("check", path)).out
    assert ran.status == 1


def test_cut_files_that_are_joined(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.tif" for n in range(3)]
    for path in paths:
        tifffile.imwrite(path, np.zeros((64, 64), "u2"), tile=(16, 16))
    cut = paths[1]
    cut.write_bytes(cut.read_bytes()[:-2500])
    (alone,) = (e for e in rx.open_references(cut).diagnostics if e.code == "range-past-end")
    refs = rx.open_references(paths, concat_dim="time")
    (found,) = (each for each in refs.diagnostics if each.code == "range-past-end")
    assert (found.severity, found.count) == ("error", alone.count)
    assert found.key is not None
    reference = refs[found.key]
    assert isinstance(reference, rx.types.Range)
    assert reference.offset + reference.length > cut.stat().st_size
    assert Path(str(reference.url)) == cut


def test_a_cut_fits_file(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    path = tmp_path / "a.fits"
    fits.PrimaryHDU(np.arange(5000, dtype=">i4")).writeto(path)
    path.write_bytes(path.read_bytes()[:9000])
    found = [each.code for each in rx.open_references(path).diagnostics]
    assert "range-past-end" in found


def test_sound_files_have_no_such_finding(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((9, 40, 50), "u2"), photometric="minisblack")
    refs = rx.open_references(tmp_path / "a.tif")
    assert "range-past-end" not in [each.code for each in refs.diagnostics]


def test_netcdf3_whose_last_record_is_not_padded(tmp_path: Path) -> None:
    """As netCDF-C leaves it: what follows the last value is not needed."""
    io: Any = pytest.importorskip("scipy.io", reason="scipy is not installed")
    with io.netcdf_file(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", None)
        for name in "ab":
            file.createVariable(name, "i2", ("t",))[:] = np.arange(3, dtype="i2")
    whole = (tmp_path / "a.nc").read_bytes()
    assert struct.unpack(">i", whole[4:8]) == (3,)
    (tmp_path / "a.nc").write_bytes(whole[:-2])
    group: Any = rx.open_references(tmp_path / "a.nc").to_zarr()
    assert group["b"][:].tolist() == [0, 1, 2]
