"""The page tells how far the opening of a large set is, and stops what nobody waits for."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from panel.models.esm import DataEvent

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

    async def give_up() -> None:
        event = DataEvent(None, {"op": "open", "source": str(large)})  # type: ignore[no-untyped-call]
        opens = asyncio.create_task(page._heard(event))
        await asyncio.to_thread(began.wait, 30)
        await page._heard(DataEvent(None, {"op": "stop"}))  # type: ignore[no-untyped-call]
        may_go_on.set()
        await opens

    thread = threading.Thread(target=asyncio.run, args=[give_up()])
    thread.start()
    thread.join(60)
    assert len(errors) == 1
    assert (page._frame.title, page._frame.problem) == ("", "")
