"""What a visitor has begun ends with the session: threads, requests, sets, files, processes."""

from __future__ import annotations

import asyncio
import base64
import gc
import gzip
import json
import logging
import random
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partialmethod
from pathlib import Path
from typing import Any

import psutil
import pytest
from bokeh.server.session import ServerSession
from bokeh.server.tornado import BokehTornado

from refexplorer.hosts.page.library import Library, Upload
from refexplorer.hosts.page.page import Frame, ServedPage, View, page
from refexplorer.hosts.page.server import Sessions, _listen
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.explorer.explorer_controller import ExplorerController
from tests.helpers.costly import bomb
from tests.helpers.forking import LOAD_PAGE, preloaded
from tests.helpers.hosts import forked_page
from tests.helpers.servers import range_server
from tests.helpers.sets import raw_set
from tests.hosts.page.sessions import FORGETTING, PATIENCE, Visitor, _answer, _map, _model

pytestmark = pytest.mark.server

REQUESTS = 600
OF_A_SESSION = (
    ServerSession, ServedPage, Upload, Frame, View,
    ReferenceSet, ExplorerController, EditorController,
)  # fmt: skip


class Busy(Visitor):
    """Does more than it waits for."""

    async def begin(self, url: str, source: str) -> None:
        """Open a set, and wait for nothing more."""
        frame = await self._arrive(url)
        await self._tell_view(frame, {"op": "open", "source": source})

    async def read(self, url: str, source: str, paths: int) -> None:
        """Read chunks of a set, more than anybody waits for, and know that all were heard."""
        frame = await self._arrive(url)
        opened = await self._ask(frame, {"op": "open", "source": source}, _model("explorer.js"))
        for number in range(paths):
            asked = {"id": f"1:{number}", "op": "chunk.read", "array": "x", "index": [0]}
            await self._tell_view(opened, asked)
        last = {"id": "1:last", "op": "nothing"}
        await self._tell_view(opened, last)
        await self._wait(_heard("1:last"))

    async def look(self, url: str) -> None:
        """Drop a file, look at it, turn to the editor, and open another set."""
        frame = await self._arrive(url)
        text = json.dumps(raw_set("text", "text"))
        await self._tell_view(frame, {"op": "upload", "name": "mine.json", "size": len(text)})
        piece = {"type": "bytes", "data": base64.b64encode(gzip.compress(text.encode())).decode()}
        dropped = {"op": "piece", "piece": piece}
        opened = await self._ask(frame, dropped, _model("explorer.js"))
        rows = {"id": "1:1", "op": "tree.rows", "start": 0, "n": 40}
        await self._ask(opened, rows, _answer("1:1"))
        await self._ask(frame, {"op": "turn", "view": "editor"}, _model("editor.js"))
        await self._ask(frame, {"op": "open", "source": "demo/sst.v0.json"}, _model("explorer.js"))
        await self._tell_view(frame, {"op": "upload", "name": "half.json", "size": 100})
        await self._wait(_wanted_piece)

    async def _tell_view(self, model: str, data: dict[str, Any]) -> None:
        await self._tell("data_event", [["model", {"id": model}], ["data", _map(data)]])

    async def leave(self) -> None:
        """Close the page, and wait until the server has heard of it."""
        if hasattr(self, "_socket"):
            self._socket.close()
            with suppress(asyncio.TimeoutError):
                async with asyncio.timeout(5):
                    while await self._socket.read_message() is not None:
                        pass


def _heard(identifier: str) -> Callable[[Any], Any]:
    def found(part: Any) -> bool | None:
        entries = dict(part["entries"]) if part.get("type") == "map" else part
        return True if entries.get("id") == identifier else None

    return found


def _wanted_piece(part: Any) -> bool | None:
    entries = dict(part["entries"]) if part.get("type") == "map" else part
    return True if entries.get("ev") == "piece" else None


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def run(visit: Any) -> Any:
    async def in_time() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await visit

    with ThreadPoolExecutor() as pool:  # browser tests keep a loop running in this thread
        return pool.submit(asyncio.run, in_time()).result()


def test_the_jobs_of_one_visitor_are_few_and_end_with_the_session(tmp_path: Path) -> None:
    visitor = Busy(1)
    with range_server() as server, preloaded(LOAD_PAGE) as programs:
        server.stalled.add("/f")
        source = tmp_path / "stalled.json"
        source.write_text(json.dumps(raw_set([f"{server.url}/f", 0, 17])))
        arguments = ("serve", "--allow", str(tmp_path), "--allow", server.url)
        with forked_page(programs, *arguments, code=FORGETTING) as served:
            process = psutil.Process(served.process)

            def connections() -> int:
                port = int(server.url.rpartition(":")[2])
                found = process.net_connections()
                return sum(bool(each.raddr) and each.raddr.port == port for each in found)

            async def visit() -> None:
                await Visitor(0).visit(served.url, "demo/sst.v1.json")
                before = process.num_threads()
                await visitor.read(served.url, str(source), REQUESTS)
                assert process.num_threads() - before < 60
                assert connections() > 0
                await visitor.leave()
                await asyncio.to_thread(until, lambda: process.num_threads() - before < 8)
                await asyncio.to_thread(until, lambda: connections() == 0)

            run(visit())


@pytest.mark.parametrize(("name", "times"), [("SIGTERM", 3), ("SIGINT", 1), ("SIGHUP", 1)])
def test_one_signal_ends_the_server_whatever_it_does(
    name: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    costly, chance = bomb(tmp_path), random.Random(1)

    async def come_and_go(url: str, is_over: threading.Event) -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            visitor = Busy(number)
            source = str(costly) if number % 3 == 1 else "demo/sst.v1.json"
            with suppress(Exception):  # the server is gone
                await visitor.begin(url, source)
            await visitor.leave()

    async def crowd(url: str, is_over: threading.Event) -> None:
        await asyncio.gather(*(come_and_go(url, is_over) for _ in range(4)))

    with preloaded(LOAD_PAGE) as programs:
        for _ in range(times):
            program = programs.start(
                FORGETTING, "serve", "--allow", str(tmp_path), "--no-browser", "--port", "0"
            )
            url = "http://" + program.line().split("http://")[1].split()[0]
            server, is_over = psutil.Process(program.pid), threading.Event()
            with ThreadPoolExecutor() as pool:
                crowded = pool.submit(asyncio.run, crowd(url, is_over))
                while not server.children():
                    time.sleep(0.05)
                time.sleep(chance.uniform(0, 2))
                children = server.children(recursive=True)
                program.send_signal(getattr(signal, name))
                _, said = program.communicate()
                is_over.set()
                crowded.result()
            assert program.returncode == 0
            assert said == ""
            _, alive = psutil.wait_procs(children, timeout=PATIENCE)
            assert not alive
            assert not [*temporary.glob("refexplorer-*")]


@contextmanager
def served_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the page in a thread of this process; a session ends a second after it was left."""
    options = {
        "check_unused_sessions_milliseconds": 300,
        "unused_session_lifetime_milliseconds": 1000,
    }
    made = partialmethod(BokehTornado.__init__, **options)
    monkeypatch.setattr(BokehTornado, "__init__", made)
    library, ready = Library(), threading.Event()
    found: dict[str, Any] = {}
    sessions = Sessions(lambda _: page(None, library), 100)

    async def serve() -> None:
        found["loop"], found["over"] = asyncio.get_running_loop(), asyncio.Event()
        server, found["url"] = _listen(sessions, 0, "127.0.0.1", [], "")
        server.start()
        ready.set()
        await found["over"].wait()
        server.stop()

    thread = threading.Thread(target=asyncio.run, args=[serve()], daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield found["url"].partition("?")[0]
    finally:
        found["loop"].call_soon_threadsafe(found["over"].set)
        thread.join(60)


def living(kinds: tuple[type, ...]) -> list[Any]:
    return [weakref.ref(each) for each in gc.get_objects() if isinstance(each, kinds)]


def test_nothing_of_a_session_stays_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    caplog.set_level(logging.WARNING, "panel")  # pytest would keep the events that Panel logs
    gc.collect()
    before = {id(each()) for each in living(OF_A_SESSION)}
    visitor = Busy(1)
    with served_here(monkeypatch) as url:

        async def visit() -> list[Any]:
            await visitor.look(url)
            made = [each for each in living(OF_A_SESSION) if id(each()) not in before]
            await visitor.leave()
            return made

        made = run(visit())
        kinds = {type(each()) for each in made}
        assert {ServedPage, ReferenceSet, ExplorerController, EditorController, Upload} <= kinds

        deadline = time.monotonic() + PATIENCE
        while left := [type(each()) for each in made if each() is not None]:
            assert time.monotonic() < deadline, left
            time.sleep(0.2)
            gc.collect()
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
