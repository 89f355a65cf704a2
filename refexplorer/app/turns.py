"""When a page may change, so that all of it reaches the browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVarTuple

from bokeh.document import Document
from panel import state

Arguments = TypeVarTuple("Arguments")


class Turns:
    """Makes changes to one page one after the other, in the turns that Bokeh gives its document.

    Then Bokeh sends them. What changes at other times Panel sends by itself, and can forget the
    last of it while the connection is busy: in `panel.io.document._dispatch_msgs` (1.9) who ends
    one round of writing lifts the block that the next has just set. It also sends by itself what
    changes in a turn, unless the document is held.

    Made where the document is known: while the page is made, or in a turn. Where no document is
    served, as in a notebook or a test, changes are made at once.
    """

    def __init__(self) -> None:
        self._served = _served()

    def soon(self, change: Callable[[*Arguments], object], *arguments: *Arguments) -> None:
        """Change the page when it is its turn; may be called from any thread."""
        if self._served is None:
            change(*arguments)
        else:
            document, loop = self._served
            turn = partial(_take, document, partial(change, *arguments))
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(_ask, document, turn)


def _served() -> tuple[Document, asyncio.AbstractEventLoop] | None:
    """Return the document that is being served, and the loop of its server."""
    document = state.curdoc
    if document is None or document.session_context is None:
        return None
    try:
        return document, asyncio.get_running_loop()
    except RuntimeError:  # `panel serve --warm` makes a page that nobody sees
        return None


def _ask(document: Document, turn: Callable[[], None]) -> None:
    if document.session_context is not None:  # the person is still there
        document.add_next_tick_callback(turn)


def _take(document: Document, change: Callable[[], object]) -> None:
    document.hold("collect")
    try:
        change()
    finally:
        document.unhold()
