"""Serving the page: its routes, its limits for visitors, its logs."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
import threading
import time
import warnings
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlencode

import bokeh.server.server
import panel
from bokeh.application.application import SessionContext
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import EMPTY_LAYOUT
from bokeh.embed.bundle import extension_dirs
from bokeh.protocol.message import Message
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import bind_sockets, create_hosts_allowlist
from bokeh.server.views.doc_handler import DocHandler
from bokeh.server.views.multi_root_static_handler import MultiRootStaticHandler
from bokeh.server.views.static_handler import StaticHandler
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import check_token_signature, generate_secret_key, get_token_payload
from bokeh.util.warnings import BokehUserWarning
from panel import state
from panel.io.application import build_applications
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders
from tornado.ioloop import IOLoop
from tornado.web import Application, OutputTransform, RequestHandler
from tornado.websocket import WebSocketClosedError

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import VisitorLimits
from refexplorer.core.text import masked_text
from refexplorer.hosts import BUNDLES, bundle_path
from refexplorer.hosts.page.library import LARGEST, Library
from refexplorer.hosts.page.openings import Openings
from refexplorer.hosts.page.page import EditorView, ExplorerView, Frame, page
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # Bokeh styles each of its models so
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self' blob:",  # Panel fetches what it imports from a blob that it made
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'self'",
}
HEALTH = "/healthz"  # Where a proxy asks whether the page is alive
_NAMES = ("bokeh-session-id", "bokeh-token")
_REFUSED = (
    "This address names a session, which only the server may do. "
    "Open the page without bokeh-session-id and bokeh-token.\n"
)
Route = Sequence[Any]
"""A handler and perhaps its arguments, with a pattern before them where Bokeh gives them."""


def policy_text(nonce: str = "") -> str:
    """Write the content security policy."""
    policy = dict(_POLICY)
    if nonce:
        policy["script-src"] += f" 'nonce-{nonce}'"
    return "; ".join(f"{name} {value}" for name, value in policy.items())


class Headers(OutputTransform):
    """Adds the headers to every response of the server, including errors."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the headers, unless the response has its own policy."""
        headers.setdefault("Content-Security-Policy", policy_text())
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "no-referrer"
        return status_code, headers, chunk


class PageHandler(DocHandler):
    """The page, in a session that this server created; scripts need an unpredictable nonce."""

    # A browser runs its scripts only with a nonce that nobody can predict.

    def write(self, chunk: Any) -> None:
        """Add the nonce to scripts; nothing else looks like one, since Bokeh escapes arguments."""
        nonce = secrets.token_urlsafe(16)
        self.set_header("Content-Security-Policy", policy_text(nonce))
        if isinstance(chunk, str):
            chunk = chunk.replace("<script", f'<script nonce="{nonce}"')
        super().write(chunk)

    async def prepare(self) -> None:
        """Reject a named session: anyone who knows the name could watch."""
        named = any(self.get_arguments(name) for name in _NAMES)
        if named or "Bokeh-Session-Id" in self.request.headers:
            self.set_status(403)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(_REFUSED)
            return
        application: Any = self.application
        owner: Owner | None = application.owner
        token = self.get_query_argument(PARAMETER, "")
        if owner is not None and owner.is_token(token):
            self.set_cookie(owner.cookie, token, httponly=True, samesite="Strict")
        await super().prepare()  # type: ignore[no-untyped-call]


class PageSocket(WSHandler):
    """The connection of a page to its session, without Bokeh's pauses and log lines."""

    async def prepare(self) -> None:
        """Reject a token that this server has not issued, or that is too old."""
        _, _, token = self.request.headers.get("Sec-WebSocket-Protocol", "").partition(",")
        if not self._is_valid(token.strip()):
            self.set_status(403)
            self.finish()
            return
        await super().prepare()  # type: ignore[no-untyped-call]

    def _is_valid(self, token: str) -> bool:
        application: Any = self.application
        try:
            is_ours = check_token_signature(
                token, application.secret_key, application.sign_sessions
            )
            return is_ours and get_token_payload(token)["session_expiry"] > time.time()
        except Exception:  # Bokeh raises what its decoders do
            return False

    def open(self, *args: object, **options: object) -> None:
        """Send each of the three pieces of a message at once, without a delay of 40 ms."""
        super().open(*args, **options)
        self.set_nodelay(True)

    async def send_message(self, message: Message[Any]) -> None:
        """Send a message unless the person has left: Bokeh would log a warning for each."""
        with suppress(WebSocketClosedError):
            await message.send(self)  # type: ignore[arg-type]  # as Bokeh does


class Health(RequestHandler):
    """Responds as long as the server accepts requests; creates no session."""

    def get(self) -> None:
        """Respond that the server is up."""
        self.write({"status": "ok"})


OF_A_PAGE: dict[str, tuple[type[RequestHandler], type[RequestHandler]]] = {
    "/?": (DocHandler, PageHandler),
    "/ws": (WSHandler, PageSocket),
}
"""Routes below the path of a page: the framework's handler, and our own before it."""
OF_THE_SERVER: dict[str, Route] = {
    HEALTH: (Health,),
    "/static/extensions/(.*)": (
        MultiRootStaticHandler,
        {"root": {"panel": extension_dirs["panel"], "refexplorer": BUNDLES}},
    ),
    "/static/(.*)": (StaticHandler,),
}
"""Routes below the prefix of the server; of other packages it has no files."""


class _OurRoutes(Application):
    """Protects the routes of the page against replacement, and accepts no others later."""

    def __init__(self, handlers: Sequence[Route], *args: Any, **settings: Any) -> None:
        super().__init__(self._ours(handlers), *args, **settings)
        self.add_transform(Headers)

    def add_handlers(self, host_pattern: str, host_handlers: Sequence[Any]) -> None:
        """Add routes of the page."""
        super().add_handlers(host_pattern, self._ours(host_handlers))

    def _ours(self, routes: Sequence[Route]) -> list[Any]:
        served: Any = self
        prefix: str = served.prefix
        pages = [prefix + path.rstrip("/") for path in served.applications]
        replaced = []
        for pattern, handler, *options in routes:
            for path, (kind, own) in OF_A_PAGE.items():
                if pattern in [page + path for page in pages] and issubclass(handler, kind):
                    both = type(own.__name__, (own, handler), {})
                    replaced.append((pattern, both, *options))
        return replaced + [(prefix + path, *route) for path, route in OF_THE_SERVER.items()]


class PageServer(BokehTornado, _OurRoutes):
    """Bokeh's web application with the routes of the page, and sessions that only it names."""

    owner: Owner | None = None

    def __init__(self, applications: Any, **options: Any) -> None:
        options |= {
            "secret_key": generate_secret_key().encode(),
            "sign_sessions": True,
            "generate_session_ids": True,
        }
        super().__init__(applications, **options)


def close_other_routes() -> None:
    """Restrict servers that `panel serve` creates later to the routes of the page."""
    bokeh.server.server.BokehTornado = PageServer  # type: ignore[attr-defined]


def mask_logs() -> None:
    """Mask log messages of this process from now on: Tornado logs complete request URLs."""
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
  {} people have this page open, which is the maximum: load it again in a few minutes.
</p>
{{{{ super() }}}}
{{% endblock %}}
"""


class Sessions:
    """Creates a page for each visitor, while there is room."""

    def __init__(self, make: Callable[[bool], panel.Template], most: int) -> None:
        self._make = make
        self._most = most
        self._open = 0
        self.owner: Owner | None = None

    def page(self) -> panel.Template:
        """Return a page, or a notice that there is no room; in the event loop of the server."""
        if self._open >= self._most:
            return panel.Template(_FULL.format(self._open))
        template = self._make(self._is_owner())
        self._open += 1
        state.on_session_destroyed(self._leave)
        return template

    def _is_owner(self) -> bool:
        """Return whether the session being created is the owner's."""
        context: Any = None if state.curdoc is None else state.curdoc.session_context
        if self.owner is None or context is None:
            return False
        return self.owner.is_asking(context.request)

    def _leave(self, _: SessionContext) -> None:
        self._open -= 1


def end_sessions(server: BaseServer) -> None:
    """Run the end-of-session callbacks of all open sessions, which Bokeh does not do."""
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
    """Serve the page until interrupted; ``/healthz`` responds to proxies."""
    # BokehJS introduces a model that was added later again, which Bokeh knows already.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    mask_logs()
    bounds = bounds or VisitorLimits()
    openings = Openings(bounds)
    references, library = _open_source(source, Library(allow, largest_upload, openings))
    sessions = Sessions(
        lambda is_owner: page(references, library, is_owner=is_owner), bounds.sessions
    )

    async def run() -> None:
        with _end_event() as is_ended:
            server, url = _listen(sessions, port, address, origins, prefix)
            try:
                server.start()
                openings.start()
                if open_browser:
                    webbrowser.open(url)
                if ready is not None:
                    ready(url)
                await is_ended.wait()
            finally:
                # closed connections are expected now, but Tornado and Bokeh would log them
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
    """Set an event when the process should end; ignored signals, as with `nohup`, stay ignored."""
    # A handler that raises would do so inside any code that the loop runs, which may catch it.
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
    """Open the source once for everybody, before the server listens."""
    for view in (Frame, ExplorerView, EditorView):
        bundle_path(view._bundle.stem)
    if source is None:
        return None, library
    references = source if isinstance(source, ReferenceSet) else open_references(source)
    library.offer(references)
    return references, library


def _listen(
    sessions: Sessions, port: int, address: str, origins: Iterable[str], prefix: str
) -> tuple[BaseServer, str]:
    """Return a listening server, and its URL for the owner."""
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
        build_applications({"/": sessions.page}),
        prefix=prefix,
        extra_websocket_origins=create_hosts_allowlist(origin_names, port),
    )
    sessions.owner = web.owner = Owner(port, origin_names)
    http = HTTPServer(web)
    http.add_sockets(sockets)
    server = BaseServer(IOLoop.current(), web, http)
    return server, sessions.owner.address(f"http://{_shown(address)}:{port}{server.prefix}/")


def _own_names(address: str) -> list[str]:
    """Return the host names of this server; any other could be an attack."""
    names = ["localhost", "127.0.0.1"]
    if address not in _LOOPBACK:
        names += [address, socket.gethostname(), socket.getfqdn()]
    return [name for name in names if ":" not in name]  # Bokeh compares no IPv6 addresses


def _shown(address: str) -> str:
    return "localhost" if ":" in address else address


PARAMETER = "token"  # Of the address; the front end takes it out of the address bar


class Owner:
    """Identifies the owner by a secret, in the URL of the first visit and then in a cookie."""

    # 127.0.0.1 proves nothing, since machines are shared. No other site can make a browser send the
    # cookie, and a page reached by another host name, as in DNS rebinding, has no owner.

    def __init__(self, port: int, origins: Iterable[str]) -> None:
        self._token = secrets.token_urlsafe(24)
        self._origins = frozenset(origins)
        self.cookie = f"refexplorer-{port}"

    def address(self, url: str) -> str:
        """Return a URL that makes its visitor the owner."""
        return f"{url}?{urlencode({PARAMETER: self._token})}"

    def is_token(self, text: str) -> bool:
        """Return whether a text is the secret."""
        return secrets.compare_digest(text.encode(), self._token.encode())

    def is_asking(self, request: Any) -> bool:
        """Return whether a request of a Bokeh session comes from the owner."""
        headers: Mapping[str, str] = {k.lower(): v for k, v in request.headers.items()}
        if headers.get("host") not in self._origins:
            return False
        named = [value.decode(errors="replace") for value in request.arguments.get(PARAMETER, ())]
        cookie = request.cookies.get(self.cookie)
        if cookie is not None:
            named.append(getattr(cookie, "value", cookie))
        return any(map(self.is_token, named))
