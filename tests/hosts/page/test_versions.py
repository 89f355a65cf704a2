"""Versions of Icechunk repositories for visitors of a page: what they may open, and no more."""

from __future__ import annotations

import pickle
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.hosts.page.library import Library, Upload
from refexplorer.hosts.page.openings import Opened, Openings, OpeningWatch
from refexplorer.hosts.page.page import ExplorerView, ServedPage
from refexplorer.io.access import InternetPolicy
from refexplorer.verbs.opening import guarded_history
from tests.formats.icechunk.building import targets_of, write
from tests.helpers.explorer import Host, ask
from tests.helpers.visiting import choose, go, hear

icechunk: Any = pytest.importorskip("icechunk")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    write(storage, targets_of(tmp_path / "targets"))
    return tmp_path / "repo"


def visiting(library: Library, refs: rx.ReferenceSet) -> Host:
    """Return what a visitor has of a set."""
    return Host(refs, served=True, versions=library.versions(refs))


@pytest.mark.parametrize("is_owners", [False, True])
def test_a_visitor_lists_and_compares_versions(folder: Path, is_owners: bool) -> None:
    library = Library([] if is_owners else [str(folder)])
    if is_owners:
        library.offer(rx.open_references(folder))
    host = visiting(library, library.open("repo" if is_owners else str(folder)))
    assert host.ask("hello")["has_versions"] is True
    answer, _ = ask(host, "versions.list")
    known = rx.history(folder)
    assert dict(answer["branches"]) == known.branches
    assert dict(answer["tags"]) == known.tags
    assert [row["id"] for row in answer["snapshots"]] == [each.id for each in known.snapshots()]
    assert str(folder) not in str(answer)
    if not is_owners:  # each reading may take a process of its own
        answer, _ = ask(host, "versions.compare", before="v1", after="main")
        assert "1 key differs" in answer.get("title", ""), answer
        assert answer["logged"] == ["1 chunk written in g/x"]
    for name in ("../../targets", "", "main#0", *(["nothing"] if is_owners else [])):
        answer, _ = ask(host, "versions.compare", before=name, after="v1")
        assert "error" in answer
        assert str(folder) not in answer["error"]


def test_one_version_is_opened_in_place_of_another_and_has_an_address(folder: Path) -> None:
    library = Library()
    refs = rx.open_references(folder)
    library.offer(refs)
    page = ServedPage(library)
    page.show(refs, "repo")

    def shown() -> rx.ReferenceSet:
        found = page._references
        assert found is not None
        return found

    def picks(version: str) -> None:
        explorer: Any = page._made["explorer"]
        assert isinstance(explorer, ExplorerView)
        said: queue.Queue[Any] = queue.Queue()
        explorer._controller.post = lambda message, buffers: said.put(message)
        explorer._handle_msg({"id": "t:1", "op": "versions.open", "version": version})
        explorer._worker.shutdown()
        for each in threading.enumerate():
            if each.name == "refexplorer-job":
                each.join(60)
        answers = [said.get() for _ in range(said.qsize())]
        assert not [answer for answer in answers if "error" in answer]

    picks("v1")
    assert {**shown()} == {**rx.open_references(f"{folder}@v1")} != {**refs}
    assert page._source == "repo@v1"
    hear(page, op="turn", view="exercises")  # meanwhile
    told: list[str] = []
    page._frame.param.watch(lambda change: told.append(change.new["address"]), "place")
    picks("main")
    assert told == ["source=repo%40main&view=exercises"]  # one step of the history
    assert {**shown()} == {**refs}
    assert page._source == "repo@main"
    assert page._frame.view == "exercises"
    other = ServedPage(library)
    go(other, "source=repo@v1")
    assert other._frame.problem == ""
    assert other._references is not None
    assert {**other._references} == {**rx.open_references(f"{folder}@v1")}
    choose(other, f"{folder}@v1")
    assert "is not opened on this page" in other._frame.problem


def test_an_owner_who_names_a_version_shares_that_one(folder: Path) -> None:
    library, refs = Library(), rx.open_references(f"{folder}@v1")
    library.offer(refs)
    assert library.versions(refs) is None
    host = visiting(library, refs)
    assert host.ask("hello")["has_versions"] is False
    answer, _ = ask(host, "versions.list")
    assert "opened by path or URL" in answer["error"]
    with pytest.raises(rx.RefexplorerError):
        library.open("repo@main")
    assert Library([str(folder)]).versions(refs) is not None


def test_another_repository_is_not_opened(folder: Path, tmp_path: Path) -> None:
    refs = rx.open_references(folder)
    assert Library([str(tmp_path / "elsewhere")]).versions(refs) is None
    policy = InternetPolicy([str(tmp_path / "elsewhere")])
    for source in (str(folder), f"{folder}@v1", f"file://{folder}"):
        with (
            pytest.raises((rx.errors.AccessError, rx.errors.SourceError)),
            guarded_history(source, policy, rx.Limits()),
        ):
            pass


class Seen(Openings):
    """Keeps what its processes are given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[bytes] = []

    def open(
        self, name: str, opening: Callable[..., Opened], watch: OpeningWatch | None = None
    ) -> Opened:
        self.given.append(pickle.dumps(opening))
        return super().open(name, opening, watch)


@pytest.mark.server
def test_processes_that_open_for_visitors_load_nothing_of_the_page(folder: Path) -> None:
    openings = Seen()
    library = Library([str(folder)], openings=openings)
    versions = library.versions(library.open(str(folder)))
    assert versions is not None
    assert versions.ask(lambda: True, "listing", 10).tags
    assert versions.ask(lambda: True, "changes", "v1", "main")
    assert versions.open("v1", lambda: True).count
    upload = Upload("dropped.json", 13, 13)
    upload.add(b'{"a": "text"}')
    dropped = library.open_dropped(upload)
    assert (dropped.source.name, {*dropped}) == ("dropped.json", {"a"})
    assert len(openings.given) == 5
    assert not [each for each in openings.given if b"refexplorer.hosts.page" in each]
