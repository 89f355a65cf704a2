"""The routes that the server of the page answers; all others of Panel and Bokeh are closed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import bokeh.server.server
from bokeh.embed.bundle import extension_dirs
from bokeh.protocol.message import Message
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.doc_handler import DocHandler
from bokeh.server.views.multi_root_static_handler import MultiRootStaticHandler
from bokeh.server.views.static_handler import StaticHandler
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import check_token_signature, generate_secret_key, get_token_payload
from tornado.httputil import HTTPHeaders
from tornado.web import Application, OutputTransform, RequestHandler
from tornado.websocket import WebSocketClosedError

from refexplorer.hosts import BUNDLES

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
HEALTH = "/healthz"
"""Where a proxy asks whether the page is alive."""
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
    """Adds the headers to every answer of the server, those that are errors, too."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add them, unless the answer has a policy of its own."""
        headers.setdefault("Content-Security-Policy", policy_text())
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "no-referrer"
        return status_code, headers, chunk


class PageHandler(DocHandler):
    """The page, in a session that this server has made for this request.

    A browser runs its scripts by a number that nobody can know before.
    """

    def write(self, chunk: Any) -> None:
        """Mark the scripts; nothing else reads as one, since Bokeh escapes what they are given."""
        nonce = secrets.token_urlsafe(16)
        self.set_header("Content-Security-Policy", policy_text(nonce))
        if isinstance(chunk, str):
            chunk = chunk.replace("<script", f'<script nonce="{nonce}"')
        super().write(chunk)

    async def prepare(self) -> None:
        """Refuse a session that is named: whoever knows the name could look on."""
        named = any(self.get_arguments(name) for name in _NAMES)
        if named or "Bokeh-Session-Id" in self.request.headers:
            self.set_status(403)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(_REFUSED)
            return
        await super().prepare()  # type: ignore[no-untyped-call]


class PageSocket(WSHandler):
    """The connection of a page to its session, without Bokeh's pauses and log lines."""

    async def prepare(self) -> None:
        """Refuse a token that this server has not written, or that is too old."""
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
        """Let each of the three pieces of a message leave as it is written, without 40 ms more."""
        super().open(*args, **options)
        self.set_nodelay(True)

    async def send_message(self, message: Message[Any]) -> None:
        """Send it, unless the person has left: Bokeh would write a warning for each message."""
        with suppress(WebSocketClosedError):
            await message.send(self)  # type: ignore[arg-type]  # as Bokeh does


class Health(RequestHandler):
    """Answers as long as the server takes requests; makes no session."""

    def get(self) -> None:
        """Say so."""
        self.write({"status": "ok"})


OF_A_PAGE: dict[str, tuple[type[RequestHandler], type[RequestHandler]]] = {
    "/?": (DocHandler, PageHandler),
    "/ws": (WSHandler, PageSocket),
}
"""Routes below the path of a page: the framework's handler, and what is put before it."""
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
    """Keeps the routes of the page from those that it is given, and takes no others later."""

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
    """Bokeh's web application with the routes of the page, and sessions that it alone names."""

    def __init__(self, applications: Any, **options: Any) -> None:
        options |= {
            "secret_key": generate_secret_key().encode(),
            "sign_sessions": True,
            "generate_session_ids": True,
        }
        super().__init__(applications, **options)


def close_other_routes() -> None:
    """Have the servers that this process makes from now on answer the routes of the page alone.

    For `panel serve`, which makes the server itself.
    """
    bokeh.server.server.BokehTornado = PageServer  # type: ignore[attr-defined]
