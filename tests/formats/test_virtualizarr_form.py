"""What other packages hold in memory opens as the set that they would write."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.reference import LazyReferenceMapper, ReferenceFileSystem
from zarr.core.buffer import cpu

import refexplorer as rx
from tests.helpers.kerchunk_sets import translated

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")


@pytest.fixture
def parsed(demo: Path) -> Any:
    """A file of the demo as VirtualiZarr parses it: the store, and a function to a dataset."""
    virtualizarr = pytest.importorskip("virtualizarr")
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import HDFParser

    url = f"file://{demo / 'sst_2025-07.nc'}"
    registry = ObjectStoreRegistry({"file://": LocalStore()})

    def dataset(**options: Any) -> Any:
        return virtualizarr.open_virtual_dataset(
            url, registry=registry, parser=HDFParser(), **options
        )

    return HDFParser()(url, registry), dataset


def test_a_virtual_dataset_is_what_it_writes(parsed: Any, demo: Path) -> None:
    dataset = parsed[1]()
    refs = rx.open_references(dataset)
    assert refs.to_v0() == rx.open_references(dataset.vz.to_kerchunk(format="dict")).to_v0()
    assert (refs.source.name, refs.source.form) == ("virtual dataset", "VirtualiZarr")
    theirs, ours = refs["sst/1.0.0"], rx.open_references(demo / "sst.v0.json")["sst/1.0.0"]
    assert isinstance(theirs, rx.types.Range)
    assert isinstance(ours, rx.types.Range)
    assert (theirs.offset, theirs.length) == (ours.offset, ours.length)
    assert refs["lat/0"].kind is rx.types.Kind.BASE64


def test_a_manifest_store_opens_without_reading(parsed: Any) -> None:
    refs = rx.open_references(parsed[0])
    assert refs.source.form == "VirtualiZarr"
    assert refs["lat/0"].kind is rx.types.Kind.RANGE
    assert not rx.diff(refs, rx.open_references(parsed[1](loadable_variables=[]))).counts.get(
        "moved"
    )
    opened = refs.allowing("/").to_xarray()
    assert opened.sst.shape == (6, 96, 192)


@pytest.fixture
def nested(tmp_path: Path) -> Any:
    """A file of groups in groups: as VirtualiZarr parses it, and as a tree of datasets."""
    virtualizarr = pytest.importorskip("virtualizarr")
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import HDFParser

    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["x"] = np.arange(5)
        file["a/y"] = np.arange(5) * 2
        file["a/b/z"] = np.arange(5) * 3
        file["a"].attrs["title"] = "inner"
        file.create_group("empty")
    url, registry = f"file://{tmp_path / 'n.h5'}", ObjectStoreRegistry({"file://": LocalStore()})
    tree = virtualizarr.open_virtual_datatree(
        url, registry=registry, parser=HDFParser(), loadable_variables=[]
    )
    return HDFParser()(url, registry), tree


def test_groups_in_groups_become_folders(nested: Any) -> None:
    store, tree = nested
    refs = rx.open_references(store)
    assert refs.arrays() == ("x", "a/y", "a/b/z")
    assert "empty/.zgroup" in refs
    group: Any = refs.allowing("/").to_zarr()
    assert group["a/b/z"][:].tolist() == [0, 3, 6, 9, 12]
    assert group["a"].attrs["title"] == "inner"
    assert rx.open_references(tree).to_v0() == refs.to_v0()
    inner = rx.open_references(tree["a"])
    assert {f"a/{key}": value for key, value in inner.to_v0().items()}.items() <= (
        refs.to_v0().items()
    )


@pytest.mark.parametrize("kind", [xr.Dataset, lambda held: xr.DataTree(xr.Dataset(held))])
def test_values_are_no_references(kind: Any) -> None:
    with pytest.raises(rx.errors.SourceError, match="does not come from a reference set"):
        rx.open_references(kind({"x": ("t", [1, 2])}))


def test_kerchunk_dicts_hold_bytes_and_numpy_numbers() -> None:
    refs = rx.open_references(
        {
            "a": b"\x00\x01",
            "b": b"text",
            "c": ["s3://b/f", np.int64(5), np.uint32(6)],
            "d": ("s3://b/f",),
            ".zattrs": {"x": 1},
        }
    )
    assert refs.to_v0() == {
        "a": "base64:AAE=",
        "b": "text",
        "c": ["s3://b/f", 5, 6],
        "d": ["s3://b/f"],
        ".zattrs": '{"x":1}',
    }
    assert rx.open_references(rx.infer(refs).document).to_v0() == refs.to_v0()


HELD = {
    "base64": b"base64:aGVsbG8=",
    "numpy": np.bytes_(b"base64:aGVsbG8="),
    "broken into lines": b"base64:aGVs\nbG8=",
    "nothing in base64": b"base64:",
    "base64 of base64": b"base64:YmFzZTY0OmFHVnNiRzg9",
    "another prefix": b"BASE64:aGVsbG8=",
    "text": b"hello",
    "like a template": b"{{u}}",
    "JSON": b'{"a":1}',
    "no UTF-8": b"\xff\x00",
    "UTF-8": "é".encode(),
    "a control character": b"a\0",
    "nothing": b"",
    "a buffer of Zarr": cpu.Buffer.from_bytes(b"base64:aGVsbG8="),
}
"""Bytes as values, which no JSON has."""


def fsspec_on_parquet(folder: Path) -> ReferenceFileSystem:
    store = LazyReferenceMapper(str(folder), LocalFileSystem(), engine="pyarrow")
    return ReferenceFileSystem(store, skip_instance_cache=True)


def in_both_forms(value: object) -> list[dict[str, Any]]:
    return [{"k": value}, {"version": 1, "refs": {"k": value}}]


@pytest.mark.parametrize("value", HELD.values(), ids=HELD)
def test_bytes_are_what_fsspec_reads(value: Any) -> None:
    for document in in_both_forms(value):
        theirs = ReferenceFileSystem(document, skip_instance_cache=True).cat_file("k")
        refs = rx.open_references(document)
        assert refs.filesystem().cat_file("k") == theirs
        assert refs.error_count == 0
        assert rx.open_references(refs.to_v0()).filesystem().cat_file("k") == theirs
        assert ReferenceFileSystem(refs.to_v0(), skip_instance_cache=True).cat_file("k") == theirs


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"base64:aGVsbG8", "bad-base64"),
        (b"base64:!!!", "bad-base64"),  # fsspec leaves the letters out, as in text
        (b"base64:\xff\xff", "bad-base64"),
        (bytearray(b"base64:aGVsbG8="), "bad-ref-type"),
        (bytearray(b"abc"), "bad-ref-type"),
        (memoryview(b"hello"), "bad-ref-type"),
        (np.void(b"abc"), "bad-ref-type"),
        (5, "bad-ref-type"),
        ([b"s3://b/f", 0, 4], "bad-url"),
        ({"a": b"hello"}, "bad-ref-type"),
    ],
)
def test_bytes_that_no_reader_agrees_on_are_left_out_with_a_word(value: Any, code: str) -> None:
    for document in in_both_forms(value):
        refs = rx.open_references(document)
        assert len(refs) == 0
        assert [found.code for found in refs.diagnostics] == [code]


@pytest.mark.parametrize("data", [b"base64:aGVsbG8=", b"base64:!", b"base64:", b"hello"])
def test_data_that_looks_like_base64_passes_through_parquet(tmp_path: Path, data: bytes) -> None:
    metadata = (
        '{"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|S20", "compressor": null, '
        '"filters": null, "order": "C", "fill_value": null}'
    )
    text = "base64:" + base64.b64encode(data).decode()
    refs = rx.open_references({".zgroup": '{"zarr_format": 2}', "x/.zarray": metadata, "x/0": text})
    refs.to_parquet(tmp_path / "set.parq")
    assert rx.open_references(tmp_path / "set.parq").filesystem().cat_file("x/0") == data
    theirs = fsspec_on_parquet(tmp_path / "set.parq")
    assert theirs.cat_file("x/0") == data


def test_base64_text_in_parquet_is_what_fsspec_reads(tmp_path: Path) -> None:
    metadata = (
        '{"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "|S5", "compressor": null, '
        '"filters": null, "order": "C", "fill_value": null}'
    )
    store = {".zgroup": {"zarr_format": 2}, "x/.zarray": json.loads(metadata)}
    (tmp_path / "x").mkdir()
    (tmp_path / ".zmetadata").write_text(json.dumps({"metadata": store, "record_size": 10}))
    columns = {"path": pa.nulls(2, pa.string()), "offset": [0, 0], "size": [0, 0]}
    raw = pa.array([b"base64:aGVsbG8=", b"base64:aGVsbG8"], pa.binary())
    pq.write_table(pa.table(columns | {"raw": raw}), tmp_path / "x" / "refs.0.parq")
    refs = rx.open_references(tmp_path)
    theirs = fsspec_on_parquet(tmp_path)
    assert refs.filesystem().cat_file("x/0") == theirs.cat_file("x/0") == b"hello"
    with pytest.raises(rx.errors.DecodeError, match=r"x/1 is not valid base64"):
        refs.filesystem().cat_file("x/1")
    with pytest.raises(ValueError, match="padding"):
        theirs.cat_file("x/1")


def test_kerchunk_translates_into_a_set(demo: Path) -> None:
    refs = rx.open_references(translated(demo / "sst_2025-07.nc"))
    assert set(refs.arrays()) < set(rx.open_references(demo / "sst.v0.json").arrays())
    assert refs["sst/0.0.0"].kind is rx.types.Kind.RANGE
