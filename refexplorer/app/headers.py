"""Headers of the page's server: browsers allow its own files, and nothing of another origin."""

from __future__ import annotations

import secrets
from typing import Any

from bokeh.server.views.doc_handler import DocHandler
from tornado.httputil import HTTPHeaders
from tornado.web import OutputTransform

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


class Nonced(DocHandler):
    """The page, whose scripts a browser runs by a number that nobody can know before."""

    def write(self, chunk: Any) -> None:
        """Mark the scripts; nothing else reads as one, since Bokeh escapes what they are given."""
        nonce = secrets.token_urlsafe(16)
        self.set_header("Content-Security-Policy", policy_text(nonce))
        if isinstance(chunk, str):
            chunk = chunk.replace("<script", f'<script nonce="{nonce}"')
        super().write(chunk)
