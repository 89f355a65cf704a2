"""The owner of a served page: who has the secret of the address that the command prints."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

PARAMETER = "token"
"""Of the address; the front end takes it out of the address bar."""


class Owner:
    """Knows the owner by a secret: 127.0.0.1 alone proves nothing, since others share a machine.

    The first visit brings the secret in the address, later ones in a cookie that no other site
    makes a browser send. A page that is reached by a name which is not its own, as by a rebound
    name of somebody else's, has no owner.
    """

    def __init__(self, port: int, origins: Iterable[str]) -> None:
        self._token = secrets.token_urlsafe(24)
        self._origins = frozenset(origins)
        self.cookie = f"refexplorer-{port}"

    def address(self, url: str) -> str:
        """Return an address that makes its visitor the owner."""
        return f"{url}?{urlencode({PARAMETER: self._token})}"

    def is_token(self, text: str) -> bool:
        """Return whether a text is the secret."""
        return secrets.compare_digest(text.encode(), self._token.encode())

    def is_asking(self, request: Any) -> bool:
        """Return whether a request of Bokeh's session is the owner's."""
        headers: Mapping[str, str] = {k.lower(): v for k, v in request.headers.items()}
        if headers.get("host") not in self._origins:
            return False
        named = [value.decode(errors="replace") for value in request.arguments.get(PARAMETER, ())]
        cookie = request.cookies.get(self.cookie)
        if cookie is not None:
            named.append(getattr(cookie, "value", cookie))
        return any(map(self.is_token, named))
