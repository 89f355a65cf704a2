"""Sets of other files and in other forms, repaired."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.file_sets import netcdf3_set, tiff_set, zarr_set
from tests.helpers.kerchunk_sets import translated


def repaired(source: Any, folder: Path) -> rx.types.Repair:
    found = rx.repair(source, allow=[f"file://{folder}"], values="all")
    assert found.before.has_errors
    assert (found.good, found.left) == (True, ()), str(found)
    return found


def same(found: rx.types.Repair, right: dict[str, Any]) -> bool:
    """Say whether the repaired set has the references of another one."""
    changes = rx.diff(right, found.references).rows()
    return all(each.key.rpartition("/")[2].startswith((".z", "zarr.")) for each in changes)


@pytest.mark.parametrize("name", ["strips", "tiles", "deflated", "colours", "pages"])
def test_tiff(tmp_path: Path, name: str) -> None:
    right = tiff_set(tmp_path, name)
    wrong = copy.deepcopy(right)
    keys = [key for key in wrong if ".z" not in key]
    wrong[keys[0]], wrong[keys[-1]] = wrong[keys[-1]], wrong[keys[0]]
    wrong[keys[1]][1] += 3
    wrong[keys[2]][2] -= 1
    assert same(repaired(wrong, tmp_path), right)


def test_the_byte_order_of_a_tiff(tmp_path: Path) -> None:
    wrong = tiff_set(tmp_path, "big-endian")
    wrong[".zarray"] = wrong[".zarray"].replace(">u2", "<u2")
    found = repaired(wrong, tmp_path)
    assert json.loads(found.references.to_v0()[".zarray"])["dtype"] == ">u2"  # type: ignore[arg-type]


def test_netcdf3(tmp_path: Path) -> None:
    right = netcdf3_set(tmp_path)
    wrong = copy.deepcopy(right)
    refs = wrong["refs"]
    refs["v/5.0"], refs["v/6.0"] = refs["v/6.0"], refs["v/5.0"]
    refs["w/0.0"] = [refs["w/0.0"][0], refs["w/0.0"][1] + 4, refs["w/0.0"][2]]
    del refs["w/9.0"]
    attributes = json.loads(refs["v/.zattrs"])
    refs["v/.zattrs"] = json.dumps(attributes | {"scale_factor": 0.25})
    found = repaired(wrong, tmp_path)
    assert same(found, right)
    assert json.loads(found.references.to_v0()["v/.zattrs"])["scale_factor"] == 0.5  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_of_zarr(tmp_path: Path, version: Literal[2, 3]) -> None:
    right, keys = zarr_set(tmp_path, version)
    wrong = copy.deepcopy(right)
    wrong[keys[0]], wrong[keys[1]] = wrong[keys[1]], wrong[keys[0]]
    assert same(repaired(wrong, tmp_path), right)


@pytest.fixture
def plain(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """A file of twelve chunks without any codec."""
    path, values = tmp_path / "a.h5", np.arange(1, 121, dtype=">i4").reshape(12, 10)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, chunks=(1, 10))
    return path, values


def read(refs: rx.ReferenceSet, folder: Path) -> np.ndarray:
    return np.asarray(refs.allowing(str(folder)).to_xarray()["x"].values)


def v3_set(path: Path, **changes: Any) -> dict[str, Any]:
    """Return a set in Zarr v3 of such a file, its metadata also in the root."""
    array: dict[str, Any] = {
        "zarr_format": 3, "node_type": "array", "shape": [12, 10], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 10]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}], "fill_value": 0,
        "attributes": {}, "dimension_names": ["y", "z"],
    } | changes  # fmt: skip
    consolidated = {"kind": "inline", "must_understand": False, "metadata": {"x": array}}
    root = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    refs: dict[str, Any] = {
        "zarr.json": json.dumps(root | {"consolidated_metadata": consolidated}),
        "x/zarr.json": json.dumps(array),
    }
    for key, ref in translated(path)["refs"].items():
        if key.startswith("x/") and ".z" not in key:
            refs[f"x/c/{key[2:].replace('.', '/')}"] = ref
    return refs


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
@pytest.mark.parametrize(
    "changes",
    [
        {"data_type": "float32"},
        {"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]},
        {"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"},
                    {"name": "numcodecs.zlib", "configuration": {"level": 1}}]},
        {"attributes": {"scale_factor": 2.0, "kept": 1}},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 10]}}},
        {"shape": [13, 10]},
    ],
    ids=["dtype", "byte order", "codecs", "attribute", "chunk shape", "shape"],
)  # fmt: skip
def test_metadata_of_zarr_v3(
    plain: tuple[Path, np.ndarray], tmp_path: Path, changes: dict[str, Any]
) -> None:
    path, values = plain
    found = repaired(v3_set(path, **changes), tmp_path)
    texts = found.references.to_v0()
    array, root = (json.loads(texts[key]) for key in ("x/zarr.json", "zarr.json"))  # type: ignore[arg-type]
    assert root["consolidated_metadata"]["metadata"]["x"] == array
    if "kept" in changes.get("attributes", {}):
        assert array["attributes"] == {"kept": 1}
    np.testing.assert_array_equal(read(found.references, tmp_path), values)


def test_consolidated_metadata_of_zarr_v2(plain: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    path, values = plain
    refs = translated(path)["refs"]
    array = json.loads(refs["x/.zarray"]) | {"dtype": "<i4"}
    refs["x/.zarray"] = json.dumps(array)
    metadata = {key: json.loads(refs[key]) for key in ("x/.zarray", "x/.zattrs", ".zgroup")}
    refs[".zmetadata"] = json.dumps({"zarr_consolidated_format": 1, "metadata": metadata})
    found = repaired(refs, tmp_path)
    texts = found.references.to_v0()
    assert json.loads(texts[".zmetadata"])["metadata"]["x/.zarray"]["dtype"] == ">i4"  # type: ignore[arg-type]
    np.testing.assert_array_equal(read(found.references, tmp_path), values)


def test_generated_keys(plain: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    """A gen item that counts from the wrong byte; what is written as V1 is looked for anew."""
    path, values = plain
    right = translated(path)["refs"]
    first = right["x/0.0"][1]
    gen = {
        "key": "x/{{i}}.0", "url": "{{u}}", "offset": f"{{{{i * 40 + {first + 40}}}}}",
        "length": "40", "dimensions": {"i": {"stop": 12}},
    }  # fmt: skip
    kept = {key: ref for key, ref in right.items() if not key.startswith("x/") or ".z" in key}
    document = {"version": 1, "templates": {"u": str(path)}, "gen": [gen], "refs": kept}
    found = repaired(document, tmp_path)
    assert same(found, right)
    found.write(tmp_path / "new.json", form="V1")
    written = json.loads((tmp_path / "new.json").read_text())
    assert len(written["gen"]) == 1
    np.testing.assert_array_equal(read(rx.open_references(tmp_path / "new.json"), tmp_path), values)


def test_one_generated_key_of_many(plain: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    """The file has its chunks in an order of its own; the item made one of them wrong."""
    path, values = plain
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", values.shape, values.dtype, chunks=(1, 10))
        for row in (*range(5), 11, *range(6, 11), 5):
            data[row] = values[row]
    right = translated(path)["refs"]
    first = right["x/0.0"][1]
    gen = {
        "key": "x/{{i}}.0", "url": str(path), "offset": f"{{{{i * 40 + {first}}}}}",
        "length": "40", "dimensions": {"i": {"stop": 12}},
    }  # fmt: skip
    kept = {key: ref for key, ref in right.items() if not key.startswith("x/") or ".z" in key}
    found = repaired({"version": 1, "gen": [gen], "refs": kept}, tmp_path)
    assert found.difference.total == 2
    assert same(found, right)
    np.testing.assert_array_equal(read(found.references, tmp_path), values)


def test_a_parquet_store(plain: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    path, values = plain
    refs = translated(path)["refs"]
    refs["x/3.0"], refs["x/4.0"] = refs["x/4.0"], refs["x/3.0"]
    rx.open_references(refs).to_parquet(tmp_path / "set.parq")
    found = rx.repair(tmp_path / "set.parq", tmp_path / "new.parq", allow=[str(tmp_path)])
    assert (found.good, found.difference.total) == (True, 2)
    np.testing.assert_array_equal(read(rx.open_references(tmp_path / "new.parq"), tmp_path), values)


def test_files_that_are_stacked_along_a_dimension_without_a_name(tmp_path: Path) -> None:
    refs: dict[str, Any] = {}
    for number in range(3):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=np.full((4, 6), number + 1, "i4"), chunks=(2, 6))
        for key, ref in translated(path)["refs"].items():
            if key.startswith("x/") and ".z" not in key:
                refs[f"x/{number}.{key[2:]}"] = ref
    array = {
        "zarr_format": 2, "shape": [3, 4, 6], "chunks": [1, 2, 6], "dtype": "<i4",
        "compressor": None, "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    refs["x/.zarray"] = json.dumps(array)
    wrong = copy.deepcopy(refs)
    for key in ("x/1.0.0", "x/1.1.0"):
        wrong[key][1] += 7
    assert same(repaired(wrong, tmp_path), refs)


def test_a_filter_that_no_codec_decodes_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(100), chunks=(10,), scaleoffset=0)
        file["y"] = np.arange(3.0)
    with h5py.File(path) as file:
        chunks = [file["x"].id.get_chunk_info(n) for n in range(10)]
    array = {
        "zarr_format": 2, "shape": [100], "chunks": [10], "dtype": "<i8", "compressor": None,
        "filters": None, "order": "C", "fill_value": 0,
    }  # fmt: skip
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    refs |= {f"x/{c.chunk_offset[0] // 10}": [str(path), c.byte_offset, c.size] for c in chunks}
    found = rx.repair(refs, allow=[str(tmp_path)])
    assert [each.code for each in found.left] == ["filters"]
    assert any("no installed codec decodes the filter scaleoffset" in n
               for n in found.notes)  # fmt: skip
    assert found.difference.total == 0
