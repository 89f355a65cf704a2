"""A page takes so many people at a time, and what one of them opens holds up no other."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.costly import COSTLY
from tests.helpers.forking import LOAD_PAGE, Interpreter, preloaded
from tests.helpers.hosts import PanelPage, forked_page
from tests.hosts.page.sessions import FORGETTING, PATIENCE, Visitor

pytestmark = pytest.mark.server

OTHERS = 3
"""How many do their work at most while a costly set is opened."""


class Hopeful(Visitor):
    """Opens what may be refused, and hears why."""

    async def fail(self, url: str, source: str) -> str:
        """Return what the page says after it could not open a set."""
        frame = await self._arrive(url)
        said: str = await self._ask(frame, {"op": "open", "source": source}, _problem)
        self._socket.close()
        return said


def _problem(part: Any) -> str | None:
    """Find the sentence of a change that says what is wrong; "open" if a set is there."""
    if part.get("attr") == "problem" and part.get("new"):
        return str(part["new"])
    attributes = part.get("attributes", {})
    is_open = isinstance(attributes, dict) and "explorer.js" in str(attributes.get("esm", ""))
    return "open" if is_open else None


async def _meanwhile(url: str, source: str) -> tuple[str, int]:
    """Open a costly set, let others do their work meanwhile, and count them."""
    async with asyncio.timeout(PATIENCE):
        costly = asyncio.create_task(Hopeful(0).fail(url, source))
        count = 0
        while not costly.done() and count < OTHERS:
            count += 1
            await Visitor(count).visit(url, "demo/sst.v1.json")
        return await costly, count


@pytest.fixture(scope="module")
def programs() -> Iterator[Interpreter]:
    with preloaded(LOAD_PAGE) as interpreter:
        yield interpreter


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, programs: Interpreter) -> Iterator[PanelPage]:
    """A page of which the visitors may open what lies where temporary files do."""
    allow = str(tmp_path_factory.getbasetemp())
    arguments = ("serve", "--allow", allow, "--seconds", "5", "--memory", "500")
    with forked_page(programs, *arguments, code=FORGETTING) as page:
        yield page


@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_document_of_one_holds_up_no_other(
    tmp_path: Path, name: str, served: PanelPage
) -> None:
    path = COSTLY[name](tmp_path)
    with ThreadPoolExecutor() as pool:  # browser tests keep a loop running in this thread
        said, count = pool.submit(asyncio.run, _meanwhile(served.url, str(path))).result()
    with urllib.request.urlopen(f"{served.url}healthz") as answer:
        assert json.load(answer) == {"status": "ok"}
    assert count > 0
    assert said == "open" or said.endswith(".")
    assert "Unexpected" not in said
    if name == "nested":
        assert "nested more than 200 levels deep" in said


async def _arrivals(url: str) -> tuple[str, str]:
    """Fill a page for two, and return what a third is given, and again when there is room."""
    async with asyncio.timeout(PATIENCE):
        visitors = [Visitor(number) for number in range(2)]
        for visitor in visitors:
            await visitor._arrive(url)
        full = await asyncio.to_thread(_text, url)
        for visitor in visitors:
            visitor._socket.close()
        while "people have this page open" in (later := await asyncio.to_thread(_text, url)):
            await asyncio.sleep(0.2)
        return full, later


def _text(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        found: str = answer.read().decode()
    return found


def test_who_comes_when_the_page_is_full_is_reported_so(programs: Interpreter) -> None:
    arguments = ("serve", "--sessions", "2")
    with (
        forked_page(programs, *arguments, code=FORGETTING) as page,
        ThreadPoolExecutor() as pool,
    ):
        full, later = pool.submit(asyncio.run, _arrivals(page.url)).result()
    assert "2 people have this page open, which is the maximum" in full
    assert "data-root-id" not in full
    assert "data-root-id" in later
