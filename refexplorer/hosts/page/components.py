"""Panel hosts of the views: what `refexplorer.hosts.notebook` is for a notebook."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVarTuple

import param
from bokeh.document import Document
from bokeh.embed.bundle import extension_dirs
from panel import state
from panel.custom import JSComponent

from refexplorer.core.errors import RefexplorerError
from refexplorer.hosts import BUNDLES
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.registry import described, screens
from refexplorer.views.wire.answering import Buffers, Message, event, failure
from refexplorer.views.wire.messages import Event

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
        self._served = _served_document()

    def soon(self, change: Callable[[*Arguments], object], *arguments: *Arguments) -> None:
        """Change the page when it is its turn; may be called from any thread."""
        if self._served is None:
            change(*arguments)
        else:
            document, loop = self._served
            turn = partial(_run_turn, document, partial(change, *arguments))
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(_request_turn, document, turn)


def _served_document() -> tuple[Document, asyncio.AbstractEventLoop] | None:
    """Return the document that is being served, and the loop of its server."""
    document = state.curdoc
    if document is None or document.session_context is None:
        return None
    try:
        return document, asyncio.get_running_loop()
    except RuntimeError:  # `panel serve --warm` makes a page that nobody sees
        return None


def _request_turn(document: Document, turn: Callable[[], None]) -> None:
    if document.session_context is not None:  # the person is still there
        document.add_next_tick_callback(turn)


def _run_turn(document: Document, change: Callable[[], object]) -> None:
    document.hold("collect")
    try:
        change()
    finally:
        document.unhold()


# Panel finds a bundle below a registered folder and lets the browser fetch it once, by URL.
extension_dirs["refexplorer"] = BUNDLES


MESSAGES = 1000
"""Messages of one view that wait for an answer."""
_TOO_MANY = f"{MESSAGES:,} requests are waiting: try again when some are answered."


class View(JSComponent):
    """A view whose messages a controller answers.

    One thread answers for each view, in order: a long search holds up neither the server
    nor the other people on it.
    """

    def __init__(self, controller: ExplorerController | EditorController, **params: Any) -> None:
        super().__init__(sizing_mode="stretch_both", margin=0, **params)  # type: ignore[no-untyped-call]
        self._controller = controller
        self._turns = Turns()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="refexplorer-view")
        self._room = threading.Semaphore(MESSAGES)
        controller.post = self._post

    def close(self) -> None:
        """Answer no more, and stop what runs: it is shown to nobody."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._controller.close()

    def _handle_msg(self, data: object) -> None:
        if not isinstance(data, dict):
            return
        if not self._room.acquire(blocking=False):
            self._post(failure(data.get("id"), RefexplorerError(_TOO_MANY)), [])
            return
        with suppress(RuntimeError):  # it is closed
            self._worker.submit(self._answer, data)

    def _answer(self, message: Message) -> None:
        try:
            for reply, buffers in self._controller.handle(message, []):
                self._post(reply, buffers)
        finally:
            self._room.release()

    def _post(self, message: Message, buffers: Buffers) -> None:
        self._turns.soon(self._send_msg, {"message": message, "buffers": buffers})


class ExplorerView(View):
    """The explorer of one reference set."""

    _bundle = BUNDLES / "explorer.js"

    selection = param.String(doc="The key or path that is chosen.")
    asked = param.Dict({"address": "", "step": 0}, doc="Where it shall go, as `go` says.")
    parts = param.List(item_type=dict, doc="Name, label and title of each of its views.")
    here = param.Dict({"address": "", "step": -1}, doc="Where it is, and the step that led there.")

    def __init__(self, references: ReferenceSet, **options: Any) -> None:
        controller = ExplorerController(references, served=True, **options)
        super().__init__(controller, parts=described())

    def go(self, address: str, step: int) -> None:
        """Go where an address says."""
        self.asked = {"address": address, "step": step}

    @property
    def address(self) -> str:
        """Where it is; where it was asked to go, until the browser says that it is there."""
        arrived = self.here.get("step") == self.asked["step"]
        return str((self.here if arrived else self.asked).get("address", ""))


class EditorView(View):
    """The template editor, also with exercises."""

    _bundle = BUNDLES / "editor.js"

    # Not `document`, as in a notebook: Bokeh's models have another use for that name.
    text = param.String(doc="The text as it is in the editor.")

    def __init__(self, editor: EditorController, explore: Callable[[ReferenceSet], None]) -> None:
        # what concerns the page is done in a turn of it
        editor.show = lambda references: self._turns.soon(explore, references)
        super().__init__(editor, text=editor.document)


class PieceWanted(Event, frozen=True, tag="piece"):
    """The bytes of the dropped file are taken from here on."""

    start: int


class Frame(JSComponent):
    """The header of the page, and the screen where a set is chosen."""

    _bundle = BUNDLES / "page.js"

    view = param.String("start", doc="start, explorer, or another view of the page.")
    screens = param.List(item_type=dict, doc="Name and label of those in the header.")
    place = param.Dict(
        {"address": "", "step": 0},
        doc="Where the person is, as the query of the address, and the last step of the history "
        "that Python knew of: what it says of the steps before is late.",
    )
    title = param.String(doc="Name of the set that is open; empty if there is none.")
    sets = param.List(item_type=dict, doc="What may be chosen: title and source of each.")
    opening = param.String(doc="What is being opened.")
    opened = param.List(item_type=int, doc="Of it, the bytes that were read and all; or nothing.")
    problem = param.String(doc="Why the last one could not be opened.")
    notice = param.String(doc="What the view that is shown cannot do with the set.")
    largest = param.Integer(doc="Bytes of a file that may be dropped.")

    def __init__(self, sets: Mapping[str, str], largest: int) -> None:
        listed = [{"title": title, "source": source} for source, title in sets.items()]
        super().__init__(  # type: ignore[no-untyped-call]
            sets=listed, screens=screens(), largest=largest, sizing_mode="stretch_width", margin=0
        )

    def ask_for_piece(self, start: int) -> None:
        """Tell the browser that the bytes of a dropped file are taken from here on."""
        message, buffers = event(PieceWanted(start))
        self._send_msg({"message": message, "buffers": buffers})
