"""The page tells how far the opening of a large set is, and stops what nobody waits for."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from refexplorer.app import opening
from refexplorer.app.library import Library
from refexplorer.app.page import Page
from refexplorer.errors import RefexplorerError
from refexplorer.formats import json_blocks
from tests.app.test_page import choose


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(opening, "BETWEEN", 0)
    monkeypatch.setattr(json_blocks, "BLOCK", 2**14)
    entries = (f'"x/{number}": ["s3://bucket/file.nc", {number}, 1]' for number in range(40_000))
    path = tmp_path / "large.json"
    path.write_text("{" + ", ".join(entries) + "}")
    return path


def test_bytes_of_bytes(large: Path) -> None:
    page = Page(Library(allow=[str(large.parent)]))
    seen: list[list[int]] = []
    page._frame.param.watch(lambda event: seen.append(event.new), "opened")
    choose(page, str(large))
    assert page._frame.title == "large.json"
    told = [each for each in seen if each]
    assert len(told) > 1
    assert {size for _, size in told} == {large.stat().st_size}
    assert told == sorted(told)


def test_what_nobody_waits_for_is_stopped(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(Library(allow=[str(large.parent)]))
    began, may_go_on = threading.Event(), threading.Event()
    errors: list[BaseException] = []
    tell = opening.OpeningWatch.__call__

    def held(watch: opening.OpeningWatch, done: int, size: int) -> None:
        began.set()
        assert may_go_on.wait(30)
        try:
            tell(watch, done, size)
        except RefexplorerError as error:
            errors.append(error)
            raise

    monkeypatch.setattr(opening.OpeningWatch, "__call__", held)

    page._do({"op": "open", "source": str(large)})
    assert began.wait(30)
    page._do({"op": "stop"})
    may_go_on.set()
    page._threads.shutdown()
    assert len(errors) == 1
    assert (page._frame.title, page._frame.problem) == ("", "")
