"""The owner of a served page: anyone with the secret from the URL that the command prints."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

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
