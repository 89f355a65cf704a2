"""Sets that are written by hand, of kinds of arrays that are seldom met, and mistakes in them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr

import refexplorer as rx
from refexplorer.checks.states import Rank
from tests.helpers.verifying import n_unread, n_with

Refs = dict[str, Any]
Change = Callable[[Refs], object]
netcdf_file = pytest.importorskip("scipy.io").netcdf_file

_ARRAY = {"zarr_format": 2, "compressor": None, "filters": None, "order": "C", "fill_value": None}
_ZLIB = {"id": "zlib", "level": 4}
_SHUFFLE = {"id": "shuffle", "elementsize": 4}
_SUM = {"id": "fletcher32"}
_PIPELINE = [_SHUFFLE, _ZLIB, _SUM]
_RECORD = [["a", "<i4"], ["b", "<f8"]]


def _write(file: h5py.File) -> None:
    chance = np.random.default_rng(0)
    values = chance.normal(size=(5, 7)).astype(">f4")
    file.create_dataset(
        "edges", data=values, chunks=(2, 3), shuffle=True, compression="gzip", fletcher32=True
    )
    for name in ("g/h/x", "g/i/x"):
        file.create_dataset(name, data=chance.normal(size=(4, 4)), chunks=(2, 2))
    file.create_dataset("flag", data=np.array([[True, False], [False, True]]), chunks=(1, 2))
    kinds = h5py.enum_dtype({"A": 0, "B": 1}, "i2")
    file.create_dataset("kind", data=np.array([0, 1, 1], "i2"), dtype=kinds, chunks=(2,))
    records = np.array([(1, 2.5), (3, 4.5), (5, 6)], [("a", "<i4"), ("b", "<f8")])
    file.create_dataset("record", data=records, chunks=(2,))
    file.create_dataset("scalar", data=np.float32(3))
    file.create_dataset("other", data=7)
    file.create_dataset("unlimited", data=np.arange(5.0), maxshape=(None,), chunks=(2,))
    holes = file.create_dataset("holes", (6, 4), "i4", chunks=(2, 2), fillvalue=-1)
    holes[:2, :2] = 1
    holes.attrs["_FillValue"] = np.int32(-1)
    file.create_dataset("never", (4,), "f4", chunks=(2,))
    fives = file.create_dataset("fives", (4,), "f4", chunks=(2,), fillvalue=5)
    fives.attrs["_FillValue"] = np.float32(5)
    file.create_dataset("lzf", data=np.arange(100).reshape(10, 10), chunks=(5, 5),
                        compression="lzf")  # fmt: skip
    file.create_dataset("cut", data=chance.normal(size=(6, 4, 5)).astype("<f4"))


def _of_dataset(path: Path, name: str, dataset: h5py.Dataset) -> Refs:
    """Return the references of one dataset; one that is contiguous is cut into three."""
    is_cut = name == "cut"
    dtype: Any = _RECORD if dataset.dtype.names else dataset.dtype.str
    chunks = dataset.chunks or ((2, 4, 5) if is_cut else dataset.shape)
    found = _ARRAY | {"shape": dataset.shape, "chunks": chunks, "dtype": dtype}
    found["fill_value"] = {"holes": -1, "flag": False, "fives": 5}.get(name)
    if name == "edges":
        found["filters"] = _PIPELINE
    if name == "lzf":
        found["compressor"] = {"id": "imagecodecs_lzf", "header": False}
    names = [f"{name}-{axis}" for axis in range(len(dataset.shape))]
    refs = {f"{name}/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": names})}
    refs[f"{name}/.zarray"] = json.dumps(found)
    if dataset.chunks:
        for place in range(dataset.id.get_num_chunks()):
            chunk = dataset.id.get_chunk_info(place)
            at = [start // n for start, n in zip(chunk.chunk_offset, chunks, strict=True)]
            key = f"{name}/{'.'.join(map(str, at))}"
            refs[key] = [str(path), chunk.byte_offset, chunk.size]  # type: ignore[assignment]
    else:
        start, size = dataset.id.get_offset(), int(np.prod(chunks)) * dataset.dtype.itemsize
        for number in range(3 if is_cut else 1):
            key = f"{name}/{number}{'.0.0' if is_cut else ''}"
            refs[key] = [str(path), start + number * size, size]  # type: ignore[assignment]
    return refs


@pytest.fixture(scope="module")
def hdf5(tmp_path_factory: pytest.TempPathFactory) -> Refs:
    path = tmp_path_factory.mktemp("by_hand") / "f.h5"
    refs: Refs = {".zgroup": '{"zarr_format": 2}'}
    with h5py.File(path, "w") as file:
        _write(file)
    with h5py.File(path) as file:

        def take(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                refs.update(_of_dataset(path, name, item))
            else:
                refs[f"{name}/.zgroup"] = refs[".zgroup"]

        file.visititems(take)
    return refs


@pytest.fixture(scope="module")
def netcdf3(tmp_path_factory: pytest.TempPathFactory) -> Refs:
    """Three record variables, interleaved, of which two are padded; texts, and a plain one."""
    path = tmp_path_factory.mktemp("by_hand") / "f.nc"
    with netcdf_file(path, "w") as file:
        for name, length in (("time", None), ("x", 3), ("n", 5), ("m", 2)):
            file.createDimension(name, length)
        wide = file.createVariable("wide", "f8", ("time", "x"))
        padded = file.createVariable("padded", "i2", ("time", "x"))
        unsigned = file.createVariable("unsigned", "b", ("time", "x"))
        unsigned._Unsigned = "true"
        file.createVariable("text", "c", ("m", "n"))[:] = np.array(
            [list("abcde"), list("fghij")], "S1"
        )
        plain = np.arange(6.0).reshape(2, 3)
        file.createVariable("plain", "f4", ("m", "x"))[:] = plain
        for step in range(4):
            wide[step] = np.array([1e100, step, 2.0])
            padded[step], unsigned[step] = [7, 7, step], [9, -9, step]
    data = path.read_bytes()
    size = 24 + 8 + 4
    start = len(data) - 4 * size
    refs: Refs = {".zgroup": '{"zarr_format": 2}'}
    kinds = {"wide": (">f8", 0, 24), "padded": (">i2", 24, 6), "unsigned": ("|i1", 32, 3)}
    for name, (dtype, at, length) in kinds.items():
        array = _ARRAY | {"shape": [4, 3], "chunks": [1, 3], "dtype": dtype}
        attributes = {"_ARRAY_DIMENSIONS": ["time", "x"]}
        refs[f"{name}/.zarray"] = json.dumps(array)
        more = {"_Unsigned": "true"} if name == "unsigned" else {}
        refs[f"{name}/.zattrs"] = json.dumps(attributes | more)
        for step in range(4):
            refs[f"{name}/{step}.0"] = [str(path), start + step * size + at, length]
    for name, shape, dtype, at in (
        ("text", [2, 5], "|S1", data.index(b"abcdefghij")),
        ("plain", [2, 3], ">f4", data.index(plain.astype(">f4").tobytes())),
    ):
        array = _ARRAY | {"shape": shape, "chunks": shape, "dtype": dtype}
        refs[f"{name}/.zarray"] = json.dumps(array)
        names = ["m", "n" if name == "text" else "x"]
        refs[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": names})
        refs[f"{name}/0.0"] = [str(path), at, 10 if name == "text" else 24]
    return refs


def stored(folder: Path, zarr_format: Any, **options: Any) -> Refs:
    """Return references to the files of a Zarr store of two arrays, a byte range for each."""
    group = zarr.open_group(str(folder), mode="w", zarr_format=zarr_format)
    for number, name in enumerate("xy"):
        array = group.create_array(name, shape=(5, 7), chunks=(2, 3), dtype="f4", **options)
        array[:] = np.arange(1.0, 36).reshape(5, 7) + number
    refs: Refs = {}
    for path in (each for each in folder.rglob("*") if each.is_file()):
        is_metadata = path.name.startswith((".z", "zarr.json"))
        value = path.read_text() if is_metadata else [str(path), 0, path.stat().st_size]
        refs[path.relative_to(folder).as_posix()] = value
    return refs


@pytest.mark.parametrize(
    ("zarr_format", "options", "prefix"),
    [(2, {}, ""), (2, {"order": "F"}, ""), (3, {}, "c/"), (3, {"shards": (4, 6)}, "c/")],
    ids=["v2", "v2 columns first", "v3", "v3 shards"],
)
def test_zarr_stores(
    zarr_format: Any, options: dict[str, Any], prefix: str, tmp_path: Path
) -> None:
    """Each chunk is a file; that of a shard begins with its first inner chunk."""
    refs = stored(tmp_path / "store", zarr_format, **options)
    found = verified(refs, "all")
    assert (found.findings, found.good, n_unread(found)) == ((), True, 0), str(found)
    key = prefix + ((prefix and "0/1") or "0.1")
    mine = refs | {f"x/{key}": refs[f"y/{key}"]}
    found = verified(mine)
    assert [(each.code, each.key) for each in found.findings] == [("other-array", f"x/{key}")]
    assert n_with(found, Rank.BAD) == 1
    mine = refs | {f"x/{key}": refs[f"x/{prefix}{'1/0' if prefix else '1.0'}"]}
    assert [(each.code, each.key) for each in verified(mine).findings] == [
        ("misplaced", f"x/{key}")
    ]
    if zarr_format == 2:
        mine = copy.deepcopy(refs)
        array("x", order="C" if options else "F")(mine)
        assert [each.code for each in verified(mine).findings] == ["order"]
    mine = {each: value for each, value in refs.items() if each != f"x/{key}"}
    found = verified(mine)
    assert (found.status, found.headline.text) == (2, "not known: 1 chunk was not compared")


def test_a_range_inside_a_shard(tmp_path: Path) -> None:
    """It is an inner chunk for a set of chunks as small, else a wrong range of the shard."""
    options: dict[str, Any] = {"shards": (4, 6), "compressors": None, "fill_value": 0}
    refs = stored(tmp_path / "store", 3, **options)
    assert verified(refs, "all").headline.text == "the same as its files"
    path, _, size = refs["x/c/0/0"]
    for cause, offset, length in ("length", 0, size - 4), ("offset", 24, 24), ("offset", 4, 90):
        mine = refs | {"x/c/0/0": [path, offset, length]}
        assert [each.code for each in verified(mine).findings] == [cause]
    inner: dict[str, Any] = {
        "x/.zarray": json.dumps(_ARRAY | {"shape": [4, 6], "chunks": [2, 3], "dtype": "<f4"})
    }
    inner |= {f"x/{n // 2}.{n % 2}": [path, 24 * n, 24] for n in range(4)}
    assert "other-array" not in {each.code for each in verified(inner).findings}
    inner["x/1.1"] = [path, 76, 24]
    assert "offset" in {each.code for each in verified(inner).findings}


def v3_codecs(refs: Refs, change: Callable[[list[Any]], object]) -> Refs:
    """Return the set with other codecs of `x`."""
    metadata = json.loads(refs["x/zarr.json"])
    change(metadata["codecs"])
    return refs | {"x/zarr.json": json.dumps(metadata)}


def test_settings_of_shards(tmp_path: Path) -> None:
    """Readers need the place of the index and the inner shape; none needs a level."""
    refs = stored(tmp_path / "store", 3, shards=(4, 6))
    assert verified(refs).headline.text == "the same as its files"
    changed: list[dict[str, Any]] = [{"index_location": "start"}, {"chunk_shape": [4, 3]}]
    for changes in changed:

        def change(codecs: list[Any], new: dict[str, Any] = changes) -> None:
            codecs[0]["configuration"].update(new)

        mine = v3_codecs(refs, change)
        assert [each.code for each in verified(mine).findings] == ["filters"]
    mine = v3_codecs(refs, lambda codecs: codecs[0]["configuration"].pop("index_location"))
    mine = v3_codecs(
        mine,
        lambda codecs: codecs[0]["configuration"]["codecs"][-1]["configuration"].update(level=9),
    )
    assert verified(mine).good


def test_a_transposed_zarr_array(tmp_path: Path) -> None:
    transpose = zarr.codecs.TransposeCodec(order=(1, 0))
    refs = stored(tmp_path / "store", 3, filters=[transpose])
    assert verified(refs).good
    mine = v3_codecs(refs, lambda codecs: codecs.pop(0))
    assert [each.code for each in verified(mine).findings] == ["filters"]


def test_texts_of_a_zarr_store(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "store", mode="w", zarr_format=3)
    made = group.create_array("x", shape=(4,), chunks=(2,), dtype="str")
    made[:] = np.array(["a", "bé", "", "xyz"], object)
    refs: Refs = {}
    for name in ("zarr.json", "x/zarr.json", "x/c/0", "x/c/1"):
        path = tmp_path / "store" / name
        refs[name] = path.read_text() if name.endswith("json") else [str(path)]
    found = verified(refs, "all")
    assert (found.findings, found.counts.values) == ((), 4), str(found)


def verified(refs: Refs, values: str = "none") -> rx.types.Report:
    return rx.open_references(refs).allowing("file:///").verify(values=values)


@pytest.mark.parametrize("kind", ["hdf5", "netcdf3"])
def test_sets_in_order(kind: str, request: pytest.FixtureRequest) -> None:
    found = verified(request.getfixturevalue(kind), "all")
    assert (found.findings, found.good, n_unread(found)) == ((), True, 0), str(found)
    assert found.counts.values > 40


def array(name: str, **changes: Any) -> Change:
    def change(refs: Refs) -> None:
        refs[f"{name}/.zarray"] = json.dumps(json.loads(refs[f"{name}/.zarray"]) | changes)

    return change


def attributes(name: str, **changes: Any) -> Change:
    def change(refs: Refs) -> None:
        found = json.loads(refs[f"{name}/.zattrs"]) | changes
        refs[f"{name}/.zattrs"] = json.dumps({k: v for k, v in found.items() if v is not None})

    return change


def moved(key: str, by: int, more: int = 0) -> Change:
    return lambda refs: refs.update({key: [refs[key][0], refs[key][1] + by, refs[key][2] + more]})


def swapped(one: str, other: str) -> Change:
    return lambda refs: refs.update({one: refs[other], other: refs[one]})


def copied(key: str, source: str) -> Change:
    return lambda refs: refs.update({key: refs[source]})


def dropped(*keys: str) -> Change:
    return lambda refs: [refs.pop(key) for key in keys]


HDF5 = {
    "byte order": (array("edges", dtype="<f4"), "byte-order", "edges/.zarray"),
    "an edge is lacking": (dropped("edges/2.0"), "no-reference", "edges/2.0"),
    "all edges are lacking": (
        dropped("edges/2.0", "edges/2.1", "edges/2.2"), "no-reference", "edges/2.0",
    ),
    "indices in the other order": (swapped("edges/0.1", "edges/1.0"), "misplaced", "edges/0.1"),
    "columns first": (array("edges", order="F"), "order", "edges/.zarray"),
    "no checksum": (array("edges", filters=[_SHUFFLE, _ZLIB]), "filters", "edges/.zarray"),
    "filters in another order": (
        array("edges", filters=[_ZLIB, _SHUFFLE, _SUM]), "filters", "edges/.zarray",
    ),
    "a shuffle of other elements": (
        array("edges", filters=[_SHUFFLE | {"elementsize": 2}, _ZLIB, _SUM]),
        "filters", "edges/.zarray",
    ),
    "a chunk of the other group": (copied("g/h/x/1.1", "g/i/x/1.1"), "other-array", "g/h/x/1.1"),
    "flags that are swapped": (swapped("flag/0.0", "flag/1.0"), "misplaced", "flag/0.0"),
    "an enumeration that is too wide": (array("kind", dtype="<i4"), "dtype", "kind/.zarray"),
    "a record of the other byte order": (
        array("record", dtype=[["a", ">i4"], ["b", ">f8"]]), "byte-order", "record/.zarray",
    ),
    "fields in another order": (
        array("record", dtype=[*reversed(_RECORD)]), "dtype", "record/.zarray",
    ),
    "fields of other names": (
        array("record", dtype=[["b", "<i4"], ["a", "<f8"]]), "dtype", "record/.zarray",
    ),
    "another scalar": (copied("scalar/0", "other/0"), "other-array", "scalar/0"),
    "a last chunk that is whole": (array("unlimited", shape=[6]), "shape", "unlimited/.zarray"),
    "a step too few": (array("unlimited", shape=[4]), "shape", "unlimited/.zarray"),
    "a hole that has a chunk": (copied("holes/1.1", "holes/0.0"), "misplaced", "holes/1.1"),
    "holes of another value": (array("holes", fill_value=0), "fill_value", "holes/.zarray"),
    "nothing but another value": (array("never", fill_value=9), "fill_value", "never/.zarray"),
    "nothing but no value": (array("fives", fill_value=None), "fill_value", "fives/.zarray"),
    "lzf with a header": (
        array("lzf", compressor={"id": "imagecodecs_lzf"}), "filters", "lzf/.zarray",
    ),
    "pieces that are swapped": (swapped("cut/0.0.0", "cut/1.0.0"), "misplaced", "cut/0.0.0"),
    "a piece between two": (moved("cut/1.0.0", 80), "offset", "cut/1.0.0"),
    "a piece that is too short": (moved("cut/2.0.0", 0, -4), "length", "cut/2.0.0"),
    "a piece that is lacking": (dropped("cut/1.0.0"), "no-reference", "cut/1.0.0"),
}  # fmt: skip
NETCDF3 = {
    "the next record": (copied("padded/1.0", "padded/2.0"), "misplaced", "padded/1.0"),
    "with the padding": (moved("padded/1.0", 0, 2), "length", "padded/1.0"),
    "another variable": (copied("padded/1.0", "wide/1.0"), "other-array", "padded/1.0"),
    "byte order": (array("padded", dtype="<i2"), "byte-order", "padded/.zarray"),
    "signed": (attributes("unsigned", _Unsigned=None), "_Unsigned", "unsigned/.zattrs"),
    "a type without a sign": (array("unsigned", dtype="|u1"), "dtype", "unsigned/.zarray"),
    "the second text": (moved("text/0.0", 5), "offset", "text/0.0"),
    "dimensions": (attributes("plain", _ARRAY_DIMENSIONS=["x", "m"]), "dimensions",
                   "plain/.zattrs"),
    "columns first": (array("plain", order="F"), "order", "plain/.zarray"),
    "records as if they were alone": (moved("wide/1.0", -12), "other-array", "wide/1.0"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "change", "code", "key"),
    [
        pytest.param(kind, *mistake, id=f"{kind}: {name}")
        for kind, mistakes in (("hdf5", HDF5), ("netcdf3", NETCDF3))
        for name, mistake in mistakes.items()
    ],
)
def test_mistakes(
    kind: str, change: Change, code: str, key: str, request: pytest.FixtureRequest
) -> None:
    refs = copy.deepcopy(request.getfixturevalue(kind))
    change(refs)
    found = verified(refs)
    path = key.rpartition("/")[0]
    (mine,) = [each for each in found.findings if (each.code, each.array) == (code, path)]
    assert key in (mine.key, *mine.keys)
    assert not found.good
    others = {each.array for each in found.findings} - {path}
    assert not others, str(found)
