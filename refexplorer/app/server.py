"""Serving the page."""

from __future__ import annotations

import socket
import warnings
import webbrowser
from collections.abc import Callable, Iterable
from typing import Any

import panel
from bokeh.protocol.message import Message
from bokeh.server.server import Server
from bokeh.server.urls import per_app_patterns
from bokeh.server.views.ws import WSHandler
from bokeh.util.warnings import BokehUserWarning
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler

from refexplorer.app.components import EditorView, ExplorerView, Frame
from refexplorer.app.headers import Headers, Nonced
from refexplorer.app.library import Library
from refexplorer.app.logs import mask_logs
from refexplorer.app.opening import Openings
from refexplorer.app.page import page
from refexplorer.app.sessions import Sessions
from refexplorer.app.upload import LARGEST
from refexplorer.errors import RefexplorerError
from refexplorer.limits import Bounds
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.widgets.bundles import bundle_path

HEALTH = "/healthz"
"""Where a proxy asks whether the page is alive."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Health(RequestHandler):
    """Answers as long as the server takes requests; makes no session."""

    def get(self) -> None:
        """Say so."""
        self.write({"status": "ok"})


class Prompt(WSHandler):
    """A connection on which Bokeh's messages, of three pieces each, do not wait for 40 ms."""

    def open(self, *args: object, **options: object) -> None:
        """Let each piece leave as it is written."""
        super().open(*args, **options)
        self.set_nodelay(True)

    async def send_message(self, message: Message[Any]) -> None:
        """Send it, unless the person has left: Bokeh would write a warning for each message."""
        if self.ws_connection is not None:
            await super().send_message(message)


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
    bounds: Bounds | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until interrupted; ``/healthz`` answers proxies.

    Parameters
    ----------
    source
        What `open_references` takes, or a `ReferenceSet`; None begins with the choice of a set.
    port
        0 takes a free one.
    address
        Where to listen; only this machine by default.
    open_browser
        Whether to open the page in the default browser.
    allow
        Folders, hosts and buckets that may be read, such as ``["/data", "s3://bucket"]``.
    origins
        Names under which browsers know the page where they are not its own, as behind a proxy:
        ``"data.example.org"``, with the port unless it is the usual one; ``"*"`` for any.
    prefix
        Path below which everything is served, such as ``"/references"``.
    largest_upload
        Bytes of a file that somebody may drop on the page.
    bounds
        What visitors may take of this machine.
    ready
        Called with the address of the page once it answers.

    Raises
    ------
    SourceError
        If the source cannot be read.
    RefexplorerError
        If the port is taken, or the front end is not built.
    """
    # BokehJS introduces a model that was added later once more, which is no news to Bokeh.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    mask_logs()
    bounds = bounds or Bounds()
    openings = Openings(bounds)
    references, library = _prepared(source, Library(allow, largest_upload, openings))
    port = port or _free_port(address)
    _use_own_handlers()
    known = [*(f"{name}:{port}" for name in _own_names(address)), *origins]
    sessions = Sessions(lambda: page(references, library), bounds.sessions)
    server = _listening(sessions.page, port, address, known, prefix)
    url = f"http://{_shown(address)}:{server.port}{server.prefix}/"
    server._tornado.add_transform(Headers)
    server.start()
    openings.start()
    if open_browser:
        server.io_loop.call_later(0, webbrowser.open, url)
    if ready is not None:
        server.io_loop.add_callback(ready, url)
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()


def _prepared(source: object, library: Library) -> tuple[ReferenceSet | None, Library]:
    """Open the source once for everybody, before anything listens."""
    for view in (Frame, ExplorerView, EditorView):
        bundle_path(view._bundle.stem)
    if source is None:
        return None, library
    references = source if isinstance(source, ReferenceSet) else open_references(source)
    library.offer(references)
    return references, library


def _listening(
    make: Callable[[], panel.Template], port: int, address: str, origins: list[str], prefix: str
) -> Server:
    loop = IOLoop(make_current=False)  # Panel would ask for the current one, which is not there
    try:
        return panel.io.server.get_server(
            {"/": make},
            loop=loop,
            port=port,
            address=address,
            websocket_origin=origins,
            prefix=prefix,
            extra_patterns=[(HEALTH, Health)],
            start=False,
            show=False,
            verbose=False,
        )
    except OSError as error:
        loop.close()
        raise RefexplorerError(
            f"Port {port} at {address} cannot be used: {error.strerror or error}. Choose "
            "another one, or 0 for any free port."
        ) from None


def _use_own_handlers() -> None:
    """Add to the handlers of the page and its connection, whichever Panel takes for them."""
    for place, (path, handler, *_) in enumerate(per_app_patterns):
        own = {"/?": Nonced, "/ws": Prompt}.get(path)
        if own is not None and not issubclass(handler, own):
            per_app_patterns[place] = (path, type(own.__name__, (own, handler), {}))


def _free_port(address: str) -> int:
    """Return a port that nobody uses, since the names of the page have to include it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.create_server((address, 0), family=family) as probe:
            return int(probe.getsockname()[1])
    except OSError as error:
        raise RefexplorerError(
            f"The address {address} cannot be used: {error.strerror or error}."
        ) from None


def _own_names(address: str) -> list[str]:
    """Return the names of this server for browsers; any other could be somebody's trap."""
    names = ["localhost", "127.0.0.1"]
    if address not in _LOOPBACK:
        names += [address, socket.gethostname(), socket.getfqdn()]
    return [name for name in names if ":" not in name]  # Bokeh compares no IPv6 addresses


def _shown(address: str) -> str:
    return "localhost" if ":" in address else address
