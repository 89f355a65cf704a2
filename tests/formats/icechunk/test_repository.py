"""A snapshot of an Icechunk repository opens as the references that were written into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import refexplorer as rx
from tests.formats.icechunk.building import targets_of, write
from tests.formats.icechunk.icechunk_two import OF_ICECHUNK_1
from tests.helpers.commands import run

icechunk: Any = pytest.importorskip("icechunk", reason="the package icechunk is not installed")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two versions: a virtual, an inline and native chunks; then a shifted virtual chunk."""
    targets, folder = tmp_path / "targets", tmp_path / "repo"
    targets.mkdir()
    (targets / "f.bin").write_bytes(bytes(range(200)))
    prefix = f"file://{targets}/"
    config = icechunk.RepositoryConfig.default()
    store = icechunk.local_filesystem_store(str(targets))
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store))
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(folder)), config)
    session = made.writable_session("main")
    root = zarr.group(store=session.store, attributes={"title": "made here"})
    array = root.create_array("g/x", shape=(4, 3), chunks=(2, 3), dtype="i2", compressors=None)
    session.store.set_virtual_ref("g/x/c/0/0", f"{prefix}f.bin", offset=10, length=12)
    array[2:] = np.arange(6).reshape(2, 3)
    root.create_array("big", shape=(2000,), chunks=(1000,), dtype="i4", compressors=None)[:] = 7
    root.create_array("s", shape=(), dtype="i4", compressors=None)[...] = 7
    made.create_tag("v1", session.commit("first"))
    session = made.writable_session("main")
    session.store.set_virtual_ref("g/x/c/0/0", f"{prefix}f.bin", offset=12, length=12)
    session.commit("second")
    return folder


def test_each_kind_of_chunk_is_a_reference(repository: Path) -> None:
    refs = rx.open_references(repository)
    target = f"file://{repository.parent}/targets/f.bin"
    assert refs["g/x/c/0/0"] == rx.types.Range(target, 12, 12)
    assert refs["g/x/c/1/0"].to_v0() == "base64:AAABAAIAAwAEAAUA"
    assert refs["s/c"].to_v0() == "base64:BwAAAA=="
    assert refs.arrays() == ("big", "g/x", "s")
    native = refs["big/c/1"]
    assert isinstance(native, rx.types.Range)
    assert (repository / str(native.url)).stat().st_size == native.length == 4000


def test_it_is_called_icechunk_and_its_code_opens_it_again(repository: Path) -> None:
    for name in (str(repository), f"{repository}@v1"):
        refs = rx.open_references(name)
        assert refs.source.form == "Icechunk"
        assert f"<ReferenceSet 'repo', Icechunk, {refs.count}" in repr(refs)
        names: dict[str, Any] = {}
        exec(refs.code("g/x/c/0/0"), names)
        assert names["refs"].source.place == name
        files = refs.allowing(str(repository.parent)).filesystem()
        assert names["data"] == files.cat("g/x/c/0/0")


def test_a_set_of_columns_has_no_text_and_explains_itself(repository: Path) -> None:
    refs = rx.open_references(repository, templates={"u": "s3://b"})
    assert refs.source.text is None
    steps = refs.explain("g/x/c/0/0").steps
    assert [step.name for step in steps] == ["reference"]
    assert "override-unused" in {found.code for found in refs.diagnostics}
    inferred = rx.infer(refs)
    assert rx.open_references(inferred.document).to_v0() == refs.to_v0()
    assert rx.dialects(repository).verdicts[0].outcome == "same"


def test_zarr_reads_the_same_values(repository: Path) -> None:
    group: Any = rx.open_references(repository).allowing(str(repository.parent)).to_zarr()
    assert group["big"][1500] == 7
    expected = np.frombuffer(bytes(range(12, 24)), "<i2").reshape(2, 3)
    assert group["g/x"][:2].tolist() == expected.tolist()
    assert group["g/x"][2:].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_names_that_urls_encode_are_those_that_icechunk_reads(tmp_path: Path) -> None:
    """Icechunk takes locations for URLs, in other sets ``%20`` is three letters of a name."""
    names = ("a b.bin", "a%20b.bin", "\N{LATIN SMALL LETTER U WITH DIAERESIS}.bin", "a%23b.bin")
    targets = tmp_path / "targets"
    targets.mkdir()
    for number, name in enumerate((*names, "a#b.bin")):
        (targets / name).write_bytes(bytes([number] * 4))
    prefix, place = f"file://{targets}/", icechunk.local_filesystem_storage(str(tmp_path / "r"))
    config = icechunk.RepositoryConfig.default()
    store = icechunk.local_filesystem_store(str(targets))
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store))
    local = getattr(icechunk.credentials, "LocalFileSystemAccess", None)  # icechunk 1 takes None
    access = {prefix: local}
    made = icechunk.Repository.create(place, config, authorize_virtual_chunk_access=access)
    session = made.writable_session("main")
    root = zarr.group(store=session.store)
    for number, name in enumerate(names):
        root.create_array(f"x{number}", shape=(4,), chunks=(4,), dtype="u1", compressors=None)
        session.store.set_virtual_ref(f"x{number}/c/0", f"{prefix}{name}", offset=0, length=4)
    session.commit("written")
    refs = rx.open_references(tmp_path / "r").allowing(str(targets))
    theirs: Any = zarr.open_group(made.readonly_session("main").store, mode="r")
    for number in range(len(names)):
        expected = theirs[f"x{number}"][:].tolist()
        assert np.asarray(refs.chunk(f"x{number}", (0,)).values).tolist() == expected
    assert refs.source.repository is not None
    assert refs.source.repository.outside == 0


def test_differences_between_versions(repository: Path) -> None:
    found = rx.diff(f"{repository}@v1", f"{repository}@main")
    assert {**found.counts, "same": 0} == {"same": 0, "shifted": 1}
    assert found.rows()[0].before == rx.types.Range(
        f"file://{repository.parent}/targets/f.bin", 10, 12
    )


@OF_ICECHUNK_1
def test_sessions_and_stores_open_as_their_folder(repository: Path) -> None:
    opened = icechunk.Repository.open(icechunk.local_filesystem_storage(str(repository)))
    main, tagged = opened.readonly_session("main"), opened.readonly_session(tag="v1")
    wanted = rx.open_references(repository).to_v0()
    for source in (opened, main, main.store):
        assert rx.open_references(source).to_v0() == wanted
    refs = rx.open_references(tagged)
    assert refs.to_v0() == rx.open_references(f"{repository}@v1").to_v0()
    assert refs.source.location == str(repository)
    writable = opened.writable_session("main")
    zarr.open_group(writable.store).attrs["title"] = "other"
    with pytest.raises(rx.errors.SourceError, match="uncommitted changes"):
        rx.open_references(writable)


@OF_ICECHUNK_1
def test_other_storage_is_one_sentence(tmp_path: Path) -> None:
    made = icechunk.Repository.create(icechunk.in_memory_storage())
    with pytest.raises(rx.errors.SourceError, match="in a local folder"):
        rx.open_references(made)
    long = tmp_path / "/".join(["a" * 99] * 4)
    long.mkdir(parents=True)
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(long)))
    assert len(rx.open_references(made)) == 0


def test_nothing_but_the_answer_is_on_stdout(repository: Path) -> None:
    ran = run("ls", repository, "--json")
    assert ran.status == 0, ran.err
    assert [row["name"] for row in json.loads(ran.out)["rows"]] == ["zarr.json", "big", "g", "s"]


@OF_ICECHUNK_1
def test_what_cannot_be_read_is_one_sentence(
    repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    with pytest.raises(rx.errors.SourceError, match="repo cannot be read by icechunk"):
        rx.open_references(f"{repository}@nope")
    for manifest in (repository / "manifests").iterdir():
        manifest.write_bytes(manifest.read_bytes()[:60])
    said = [each for each in rx.open_references(repository).diagnostics if each.key is None]
    assert {each.code for each in said if each.severity == "error"} == {"icechunk-lost-manifest"}
    assert capfd.readouterr().out == ""


def test_readers_of_references_refuse_a_repository(tmp_path: Path) -> None:
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    write(storage, targets_of(tmp_path / "targets"))
    found = rx.dialects(tmp_path / "repo")
    outcomes = {verdict.reader: str(verdict.outcome) for verdict in found}
    assert (outcomes["icechunk"], outcomes["GDAL, Icechunk driver"]) == ("same", "not run")
    assert found["icechunk"].is_run
    assert {outcomes[name] for name in ("GDAL", "VirtualiZarr", "duckdb-zarr")} == {"refused"}


def test_a_repository_of_an_older_icechunk_is_not_said_to_be_missing(tmp_path: Path) -> None:
    """Before 1.0 each commit of a branch was a file of its own."""
    for folder in ("snapshots", "manifests", "refs/branch.main"):
        (tmp_path / "old" / folder).mkdir(parents=True)
    (tmp_path / "old/refs/branch.main/ZZZZZZZZ.json").write_text('{"snapshot": "0"}')
    with pytest.raises(rx.errors.SourceError, match="by a version before Icechunk 1") as refusal:
        rx.open_references(tmp_path / "old")
    assert "exist" not in str(refusal.value)


def test_a_repository_without_chunks_opens(tmp_path: Path) -> None:
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    made = icechunk.Repository.create(storage)
    assert not (tmp_path / "repo" / "manifests").exists()
    before = rx.open_references(tmp_path / "repo")
    assert (before.source.form, before.arrays()) == ("Icechunk", ())
    session = made.writable_session("main")
    zarr.group(store=session.store).create_array("x", shape=(2,), chunks=(2,), dtype="i2")
    session.commit("an array without chunks")
    after = rx.open_references(tmp_path / "repo")
    assert after.arrays() == ("x",)
    assert np.asarray(after.read("x")).tolist() == [0, 0]
