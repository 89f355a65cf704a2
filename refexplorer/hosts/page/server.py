"""Serving the page."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
import warnings
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import panel
from bokeh.application.application import SessionContext
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import EMPTY_LAYOUT
from bokeh.server.server import BaseServer
from bokeh.server.util import bind_sockets, create_hosts_allowlist
from bokeh.util.warnings import BokehUserWarning
from panel import state
from panel.io.application import build_applications
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import VisitorLimits
from refexplorer.core.masking import masked_text
from refexplorer.hosts import bundle_path
from refexplorer.hosts.page.components import EditorView, ExplorerView, Frame
from refexplorer.hosts.page.library import LARGEST, Library
from refexplorer.hosts.page.openings import Openings
from refexplorer.hosts.page.page import page
from refexplorer.hosts.page.routes import PageServer
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet


def mask_logs() -> None:
    """Mask what is logged in this process from now on: Tornado logs whole addresses of requests."""
    logging.setLogRecordFactory(_record)


def _record(*args: Any, **options: Any) -> logging.LogRecord:
    record = logging.LogRecord(*args, **options)
    record.msg, record.args = masked_text(record.getMessage()), None
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = masked_text(logging.Formatter().formatException(record.exc_info))
    return record


_FULL = """
{{% extends base %}}
{{% block title %}}refexplorer{{% endblock %}}
{{% block contents %}}
<p role="alert">
  {} people have this page open, which is all that it takes: load it again in a few minutes.
</p>
{{{{ super() }}}}
{{% endblock %}}
"""


class Sessions:
    """Makes a page for each person who comes, while there is room."""

    def __init__(self, make: Callable[[], panel.Template], most: int) -> None:
        self._make = make
        self._most = most
        self._open = 0

    def page(self) -> panel.Template:
        """Return a page, or what says that there is no room; in the loop of the server."""
        if self._open >= self._most:
            return panel.Template(_FULL.format(self._open))
        template = self._make()
        self._open += 1
        state.on_session_destroyed(self._leave)
        return template

    def _leave(self, _: SessionContext) -> None:
        self._open -= 1


def end_sessions(server: BaseServer) -> None:
    """Do what is done at the end of a session for all that are open: Bokeh leaves them as is."""
    for session in server.get_sessions():
        if (context := session.document.session_context) is not None:
            for leave in session.document.session_destroyed_callbacks:
                leave(context)


_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    source: object = None,
    *,
    port: int = 0,
    address: str = "127.0.0.1",
    open_browser: bool = True,
    allow: Iterable[str] = (),
    origins: Iterable[str] = (),
    prefix: str = "",
    largest_upload: int = LARGEST,
    bounds: VisitorLimits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until interrupted; ``/healthz`` answers proxies."""
    # BokehJS introduces a model that was added later once more, which is no news to Bokeh.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    mask_logs()
    bounds = bounds or VisitorLimits()
    openings = Openings(bounds)
    references, library = _open_source(source, Library(allow, largest_upload, openings))
    sessions = Sessions(lambda: page(references, library), bounds.sessions)

    async def run() -> None:
        with _end_event() as is_ended:
            server, url = _listen(sessions.page, port, address, origins, prefix)
            try:
                server.start()
                openings.start()
                if open_browser:
                    webbrowser.open(url)
                if ready is not None:
                    ready(url)
                await is_ended.wait()
            finally:
                # what is cut off now is no news, but Tornado and Bokeh would log it
                logging.disable()
                server.stop()
                end_sessions(server)

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def _end_event() -> Iterator[asyncio.Event]:
    """Set an event when the process shall end; what ignores a signal, as `nohup` does, is kept.

    A handler that raises would do so in whatever the loop runs, which may catch it.
    """
    loop, is_ended = asyncio.get_running_loop(), asyncio.Event()
    is_main = threading.current_thread() is threading.main_thread()
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if is_main and hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in (getattr(signal, n) for n in names)}
    before = {number: each for number, each in before.items() if each is not signal.SIG_IGN}
    for number in before:
        try:
            loop.add_signal_handler(number, is_ended.set)
        except NotImplementedError:  # on Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(is_ended.set))
    try:
        yield is_ended
    finally:
        for number, handler in before.items():
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, handler or signal.SIG_DFL)


def _open_source(source: object, library: Library) -> tuple[ReferenceSet | None, Library]:
    """Open the source once for everybody, before anything listens."""
    for view in (Frame, ExplorerView, EditorView):
        bundle_path(view._bundle.stem)
    if source is None:
        return None, library
    references = source if isinstance(source, ReferenceSet) else open_references(source)
    library.offer(references)
    return references, library


def _listen(
    make: Callable[[], panel.Template], port: int, address: str, origins: Iterable[str], prefix: str
) -> tuple[BaseServer, str]:
    """Return a server that listens, and its address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        # Tornado would leave a socket that it cannot bind to the garbage collector
        socket.create_server((address, port), family=family).close()
        sockets, port = bind_sockets(address, port)
    except OSError as error:
        raise RefexplorerError(
            f"Port {port} at {address} cannot be used: {error.strerror or error}. Choose "
            "another one, or 0 for any free port."
        ) from None
    silence(EMPTY_LAYOUT, True)  # of the start screen, below which there is no view yet
    origin_names = [*(f"{name}:{port}" for name in _own_names(address)), *origins]
    web = PageServer(
        build_applications({"/": make}),
        prefix=prefix,
        extra_websocket_origins=create_hosts_allowlist(origin_names, port),
    )
    http = HTTPServer(web)
    http.add_sockets(sockets)
    server = BaseServer(IOLoop.current(), web, http)
    return server, f"http://{_shown(address)}:{port}{server.prefix}/"


def _own_names(address: str) -> list[str]:
    """Return the names of this server for browsers; any other could be somebody's trap."""
    names = ["localhost", "127.0.0.1"]
    if address not in _LOOPBACK:
        names += [address, socket.gethostname(), socket.getfqdn()]
    return [name for name in names if ":" not in name]  # Bokeh compares no IPv6 addresses


def _shown(address: str) -> str:
    return "localhost" if ":" in address else address
