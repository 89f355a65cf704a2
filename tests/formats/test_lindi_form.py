"""LINDI's folders and archives, as LINDI lays them out: chunks are where the archive has them."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded

VALUES = np.arange(6, dtype="<i4")
ARRAY = {
    "zarr_format": 2, "shape": [6], "chunks": [2], "dtype": "<i4", "compressor": None,
    "fill_value": 0, "filters": None, "order": "C",
}  # fmt: skip


def document(**more: Any) -> dict[str, Any]:
    refs = {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": ARRAY,
        "x/0": ["./blobs/x/0", 0, 8],
        "x/1": ["./blobs/x/rest", 8, 8],
        "x/2": ["./blobs/x/2"],
    }
    return {"version": 1, "templates": {}, "refs": refs | more}


BLOBS = {
    "blobs/x/0": VALUES[:2].tobytes(),
    "blobs/x/rest": bytes(8) + VALUES[2:4].tobytes(),
    "blobs/x/2": VALUES[4:].tobytes(),
}


def archive(path: Path, held: dict[str, Any], change: Any = None) -> Path:
    """Write an archive as LINDI's `LindiTarFile` does: entry, index, document, files."""
    files = {".tar_entry.json": b" " * 1024, ".tar_index.json": b" " * 4096}
    files |= {"lindi.json": json.dumps(held).encode() + b" " * 100} | BLOBS
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    with tarfile.open(path) as tar:
        places = {each.name: each for each in tar.getmembers()}
    index: Any = [
        {"n": each.name, "o": each.offset, "d": each.offset_data, "s": each.size}
        for each in places.values()
    ]
    if change is not None:
        change(index)
    with path.open("r+b") as file:
        for name, written in (
            (".tar_entry.json", {"index": index[1]}),
            (".tar_index.json", {"files": index}),
        ):
            file.seek(places[name].offset_data)
            file.write(json.dumps(written).encode())
    return path


def folder(path: Path) -> Path:
    for name, data in ({"lindi.json": json.dumps(document()).encode()} | BLOBS).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def test_an_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.lindi.tar", document())
    refs = rx.open_references(path)
    group: Any = refs.to_zarr()
    assert group["x"][:].tolist() == VALUES.tolist()
    assert {target.url for target in refs.targets()} == {str(path)}
    reference = refs["x/1"]
    assert isinstance(reference, rx.types.Range)
    assert path.read_bytes()[reference.offset :][:8] == VALUES[2:4].tobytes()
    assert refs.source.form == "V1"
    assert rx.open_references(refs.source.place).to_v0() == refs.to_v0()


def test_a_folder(tmp_path: Path) -> None:
    path = folder(tmp_path / "a.lindi.d")
    refs = rx.open_references(path)
    group: Any = refs.to_zarr()
    assert group["x"][:].tolist() == VALUES.tolist()
    assert (refs.source.name, refs.source.location) == ("a.lindi.d", str(path))
    assert rx.open_references(refs.source.place).to_v0() == refs.to_v0()


def test_a_folder_by_url(tmp_path: Path) -> None:
    filesystem = fsspec.filesystem("memory")
    filesystem.put(str(folder(tmp_path / "a.lindi.d")), "/lindi/a.lindi.d", recursive=True)
    try:
        group: Any = rx.open_references("memory://lindi/a.lindi.d").to_zarr()
        assert group["x"][:].tolist() == VALUES.tolist()
    finally:
        filesystem.rm("/lindi", recursive=True)


def test_a_range_past_the_end_of_a_file_reads_no_other(tmp_path: Path) -> None:
    held = document(**{"x/0": ["./blobs/x/0", 4, 8], "x/1": ["./../secret", 0, 8]})
    path = archive(tmp_path / "a.lindi.tar", held)
    with pytest.warns(rx.errors.LeftOutWarning, match=r"of x/0 reach past the end of a file"):
        refs = rx.open_references(path)
    assert refs["x/0"] == rx.types.Range("./blobs/x/0", 4, 8)
    with pytest.raises(rx.RefexplorerError):
        refs.filesystem().cat("x/0")
    assert refs["x/1"] == rx.types.Range("./../secret", 0, 8)


@pytest.mark.parametrize(
    ("number", "field", "value"),
    [
        (2, "d", 10**9),
        (2, "s", 10**9),
        (2, "d", -1),
        (2, "s", 2),
        (2, "n", "other.json"),
        (1, "d", 10**12),
        (1, "s", "x"),
        (3, "d", 2.5),
        (3, "s", None),
    ],
)
def test_an_index_that_lies(number: int, field: str, value: Any, tmp_path: Path) -> None:
    def change(index: Any) -> None:
        index[number][field] = value

    path = archive(tmp_path / "a.lindi.tar", document(), change)
    with pytest.raises(
        rx.errors.SourceError, match=r"^a\.lindi\.tar is an archive of LINDI whose index"
    ):
        rx.open_references(path)


@pytest.mark.parametrize("size", [600, 1500, 3000])
def test_an_archive_that_ends_early(size: int, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.lindi.tar", document())
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(rx.errors.SourceError, match="archive of LINDI"):
        rx.open_references(path)


def test_a_visitor(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.lindi.tar", document())
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    assert open_guarded(str(path), policy, rx.Limits()).arrays() == ("x",)
    (tmp_path / "b.lindi.d").mkdir()
    (tmp_path / "b.lindi.d/lindi.json").symlink_to(__file__)
    with pytest.raises(rx.errors.SourceError, match="leads outside what this page may open"):
        open_guarded(str(tmp_path / "b.lindi.d"), policy, rx.Limits())


def test_any_other_archive_is_none(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("a"))
    with pytest.raises(rx.errors.SourceError, match="a tar archive"):
        rx.open_references(tmp_path / "a.tar")
