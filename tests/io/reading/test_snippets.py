"""The code for a set is run, against real files, and gives what refexplorer reads."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import zarr

import refexplorer as rx
from tests.helpers.servers import range_server
from tests.helpers.sets import DEMO, ZARRAY, raw_set

BYTES = np.array([1, 2], "<i2").tobytes()
SLASHES = {"shape": [1, 2], "chunks": [1, 2], "dimension_separator": "/"}
V3 = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [2],
    "data_type": "int16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": -1,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}


def run(refs: rx.ReferenceSet, key: str | None = None) -> dict[str, Any]:
    """Run the code as a notebook does, where an event loop is running.

    What it needs besides is the set where it came from no file.
    """
    names: dict[str, Any] = {"refs": refs}

    async def cell() -> None:
        exec(refs.code(key), names)

    with ThreadPoolExecutor(1) as other:  # the browser of an earlier test leaves a loop in this one
        other.submit(asyncio.run, cell()).result()
    return names


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The folder of the process is not that of the reference file."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    yield
    os.chdir(before)


@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
@pytest.mark.parametrize("name", ["sst.v0.json", "sst.v1.json", "sst.parq"])
def test_the_whole_set_an_array_and_a_key_of_each_form(name: str) -> None:
    refs = rx.open_references(DEMO / name)
    expected = refs.to_xarray(coordinates=True)
    with run(refs)["dataset"] as dataset:
        np.testing.assert_array_equal(dataset["sst"][0].values, expected["sst"][0].values)
    group: Any = refs.to_zarr()
    np.testing.assert_array_equal(run(refs, "wind")["array"][0], group["wind"][0])
    data = run(refs, "sst/0.0.1")["data"]
    assert data == refs.filesystem().cat("sst/0.0.1")


def test_templates_and_gen_are_rendered_only_where_they_need_it(tmp_path: Path) -> None:
    plain = {"version": 1, "templates": {"u": f"{tmp_path}/f"}, "refs": {"x/0": ["{{u}}", 0, 4]}}
    gen = {"key": "x/{{i}}", "url": "{{u}}", "offset": "0", "length": "4"}
    with_gen = plain | {"gen": [gen | {"dimensions": {"i": {"stop": 3}}}]}
    (tmp_path / "f").write_bytes(BYTES)
    for document, expected in ((plain, False), (with_gen, True)):
        place = tmp_path / "set.json"
        place.write_text(json.dumps(document))
        refs = rx.open_references(place)
        assert ("simple_templates=False" in refs.code("x/0")) is expected
        assert run(refs, "x/0")["data"] == BYTES


def test_a_set_that_fsspec_reads_differently_is_expanded_first(tmp_path: Path) -> None:
    (tmp_path / "f-1").write_bytes(BYTES)
    odd = {"version": 1, "refs": {"x/0": [f"{tmp_path}/f-{{{{ 3 // 2 }}}}", 0, 4]}}
    (tmp_path / "set.json").write_text(json.dumps(odd))
    refs = rx.open_references(tmp_path / "set.json")
    assert "refs.to_v0()" in refs.code("x/0")
    assert run(refs, "x/0")["data"] == BYTES


def test_compressed_documents_and_values(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BYTES)
    document = raw_set([f"{tmp_path}/f", 0, 4])
    (tmp_path / "set.json").write_bytes(gzip.compress(json.dumps(document).encode()))
    for refs in (rx.open_references(tmp_path / "set.json"), rx.open_references(document)):
        assert run(refs, "x")["array"][:2].tolist() == [1, 2]
        assert run(refs)["dataset"]["x"].values[:2].tolist() == [1, 2]


def test_one_and_several_protocols(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BYTES)
    fsspec.filesystem("memory").pipe("/f", BYTES)
    with range_server() as server:
        server.files["/f"] = BYTES
        web, local, memory = f"{server.url}/f", f"file://{tmp_path}/f", "memory://f"
        for number, urls in enumerate(([web], [local], [memory], [web, local, memory])):
            place = tmp_path / f"set{number}.json"
            place.write_text(json.dumps(raw_set(*([url, 0, 4] for url in urls))))
            refs = rx.open_references(place)
            expected = [1, 2, 1, 2, 1][: 2 * len(urls)]
            assert run(refs, "x")["array"][: 2 * len(urls)].tolist() == expected
            assert run(refs, "x/0")["data"] == BYTES


@pytest.mark.parametrize(
    "starts", [["FILE://"], ["file://localhost"], ["file://", "FILE://"], ["file:", "memory://f#"]]
)
def test_local_urls_that_fsspec_takes_for_others(tmp_path: Path, starts: list[str]) -> None:
    (tmp_path / "f").write_bytes(BYTES)
    fsspec.filesystem("memory").pipe(f"/f#{tmp_path}/f", BYTES)
    place = tmp_path / "set.json"
    place.write_text(json.dumps(raw_set(*([f"{start}{tmp_path}/f", 0, 4] for start in starts))))
    refs = rx.open_references(place)
    expected = [1, 2] * len(starts)
    assert run(refs, "x")["array"][: len(expected)].tolist() == expected
    assert run(refs, "x/0")["data"] == BYTES


def test_protocols_in_capitals(tmp_path: Path) -> None:
    with range_server() as server:
        server.files["/f"] = BYTES
        capitals = server.url.replace("http", "HTTP")
        server.files["/set.json"] = json.dumps(raw_set(["f", 0, 4])).encode()
        place = tmp_path / "set.json"
        place.write_text(json.dumps(raw_set([f"{capitals}/f", 0, 4])))
        for source in (f"{capitals}/set.json", place):
            names: dict[str, Any] = {}
            exec(rx.open_references(source).allowing(server.url).code("x"), names)
            assert names["array"][:2].tolist() == [1, 2]


def test_relative_targets_of_a_set_on_a_server(tmp_path: Path) -> None:
    with range_server() as server:
        server.files["/a/f"] = BYTES
        server.files["/a/set.json"] = json.dumps(raw_set(["f", 0, 4])).encode()
        refs = rx.open_references(f"{server.url}/a/set.json")
        assert run(refs, "x")["array"][:2].tolist() == [1, 2]
        assert run(refs, "x/0")["data"] == BYTES


def test_options_are_shown_and_secrets_are_not(tmp_path: Path) -> None:
    place = tmp_path / "set.json"
    place.write_text(json.dumps(raw_set(["s3://bucket/f", 0, 4])))
    assert "'anon': True" in rx.open_references(place).code()
    options = {"s3": {"key": "AKIA", "secret": "hidden", "endpoint_url": "https://e.org"}}
    shown = rx.open_references(place, storage_options=options).code()
    assert "https://e.org" in shown
    assert "AKIA" not in shown
    assert "hidden" not in shown


def test_what_fsspec_has_no_options_for_is_read_by_refexplorer(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BYTES)
    place = tmp_path / "set.json"
    place.write_text(json.dumps(raw_set(["f", 0, 4], [f"{tmp_path}/f", 0, 4])))
    refs = rx.open_references(place)
    assert run(refs, "x")["array"][:4].tolist() == [1, 2, 1, 2]
    assert run(refs, "x/1")["data"] == BYTES


def test_zarr_3_and_groups(tmp_path: Path) -> None:
    root = zarr.open_group(str(tmp_path / "s"), mode="w")
    array = root.create_array("a/b", shape=(3,), dtype="i2", dimension_names=["x"])
    array[...] = [1, 2, 3]
    files = [path for path in (tmp_path / "s").rglob("*") if path.is_file()]
    document = {
        str(path.relative_to(tmp_path / "s")): path.read_text()
        if path.name == "zarr.json"
        else [str(path)]
        for path in files
    }
    (tmp_path / "set.json").write_text(json.dumps(document))
    refs = rx.open_references(tmp_path / "set.json")
    assert run(refs, "a/b")["array"][:].tolist() == [1, 2, 3]
    assert "to_xarray(group='a'" in refs.code("a")
    granted: dict[str, Any] = {}
    exec(refs.allowing(str(tmp_path)).code("a"), granted)
    assert granted["dataset"]["b"].values.tolist() == [1, 2, 3]
    assert list(run(refs)["group"]["a"]) == ["b"]


@pytest.mark.parametrize(
    ("metadata", "chunk"),
    [
        ({".zgroup": {"zarr_format": 2}, "x/.zarray": {**ZARRAY, **SLASHES}}, "x/0/0"),
        ({"zarr.json": {"zarr_format": 3, "node_type": "group"}, "x/zarr.json": V3}, "x/c/0"),
    ],
)
def test_chunks_that_fsspec_does_not_find_in_a_parquet_store_are_no_fill_values(
    tmp_path: Path, metadata: dict[str, Any], chunk: str
) -> None:
    (tmp_path / "f").write_bytes(BYTES)
    with pytest.warns(rx.errors.LeftOutWarning):
        rx.open_references({**metadata, chunk: ["f", 0, 4]}).to_parquet(tmp_path / "s.parq")
    refs = rx.open_references(tmp_path / "s.parq")
    assert run(refs, "x")["array"][...].ravel().tolist() == [1, 2]
    assert run(refs)["group"]["x"][...].ravel().tolist() == [1, 2]
    assert run(refs, chunk)["data"] == BYTES


def test_other_arrays_of_such_a_parquet_store_are_left_to_fsspec(tmp_path: Path) -> None:
    document = {**raw_set(["f", 0, 4]), "y/.zarray": {**ZARRAY, **SLASHES}, "y/0/0": ["f", 0, 4]}
    with pytest.warns(rx.errors.LeftOutWarning):
        rx.open_references(document).to_parquet(tmp_path / "s.parq")
    refs = rx.open_references(tmp_path / "s.parq")
    found = [path for path in ("x", "x/0", "y", "y/0/0") if "refexplorer" not in refs.code(path)]
    assert found == ["x", "x/0"]


def test_names_from_the_file_are_text_in_the_code(tmp_path: Path) -> None:
    key = "x'); raise SystemExit('"
    (tmp_path / "set.json").write_text(json.dumps({key: "ab"}))
    assert run(rx.open_references(tmp_path / "set.json"), key)["data"] == b"ab"
