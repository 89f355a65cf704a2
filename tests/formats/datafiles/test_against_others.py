"""Where references of our own differ from those of kerchunk and VirtualiZarr, and why.

Each row of the tables is a difference that is meant; any other is a failure.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile

import refexplorer as rx
from tests.helpers.kerchunk_sets import translated
from tests.helpers.loops import without_loop
from tests.helpers.verifying import virtualised

pytestmark = pytest.mark.child
DATA = np.arange(48, dtype="<i4").reshape(6, 8)
CHUNKS = {"chunks": (3, 4)}
Writer = Callable[[h5py.File], object]


def _plain(**options: Any) -> Writer:
    return lambda file: file.create_dataset("x", data=DATA, **CHUNKS, **options)


def _unwritten(fill: int | None) -> Writer:
    def write(file: h5py.File) -> None:
        file.create_dataset("x", (6, 8), "i4", fillvalue=fill, **CHUNKS)[:3] = 1

    return write


def _declared(file: h5py.File) -> None:
    file.create_dataset("x", data=DATA, fillvalue=-1, **CHUNKS).attrs["_FillValue"] = np.int32(-1)


def _compact(file: h5py.File) -> None:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    made = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, plist)
    h5py.Dataset(made)[...] = [1, 2, 3, 4]


def _skipping(starts: tuple[int, ...]) -> Writer:
    def write(file: h5py.File) -> None:
        values = np.arange(24, dtype="<i4")
        made = file.create_dataset("x", data=values, chunks=(8,), compression=1)
        for start in starts:
            made.id.write_direct_chunk((start,), values[start : start + 8].tobytes(), 1)

    return write


def _scales(file: h5py.File) -> None:
    file["g/y"], file["g/x"] = np.arange(6.0), DATA
    file["g/y"].make_scale("y")
    file["g/x"].dims[0].attach_scale(file["g/y"])


def _last_unlimited(file: h5py.File) -> None:
    file.create_dataset("x", data=DATA, maxshape=(6, None), **CHUNKS)


def _attributes(file: h5py.File) -> None:
    file["x"] = DATA
    attributes = {"a": np.int16(3), "b": "é", "c": np.array([1.5, 2]), "d": np.float32(0.1)}
    file["x"].attrs.update(attributes | {"e": [np.bytes_(b"t")]})
    file.attrs["title"] = "made here"


def _record(file: h5py.File) -> None:
    file["x"] = np.zeros(3, [("a", "<i4"), ("b", ">f8")])


HDF5: dict[str, Writer] = {
    "contiguous": lambda file: file.create_dataset("x", data=DATA),
    "chunks": _plain(),
    "zlib": _plain(compression="gzip"),
    "shuffle": _plain(compression="gzip", shuffle=True),
    "fletcher32": _plain(fletcher32=True),
    "lzf": _plain(compression="lzf"),
    "szip": _plain(compression="szip"),
    "scale-offset": _plain(scaleoffset=0),
    "big endian": lambda file: file.create_dataset("x", data=DATA.astype(">f8"), **CHUNKS),
    "scalar": lambda file: file.create_dataset("x", data=np.float64(3)),
    "fill declared": _declared,
    "zeros not written": _unwritten(None),
    "fives not written": _unwritten(5),
    "compact": _compact,
    "scalar text": lambda file: file.create_dataset("x", data="a text"),
    "texts": lambda file: file.create_dataset("x", data=["é", "bb"], dtype=h5py.string_dtype()),
    "texts of one length": lambda file: file.create_dataset("x", data=np.array([b"a", b"bb"])),
    "bool": lambda file: file.create_dataset("x", data=np.array([True, False])),
    "record": _record,
    "some skip filters": _skipping((16,)),
    "all skip filters": _skipping((0, 8, 16)),
    "dimensions in a group": _scales,
    "last dimension unlimited": _last_unlimited,
    "attributes": _attributes,
}
LACKS = "lacks it"
FAILS = "fails"
SAME_FILL = {"fill declared", "texts", "scalar text"}
"""Elsewhere ours is null, as the file declares no missing value: 0 of others masks zeros."""
NOT_READ = "kerchunk leaves it out, with a traceback in its log"
NOT_BY_ZARR_3 = "VirtualiZarr has no such codec for Zarr 3, and refuses the file"
KERCHUNK: dict[str, dict[str, str]] = {
    "fletcher32": {LACKS: NOT_READ},
    "lzf": {LACKS: NOT_READ},
    "szip": {LACKS: NOT_READ},
    "scale-offset": {LACKS: NOT_READ},
    "record": {LACKS: NOT_READ},
    "fives not written": {"inline": "chunks of the fill value, which is not masked then"},
    "compact": {"inline": "kerchunk has no chunk, and it reads as zeros"},
    "scalar text": {"inline": "kerchunk has no chunk, and it reads as an empty text"},
    "dimensions in a group": {"dimensions": "kerchunk names them g/y; netCDF4 says y"},
    "last dimension unlimited": {
        "ranges": "kerchunk takes the places that HDF5 gives wrong: its values are others"
    },
}
VIRTUALIZARR: dict[str, dict[str, str]] = {
    "lzf": {FAILS: NOT_BY_ZARR_3},
    "szip": {FAILS: NOT_BY_ZARR_3},
    "scale-offset": {FAILS: NOT_BY_ZARR_3},
    "scalar": {"ranges": "VirtualiZarr keeps scalars under another key"},
    "fives not written": {"inline": "chunks of the fill value, which is not masked then"},
    "compact": {"inline": "VirtualiZarr has no chunk, and it reads as zeros"},
    "scalar text": {FAILS: "VirtualiZarr cannot write its fill value"},
    "texts": {FAILS: "VirtualiZarr cannot write its fill value"},
    "record": {"dtype": "VirtualiZarr writes another form of it"},
    "some skip filters": {
        "inline": "encoded once more with the filters of the others",
        "ranges": "VirtualiZarr's chunk cannot be decoded",
    },
    "all skip filters": {"filters": "VirtualiZarr's chunks cannot be decoded"},
    "dimensions in a group": {LACKS: "VirtualiZarr opens one group at a time"},
    "last dimension unlimited": {FAILS: "VirtualiZarr meets the places that HDF5 gives wrong"},
    "attributes": {FAILS: "VirtualiZarr writes no JSON of lists"},
}
"""By the name of a file: what differs, and why."""
TOOLS = {"kerchunk": ("0.2.10", KERCHUNK), "virtualizarr": ("2.5.1", VIRTUALIZARR)}
"""Tables, and the version that they are of."""


def described(refs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what references say of the array ``x``, by words that the tables use."""
    plain = {
        key: json.loads(value) if key.rpartition("/")[2].startswith(".z") else value
        for key, value in refs.items()
    }
    (name,) = (key.removesuffix("/.zarray") for key in plain if key.endswith("x/.zarray"))
    array, attributes = plain[f"{name}/.zarray"], plain.get(f"{name}/.zattrs", {})
    filters = [*(array["filters"] or ()), *([array["compressor"]] if array["compressor"] else ())]
    return {
        "shape": array["shape"],
        "chunk shape": array["chunks"],
        "dtype": array["dtype"],
        "fill": attributes.get("_FillValue", array["fill_value"]),
        "filters": [
            {key: value for key, value in each.items() if key != "level"} for each in filters
        ],
        "dimensions": attributes.get("_ARRAY_DIMENSIONS"),
        "attributes": {key: value for key, value in attributes.items() if key[:1] != "_"},
        "title": plain.get(".zattrs", {}).get("title"),
        "ranges": {
            key: value[1:]
            for key, value in plain.items()
            if key.startswith(f"{name}/") and isinstance(value, list)
        },
        "inline": sorted(
            key
            for key, value in plain.items()
            if key.startswith(f"{name}/") and isinstance(value, str)
        ),
    }


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> set[str]:
    if not any(key.endswith("x/.zarray") for key in theirs):
        return {LACKS}
    mine, other = described(ours), described(theirs)
    return {word for word in mine if mine[word] != other[word]}


def made_by(tool: str, path: Path) -> Mapping[str, Any] | None:
    """Return the references of another package; None if it fails."""
    if tool == "kerchunk":
        with warnings.catch_warnings(action="ignore"):
            refs: Mapping[str, Any] = translated(path)["refs"]
        return refs
    try:
        document: Any = json.loads(virtualised([path], path.with_suffix(".json")).read_text())
    except Exception:  # each package has errors of its own
        return None
    found: Mapping[str, Any] = document["refs"]
    return found


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", HDF5)
def test_hdf5(name: str, tool: str, tmp_path: Path) -> None:
    known, table = TOOLS[tool]
    pytest.importorskip(tool)
    if version(tool) != known:
        pytest.skip(f"the table is of {tool} {known}")
    path = tmp_path / "a.h5"
    libver: Any = "latest" if name == "last dimension unlimited" else "earliest"
    with h5py.File(path, "w", libver=libver) as file:
        HDF5[name](file)
    refs = rx.open_references(path)
    assert not refs.source.left_out
    theirs = made_by(tool, path)
    found = {FAILS} if theirs is None else differences(refs.to_v0(), theirs)
    expected = set(table.get(name, {}))
    if name not in SAME_FILL and not expected & {FAILS, LACKS}:
        expected.add("fill")
    assert found == expected
    group: Any = refs.to_zarr()
    with h5py.File(path) as file:
        path_of_it = "g/x" if name == "dimensions in a group" else "x"
        values: Any = file[path_of_it]
        is_text = values.dtype.hasobject
        right = values.asstr()[...] if is_text else values[...]
        mine = np.asarray(group[path_of_it][...])
        assert np.array_equal(mine.astype(object) if is_text else mine, right)


@pytest.mark.parametrize("version_of", [1, 2])
def test_netcdf3_as_kerchunk(version_of: int, tmp_path: Path) -> None:
    io: Any = pytest.importorskip("scipy.io", reason="scipy is not installed")
    netcdf3: Any = pytest.importorskip("kerchunk.netCDF3")
    path = tmp_path / "a.nc"
    with io.netcdf_file(path, "w", version=version_of) as file:
        file.title = "made here"
        file.createDimension("time", None)
        file.createDimension("x", 8)
        file.createVariable("v", "i4", ("time", "x"))[:] = DATA
        file.createVariable("second", "i2", ("time",))[:] = DATA[:, 0]
        made = file.createVariable("x", "f8", ("x",))
        made[:] = DATA[0]
        made.units = "m"
    theirs = without_loop(netcdf3.NetCDF3ToZarr(str(path), inline_threshold=0).translate)["refs"]
    ours = rx.open_references(path).to_v0()
    plain = {key: value for key, value in ours.items() if not isinstance(value, str)}
    other = {key: list(value) for key, value in theirs.items() if isinstance(value, list | tuple)}
    assert plain == other


TIFF: dict[str, dict[str, Any]] = {
    "tiles": {"tile": (16, 16)},
    "deflated": {"tile": (16, 16), "compression": "zlib"},
    "predictor": {"tile": (16, 16), "compression": "zlib", "predictor": 2},
    "lzw": {"rowsperstrip": 8, "compression": "lzw", "predictor": 2},
    "big endian": {"tile": (16, 16), "byteorder": ">"},
    "bands": {"tile": (16, 16), "planarconfig": "separate", "photometric": "minisblack"},
    "bigtiff": {"bigtiff": True, "rowsperstrip": 8},
}


@pytest.mark.parametrize("name", TIFF)
def test_tiff_as_tifffile(name: str, tmp_path: Path) -> None:
    """The fill value alone differs: null, unless GDAL's tag names one."""
    path, written = tmp_path / "a.tif", io.StringIO()
    shape = (3, 32, 48) if name == "bands" else (32, 48)
    values = np.arange(np.prod(shape)).astype("u2").reshape(shape)
    tifffile.imwrite(path, values, metadata=None, **TIFF[name])
    with tifffile.TiffFile(path) as file, file.aszarr() as store:
        store.write_fsspec(written, str(tmp_path), version=0)
    theirs: Any = json.loads(written.getvalue())
    ours: Any = rx.open_references(path).to_v0()

    def array(refs: Mapping[str, Any]) -> dict[str, Any]:
        found = json.loads(refs[".zarray"])
        used = [*(found["filters"] or ()), *filter(None, [found["compressor"]])]
        kept: dict[str, Any] = {key: found[key] for key in ("shape", "chunks", "dtype", "order")}
        attributes: dict[str, Any] = json.loads(refs[".zattrs"])
        return kept | {"filters": used} | attributes

    assert array(ours) == array(theirs)
    ranges = {key: value[1:] for key, value in ours.items() if isinstance(value, list)}
    assert ranges == {key: value[1:] for key, value in theirs.items() if isinstance(value, list)}
    assert json.loads(ours[".zarray"])["fill_value"] is None


def test_verify_finds_what_kerchunk_has_from_hdf5(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        _last_unlimited(file)
    refs = rx.open_references(translated(path))
    compared = refs.verify(values="all")
    assert not compared.good, str(compared)
    assert rx.open_references(path).verify(values="all").good
