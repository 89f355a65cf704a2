from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
import zarr

import refexplorer as rx
from refexplorer.core.errors import AccessError, DecodeError, FetchError
from tests.helpers.servers import RangeServer
from tests.helpers.sets import DEMO, ZARRAY, raw_set, x_of


def test_the_keys_as_files() -> None:
    view = rx.open_references(DEMO / "sst.v0.json").filesystem()
    assert "sst" in view.ls("", detail=False)
    assert "sst/0.0.1" in view.ls("/sst/", detail=False)
    assert view.isdir("sst")
    assert view.isfile("sst/.zarray")
    assert not view.exists("sst/nothing")
    assert json.loads(view.cat_file("sst/.zarray"))["dtype"] == "<i2"
    whole = view.cat_file("sst/0.0.1")
    assert len(whole) == view.info("sst/0.0.1")["size"]
    assert view.cat_file("sst/0.0.1", 3, 9) == whole[3:9]
    assert view.cat_file("sst/0.0.1", -4) == whole[-4:]
    assert view.cat_file("sst/0.0.1", -9, -4) == whole[-9:-4]
    assert view.cat_file("sst/0.0.1", -4, -9) == view.cat_file("time/0", -4, -9) == b""
    assert view.cat_file("time/0", -(10**6)) == view.cat_file("time/0")
    with view.open("sst/0.0.1") as file:
        assert file.read() == whole
    with pytest.raises(FileNotFoundError):
        view.cat_file("sst/nothing")
    with pytest.raises(FileNotFoundError):
        view.ls("nothing")
    with pytest.raises(OSError, match="read-only"):
        view.open("sst/0.0.1", "wb")


def test_a_level_of_a_trillion_keys_is_not_listed_to_open_a_file() -> None:
    dimensions = {"i": {"stop": 10**6}, "j": {"stop": 10**6}}
    gen = {"key": "v/{{i}}.{{j}}", "url": "http://h", "dimensions": dimensions}
    view = rx.open_references({"version": 1, "gen": [gen], "refs": {"a": "text"}}).filesystem()
    assert view.cat_file("a") == b"text"
    assert view.isdir("v")
    assert view.info("v/7.8")["size"] is None


@pytest.mark.parametrize("name", ["sst.v0.json", "sst.v1.json", "sst.parq"])
def test_every_form_gives_the_values_of_the_files(name: str) -> None:
    refs = rx.open_references(DEMO / name)
    files = [xarray.open_dataset(path, engine="h5netcdf") for path in sorted(DEMO.glob("*.nc"))]
    expected = np.concatenate([each["sst"].values for each in files])
    with refs.to_xarray(coordinates=True) as dataset:
        np.testing.assert_array_equal(dataset["sst"].values, expected)
        assert dataset["time"].dtype.kind == "M"
    for each in files:
        each.close()


def test_opening_makes_no_request(server: RangeServer) -> None:
    refs = rx.open_references(raw_set([f"{server.url}/f", 0, 4]))
    group = refs.allowing(server.url).to_zarr()
    with refs.allowing(server.url).to_xarray(coordinates=False) as dataset:
        assert repr(dataset)
    assert isinstance(group, zarr.Group)
    assert repr(group.tree())
    assert server.requests == []


def test_a_chunk_without_a_reference_is_the_fill_value(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(np.arange(2, dtype="<i2").tobytes())
    refs = rx.open_references(raw_set([f"{tmp_path}/f"], None, "base64:BwAIAA=="))
    array = x_of(refs, str(tmp_path))
    assert list(array[:]) == [0, 1, -1, -1, 7]


def test_a_chunk_that_may_not_be_read_is_no_fill_value(tmp_path: Path) -> None:
    refs = rx.open_references(raw_set([f"{tmp_path}/f"]))
    with pytest.raises(AccessError):
        x_of(refs)[:2]
    with (
        refs.to_xarray(coordinates=False) as dataset,
        pytest.raises(AccessError),
    ):
        dataset["x"].load()


def test_a_chunk_that_cannot_be_read_is_no_fill_value(tmp_path: Path) -> None:
    refs = rx.open_references(raw_set([f"{tmp_path}/missing"], [f"{tmp_path}/short", 0, 4]))
    (tmp_path / "short").write_bytes(b"123")
    array = x_of(refs, str(tmp_path))
    with pytest.raises(FetchError, match="no such file"):
        array[:2]
    with pytest.raises(FetchError, match="3 of 4 bytes"):
        array[2:4]


def test_a_template_that_fails_late_is_no_fill_value() -> None:
    dimensions = {"i": {"stop": 10**6}}
    gen = {"key": "x/{{i}}", "url": "{{1 // (i - 70007)}}", "dimensions": dimensions}
    refs = rx.open_references({"version": 1, "gen": [gen], "refs": raw_set(shape=[2 * 10**6])})
    with pytest.raises(FetchError, match="The reference of x/70007 cannot be used"):
        x_of(refs, "/")[140014:140016]


def test_arrays_that_xarray_cannot_place_are_named() -> None:
    refs = rx.open_references(raw_set() | {"x/.zattrs": "{}"})
    with pytest.raises(DecodeError, match="x has no valid _ARRAY_DIMENSIONS"):
        refs.to_xarray()


def test_pickle_is_never_run() -> None:
    for metadata in ({"compressor": {"id": "pickle"}}, {"filters": [{"id": "pickle"}]}):
        refs = rx.open_references(raw_set("base64:gASVAAAA", **metadata))
        with pytest.raises(DecodeError, match="pickle"):
            x_of(refs)[:]


@pytest.mark.parametrize("form", [2, 3])
def test_stores_that_zarr_wrote(tmp_path: Path, form: int) -> None:
    root = zarr.open_group(tmp_path / "store", mode="w", zarr_format=3 if form == 3 else 2)
    values = np.arange(35, dtype="f4").reshape(5, 7)
    root.create_array("a/b", shape=(5, 7), chunks=(2, 3), dtype="f4")[...] = values
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    keys = {str(path.relative_to(tmp_path / "store")): path for path in files}
    metadata = (".zarray", ".zgroup", ".zattrs", "zarr.json")
    refs = rx.open_references(
        {
            key: path.read_text() if key.endswith(metadata) else [str(path)]
            for key, path in keys.items()
        }
    )
    group: Any = refs.allowing(str(tmp_path)).to_zarr()
    np.testing.assert_array_equal(group["a/b"][...], values)


def test_the_root_may_be_an_array() -> None:
    refs = rx.open_references({".zarray": json.dumps(ZARRAY), "0": "base64:BwAIAA=="})
    array = refs.to_zarr()
    assert isinstance(array, zarr.Array)
    assert np.array_equal(np.asarray(array[:3]), [7, 8, -1])


def test_a_set_with_errors_warns_before_it_reads_as_fill_values() -> None:
    refs = rx.open_references({".zgroup": {"zarr_format": 2}, "x/0": "base64:!"})
    for read in (refs.to_zarr, refs.filesystem):
        with pytest.warns(rx.errors.LeftOutWarning, match="1 error. Reading a rejected chunk"):
            read()
