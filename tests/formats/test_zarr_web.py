"""Stores of Zarr on web servers: what their consolidated metadata tell, and what nobody knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch import http
from refexplorer.verbs.opening import open_guarded
from tests.helpers.servers import RangeServer, range_server

pytestmark = [
    pytest.mark.server,
    pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part"),
]
VALUES = np.arange(24, dtype="<i4").reshape(4, 6)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon: four tries take a second and more."""
    monkeypatch.setattr(http, "FIRST_WAIT", 0.01)


@pytest.fixture(scope="module", params=[2, 3])
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, bytes], int]:
    """Write a store of two arrays, of which one chunk was never written."""
    folder = tmp_path_factory.mktemp("stores")
    path = folder / "x.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=request.param)
    names: dict[str, Any] = {"chunks": (2, 3), "dtype": "<i4", "fill_value": -1}
    array: Any = group.create_array("g/x", shape=(4, 6), **names)
    array[:2] = VALUES[:2]
    array[2:, :3] = VALUES[2:, :3]
    scalar: Any = group.create_array("s", shape=(), dtype="<i4")
    scalar[...] = 7
    zarr.consolidate_metadata(str(path))
    files = {
        f"/d/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for file in path.rglob("*")
        if file.is_file()
    }
    return files, request.param


@pytest.fixture
def served(written: tuple[dict[str, bytes], int]) -> Iterator[tuple[RangeServer, int]]:
    """Serve the store."""
    files, version = written
    with range_server() as server:
        server.files = dict(files)
        yield server, version


def test_keys_come_from_the_grids(served: tuple[RangeServer, int]) -> None:
    server, version = served
    url = f"{server.url}/d/x.zarr"
    with pytest.warns(
        rx.errors.LeftOutWarning, match="x.zarr is not listed.*: 5 chunks of its arrays"
    ):
        refs = rx.open_references(url)
    assert (refs.source.form, refs.source.place) == ("Zarr", url)
    assert refs.arrays() == ("g/x", "s")
    keys = {key for key in refs if isinstance(refs[key], rx.types.Url)}
    start = "g/x/c/" if version == 3 else "g/x/"
    last = "{}/{}" if version == 3 else "{}.{}"
    scalar = "s/c" if version == 3 else "s/0"
    assert keys == {start + last.format(i, j) for i in (0, 1) for j in (0, 1)} | {scalar}
    assert all(f"{url}/{key}" == refs[key].to_v0()[0] for key in keys)
    assert {path for path in server.requests if "/c/" in path} == set()  # no chunk was read
    group: Any = refs.to_zarr()
    assert np.array_equal(group["g/x"][:2], VALUES[:2])
    assert group["s"][...] == 7
    assert np.all(group["g/x"][2:, 3:] == -1)


@pytest.mark.filterwarnings("ignore:.*is not listed:refexplorer.core.errors.LeftOutWarning")
def test_a_visitor_and_the_limits(served: tuple[RangeServer, int]) -> None:
    server, _ = served
    url, policy = f"{server.url}/d/x.zarr", AccessPolicy(None, [served[0].url], served=True)
    assert open_guarded(url, policy, rx.Limits()).arrays() == ("g/x", "s")
    before = len(server.requests)
    with pytest.raises(rx.errors.AccessError):
        open_guarded(url, AccessPolicy(None, [], served=True), rx.Limits())
    assert len(server.requests) == before
    with pytest.raises(rx.errors.LimitError, match=r"x\.zarr has .* keys, more than 5"):
        rx.open_references(url, limits=rx.Limits(expanded_keys=5))


@pytest.mark.filterwarnings("ignore:.*is not listed:refexplorer.core.errors.LeftOutWarning")
@pytest.mark.parametrize(
    "change",
    [
        {"shape": [10**30, 10**30]},
        {"shape": "wide"},
        {"chunks": [0, 0], "chunk_grid": None},
        {"zarr_format": []},
    ],
    ids=str,
)
def test_metadata_that_lie(change: dict[str, Any], served: tuple[RangeServer, int]) -> None:
    server, version = served
    name = "/d/x.zarr/" + ("zarr.json" if version == 3 else ".zmetadata")
    document = json.loads(server.files[name])
    nodes = document["consolidated_metadata"]["metadata"] if version == 3 else document["metadata"]
    node = "g/x" if version == 3 else "g/x/.zarray"
    nodes[node] |= change
    nodes["odd"] = 5
    server.files[name] = json.dumps(document).encode()
    try:
        refs = rx.open_references(f"{server.url}/d/x.zarr")
    except rx.RefexplorerError as error:
        assert str(error).count("\n") == 0  # noqa: PT017
    else:
        assert "s" in refs.arrays()


def test_what_is_not_consolidated_is_told_as_before(served: tuple[RangeServer, int]) -> None:
    server, version = served
    server.files.pop("/d/x.zarr/.zmetadata", None)
    root = "/d/x.zarr/zarr.json"
    if root in server.files:
        document = json.loads(server.files[root])
        del document["consolidated_metadata"]
        server.files[root] = json.dumps(document).encode()
    with pytest.raises(rx.errors.SpecError, match=f"a Zarr v{version} store"):
        rx.open_references(f"{server.url}/d/x.zarr")


@pytest.fixture
def unlisted(served: tuple[RangeServer, int]) -> tuple[RangeServer, rx.ReferenceSet, str]:
    """Open the store; the key is that of the chunk that was never written."""
    server, version = served
    with pytest.warns(rx.errors.LeftOutWarning):
        refs = rx.open_references(f"{server.url}/d/x.zarr")
    return server, refs, "g/x/c/1/1" if version == 3 else "g/x/1.1"


def test_a_chunk_that_was_never_written_is_the_fill_value(
    unlisted: tuple[RangeServer, rx.ReferenceSet, str],
) -> None:
    _, refs, key = unlisted
    wanted = np.full((4, 6), -1, "<i4")
    wanted[:2], wanted[2:, :3] = VALUES[:2], VALUES[2:, :3]
    group: Any = refs.to_zarr()
    assert np.array_equal(group["g/x"][:], wanted)
    assert np.array_equal(refs.read("g/x", (slice(None), slice(None))).values, wanted)
    assert refs.chunk("g/x", (1, 1)).state == "fill"
    assert refs.chunk("g/x", (1, 0)).state == "fetched"
    found = refs.trace(key)
    assert (found.state, found.steps[-1].result[:18]) == ("fill", "no such file (404)")
    why = refs.why("g/x", (3, 5))
    assert why.cause == "no reference"
    assert "The server has no file of the chunk" in str(why)
    with pytest.raises(FileNotFoundError):
        refs.filesystem().cat_file(key)
    assert isinstance(refs.filesystem().cat([key], on_error="return")[key], FileNotFoundError)


def test_the_checks_say_which(unlisted: tuple[RangeServer, rx.ReferenceSet, str]) -> None:
    server, refs, key = unlisted
    checks = refs.check_targets()
    assert {row["target"] for row in checks.files().to_pylist() if row["unwritten"]} == {
        f"{server.url}/d/x.zarr/{key}"
    }
    assert checks.good
    audit = refs.audit(decode="all")
    counts = audit.ledger.all_counts()
    assert (counts[rx.types.LedgerState.DECODED], counts[rx.types.LedgerState.EMPTY]) == (4, 1)
    assert audit.ledger.files.counts == {"found": 5}
    assert not audit.has_errors
    assert "1 empty" in str(audit)
    verified = refs.verify()
    assert "reads as the fill value" in str(verified)
    assert not verified.has_errors


@pytest.mark.parametrize(
    ("status", "said"), [(403, "S3 answers the same"), (410, "gone"), (500, "answered 500")]
)
def test_any_other_answer_is_a_failure(
    status: int, said: str, unlisted: tuple[RangeServer, rx.ReferenceSet, str]
) -> None:
    server, refs, key = unlisted
    server.statuses = {f"/d/x.zarr/{key}": status}
    found = refs.chunk("g/x", (1, 1))
    assert found.state == "failed"
    assert said in str(found.message)
    with pytest.raises(rx.errors.FetchError, match=said):
        refs.filesystem().cat_file(key)
    rows = refs.check_targets().files().to_pylist()
    (check,) = (each for each in rows if each["target"].endswith(key))
    assert check["state"] == "unreachable"
    assert said in str(check["message"])


def test_a_file_of_a_reference_file_is_never_taken_for_unwritten(
    unlisted: tuple[RangeServer, rx.ReferenceSet, str], tmp_path: Path
) -> None:
    _, refs, key = unlisted
    refs.to_json(tmp_path / "set.json")
    again = rx.open_references(tmp_path / "set.json")
    allowed = [str(refs.source.place)]
    assert again.allowing(*allowed).chunk("g/x", (1, 1)).state == "failed"
    with pytest.raises(rx.errors.FetchError, match="there is no such file"):
        again.allowing(*allowed).filesystem().cat_file(key)
    assert not again.allowing(*allowed).check_targets().good


def test_servers_that_lie_are_failures_and_not_fill_values(
    unlisted: tuple[RangeServer, rx.ReferenceSet, str],
) -> None:
    server, refs, key = unlisted
    path, other = f"/d/x.zarr/{key}", key.replace("1/1", "0/0").replace("1.1", "0.0")
    page = b"<html>There is no such page, says a status of 200.</html>"
    server.files[path] = page
    assert refs.chunk("g/x", (1, 1)).state == "failed"
    del server.files[path]
    server.redirects[path] = f"{server.url}/elsewhere"  # which it has not either
    assert refs.allowing(server.url).chunk("g/x", (1, 1)).state == "fill"
    server.redirects[path] = "http://169.254.169.254/latest"
    with pytest.raises(rx.errors.AccessError):
        refs.allowing(server.url).chunk("g/x", (1, 1))
    server.truncated.add(f"/d/x.zarr/{other}")
    assert refs.chunk("g/x", (0, 0)).state == "failed"
    del server.files[f"/d/x.zarr/{other}"]  # deleted since, which nobody can tell from never
    server.truncated.clear()
    assert refs.chunk("g/x", (0, 0)).state == "fill"
    assert sum(refs.check_targets().files()["unwritten"].to_pylist()) > 0
