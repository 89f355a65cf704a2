"""Stores of Zarr open as references to their files; the values are those that zarr reads."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import zarr

import refexplorer as rx
from refexplorer import demo
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded

VALUES = np.arange(60, dtype="i4").reshape(6, 10)


def stored(path: Path, zarr_format: Any, consolidated: bool) -> Path:
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    group.create_array("g/x", shape=(6, 10), chunks=(4, 5), dtype="i4")[:] = VALUES
    group.create_array("e", shape=(6,), chunks=(2,), dtype="i4")[:2] = 5
    if consolidated:
        zarr.consolidate_metadata(str(path))
    return path


@pytest.fixture(params=[(2, False), (2, True), (3, False), (3, True)], ids=str)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what v3 says on consolidation
        return stored(tmp_path / "s.zarr", *request.param)


def test_each_chunk_is_a_whole_file(store: Path) -> None:
    refs = rx.open_references(store)
    assert (refs.source.form, refs.arrays(), refs.error_count) == ("Zarr", ("e", "g/x"), 0)
    group: Any = refs.to_zarr()
    assert np.array_equal(group["g/x"][:], VALUES)
    assert group["e"][:].tolist() == [5, 5, 0, 0, 0, 0]
    assert refs.summary("e").missing == 2
    key = refs.array("g/x").chunk_key((1, 1))
    assert refs[key] == rx.types.Url(str(store / key))
    files = {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file()}
    assert {*refs} == files
    assert rx.open_references(refs.source.place).to_v0() == refs.to_v0()


def test_metadata_are_values(store: Path) -> None:
    refs = rx.open_references(store)
    names = {str(target.url).rpartition("/")[2] for target in refs.targets()}
    assert names
    assert not names & {".zarray", "zarr.json", ".zgroup", ".zattrs", ".zmetadata"}


def test_consolidated_metadata_alone(tmp_path: Path) -> None:
    path = stored(tmp_path / "s.zarr", 2, True)
    for name in (".zgroup", ".zattrs"):
        (path / name).unlink(missing_ok=True)
    refs = rx.open_references(path)
    assert refs.source.form == "Zarr"


def test_a_parquet_store_is_none(tmp_path: Path) -> None:
    rx.open_references(demo.path("sst.v0.json")).to_parquet(tmp_path / "a.parq")
    assert rx.open_references(tmp_path / "a.parq").source.form == "parquet"


def test_by_url(store: Path) -> None:
    filesystem = fsspec.filesystem("memory")
    filesystem.put(str(store), "/bucket.zarr", recursive=True)
    try:
        refs = rx.open_references("memory://bucket.zarr")
        group: Any = refs.to_zarr()
        assert np.array_equal(group["g/x"][:], VALUES)
    finally:
        filesystem.rm("/bucket.zarr", recursive=True)


def test_a_visitor_is_led_nowhere_else(store: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    policy = AccessPolicy(None, [str(store)], served=True)
    assert open_guarded(str(store), policy, rx.Limits()).arrays() == ("e", "g/x")
    (store / "e" / ".zattrs").unlink(missing_ok=True)
    (store / "e" / ".zattrs").symlink_to(tmp_path / "secret")
    with pytest.raises(rx.errors.SourceError, match="leads outside what this page may open"):
        open_guarded(str(store), policy, rx.Limits())


def test_limits(store: Path) -> None:
    with pytest.raises(rx.errors.LimitError, match="files, more than 3"):
        rx.open_references(store, limits=rx.Limits(expanded_keys=3))
    with pytest.raises(rx.errors.LimitError, match=r"metadata of s\.zarr have more than 10 bytes"):
        rx.open_references(store, limits=rx.Limits(document_bytes=10))


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[1]", b"base64:AAAA", b"", b"{" * 3000])
def test_metadata_that_are_none(data: bytes, tmp_path: Path) -> None:
    path = stored(tmp_path / "s.zarr", 2, False)
    (path / "e" / ".zarray").write_bytes(data)
    refs = rx.open_references(path)
    assert refs.arrays()[-1] == "g/x"
    assert refs.filesystem().cat("e/.zarray") == data
    assert json.loads(refs.filesystem().cat("g/x/.zarray"))["shape"] == [6, 10]
