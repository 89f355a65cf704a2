"""What a visitor writes opens nothing outside the folders that `allow` names, however written.

Every file outside holds the key `secret`, every file inside the key `mine`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refexplorer.core.errors import AccessError, FetchError, RefexplorerError, SourceError
from refexplorer.core.limits import DEFAULT_LIMITS
from refexplorer.hosts.page.library import Library
from refexplorer.hosts.page.openings import Openings
from refexplorer.hosts.page.page import ExplorerView, ServedPage
from refexplorer.io.access import AccessPolicy, parse
from refexplorer.io.fetch.targets import Targets, open_resolved
from refexplorer.spec.references import Url
from refexplorer.verbs.opening import open_references
from refexplorer.views.explorer.explorer_controller import ExplorerController
from tests.helpers.visiting import go

MINE, SECRET = '{"mine": "text"}', '{"secret": "text"}'
LONG = "x" * 5000
NAMES = (
    "..", ".", "", "~", "~root", "$HOME", "${HOME}", "%2e%2e", "..%2f", "%00", "\0", "\ud800", " ",
    "in.json", "list.json", "list.json#0", "link.json", "link.json#0", "link.json#1", "linked",
    "linked#0", "sub", "open", "home", "secret.json", "secret.json#0", "store", "store/.zmetadata",
    ".zmetadata", "repository", "repository@main", "repository@main#0", "link.json@main", "C:",
    "C:\\secret.json", "\\\\host\\share", "loop", "dangling", LONG, "snapshots",
)  # fmt: skip
STARTS = (
    "", "/", "//", "///", "./", "~/", "file:", "file:/", "file://", "file:///", "FILE://",
    "file://localhost", "file://~/", "local://", "local:", "simplecache::", "simplecache::file://",
    "filecache::", "zip://in.json::", "zip://*::file://", "dir::", "reference::", "memory://",
    "\ufeff", " ", "\t", "{", "[",
)  # fmt: skip
ENDS = (
    "",
    "",
    "#0",
    "#00",
    "#0#0",
    "#",
    "@main",
    "@",
    "@../main",
    "/",
    "//",
    "/.",
    "\0",
    "?a",
    "%00",
)


SPELLINGS = 4 * settings().max_examples if settings().derandomize else 5000
"""The same ones each time, beside those that are named; `exploring` looks for many others."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder ``open``, ways out of it, and what must not be opened, which is the home, too."""
    top = tmp_path_factory.mktemp("place").resolve()
    home, inside = top / "home", top / "open"
    for folder in (home, inside / "sub", inside / "~", home / "sub"):
        folder.mkdir(parents=True)
    for folder in (top, home, home / "sub"):
        (folder / "secret.json").write_text(SECRET)
        (folder / "in.json").write_text(SECRET)
        (folder / "list.json").write_text(f"[{SECRET}]")
    for folder in (inside, inside / "sub", inside / "~"):
        (folder / "in.json").write_text(MINE)
        (folder / "list.json").write_text(f"[{MINE}, {MINE}]")
        (folder / "link.json").symlink_to(home / "secret.json")
        (folder / "link.json#1").symlink_to(home / "secret.json")
        (folder / "linked").symlink_to(home, target_is_directory=True)
        (folder / "loop").symlink_to("loop")
        (folder / "dangling").symlink_to(home / "nothing")
        (folder / "store").mkdir()
        (folder / "store/.zmetadata").symlink_to(home / "secret.json")
    _repository(inside / "repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.chdir(inside)
        yield top


def _repository(folder: Path) -> None:
    """Make a repository with a chunk that only a manifest knows."""
    icechunk: Any = pytest.importorskip("icechunk", reason="the package icechunk is not installed")
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(folder)))
    session = made.writable_session("main")
    root = zarr.group(store=session.store)
    root.create_array("x", shape=(2000,), chunks=(1000,), dtype="i4", compressors=None)[:] = 7
    made.create_tag("v1", session.commit("first"))


def spellings() -> st.SearchStrategy[str]:
    parts = st.lists(st.sampled_from(NAMES) | st.text(max_size=3), max_size=5)
    path = st.tuples(parts, st.sampled_from(("/", "//", "/./", "\\"))).map(
        lambda found: found[1].join(found[0])
    )
    start = st.sampled_from(STARTS) | st.sampled_from(STARTS).map(lambda text: text + "TOP/")
    return st.tuples(start, path, st.sampled_from(ENDS)).map("".join)


@settings(max_examples=SPELLINGS)
@given(spelling=spellings())
@example("TOP/open/~/secret.json")
@example("~/secret.json")
@example("TOP/open/link.json#0")
@example("TOP/open/link.json#1")
@example("file://TOP/open/link.json#0")
@example("TOP/open/linked/list.json#0")
@example("TOP/open/store")
@example(f"TOP/open/{LONG}")
@example(f"TOP/open/{LONG}#0")
@example(LONG)
@example("TOP/open/in.json\0")
def test_no_spelling_opens_what_is_outside(place: Path, spelling: str) -> None:
    library = Library([str(place / "open")])
    try:
        opened = library.open(spelling.replace("TOP", str(place)))
    except RefexplorerError as error:
        said = str(error)
        assert len(said) < 1000
        assert said.endswith(".")
        assert "\n" not in said
    else:
        assert "secret" not in opened


@pytest.mark.parametrize(
    "spelling",
    [
        "TOP/open/in.json", "in.json", "./sub/../in.json", "TOP//open///in.json",
        "file://TOP/open/in.json", "local://TOP/open/in.json", "file:TOP/open/in.json",
        "TOP/open/list.json#1", "list.json#0", "file://TOP/open/list.json#0",
        "TOP/open/~/in.json", "~/in.json", "TOP/home/../open/in.json",
    ],
)  # fmt: skip
def test_every_honest_spelling_opens(place: Path, spelling: str) -> None:
    opened = Library([str(place / "open")]).open(spelling.replace("TOP", str(place)))
    assert list(opened) == ["mine"]


def test_a_home_is_not_expanded_for_a_visitor(place: Path) -> None:
    library = Library([str(place / "open")])
    assert list(open_references("~/in.json")) == ["secret"]
    assert list(library.open("~/in.json")) == ["mine"]
    with pytest.raises(SourceError, match=r"There is no file '~/secret\.json'"):
        library.open("~/secret.json")


def test_a_refusal_says_nothing_of_where_a_link_leads(place: Path) -> None:
    library = Library([str(place / "open")])
    said = set()
    for name in ("link.json", "dangling", "linked/nothing", "sub/link.json", "/nothing"):
        with pytest.raises(AccessError) as caught:
            library.open(name)
        assert str(place) not in str(caught.value)
        assert caught.value.grant == ""
        said.add(str(caught.value).replace(name, ""))
    assert len(said) == 1


@pytest.mark.parametrize("version", ["", "@main", "@v1"])
def test_a_version_of_a_repository_opens(place: Path, version: str) -> None:
    opened = Library([str(place / "open")]).open(f"{place}/open/repository{version}")
    assert opened.arrays()


def test_a_name_of_five_thousand_letters_is_one_sentence(place: Path) -> None:
    for opens in (Library([str(place / "open")]).open, open_references):
        for name in (LONG, f"{LONG}#0", f"{LONG}@main"):
            with pytest.raises(SourceError, match=r"…' cannot be read: file name too long\.$"):
                opens(name)


_HOOKS: list[Callable[[], None]] = []
"""What is called before each file or folder is opened; the last one only."""


def _before_opening(event: str, _arguments: tuple[object, ...]) -> None:
    if event == "open" and _HOOKS:
        _HOOKS[-1]()


sys.addaudithook(_before_opening)


@contextmanager
def swapping(path: Path, other: Path, moment: int) -> Iterator[list[int]]:
    """Let `path` be a link to `other` from the opening of that number on; give the openings."""
    honest, link = path.with_name("honest"), path.with_name("to-link")
    openings: list[int] = []

    def point_to(wanted: Path) -> None:
        link.symlink_to(wanted)
        link.replace(path)

    def opening() -> None:
        if len(openings) == moment:
            point_to(other)
        openings.append(moment)

    point_to(honest)
    _HOOKS.append(opening)
    try:
        yield openings
    finally:
        _HOOKS.pop()


@pytest.mark.parametrize("swapped", ["in.json", "sub"], ids=["at the end", "in the middle"])
def test_a_link_that_is_swapped_meanwhile_leads_nowhere(
    place: Path, tmp_path: Path, swapped: str
) -> None:
    inside = tmp_path / "open"
    shutil.copytree(place / "open/sub", inside / "sub", symlinks=True)
    shutil.copy(place / "open/in.json", inside / "in.json")
    name = inside / ("in.json" if swapped == "in.json" else "sub/in.json")
    library = Library([str(inside)])
    assert list(library.open(str(name))) == ["mine"]  # and whatever is imported for it
    other = place / "home" / ("secret.json" if swapped == "in.json" else "sub")
    (inside / swapped).rename(inside / "honest")
    outcomes = []
    for moment in count():
        with swapping(inside / swapped, other, moment) as openings:
            try:
                outcomes.append(next(iter(library.open(str(name)))))
            except RefexplorerError:
                outcomes.append("refused")
        if moment >= len(openings):
            break
    assert len(outcomes) > 3
    assert "secret" not in outcomes
    assert outcomes[-1] == "mine"  # there the link was left as it was


@pytest.mark.parametrize("swapped", ["f", "sub"], ids=["at the end", "in the middle"])
def test_what_was_checked_is_what_is_opened(tmp_path: Path, swapped: str) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    for folder in (home, outside):
        (folder / "sub").mkdir(parents=True)
        (folder / "sub/f").write_bytes(folder.name.encode())
    targets = Targets(AccessPolicy(str(home)), None, DEFAULT_LIMITS)
    assert targets.fetch("a", Url("sub/f")) == b"home"
    checked = targets.policy.place("sub/f")
    path = home / "sub" if swapped == "sub" else home / "sub/f"
    path.rename(path.with_name("before"))
    path.symlink_to(outside / path.relative_to(home))
    with pytest.raises(OSError, match=r"symbolic link|Not a directory"):
        open_resolved(checked.path)
    with pytest.raises(OSError, match=r"symbolic link|Not a directory"):
        targets.local.facts(checked)
    file = targets.local.opened(checked)
    with pytest.raises(OSError, match=r"symbolic link|Not a directory"):
        file.__enter__()
    with (
        pytest.raises(OSError, match=r"symbolic link|Not a directory"),
        targets.local.opened(checked),
    ):
        pass
    with pytest.raises((AccessError, FetchError)):
        targets.fetch("a", Url("sub/f"))


def test_a_pipe_that_is_swapped_in_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_resolved(str((tmp_path / "pipe").resolve()))


@pytest.mark.parametrize("name", ["a\ud800", "a\0b", "x" * 5000, "x/" * 5000])
def test_a_name_that_is_none_is_no_place(tmp_path: Path, name: str) -> None:
    policy = AccessPolicy(str(tmp_path))
    try:
        place = policy.place(name)
    except AccessError:
        return
    with pytest.raises(OSError, match=r"."):
        open_resolved(place.path)


def parquet_store(folder: Path, url: str) -> None:
    array = {
        "shape": [1], "chunks": [1], "dtype": "|u1", "compressor": None, "filters": None,
        "fill_value": 0, "order": "C", "zarr_format": 2,
    }  # fmt: skip
    metadata = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    (folder / "x").mkdir(parents=True)
    (folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 1}))
    record = {"path": [url], "offset": [0], "size": [1], "raw": pa.nulls(1, pa.binary())}
    pq.write_table(pa.table(record), folder / "x/refs.0.parq")


@pytest.mark.parametrize("linked", ["x/refs.0.parq", "x"], ids=["a file", "its folder"])
def test_record_files_behind_links_are_not_read(tmp_path: Path, linked: str) -> None:
    inside, outside = tmp_path / "open/store.parq", tmp_path / "outside.parq"
    parquet_store(inside, "mine.nc")
    parquet_store(outside, "secret.nc")
    library = Library([str(tmp_path / "open")])
    assert library.open(str(inside))["x/0"] == open_references(inside)["x/0"]
    path = inside / linked
    path.rename(path.with_name("before"))
    path.symlink_to(outside / linked)
    opened = library.open(str(inside))
    assert "secret" not in repr(list(opened.items())) + repr(opened.diagnostics)
    if linked != "x":
        said = [each.message for each in opened.diagnostics if each.code == "parquet-unreadable"]
        assert said == [
            "The record file `x/refs.0.parq` cannot be read: "
            "it leads outside what this page may open."
        ]


@pytest.mark.parametrize("linked", ["manifests", "snapshots", "refs", "repo"])
def test_files_of_a_repository_behind_links_are_not_read(
    place: Path, tmp_path: Path, linked: str
) -> None:
    inside, outside = tmp_path / "open/repository", tmp_path / "outside"
    for folder in (inside, outside):
        shutil.copytree(place / "open/repository", folder)
    library = Library([str(tmp_path / "open")])
    assert library.open(str(inside)).count
    paths = [found for found in [inside / linked, *(inside / linked).rglob("*")] if found.is_file()]
    if not paths:
        pytest.skip("Icechunk 1 has references in `refs`, Icechunk 2 in `repo`")
    for path in paths:
        path.unlink()
        path.symlink_to(outside / path.relative_to(inside))
    with pytest.raises(SourceError):
        library.open(str(inside))


def test_nothing_of_a_copied_repository_is_left(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    openings = Openings()
    library = Library([str(place / "open")], openings=openings)
    library.open(f"{place}/open/repository")
    with pytest.raises(SourceError):
        library.open(f"{place}/open/repository@nosuch")
    openings._children.end()
    assert list(tmp_path.iterdir()) == []


def test_a_grant_holds_after_the_way_of_a_path_is_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/in.json").write_text(MINE)
    (tmp_path / "alias").symlink_to("real")
    for grant in ("real", "alias"):
        library = Library([str(tmp_path / grant)])
        for name in ("real", "alias"):
            assert list(library.open(str(tmp_path / name / "in.json"))) == ["mine"]
    assert parse(str(tmp_path / "alias")).path == str((tmp_path / "real").resolve())


def test_an_address_opens_no_more_than_a_typed_name(place: Path) -> None:
    page = ServedPage(Library([str(place / "open")]))
    for name in ("~/secret.json", "link.json#0", LONG):
        go(page, urlencode({"source": f"{place}/open/{name}"}))
        assert page._frame.problem
        assert (page._frame.view, page._frame.title) == ("start", "")
    go(page, urlencode({"source": f"{place}/open/~/in.json"}))
    assert (page._frame.view, page._frame.title) == ("explorer", "in.json")


def answers_of(view: ExplorerView, source: str) -> list[dict[str, Any]]:
    """What a page answers, and says, when another set is named to compare with."""
    answered, answers = threading.Event(), []

    def post(message: dict[str, Any], buffers: list[bytes]) -> None:
        if message.get("ev") != "progress":
            answers.append(message)
        if message.get("id") == "a:1":
            answered.set()

    view._controller.post = post
    question = {"id": "a:1", "op": "compare.with", "source": source}
    assert view._controller.handle(question, None) == []
    assert answered.wait(60)
    return answers


def test_without_a_library_no_other_set_is_named(place: Path) -> None:
    library = Library([str(place / "open")])
    view = ExplorerView(library.open(f"{place}/open/in.json"))
    answers = answers_of(view, f"{place}/open/in.json")
    assert answers == [{"id": "a:1", "error": "Comparing with another set is not allowed here."}]


def test_another_set_is_guarded_like_the_first(place: Path) -> None:
    library = Library([str(place / "open")])
    view = ExplorerView(library.open(f"{place}/open/in.json"), others=library.others())
    controller = view._controller
    assert isinstance(controller, ExplorerController)
    for name in (f"{place}/secret.json", f"{place}/open/link.json", "/etc/hostname", LONG):
        (answer,) = answers_of(view, name)
        assert "is not opened on this page" in answer["error"] or name == LONG
        assert controller.comparison.other is None
    said, answer = answers_of(view, f"{place}/open/in.json")
    assert (said, answer) == ({"ev": "compared", "is_shown": False}, {"id": "a:1"})
    assert controller.comparison.other is not None
