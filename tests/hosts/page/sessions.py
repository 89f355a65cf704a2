"""What each of many people on one page waits: ``python -m tests.hosts.page.sessions [NUMBER]``.

Each is a websocket session of its own that opens a set and pages through its keys, all at the same
time; what the browser would send is sent, and nothing is drawn.
"""

# ruff: noqa: T201

from __future__ import annotations

import asyncio
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.helpers.hosts import running_page

NUMBER = 20
PAGES = 10
ROWS = 40
PATIENCE = 120.0
FORGETTING = """
import sys
from functools import partialmethod
from bokeh.server.tornado import BokehTornado
from refexplorer.hosts.cli import main

BokehTornado.__init__ = partialmethod(
    BokehTornado.__init__,
    check_unused_sessions_milliseconds=500,
    unused_session_lifetime_milliseconds=2000,
)
sys.exit(main())
"""
"""A page that forgets who closed it after two seconds; Bokeh does after 15 to 32."""


class Visitor:
    """One person on the page.

    Attributes
    ----------
    waits
        Seconds until a set was open, then until each page of rows was there.
    rows
        Names of the keys that came last.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.waits: list[float] = []
        self.rows: list[str] = []
        self._socket: WebSocketClientConnection

    async def visit(self, url: str, source: str) -> None:
        """Open a set and page through its keys."""
        frame = await self._arrive(url)
        opened = await self._ask(frame, {"op": "open", "source": source}, _model("explorer.js"))
        for page in range(PAGES):
            question = {"id": f"{self.number}:{page}", "op": "tree.rows", "start": 0, "n": ROWS}
            rows = await self._ask(opened, question, _answer(question["id"]))
            self.rows = [row["name"] for row in rows]
        self._socket.close()

    async def _arrive(self, url: str) -> str:
        page = (await AsyncHTTPClient().fetch(url)).body.decode()
        token = re.search(r'"token":"([^"]+)"', page)
        assert token is not None
        self._socket = await websocket_connect(
            f"ws{url.removeprefix('http')}ws", subprotocols=["bokeh", token[1]]
        )
        await self._next()  # the server says that it is there
        await self._send("PULL-DOC-REQ", {})
        frame: str = await self._wait(_model("page.js"))
        await self._tell("document_ready", [])
        return frame

    async def _ask(self, model: str, data: dict[str, Any], wanted: Callable[[Any], Any]) -> Any:
        start = time.perf_counter()
        await self._tell("data_event", [["model", {"id": model}], ["data", _map(data)]])
        found = await self._wait(wanted)
        self.waits.append(time.perf_counter() - start)
        return found

    async def _tell(self, event: str, entries: list[object]) -> None:
        values = {"type": "map", "entries": entries}
        data = {"type": "event", "name": event, "values": values}
        message = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}
        await self._send("PATCH-DOC", {"events": [message]})

    async def _send(self, kind: str, content: object) -> None:
        """Send a message of Bokeh's protocol: header, metadata, content."""
        header = {"msgid": f"{self.number}-{time.monotonic_ns()}", "msgtype": kind}
        for part in (header, {}, content):
            await self._socket.write_message(json.dumps(part))

    async def _wait(self, wanted: Callable[[Any], Any]) -> Any:
        """Receive messages until one holds what is wanted."""
        while True:
            for part in _walk(await self._next()):
                if (found := wanted(part)) is not None:
                    return found

    async def _next(self) -> Any:
        header, _, content = [json.loads(await self._receive()) for _ in range(3)]
        for _ in range(2 * header.get("num_buffers", 0)):
            await self._receive()
        return content

    async def _receive(self) -> str | bytes:
        received = await self._socket.read_message()
        assert received is not None, "the server closed the connection"
        return received


def _map(fields: dict[str, Any]) -> dict[str, Any]:
    """Write an object as Bokeh's front end does."""
    return {"type": "map", "entries": [list(item) for item in fields.items()]}


def _model(bundle: str) -> Callable[[Any], str | None]:
    """Find the id of the model that shows a bundle."""

    def found(part: Any) -> str | None:
        attributes = part.get("attributes", {})
        is_it = isinstance(attributes, dict) and bundle in str(attributes.get("esm", ""))
        return part.get("id") if is_it else None

    return found


def _answer(identifier: object) -> Callable[[Any], Any]:
    """Find the rows of an answer; maps travel as lists of pairs."""

    def found(part: Any) -> Any:
        entries = dict(part["entries"]) if part.get("type") == "map" else part
        if entries.get("id") != identifier:
            return None
        return [dict(row["entries"]) if "entries" in row else row for row in entries["rows"]]

    return found


def _walk(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in a message."""
    if isinstance(part, dict):
        yield part
    for below in part.values() if isinstance(part, dict) else part:
        if isinstance(below, dict | list):
            yield from _walk(below)


async def visit_together(url: str, sources: list[str]) -> list[Visitor]:
    """Let one visitor for each source do its work, all at the same time."""
    visitors = [Visitor(number) for number in range(len(sources))]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(
            *(visitor.visit(url, source) for visitor, source in zip(visitors, sources, strict=True))
        )
    return visitors


def main(number: int = NUMBER) -> None:
    """Print what people wait, alone and together."""
    print(
        f"{'people':>8} {'open a set':>22} {'40 rows of the tree':>22}   seconds, median and worst"
    )
    with running_page("demo") as served:
        for people in (1, number):
            visitors = asyncio.run(visit_together(served.url, ["demo/sst.v1.json"] * people))
            opened = [visitor.waits[0] for visitor in visitors]
            paged = [wait for visitor in visitors for wait in visitor.waits[1:]]
            print(f"{people:8} {_figures(opened):>22} {_figures(paged):>22}")


def _figures(waits: list[float]) -> str:
    return f"{statistics.median(waits):.3f}  {max(waits):.3f}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
