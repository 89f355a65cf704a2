"""Sets of strangers are opened some at a time, within a budget, and stopped if nobody waits."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from refexplorer.core.errors import (
    AccessError,
    LimitError,
    RefexplorerError,
    SourceError,
    SpecError,
)
from refexplorer.core.limits import VisitorLimits
from refexplorer.core.processes import Children
from refexplorer.hosts.page.library import Library
from refexplorer.hosts.page.openings import Openings, OpeningWatch
from refexplorer.hosts.page.page import ServedPage
from refexplorer.verbs.opening import open_references
from tests.helpers.costly import COSTLY, bomb
from tests.helpers.servers import PIECE, RangeServer, range_server
from tests.helpers.visiting import hear

pytestmark = pytest.mark.child

SMALL = 1_000_000
"""Bytes that a small set takes beside Python."""


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@contextmanager
def library(*allow: str, bounds: VisitorLimits | None = None) -> Iterator[Library]:
    """Give a library with processes of its own."""
    openings = Openings(bounds)
    try:
        yield Library(allow, openings=openings)
    finally:
        openings._children.end()


@pytest.fixture(scope="module")
def confined() -> Iterator[Children]:
    """Processes that have started, for whom it is no matter which ones they are."""
    with library() as limited:
        yield limited._openings._children


def bounded(confined: Children, *allow: str, **bounds: float) -> Library:
    """Give a library with bounds of its own and processes that have started."""
    openings = Openings(VisitorLimits(**bounds))  # type: ignore[arg-type]
    openings._children = confined
    return Library(allow, openings=openings)


def entries(count: int) -> str:
    each = (f'"x/{number}": ["s3://bucket/file.nc", {number}, 1]' for number in range(count))
    return "{" + ", ".join(each) + "}"


def test_bytes_of_bytes(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_text(entries(1_500_000))  # few would be here before anybody looks
    told: list[tuple[int, int]] = []
    watch = OpeningWatch(lambda *bytes: told.append(bytes))
    Library(allow=[str(tmp_path)]).open(str(large), watch)
    assert len(told) > 1
    assert {size for _, size in told} == {large.stat().st_size}
    assert told == sorted(told)
    page = ServedPage(Library())
    page._show_progress(*told[0])
    assert page._frame.opened == [*told[0]]


def test_what_nobody_waits_for_is_stopped(server: RangeServer) -> None:
    server.files["/set.json"] = bytes(10**8)
    server.dripping.add("/set.json")
    page = ServedPage(Library(allow=[server.url]))
    page._do({"op": "open", "source": f"{server.url}/set.json"})
    while not server.requests:
        assert page._frame.opening
        time.sleep(0.01)
    page._do({"op": "stop"})
    page._threads.shutdown()
    assert server.hung_up.wait(30)
    assert (page._frame.title, page._frame.problem) == ("", "")


def test_what_takes_too_long_is_stopped_and_said(server: RangeServer) -> None:
    server.stalled.add("/set.json")
    with library(server.url, bounds=VisitorLimits(seconds=2)) as limited:
        with pytest.raises(
            LimitError, match=r"^Opening http.*/set\.json took more than 2 s and was stopped; .*\.$"
        ):
            limited.open(f"{server.url}/set.json")
        assert limited._openings._children._idle == []


def test_what_takes_too_much_memory_is_stopped_and_said(tmp_path: Path, confined: Children) -> None:
    path = bomb(tmp_path)
    (tmp_path / "small.json").write_text('{"a": "text"}')
    limited = bounded(confined, str(tmp_path), memory=SMALL)
    with pytest.raises(LimitError, match=r"took more memory than 1\.00 MB, or crashed"):
        limited.open(str(path))
    assert list(limited.open(str(tmp_path / "small.json"))) == ["a"]


@pytest.mark.parametrize("name", COSTLY)
def test_whatever_the_document_is_it_opens_or_is_refused(
    tmp_path: Path, name: str, confined: Children
) -> None:
    try:
        limited = bounded(confined, str(tmp_path), seconds=5)
        said = limited.open(str(COSTLY[name](tmp_path))).source.name
    except RefexplorerError as error:
        said = str(error)
    assert len(said) < 1000
    assert not said.startswith("Unexpected")


def test_errors_come_back_as_themselves(
    tmp_path: Path, server: RangeServer, confined: Children
) -> None:
    (tmp_path / "bad.json").write_text('{"version": 1,\n "refs": }')
    (tmp_path / "version.json").write_text('{"version": 2, "refs": {}}')
    (tmp_path / "empty.json").write_text(" ")
    limited = bounded(confined, str(tmp_path))
    for name, kind in (
        ("bad.json", SpecError), ("version.json", SpecError), ("empty.json", SourceError),
        ("none.json", SourceError), ("../x.json", AccessError),
    ):  # fmt: skip
        with pytest.raises(kind) as caught:
            limited.open(str(tmp_path / name))
        assert type(caught.value) is kind
        if isinstance(caught.value, SpecError):
            with pytest.raises(SpecError) as own:
                open_references(tmp_path / name)
            assert vars(caught.value) == vars(own.value)
            assert str(caught.value) == str(own.value)
    with pytest.raises(AccessError) as refused:
        limited.open(f"{server.url}/set.json")
    assert (refused.value.target, refused.value.grant) == (f"{server.url}/set.json", "")


def test_a_set_is_the_same_as_if_it_was_opened_here(tmp_path: Path, confined: Children) -> None:
    text = '{"bad": [1, 2, 3],\n' + entries(60_000)[1:]
    (tmp_path / "set.json").write_text(text)
    found = bounded(confined, str(tmp_path)).open(str(tmp_path / "set.json"))
    own = open_references(tmp_path / "set.json")
    assert dict(found) == dict(own)
    assert found.diagnostics == own.diagnostics
    assert found.source.location == own.source.location
    assert found.source.text == text


def test_a_large_dropped_file_keeps_its_text() -> None:
    text = '{"bad": [1, 2, 3],\n' + entries(60_000)[1:]
    page = ServedPage(Library())
    hear(page, op="upload", name="mine.json", size=len(text))
    hear(page, op="piece", piece=text.encode())
    assert page._frame.title == "mine.json"
    assert page._references is not None
    assert page._references.source.text == text
    assert page._references.diagnostics == open_references(text).diagnostics


def test_what_waits_has_its_turn_and_too_many_are_sent_away(
    tmp_path: Path, server: RangeServer, confined: Children
) -> None:
    (tmp_path / "set.json").write_text('{"a": "text"}')
    server.files["/set.json"] = bytes(10**8)
    server.dripping.add("/set.json")
    begun: list[int] = []
    stopped = threading.Event()
    limited = bounded(confined, str(tmp_path), server.url, openings=1, waiting=2)
    queue = limited._openings._queue

    def waits(number: int) -> None:
        limited.open(str(tmp_path / "set.json"))
        begun.append(number)

    with ThreadPoolExecutor() as pool:
        watch = OpeningWatch(lambda done, size: None, lambda: not stopped.is_set())
        first = pool.submit(limited.open, f"{server.url}/set.json", watch)
        while not server.requests:
            assert not first.done()
            time.sleep(0.01)
        others = []
        for number in range(2):
            others.append(pool.submit(waits, number))
            while len(queue) <= number:
                assert not others[-1].done()
                time.sleep(0.01)
        with pytest.raises(
            LimitError, match=r"^2 sets are already waiting to be opened on this page"
        ):
            limited.open(str(tmp_path / "set.json"))
        stopped.set()
        with pytest.raises(RefexplorerError, match="stopped"):
            first.result()
        for other in others:
            other.result()
    assert begun == [0, 1]
    assert limited.open(str(tmp_path / "set.json")).count == 1


def test_who_gives_up_leaves_the_queue(
    tmp_path: Path, server: RangeServer, confined: Children
) -> None:
    (tmp_path / "set.json").write_text('{"a": "text"}')
    server.files["/set.json"] = bytes(10**8)
    server.dripping.add("/set.json")
    limited = bounded(confined, str(tmp_path), server.url, openings=1)
    pages = [ServedPage(limited) for _ in range(2)]
    pages[0]._do({"op": "open", "source": f"{server.url}/set.json"})
    while not server.requests:
        assert pages[0]._frame.opening
        time.sleep(0.01)
    pages[1]._do({"op": "open", "source": str(tmp_path / "set.json")})
    while not limited._openings._queue:
        assert pages[1]._frame.opening
        time.sleep(0.01)
    pages[1]._do({"op": "stop"})
    pages[1]._threads.shutdown()
    assert not limited._openings._queue
    pages[0]._do({"op": "stop"})
    pages[0]._threads.shutdown()


def test_a_process_that_waited_opens_the_next_set(server: RangeServer) -> None:
    """As one does on a busy machine, where each would have to start another."""
    server.files["/set.json"] = b'{"a": "text"}' + b" " * 60 * PIECE
    server.dripping.add("/set.json")
    with library(server.url) as slow:
        assert {*slow.open(f"{server.url}/set.json")} == {"a"}
        kept = slow._openings._children._idle.copy()
        assert {*slow.open(f"{server.url}/set.json")} == {"a"}
        assert len(kept) == 1
        assert slow._openings._children._idle == kept


def test_nothing_is_left_of_openings(
    tmp_path: Path, server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.stalled.add("/set.json")
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    (tmp_path / "set.json").write_text('{"a": "text"}')
    others = children()  # of tests before this one, such as a browser
    with library(str(tmp_path), server.url, bounds=VisitorLimits(seconds=3)) as limited:
        limited.open(str(tmp_path / "set.json"))
        limited._openings.start()
        assert children() - others != set()
        assert list(folder.iterdir()) != []
        with pytest.raises(LimitError):
            limited.open(f"{server.url}/set.json")
    assert children() - others == set()
    assert list(folder.iterdir()) == []


def children() -> set[int]:
    """Return the processes that this one started, zombies among them."""
    return {child.pid for child in psutil.Process().children()}


def test_the_process_that_opens_loads_nothing_of_panel() -> None:
    code = "import sys, refexplorer.hosts.page.openings; print('panel' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
