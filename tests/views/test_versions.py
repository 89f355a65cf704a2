"""The versions of an Icechunk repository over the wire: listed, compared, opened."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from tests.formats.icechunk.building import targets_of, write
from tests.helpers.explorer import Host, ask
from tests.helpers.sets import DEMO

icechunk: Any = pytest.importorskip("icechunk")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    write(storage, targets_of(tmp_path / "targets"))
    return tmp_path / "repo"


def test_they_are_listed(folder: Path) -> None:
    refs = rx.open_references(folder)
    answer, _ = ask(Host(refs), "versions.list")
    known = rx.history(folder)
    assert refs.source.repository is not None
    assert answer["shown"] == refs.source.repository.snapshot
    assert dict(answer["branches"]) == known.branches
    assert dict(answer["tags"]) == known.tags
    rows = answer["snapshots"]
    assert [row["id"] for row in rows] == [each.id for each in known.snapshots()]
    assert [row["message"] for row in rows[:2]] == ["second", "first"]
    assert [row["names"] for row in rows[:2]] == [["main"], ["v1"]]
    assert answer["more"] is False


@pytest.mark.parametrize(("before", "after"), [("v1", "main"), ("main", "v1")])
def test_what_changed_between_two(before: str, after: str, folder: Path) -> None:
    answer, _ = ask(
        Host(rx.open_references(folder)), "versions.compare", before=before, after=after
    )
    found = rx.diff(f"{folder}@{before}", f"{folder}@{after}")
    assert found.total == 1
    assert "1 key differs" in answer["title"]
    _, count, key = answer["lines"]
    assert count.split() == ["S", "shifted", "1"]
    assert "g/x/c/0/0" in key
    assert answer["logged"] == (["1 chunk written in g/x"] if before == "v1" else [])


def test_another_one_is_shown_in_its_place(folder: Path) -> None:
    shown: list[rx.ReferenceSet] = []
    host = Host(rx.open_references(folder), show=shown.append)
    answer, _ = ask(host, "versions.open", version="v1")
    assert "error" not in answer
    (found,) = shown
    assert {**found} == {**rx.open_references(f"{folder}@v1")}
    explorer: Any = rx.explore(folder)
    first, done = explorer.references["g/x/c/0/0"], threading.Event()
    explorer.observe(lambda change: done.set(), "references")
    explorer._controller.handle({"id": "t:1", "op": "versions.open", "version": "v1"})
    assert done.wait(60)
    assert explorer.references["g/x/c/0/0"] == found["g/x/c/0/0"] != first


def test_where_the_host_cannot_the_name_is_reported(folder: Path) -> None:
    answer, _ = ask(Host(rx.open_references(folder)), "versions.open", version="v1")
    assert f"cannot be shown here; open {folder}@v1" in answer["error"]


def test_a_version_that_there_is_not(folder: Path) -> None:
    host = Host(rx.open_references(folder))
    answer, _ = ask(host, "versions.compare", before="nothing", after="main")
    assert "cannot be read by icechunk" in answer["error"]


def test_other_sets_have_none() -> None:
    answer, _ = ask(Host(DEMO / "sst.v1.json"), "versions.list")
    assert "only for Icechunk repositories" in answer["error"]


def test_on_a_page_for_others_nothing_is_read(folder: Path) -> None:
    host = Host(rx.open_references(folder), served=True)
    for op, fields in (
        ("versions.list", {}),
        ("versions.compare", {"before": "v1", "after": "main"}),
        ("versions.open", {"version": "v1"}),
    ):
        answer, _ = ask(host, op, **fields)
        assert "error" in answer


def test_targets_of_the_repository_are_distinguished(folder: Path) -> None:
    refs = rx.open_references(folder)
    kinds = {target.url: target.kind for target in refs.targets()}
    native = [str(url) for url, kind in kinds.items() if kind == "native"]
    assert native
    assert all(url.startswith("chunks/") for url in native)
    assert [url for url, kind in kinds.items() if kind == "virtual"] == [
        f"file://{folder.parent}/targets/f.bin"
    ]
    answer, _ = ask(Host(refs), "targets.rows", start=0, n=10)
    assert {row["url"]: row["kind"] for row in answer["rows"]} == kinds
    plain = rx.open_references(DEMO / "sst.v1.json")
    assert {target.kind for target in plain.targets()} == {None}
