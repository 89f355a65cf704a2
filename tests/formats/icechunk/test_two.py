"""Icechunk 2: columns from its own iterator, versions, recorded checks, and what is broken."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr
import zstandard
from zarr.core.buffer import cpu

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded
from tests.formats.icechunk.building import moment, targets_of, write
from tests.formats.icechunk.icechunk_two import COUNT, ZIP
from tests.helpers.audits import files
from tests.helpers.commands import run
from tests.helpers.newer_python import has_two

if not has_two():
    pytest.skip("icechunk 2 is not installed; it needs Python 3.12", allow_module_level=True)
icechunk: Any = pytest.importorskip("icechunk")
HEADER = 39


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    targets = targets_of(tmp_path / "targets")
    checksums = moment(-1), moment(1)
    write(icechunk.local_filesystem_storage(str(tmp_path / "repo")), targets, checksums)
    return tmp_path / "repo"


def asked(session: Any, path: str) -> dict[tuple[int, ...], tuple[int, str, int, int]]:
    """Return what Icechunk's own methods say of each chunk, one by one."""

    async def found() -> dict[tuple[int, ...], tuple[int, str, int, int]]:
        return {
            tuple(index.tolist()): (int(kind), place, int(offset), int(length))
            async for batch in session.store.array_chunk_iterator(path, 1)
            for index, kind, place, offset, length in zip(*batch[:5], strict=True)
        }

    return asyncio.run(found())


def test_each_kind_of_chunk_is_what_icechunk_says(folder: Path) -> None:
    refs = rx.open_references(folder)
    target = f"file://{folder.parent}/targets/f.bin"
    assert refs["g/x/c/0/0"] == rx.types.Range(target, 12, 12)
    assert refs["g/x/c/1/0"].to_v0() == "base64:AAABAAIAAwAEAAUA"
    assert refs["s/c"].to_v0() == "base64:BwAAAA=="
    opened = icechunk.Repository.open(icechunk.local_filesystem_storage(str(folder)))
    for index, (_, name, offset, length) in asked(opened.readonly_session("main"), "/big").items():
        assert refs[f"big/c/{index[0]}"] == rx.types.Range(f"chunks/{name}", offset, length)
        assert (folder / "chunks" / name).stat().st_size == length
    facts = refs.source.repository
    assert facts is not None
    assert facts.chunks == {"native": 2, "virtual": 1, "inline": 2}
    assert (facts.branches, facts.tags, facts.outside) == (("main",), ("v1",), 0)
    assert [each.prefix for each in facts.containers or ()] == [f"file://{folder.parent}/targets/"]


def test_values_are_those_that_icechunk_reads(folder: Path) -> None:
    group: Any = rx.open_references(folder).allowing(str(folder.parent)).to_zarr()
    access = {f"file://{folder.parent}/targets/": icechunk.credentials.LocalFileSystemAccess}
    opened = icechunk.Repository.open(
        icechunk.local_filesystem_storage(str(folder)), authorize_virtual_chunk_access=access
    )
    theirs: Any = zarr.open_group(opened.readonly_session("main").store, mode="r")
    for name in ("big", "g/x"):
        assert np.array_equal(group[name][:], theirs[name][:])


@pytest.mark.parametrize("name", ["compressed", "relative", "few", "first"])
def test_locations_come_resolved(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(ZIP) as archive:
        archive.extractall(tmp_path)
    refs = rx.open_references(tmp_path / name)
    expected = {f"x/c/{n}": [f"s3://bucket/some/file_{n:05}.nc", n * 100, 2] for n in range(COUNT)}
    found = refs.to_v0()
    assert {key: found[key] for key in found if "/c/" in key} == expected
    assert refs.source.repository is not None
    assert refs.source.repository.outside == 0


def test_a_location_in_no_container_is_reported(tmp_path: Path) -> None:
    made = icechunk.Repository.create(icechunk.in_memory_storage())
    session = made.writable_session("main")
    root = zarr.group(store=session.store)
    root.create_array("x", shape=(2,), chunks=(1,), dtype="i2", compressors=None)
    session.store.set_virtual_refs(
        "x", [icechunk.VirtualChunkSpec([0], "s3://other/f", 0, 2)], validate_containers=False
    )
    session.commit("no container")
    facts = rx.open_references(made).source.repository
    assert facts is not None
    assert (facts.outside, facts.example) == (1, "s3://other/f")
    assert "1 location is in no virtual chunk container (such as s3://other/f)" in str(facts.access)
    found = rx.open_references(made).check()
    assert (found.status, found.findings[0].code) == (1, "no-container")
    assert "1 location of virtual chunks is in no virtual chunk container" in str(found)


def test_what_icechunk_refuses_is_not_called_the_same(tmp_path: Path) -> None:
    path, target = tmp_path / "repo", tmp_path / "a.h5"
    with h5py.File(target, "w") as file:
        data = file.create_dataset("x", data=np.arange(4, dtype="i2"), chunks=(4,))
        place = data.id.get_chunk_info(0)
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(path)))
    session = made.writable_session("main")
    zarr.group(store=session.store).create_array(
        "x", shape=(4,), chunks=(4,), dtype="i2", compressors=None, dimension_names=["t"]
    )
    where = icechunk.VirtualChunkSpec([0], f"file://{target}", place.byte_offset, place.size)
    session.store.set_virtual_refs("/x", [where], validate_containers=False)
    session.commit("no container")
    reading: Any = zarr.open_array(session.store, path="x")
    with pytest.raises(icechunk.IcechunkError, match="no virtual chunk container"):
        reading[:]
    found = rx.open_references(path).allowing(str(tmp_path)).verify(values="all")
    assert (found.status, found.headline.text) == (1, "has errors")
    assert [each.code for each in found.findings] == ["no-container"]


def test_versions_by_name(folder: Path) -> None:
    first = rx.open_references(f"{folder}@v1")
    assert isinstance(found := first["g/x/c/0/0"], rx.types.Range)
    assert found.offset == 10
    known = rx.history(first)
    assert known.tags == {"v1": known.snapshots()[0].id}
    assert [each.message for each in rx.history(folder).snapshots()] == [
        "second",
        "first",
        "Repository initialized",
    ]
    by_id = rx.open_references(f"{folder}@{known.snapshots()[0].id}")
    assert by_id.to_v0() == first.to_v0()
    assert rx.history(folder).changes("v1", "main") == ("1 chunk written in g/x",)
    assert rx.history(folder).changes(known.snapshots()[1].id, "v1")[1] == (
        "3 arrays created: big, g/x, s"
    )
    with pytest.raises(rx.errors.SourceError, match="ancestry doesn't include"):
        rx.history(folder).changes("main", "v1")
    found_changes = rx.diff(f"{folder}@v1", folder)
    assert {**found_changes.counts, "same": 0} == {"same": 0, "shifted": 1}


def test_info_lists_branches_tags_and_snapshots(folder: Path) -> None:
    ran = run("info", folder)
    assert ran.status == 0, ran.err
    assert "2 native, 1 virtual, 2 inline" in ran.out
    assert "Icechunk reads virtual chunks of file://" in ran.out
    told = json.loads(run("info", f"{folder}@v1", "--json").out)["repository"]
    assert list(told["branches"]) == ["main"]
    assert told["tags"] == {"v1": told["snapshot"]}
    assert [each["message"] for each in told["snapshots"]] == ["first", "Repository initialized"]
    assert told["snapshots"][0]["changes"][0] == "2 groups created: /, g"
    assert told["more_snapshots"] is False


@pytest.mark.parametrize("verb", ["check_targets", "audit"])
def test_what_changed_since_it_was_written_is_found(folder: Path, verb: str) -> None:
    allow = [str(folder.parent)]

    def found(source: str | Path) -> tuple[rx.types.Report, dict[str, Any]]:
        report = getattr(rx.open_references(source).allowing(*allow), verb)(workers=1)
        return report, files(report)["f.bin"]

    before, row = found(f"{folder}@v1")
    assert (row["state"], before.status) == ("changed", 1)
    said = "It changed since references to it were written: it was last modified"
    assert row["message"].startswith(said)
    assert said in str(before)
    assert before.headline.text == "is stale: 1 file changed"
    after, row = found(folder)
    assert (row["state"], row["message"], after.status) == ("found", None, 0)
    unread = getattr(rx.open_references(folder), verb)()
    assert unread.status == 2
    os.utime(folder.parent / "targets/f.bin", (moment(2).timestamp(),) * 2)
    assert found(folder)[1]["state"] == "changed"


@pytest.mark.parametrize("path", ["", "g", "big"])
def test_the_code_opens_it_without_refexplorer(folder: Path, path: str) -> None:
    for version in ("@v1", ""):
        refs = rx.open_references(f"{folder}{version}")
        code, names = refs.code(path or None), dict[str, Any]()
        assert "refexplorer" not in code
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(code, names)
        assert names["session"].snapshot_id == refs.source.repository.snapshot  # type: ignore[union-attr]
    opened: Any = names.get("array", names.get("group"))
    if path == "g":
        assert opened["x"][0].tolist() == np.frombuffer(bytes(range(12, 18)), "<i2").tolist()


def test_repositories_in_memory_and_uncommitted_changes(tmp_path: Path) -> None:
    made = write(icechunk.in_memory_storage(), targets_of(tmp_path / "targets"))
    refs = rx.open_references(made)
    assert (refs.source.location, refs.source.place) == (None, None)
    assert refs["big/c/0"].to_v0()[0].startswith("icechunk:///chunks/")  # type: ignore[union-attr]
    assert refs.chunk("g/x", (1, 0)).values.tolist() == [[0, 1, 2], [3, 4, 5]]  # type: ignore[union-attr]
    session = made.writable_session("main")
    zarr.open_group(session.store)["big"][:1000] = 9  # type: ignore[index]
    changed = rx.open_references(session)
    facts = changed.source.repository
    assert facts is not None
    assert facts.uncommitted
    assert facts.branches is None
    assert "which virtual chunks Icechunk may read" in str(facts.access)
    assert rx.diff(refs, changed).total == 1
    with pytest.raises(
        rx.errors.SourceError, match=r"not an Icechunk repository|gives no access to its history"
    ):
        rx.history(session)


def test_native_chunks_in_memory_fail_and_are_not_fill_values(tmp_path: Path) -> None:
    made = write(icechunk.in_memory_storage(), targets_of(tmp_path / "targets"))
    refs = rx.open_references(made)
    with pytest.raises(rx.RefexplorerError):
        refs.chunk("big", (0,))


def test_a_set_of_a_repository_can_be_pickled(folder: Path) -> None:
    refs = pickle.loads(pickle.dumps(rx.open_references(folder)))
    assert refs.source.repository.tags == ("v1",)
    assert refs.source.recorded() == rx.open_references(folder).source.recorded()  # type: ignore[misc]


def test_a_visitor_opens_only_what_the_page_may_read(folder: Path) -> None:
    policy = AccessPolicy(None, [str(folder.parent)], served=True)
    guarded = open_guarded(str(folder), policy, rx.Limits())
    assert guarded.to_v0() == rx.open_references(folder).to_v0()
    manifest = next((folder / "manifests").iterdir())
    secret = folder.parent.parent / f"{folder.parent.name}-secret"
    secret.write_bytes(manifest.read_bytes())
    manifest.unlink()
    manifest.symlink_to(secret)
    with pytest.raises(rx.RefexplorerError, match=r"outside what this page may open|permission"):
        open_guarded(str(folder), policy, rx.Limits())
    with pytest.raises(rx.errors.LimitError, match="metadata of repo has more than 100 bytes"):
        open_guarded(str(folder), policy, rx.Limits(document_bytes=100))


def damaged(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "zeros":
        path.write_bytes(data[:HEADER] + bytes(len(data) - HEADER))
    elif how == "bomb":
        path.write_bytes(data[:HEADER] + zstandard.compress(bytes(2**24)))
    else:
        with zstandard.ZstdDecompressor().stream_reader(data[HEADER:]) as stream:
            content = bytearray(stream.read())
        content[:64] = b"\xff" * 64
        path.write_bytes(data[:HEADER] + zstandard.compress(bytes(content)))


@pytest.mark.parametrize("how", ["gone", "cut", "zeros", "bomb", "lies"])
@pytest.mark.parametrize("what", ["manifests", "snapshots", "repo"])
def test_a_broken_repository_is_one_sentence(
    folder: Path, what: str, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for path in [folder / what] if what == "repo" else list((folder / what).iterdir()):
        damaged(path, how)
    capfd.readouterr()
    if what == "manifests":
        found = [d for d in rx.open_references(folder).diagnostics if d.severity == "error"]
        assert {each.code for each in found} == {"icechunk-lost-manifest"}
        assert all(each.message.endswith(".") and each.array for each in found)
    else:
        with pytest.raises(rx.errors.SourceError, match=r"^repo .*\.$"):
            rx.open_references(folder)
    assert capfd.readouterr().out == ""


def test_a_repository_that_changes_while_it_is_read(folder: Path) -> None:
    opened = icechunk.Repository.open(icechunk.local_filesystem_storage(str(folder)))
    session = opened.readonly_session("main")
    before = rx.open_references(session).to_v0()
    writing = opened.writable_session("main")
    zarr.open_group(writing.store)["big"][:] = 3  # type: ignore[index]
    writing.commit("third")
    assert rx.open_references(session).to_v0() == before
    assert rx.open_references(folder).to_v0() != before
    assert rx.open_references(session).source.place == f"{folder}@{session.snapshot_id}"


def test_arrays_in_folders_without_metadata_are_found() -> None:
    made = icechunk.Repository.create(icechunk.in_memory_storage())
    session = made.writable_session("main")
    text = json.dumps(zarr.create_array({}, shape=(2,), dtype="i2").metadata.to_dict(), default=str)

    async def add() -> None:
        for path in ("x", "a/b/y"):
            await session.store.set(f"{path}/zarr.json", cpu.Buffer.from_bytes(text.encode()))

    asyncio.run(add())
    assert set(rx.open_references(session).arrays()) == {"x", "a/b/y"}
    session.commit("no groups")
    assert set(rx.open_references(made).arrays()) == {"x", "a/b/y"}
    assert set(rx.open_references(made.readonly_session("main")).arrays()) == {"x", "a/b/y"}


def test_manifests_in_several_files_are_one_array(tmp_path: Path) -> None:
    each = {icechunk.ManifestSplitDimCondition.Any(): 3}
    splitting = icechunk.ManifestSplittingConfig.from_dict(
        {icechunk.ManifestSplitCondition.AnyArray(): each}
    )
    config = icechunk.RepositoryConfig.default()
    config.manifest = icechunk.ManifestConfig(splitting=splitting)
    config.inline_chunk_threshold_bytes = 0
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    session = icechunk.Repository.create(storage, config=config).writable_session("main")
    values = np.arange(120, dtype="<i4").reshape(20, 6)
    array = zarr.create_array(session.store, name="x", shape=(20, 6), chunks=(2, 3), dtype="<i4")
    array[:] = values
    session.commit("values")
    assert len(list((tmp_path / "repo" / "manifests").iterdir())) > 1
    refs = rx.open_references(tmp_path / "repo").allowing(str(tmp_path))
    np.testing.assert_array_equal(np.asarray(refs.read("x")), values)


def test_advice_says_how_often_icechunk_asks(folder: Path) -> None:
    notes = rx.open_references(folder).advise().notes
    assert any("5 requests for each virtual chunk (icechunk#2256)" in note for note in notes)
