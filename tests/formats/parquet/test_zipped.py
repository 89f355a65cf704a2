"""Parquet stores in zip archives, opened without unpacking them."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fsspec
import h5py
import numpy as np
import pytest
from fsspec.implementations.reference import LazyReferenceMapper

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded
from tests.helpers.commands import run
from tests.helpers.servers import range_server

VALUES = np.arange(12, dtype="<f4").reshape(3, 4)


def archive(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return packed.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file, and references to it in a zip beside it."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=VALUES, chunks=(1, 4))
    refs = rx.open_references(tmp_path / "a.h5")
    relative = {
        key: ["a.h5", *value[1:]] if isinstance(value, list) else value
        for key, value in refs.to_v0().items()
    }
    rx.open_references(relative).to_parquet(tmp_path / "store.parq", record_size=2)
    (tmp_path / "store.parq.zip").write_bytes(archive(members(tmp_path, "store.parq/")))
    return tmp_path


def members(folder: Path, start: str) -> dict[str, bytes]:
    store = folder / "store.parq"
    files = (each for each in store.rglob("*") if each.is_file())
    return {f"{start}{each.relative_to(store).as_posix()}": each.read_bytes() for each in files}


def values_of(refs: rx.ReferenceSet) -> np.ndarray:
    group: Any = refs.to_zarr()
    return np.asarray(group["x"][...])


def test_it_reads_as_the_folder_does(folder: Path) -> None:
    refs = rx.open_references(folder / "store.parq.zip")
    assert refs.source.form == "parquet"
    plain = rx.open_references(folder / "store.parq")
    assert refs.to_v0() == plain.to_v0()
    assert np.array_equal(values_of(refs), VALUES)
    assert np.array_equal(values_of(pickle.loads(pickle.dumps(refs))), VALUES)
    assert [each.code for each in refs.diagnostics] == [each.code for each in plain.diagnostics]
    assert refs.verify(values="all").good


@pytest.mark.child
def test_the_code_that_opens_it_needs_no_unpacking(folder: Path) -> None:
    code = rx.open_references(folder / "store.parq.zip").code()
    code += "\nprint(dataset.x.values.sum())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ran.stdout.strip() == str(VALUES.sum()), ran.stderr


def test_on_the_command_line(folder: Path) -> None:
    ran = run("verify", folder / "store.parq.zip")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("store.parq.zip: the same as its files")


def test_fsspec_is_run_on_it(folder: Path) -> None:
    packed = folder / "store.parq.zip"
    verdict = rx.dialects(packed)["fsspec (default)"]
    assert (verdict.is_run, verdict.outcome) == (True, "same")
    url = f"zip://store.parq::{packed}"
    assert any(url in note for note in verdict.notes)
    files, place = fsspec.core.url_to_fs(url)
    assert "x/.zarray" in LazyReferenceMapper(place, fs=files, engine="pyarrow")
    assert run("dialects", packed).status == 0
    (folder / "root.zip").write_bytes(archive(members(folder, "")))
    assert rx.dialects(folder / "root.zip")["fsspec (default)"].outcome == "same"


def test_of_a_server_and_for_a_visitor(folder: Path) -> None:
    data = (folder / "store.parq.zip").read_bytes()
    with range_server() as server:
        server.files = {"/d/store.zip": data, "/d/a.h5": (folder / "a.h5").read_bytes()}
        refs = rx.open_references(f"{server.url}/d/store.zip").allowing(server.url)
        assert np.array_equal(values_of(refs), VALUES)
        assert f"zip://store.parq::{server.url}/d/store.zip" in refs.code()
    policy = AccessPolicy(None, [str(folder)], served=True)
    guarded = open_guarded(str(folder / "store.parq.zip"), policy, rx.Limits())
    assert guarded.arrays() == ("x",)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_at_the_root_and_as_bytes(method: int, folder: Path) -> None:
    refs = rx.open_references(archive(members(folder, ""), method))
    assert refs.arrays() == ("x",)
    assert refs["x/2.0"] == rx.open_references(folder / "store.parq")["x/2.0"]
    assert "refs.to_v0()" in refs.code()


def refused(data: bytes, limits: rx.Limits | None = None) -> str:
    with pytest.raises(
        (rx.errors.SourceError, rx.errors.LimitError, rx.errors.SpecError)
    ) as refusal:
        rx.open_references(data, limits=limits or rx.Limits())
    return str(refusal.value)


def test_what_is_not_one_store_is_a_sentence(folder: Path) -> None:
    files, whole = members(folder, ""), archive(members(folder, ""))
    twice = {f"{name}/{key}": data for name in "ab" for key, data in files.items()}
    assert "has 2 parquet stores; unpack it and open one" in refused(archive(twice))
    assert "cannot be read: File is not a zip file" in refused(whole[: len(whole) // 2])
    plain = archive(files, zipfile.ZIP_STORED)
    at = plain.index(b"PAR1") + 8
    assert "is damaged: x/refs." in refused(plain[:at] + b"\xff\xff\xff" + plain[at + 3 :])
    assert "a zip file" in refused(archive({"a.json": b"{}"}))
    consolidated = {".zmetadata": json.dumps({"zarr_consolidated_format": 1}).encode()}
    assert "a zip file" in refused(archive(consolidated))
    encrypted = bytearray(plain)
    for mark in (b"PK\3\4", b"PK\1\2"):
        place = encrypted.index(mark)
        encrypted[place + (6 if mark == b"PK\3\4" else 8)] |= 1
    assert "encrypted" in refused(bytes(encrypted))


def test_an_archive_that_would_fill_the_memory_is_refused(folder: Path) -> None:
    bomb = archive(members(folder, "") | {"y/refs.0.parq": bytes(2**24)})
    assert len(bomb) < 2**16
    message = refused(bomb, rx.Limits(document_bytes=2**20))
    assert "more than 1,048,576 bytes once decompressed" in message
