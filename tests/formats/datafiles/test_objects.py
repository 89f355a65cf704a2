"""Readers list everything in a file, held against what another reader of the format finds."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile

from refexplorer.formats.datafiles.data_file import DataFile, FileObject
from refexplorer.formats.datafiles.hdf5 import Hdf5File
from refexplorer.formats.datafiles.netcdf3 import NetCdf3File
from refexplorer.formats.datafiles.streams import WatchedStream
from refexplorer.formats.datafiles.tiff import TiffFile

DATA = np.arange(60, dtype="<i4").reshape(6, 10)


def by_name(file: DataFile) -> dict[str, FileObject]:
    objects = list(file.objects())
    found = {each.name: each for each in objects}
    assert len(found) == len(objects)
    return found


def watched(data: bytes) -> WatchedStream:
    return WatchedStream(io.BytesIO(data), len(data), None)


def barrier(each: FileObject) -> tuple[str, str] | None:
    return None if each.barrier is None else (each.barrier.why, each.barrier.sentence)


def test_hdf5() -> None:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["g/h/x"] = DATA
        file["g/empty"] = h5py.Empty("f4")
        file["g/z again"] = file["g/h/x"]
        file["g/z group"] = file["g/h"]
        file["soft"] = h5py.SoftLink("/g/h/x")
        file["soft group"] = h5py.SoftLink("g/h")
        file["lost"] = h5py.SoftLink("/nothing")
        file["external"] = h5py.ExternalLink("other.h5", "x")
        file["kind"] = np.dtype([("a", "i4")])
        file["ragged"] = np.array([np.arange(2), np.arange(3)], h5py.vlen_dtype("i4"))
        file["text"] = np.array(["a", "bb"], h5py.string_dtype())
        file["reference"] = np.array([file["g"].ref], h5py.ref_dtype)
        layout = h5py.VirtualLayout((3,), "i4")
        layout[:] = h5py.VirtualSource("other.h5", "x", (3,))
        file.create_virtual_dataset("view", layout)
        file.create_dataset("raw", (4,), "u1", external=[("raw", 0, 4)])
        file.attrs["title"] = "made here"
        file["g"].attrs["n"] = np.int16(3)
    names: list[str] = []
    with h5py.File(buffer) as file:
        file.visititems_links(lambda name, link: names.append(name))
    read = Hdf5File(io.BytesIO(buffer.getvalue()))
    found = by_name(read)
    assert sorted(found) == sorted(names)
    assert read.declared == len(found)
    assert found["g/z again"] == FileObject("g/z again", "array", DATA.shape, DATA.nbytes)
    assert {name: each.kind for name, each in found.items() if each.kind != "array"} == {
        "g": "group", "g/h": "group", "kind": "type", "g/h/x": "link", "g/z group": "link",
        "soft": "link", "soft group": "link", "lost": "link", "external": "link",
    }  # fmt: skip
    stopped = {name: barrier(each) for name, each in found.items() if each.barrier is not None}
    assert {why for why, _ in filter(None, stopped.values())} == {"expression"}
    assert stopped.keys() == {
        "g/empty", "lost", "external", "ragged", "reference", "view", "raw"
    }  # fmt: skip
    assert read.groups() == {"": {"title": "made here"}, "g": {"n": 3}, "g/h": {}}


def test_a_damaged_dataset_of_hdf5_is_listed() -> None:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["a"], file["b"] = DATA, DATA
        place = h5py.h5o.get_info(file["a"].id).addr
    body = bytearray(buffer.getvalue())
    body[place] = 77
    read = Hdf5File(io.BytesIO(body))
    found = by_name(read)
    assert read.declared == len(found) == 2
    assert found["b"].barrier is None
    assert found["a"].barrier is not None
    assert found["a"].barrier.why == "damaged"


def test_netcdf4_dimensions_without_values_are_no_arrays(tmp_path: Path) -> None:
    import h5netcdf

    with h5netcdf.File(tmp_path / "a.nc", "w") as file:
        file.dimensions = {"x": 3, "y": 4}
        file.create_variable("x", ("x",), "f4")[:] = 1
        file.create_variable("v", ("x", "y"), "f4")[:] = 1
    with (tmp_path / "a.nc").open("rb") as body:
        found = by_name(Hdf5File(body))
        assert {name: each.kind for name, each in found.items()} == {
            "x": "array", "v": "array", "y": "dimension"
        }  # fmt: skip


def test_netcdf3(tmp_path: Path) -> None:
    io_: Any = pytest.importorskip("scipy.io", reason="scipy is not installed")
    path = tmp_path / "a.nc"
    with io_.netcdf_file(path, "w") as file:
        file.title = "made here"
        file.createDimension("time", None)
        file.createDimension("x", 10)
        file.createVariable("v", "i4", ("time", "x"))[:] = DATA
        file.createVariable("x", "f8", ("x",))[:] = DATA[0]
        file.createVariable("crs", "i4", ())
    read = NetCdf3File(watched(path.read_bytes()))
    found = by_name(read)
    with io_.netcdf_file(path, mmap=False) as file:
        assert found.keys() == file.variables.keys()
        for name, each in file.variables.items():
            assert found[name].shape == each.shape
    assert read.declared == len(found)
    assert found["v"].stored == DATA.nbytes
    assert read.groups() == {"": {"title": "made here"}}
    cut = NetCdf3File(watched(path.read_bytes()[:-20]))
    whys = {name: barrier(each) for name, each in by_name(cut).items()}
    assert [name for name, why in whys.items() if why is not None and why[0] == "damaged"] == ["v"]


@pytest.mark.parametrize("options", [{}, {"bigtiff": True}, {"byteorder": ">"}])
def test_tiff(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path, **options) as writer:
        writer.write(DATA.astype("u2"), subifds=2, metadata=None)
        writer.write(DATA[::2, ::2].astype("u2"), subfiletype=1)
        writer.write(DATA[::4, ::4].astype("u2"), subfiletype=1)
        writer.write(DATA.astype("f4"), metadata=None)
        writer.write(DATA.astype("f4"), metadata=None)
    with path.open("rb") as body:
        read = TiffFile(body)
        found = by_name(read)
        assert set(read.names()) <= found.keys()
        assert read.declared == len(found)
        with tifffile.TiffFile(path) as theirs:
            places = {page.offset for page in theirs.pages}
            places |= {at for page in theirs.pages for at in page.subifds or ()}
        assert set(read._places) == places


def test_a_page_of_tiff_with_more_tags_than_fit() -> None:
    body = b"II*\0\x08\0\0\0" + (1000).to_bytes(2, "little") + bytes(60)
    with pytest.raises(Exception, match=r"more than fit|tifffile cannot open"):
        TiffFile(io.BytesIO(body))


def test_fits(tmp_path: Path) -> None:
    fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    from refexplorer.formats.datafiles.fits import FitsFile

    path = tmp_path / "a.fits"
    varying = fits.Column("v", "PJ()", array=np.array([[1, 2], [3]], object))
    units = [
        fits.PrimaryHDU(),
        fits.ImageHDU(DATA, name="SCI"),
        fits.BinTableHDU.from_columns([fits.Column("a", "J", array=np.arange(3))], name="T"),
        fits.BinTableHDU.from_columns([varying], name="V"),
        fits.CompImageHDU(np.zeros((9, 9), ">i2"), name="PACKED"),
    ]
    fits.HDUList(units).writeto(path)
    with path.open("ab") as body:
        body.write(b"x" * 100)
    with path.open("rb") as body:
        found = by_name(FitsFile(body))
        end = path.stat().st_size
        assert {name: each.kind for name, each in found.items() if each.kind != "array"} == {
            "PRIMARY": "header", f"bytes {end - 100:,} to {end:,}": "gap"
        }  # fmt: skip
        assert found["SCI"].shape == DATA.shape
        assert {name for name, each in found.items() if each.barrier} == {"V", "PACKED"}


def test_grib() -> None:
    import eccodes

    from refexplorer.formats.datafiles.grib import GribFile

    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    message: bytes = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    found = by_name(GribFile(io.BytesIO(message + b"between" + message)))
    size = len(message)
    assert [(each.kind, each.stored) for each in found.values()] == [
        ("array", size), ("array", size), ("gap", 7)
    ]  # fmt: skip
