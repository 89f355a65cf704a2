"""Snapshots of many chunks, whose manifests are read when their chunks are asked for."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import refexplorer as rx
from refexplorer.formats.icechunk.columns import nodes_of
from refexplorer.refset.manifest_segment import ManifestPart, ManifestRecords
from refexplorer.refset.opened_set import internals
from refexplorer.spec.references import Kind

icechunk: Any = pytest.importorskip("icechunk")
LONG, GRID = 9_000, (80, 60)


def url(number: int) -> str:
    return f"s3://bucket/file_{number // 24:05}.nc"


def held(row: int, column: int) -> bool:
    return (row * column) % 3 == 0


def write(folder: Path) -> dict[str, list[Any]]:
    """Write arrays whose manifests are split, one of them with holes; return their references."""
    split = icechunk.ManifestSplittingConfig.from_dict(
        {
            icechunk.ManifestSplitCondition.AnyArray(): {
                icechunk.ManifestSplitDimCondition.Axis(0): 1_000,
                icechunk.ManifestSplitDimCondition.Axis(1): 25,
            }
        }
    )
    config = icechunk.RepositoryConfig(manifest=icechunk.ManifestConfig(splitting=split))
    container = icechunk.s3_store(region="us-east-1")
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer("s3://bucket/", container))
    storage = icechunk.local_filesystem_storage(str(folder))
    repository = icechunk.Repository.create(storage, config)
    session = repository.writable_session("main")
    root = zarr.open_group(session.store, mode="w")
    root.create_array("time", shape=(4,), chunks=(4,), dtype="i4", compressors=None)[:] = 7
    root.create_array("g/long", shape=(LONG,), chunks=(1,), dtype="i2", compressors=None)
    root.create_array("wide", shape=GRID, chunks=(1, 1), dtype="i2", compressors=None)
    cells = [(row, column) for row in range(GRID[0]) for column in range(GRID[1])]
    cells = [cell for cell in cells if held(*cell)]
    chunk = icechunk.VirtualChunkSpec
    session.store.set_virtual_refs(
        "g/long", [chunk([n], url(n), n * 10, 2) for n in range(LONG)], validate_containers=False
    )
    session.store.set_virtual_refs(
        "wide",
        [chunk(list(cell), url(n), n, 2) for n, cell in enumerate(cells)],
        validate_containers=False,
    )
    session.commit("many chunks")
    found = {f"g/long/c/{n}": [url(n), n * 10, 2] for n in range(LONG)}
    return found | {f"wide/c/{i}/{j}": [url(n), n, 2] for n, (i, j) in enumerate(cells)}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Any]]]:
    folder = tmp_path_factory.mktemp("icechunk") / "repo"
    return folder, write(folder)


def test_every_reference_is_the_one_that_was_written(
    written: tuple[Path, dict[str, list[Any]]],
) -> None:
    folder, expected = written
    refs = rx.open_references(folder)
    found = refs.to_v0()
    assert {key: found[key] for key in expected} == expected
    rest = {key for key in found if not key.endswith("zarr.json")} - expected.keys()
    assert rest == {"time/c/0"}
    assert refs.count == len(found) == len(list(refs))
    assert [refs[key].to_v0() for key in ("g/long/c/8999", "wide/c/3/59")] == [
        expected["g/long/c/8999"],
        expected["wide/c/3/59"],
    ]
    assert "wide/c/1/1" not in refs
    assert "wide/c/80/0" not in refs
    assert refs.number("wide/c/3/59") == list(refs).index("wide/c/3/59")
    again = pickle.loads(pickle.dumps(refs))
    assert again["g/long/c/5"] == refs["g/long/c/5"]


def test_the_counts_are_those_of_the_references(
    written: tuple[Path, dict[str, list[Any]]],
) -> None:
    folder, expected = written
    refs = rx.open_references(folder)
    summary = refs.summary()
    assert summary.kinds[Kind.RANGE] == len(expected)
    assert summary.kinds[Kind.BASE64] == 1
    assert summary.targets == len({url for url, _, _ in expected.values()})
    others = [reference.size or 0 for key, reference in refs.items() if key not in expected]
    assert summary.bytes == 2 * len(expected) + sum(others)
    missing = GRID[0] * GRID[1] - sum(held(*cell) for cell in np.ndindex(*GRID))
    assert summary.missing == missing
    assert refs.chunk_grid("wide").states.astype(bool).sum() == GRID[0] * GRID[1] - missing
    assert list(refs.find("wide/c/79/*")) == [f"wide/c/79/{j}" for j in range(60) if held(79, j)]
    assert refs.source.repository is not None
    assert refs.source.repository.chunks["not told apart"] == len(expected) + 1


def test_counts_come_from_the_snapshot_while_manifests_are_not_read(
    written: tuple[Path, dict[str, list[Any]]], tmp_path: Path
) -> None:
    folder = shutil.copytree(written[0], tmp_path / "repo")
    expected = rx.open_references(folder).summary()
    shutil.rmtree(folder / "manifests")
    (folder / "manifests").mkdir()
    refs = rx.open_references(folder)
    found = internals(refs).counts(within=0)
    assert (found.keys, found.arrays, found.missing) == (
        expected.keys, expected.arrays, expected.missing,
    )  # fmt: skip
    assert (found.targets, found.bytes, found.left_out) == (None, None, 0)
    assert str(found).startswith(f"{expected.keys:,} keys, 3 arrays, {expected.missing:,} chunks")


def test_opening_reads_no_manifest_and_a_lost_one_is_no_fill_value(
    written: tuple[Path, dict[str, list[Any]]], tmp_path: Path
) -> None:
    folder = shutil.copytree(written[0], tmp_path / "repo")
    shutil.rmtree(folder / "manifests")
    (folder / "manifests").mkdir()
    refs = rx.open_references(folder)
    assert refs.count == len(written[1]) + 1 + 5
    assert [node.path for node in refs.children("g").rows] == ["g/zarr.json", "g/long"]
    assert refs.children("g/long", 0, 0).total == LONG + 1
    assert refs.get("g/long/c/5") is None
    rejection = refs.rejection("g/long/c/5")
    assert rejection is not None
    assert rejection.code == "icechunk-lost-manifest"
    with pytest.warns(rx.errors.LeftOutWarning):
        group: Any = refs.to_zarr()
    array = group["g/long"]
    with pytest.raises(rx.RefexplorerError, match="manifest"):
        array[5]
    assert {d.array for d in refs.diagnostics if d.code == rejection.code} == {
        "g/long", "wide", "time",
    }  # fmt: skip


def test_a_lost_manifest_of_a_small_repository_leaves_the_rest_usable(tmp_path: Path) -> None:
    storage = icechunk.local_filesystem_storage(str(tmp_path))
    repository = icechunk.Repository.create(storage)
    for name in ("x", "y"):
        session = repository.writable_session("main")
        root = zarr.open_group(session.store, mode="a")
        array = root.create_array(name, shape=(4,), chunks=(1,), dtype="i4", compressors=None)
        session.commit("array")
        session = repository.writable_session("main")
        written: Any = zarr.open_group(session.store, mode="a")
        written[name][:] = 7
        session.commit("values")
    before = rx.open_references(tmp_path)
    expected = {key: before[key] for key in before}
    assert array.shape == (4,)
    (lost,) = [
        path for path in (tmp_path / "manifests").iterdir() if _is_lost_with(path, tmp_path, "x")
    ]
    lost.unlink()
    refs = rx.open_references(tmp_path)
    (said,) = [each for each in refs.diagnostics if each.severity == "error"]
    assert (said.code, said.array) == ("icechunk-lost-manifest", "x")
    assert lost.name in said.pointer
    assert {key: refs[key] for key in refs if refs.get(key)} == {
        key: value for key, value in expected.items() if not key.startswith("x/c")
    }


def _is_lost_with(manifest: Path, folder: Path, path: str) -> bool:
    """Say whether a manifest has the chunks of an array."""
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(folder)))
    nodes = nodes_of(repository, repository.readonly_session("main"), "repo")
    return any(
        file.id == manifest.name for node in nodes if node.path == path for file in node.manifests
    )


def test_a_lost_manifest_is_a_finding_and_leaves_the_rest_usable(
    written: tuple[Path, dict[str, list[Any]]], tmp_path: Path
) -> None:
    folder = shutil.copytree(written[0], tmp_path / "repo")
    refs = rx.open_references(folder)
    (part,) = (part for part in _parts(refs) if part.start == 2_000)
    (folder / part.name).unlink()
    lost = [f"g/long/c/{number}" for number in range(2_000, 3_000)]
    found = refs.to_v0()
    assert found.keys() & set(lost) == set()
    expected = {key: value for key, value in written[1].items() if key not in lost}
    assert {key: found[key] for key in expected} == expected
    (said,) = [each for each in refs.diagnostics if each.severity == "error"]
    assert (said.code, said.pointer, said.array) == ("icechunk-lost-manifest", part.name, "g/long")
    assert "`g/long`" in said.message
    summary = refs.summary()
    assert (summary.kinds[Kind.RANGE], summary.left_out) == (len(expected), 1_000)
    assert refs.summary("g/long").missing == 0
    rejection = refs.rejection(lost[7])
    assert rejection is not None
    assert rejection.message == said.message
    with pytest.warns(rx.errors.LeftOutWarning):
        group: Any = refs.to_zarr()
    with pytest.raises(rx.RefexplorerError, match="manifest"):
        group["g/long"][2_007]
    audited = refs.audit()
    assert audited.counts.lost.manifests == 1
    assert "1 manifest unreadable: 1,000 chunks cannot be read." in str(audited)
    assert audited.headline.status != 0
    again = pickle.loads(pickle.dumps(refs))
    assert len(again.diagnostics) == len(refs.diagnostics)


def test_what_a_lost_manifest_may_have_had_is_no_fill_value(
    written: tuple[Path, dict[str, list[Any]]], tmp_path: Path
) -> None:
    folder = shutil.copytree(written[0], tmp_path / "repo")
    refs = rx.open_references(folder)
    shown = rx.open_references(folder)
    part = _parts(refs, "wide")[0]
    first = next(iter(part._files))
    (folder / "manifests" / first.id).unlink()
    (low, high), (left, right) = first.extents
    for row, column in np.ndindex(*GRID):
        key = f"wide/c/{row}/{column}"
        if low <= row < high and left <= column < right:
            assert refs.rejection(key) is not None, key
        else:
            assert refs.rejection(key) is None
            assert refs.get(key) == shown.get(key)
    counts = refs.chunk_grid("wide")
    assert len(counts.left_out) == (high - low) * (right - left)


def _parts(refs: rx.ReferenceSet, path: str = "g/long") -> list[ManifestPart]:
    opened = internals(refs).opened
    found = (each for each in opened.segments if isinstance(each, ManifestRecords))
    return [*next(each for each in found if each.array.path == path).parts]


def test_a_manifest_with_other_chunks_than_its_snapshot_says(
    written: tuple[Path, dict[str, list[Any]]], tmp_path: Path
) -> None:
    folder = shutil.copytree(written[0], tmp_path / "repo")
    shown = rx.open_references(folder)
    refs = rx.open_references(folder)
    assert shown["g/long/c/10"] != shown["g/long/c/1010"]
    names = sorted((folder / "manifests").iterdir(), key=lambda path: path.stat().st_size)
    last = names[-1].read_bytes()
    for name in names[-9:]:
        name.write_bytes(last)
    wrong = r"does not have the 1,000 chunks|cannot be read|lacks the array"
    said = [each for each in refs.diagnostics if each.code == "icechunk-lost-manifest"]
    assert said
    assert all(re.search(wrong, each.message) for each in said)


def test_a_difference_of_snapshots_reads_the_manifests_that_changed(
    written: tuple[Path, dict[str, list[Any]]], tmp_path: Path
) -> None:
    folder = shutil.copytree(written[0], tmp_path / "repo")
    before = rx.open_references(folder)
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(folder)))
    session = repository.writable_session("main")
    changed = [
        icechunk.VirtualChunkSpec([number], "s3://bucket/other.nc", 5, 2)
        for number in (8_001, 8_002)
    ]
    session.store.set_virtual_refs("g/long", changed, validate_containers=False)
    session.commit("two chunks")
    after = rx.open_references(folder)
    own = {file.name for file in (folder / "manifests").iterdir()}
    old = set(_manifests(before)) - set(_manifests(after))
    new = set(_manifests(after)) - set(_manifests(before))
    assert (len(old), len(new)) == (1, 1)
    for name in own - old - new:
        (folder / "manifests" / name).unlink()
    found = rx.diff(before, after)
    assert found.counts == {"same": before.count - 2, "moved": 2}
    assert [row.key for row in found.rows()] == ["g/long/c/8001", "g/long/c/8002"]


def _manifests(refs: rx.ReferenceSet) -> list[str]:
    """Return the ids that Icechunk names for a snapshot."""
    facts = refs.source.repository
    assert facts is not None
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(facts.place))
    found = repository.inspect_snapshot(facts.snapshot)
    snapshot = json.loads(found) if isinstance(found, str) else found
    return [each["id"] for node in snapshot["nodes"] for each in node.get("manifest_refs", ())]
