"""How many pages are open at a time, and their end."""

from __future__ import annotations

from collections.abc import Callable

import panel
from bokeh.application.application import SessionContext
from bokeh.server.server import BaseServer
from panel import state

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
        made = self._make()
        self._open += 1
        state.on_session_destroyed(self._leave)
        return made

    def _leave(self, _: SessionContext) -> None:
        self._open -= 1


def end_sessions(server: BaseServer) -> None:
    """Do what is done at the end of a session for all that are open: Bokeh leaves them as is."""
    for session in server.get_sessions():
        if (context := session.document.session_context) is not None:
            for leave in session.document.session_destroyed_callbacks:
                leave(context)
