"""A sound file of every form that opens, for the fuzzer to damage."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

VALUES = np.arange(600, dtype="<i4").reshape(20, 30)
REALS = VALUES.astype("<f8") / 7
ARRAY = {
    "zarr_format": 2, "shape": [4, 6], "chunks": [2, 6], "dtype": "<i4", "compressor": None,
    "filters": None, "order": "C", "fill_value": 0,
}  # fmt: skip
GROUP = {"zarr_format": 2}


def hdf5(folder: Path) -> str:
    import h5py

    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("g/x", data=VALUES, chunks=(4, 5), compression="gzip", shuffle=True)
        file.create_dataset("r", data=REALS, chunks=(10, 30), maxshape=(None, 30))
        file["y"] = VALUES[0]
        file["y"].make_scale("y")
        file["g/x"].dims[1].attach_scale(file["y"])
        file["g/x"].attrs["units"] = "K"
    return "a.h5"


def netcdf4(folder: Path) -> str:
    import netCDF4

    with netCDF4.Dataset(folder / "a.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 30)
        file.createVariable("v", "i4", ("t", "x"), zlib=True, fill_value=-1)[:] = VALUES
        file.createVariable("t", "f8", ("t",))[:] = np.arange(20)
    return "a.nc"


def _netcdf3(folder: Path, form: Any) -> str:
    import netCDF4

    with netCDF4.Dataset(folder / "a.nc", "w", format=form) as file:
        file.createDimension("t", None)
        file.createDimension("x", 6)
        file.createVariable("a", "i4", ("x",))[:] = VALUES[0, :6]
        file.createVariable("r", "f4", ("t", "x"))[:] = VALUES[:8, :6]
        file.createVariable("h", "i2", ("t",))[:] = VALUES[0, :8]
        file.setncattr("title", "made here")
    return "a.nc"


def netcdf3(folder: Path) -> str:
    return _netcdf3(folder, "NETCDF3_CLASSIC")


def netcdf3_64(folder: Path) -> str:
    return _netcdf3(folder, "NETCDF3_64BIT_OFFSET")


def _tiff(folder: Path, **options: Any) -> str:
    import tifffile

    tifffile.imwrite(folder / "a.tif", VALUES.astype("u2"), **options)
    return "a.tif"


def tiff_tiles(folder: Path) -> str:
    return _tiff(folder, tile=(16, 16), compression="zlib")


def tiff_strips(folder: Path) -> str:
    return _tiff(folder, rowsperstrip=4)


def tiff_big(folder: Path) -> str:
    return _tiff(folder, bigtiff=True, tile=(16, 16))


def tiff_stack(folder: Path) -> str:
    import tifffile

    stack = np.arange(3 * 8 * 8, dtype="u1").reshape(3, 8, 8)
    tifffile.imwrite(folder / "a.tif", stack, photometric="minisblack")
    return "a.tif"


def fits(folder: Path) -> str:
    from astropy.io import fits

    units = [fits.PrimaryHDU(), fits.ImageHDU(VALUES.astype(">i4"), name="A")]
    units.append(fits.ImageHDU(REALS.astype(">f4"), name="B"))
    fits.HDUList(units).writeto(folder / "a.fits")
    return "a.fits"


def grib(folder: Path) -> str:
    import eccodes

    handle = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    (folder / "a.grib2").write_bytes(eccodes.codes_get_message(handle) * 2)
    eccodes.codes_release(handle)
    return "a.grib2"


def dmrpp(folder: Path) -> str:
    (folder / "d.bin").write_bytes(VALUES[:4, :6].tobytes())
    (folder / "a.dmrpp").write_text(
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
        '<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" '
        'xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dapVersion="4.0" name="a.nc" '
        'dmrpp:href="d.bin">\n<Dimension name="y" size="4"/><Dimension name="x" size="6"/>\n'
        '<Int32 name="v"><Dim name="/y"/><Dim name="/x"/><Attribute name="units" type="String">'
        "<Value>K</Value></Attribute>"
        '<dmrpp:chunks byteOrder="LE" fillValue="0"><dmrpp:chunkDimensionSizes>2 6'
        '</dmrpp:chunkDimensionSizes><dmrpp:chunk offset="0" nBytes="48" '
        'chunkPositionInArray="[0,0]"/><dmrpp:chunk offset="48" nBytes="48" '
        'chunkPositionInArray="[2,0]"/></dmrpp:chunks></Int32></Dataset>'
    )
    return "a.dmrpp"


def _refs() -> dict[str, Any]:
    return {
        ".zgroup": json.dumps(GROUP),
        "x/.zarray": json.dumps(ARRAY),
        "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["a", "b"], "scale_factor": 0.1}',
        "x/0.0": ["d.bin", 0, 48],
        "x/1.0": ["d.bin", 48, 48],
        "y/.zarray": json.dumps({**ARRAY, "shape": [4], "chunks": [2]}),
        "y/0": "base64:AAAAAAEAAAA=",
        "y/1": "12345678",
    }


def json_v0(folder: Path) -> str:
    (folder / "d.bin").write_bytes(VALUES[:4, :6].tobytes())
    (folder / "a.json").write_text(json.dumps(_refs(), indent=1))
    return "a.json"


def json_v1(folder: Path) -> str:
    (folder / "d.bin").write_bytes(VALUES[:4, :6].tobytes())
    refs = {key: value for key, value in _refs().items() if not key.startswith("x/0")}
    dimensions = {"i": {"stop": 1}, "j": [0]}
    item = {
        "key": "x/{{i}}.{{j}}", "url": "{{u}}.bin", "offset": "{{i * 48}}", "length": "48",
        "dimensions": dimensions,
    }  # fmt: skip
    document = {"version": 1, "templates": {"u": "d"}, "gen": [item], "refs": refs}
    (folder / "a.json").write_text(json.dumps(document))
    return "a.json"


def json_packed(folder: Path) -> str:
    json_v0(folder)
    (folder / "a.json.gz").write_bytes(gzip.compress((folder / "a.json").read_bytes(), mtime=0))
    return "a.json.gz"


def json_zstd(folder: Path) -> str:
    import zstandard

    json_v0(folder)
    (folder / "a.json.zst").write_bytes(zstandard.compress((folder / "a.json").read_bytes()))
    return "a.json.zst"


def parquet(folder: Path) -> str:
    import refexplorer as rx

    json_v0(folder)
    rx.open_references(folder / "a.json").to_parquet(folder / "a.parq", record_size=2)
    return "a.parq"


def stac(folder: Path) -> str:
    (folder / "d.bin").write_bytes(VALUES[:4, :6].tobytes())
    array = {"kerchunk:zarray": ARRAY, "kerchunk:value": {"0.0": ["d.bin", 0, 48]}}
    inside = {"kerchunk:zgroup": GROUP, "cube:variables": {"x": array}}
    item = {"stac_version": "1.0.0", "type": "Feature", "id": "a", "properties": inside}
    (folder / "a.json").write_text(json.dumps(item))
    return "a.json"


def zipped(folder: Path) -> str:
    with zipfile.ZipFile(folder / "a.zip", "w") as file:
        for key, value in _refs().items():
            if isinstance(value, str):
                file.writestr(key, value)
    return "a.zip"


def _zarr(folder: Path, version: Any, **options: Any) -> str:
    import zarr

    group = zarr.open_group(str(folder / "a.zarr"), mode="w", zarr_format=version)
    array: Any = group.create_array("v", shape=(20, 30), dtype="i4", **options)
    array[:] = VALUES
    if version == 2:
        zarr.consolidate_metadata(str(folder / "a.zarr"))
    return "a.zarr"


def zarr_2(folder: Path) -> str:
    return _zarr(folder, 2, chunks=(10, 30))


def zarr_3(folder: Path) -> str:
    return _zarr(folder, 3, chunks=(10, 30))


def zarr_shards(folder: Path) -> str:
    return _zarr(folder, 3, chunks=(5, 10), shards=(10, 30))


def icechunk(folder: Path) -> str:
    import icechunk

    storage: Any = icechunk.local_filesystem_storage(str(folder / "a.icechunk"))
    session = icechunk.Repository.create(storage).writable_session("main")
    import zarr

    array: Any = zarr.create_array(
        session.store, name="v", shape=(20, 30), dtype="i4", chunks=(10, 30)
    )
    array[:] = VALUES
    session.commit("made")
    return "a.icechunk"


SEEDS: dict[str, Callable[[Path], str]] = {
    made.__name__: made
    for made in (
        hdf5, netcdf4, netcdf3, netcdf3_64, tiff_tiles, tiff_strips, tiff_big, tiff_stack, fits,
        grib, dmrpp, json_v0, json_v1, json_packed, json_zstd, parquet, stac, zipped,
        zarr_2, zarr_3, zarr_shards, icechunk,
    )
}  # fmt: skip
"""By name, what writes one into a folder, and returns the name to open there."""
