"""One person's page: choose a set, explore it, edit its text."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple
from urllib.parse import parse_qs, urlencode

import panel
import param
from bokeh.document import Document
from bokeh.embed.bundle import extension_dirs
from panel import state
from panel.custom import JSComponent

from refexplorer import demo
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import escape, masked_text
from refexplorer.hosts import BUNDLES
from refexplorer.hosts.page.library import Library, Upload
from refexplorer.hosts.page.openings import OpeningWatch
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views import registry
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.registry import EDITOR, EXPLORER, PARTS, SCREENS, addressed
from refexplorer.views.wire.requests import (
    Buffers,
    Bytes,
    Event,
    Message,
    bound,
    event,
    failure,
    read,
    request,
    sentence,
)

Arguments = TypeVarTuple("Arguments")


class Turns:
    """Serializes changes to one page in callbacks of its Bokeh document.

    Bokeh then sends them. Panel itself sends changes at other times, and can lose the last one
    while the connection is busy: in `panel.io.document._dispatch_msgs` (1.9) the end of one round
    of writing lifts the block that the next has just set. It also sends changes made in a callback
    itself, unless the document is held.

    Create it where the document is known: while the page is created, or in a callback. Without a
    Bokeh server document, as in a notebook or a test, changes are applied immediately.
    """

    def __init__(self) -> None:
        self._served = _served_document()

    def soon(self, change: Callable[[*Arguments], object], *arguments: *Arguments) -> None:
        """Schedule a change of the page; may be called from any thread."""
        if self._served is None:
            change(*arguments)
        else:
            document, loop = self._served
            turn = partial(_run_turn, document, partial(change, *arguments))
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(_request_turn, document, turn)


def _served_document() -> tuple[Document, asyncio.AbstractEventLoop] | None:
    """Return the document being served, and the event loop of its server."""
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


MESSAGES = 1000  # Messages of one view that wait for an answer
_TOO_MANY = f"{MESSAGES:,} requests are waiting: try again when some have finished."


class View(JSComponent):
    """A view whose messages are handled by a controller, in order, in its own thread."""

    def __init__(self, controller: ExplorerController | EditorController, **params: Any) -> None:
        super().__init__(sizing_mode="stretch_both", margin=0, **params)  # type: ignore[no-untyped-call]
        self._controller = controller
        self._turns = Turns()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="refexplorer-view")
        self._room = threading.Semaphore(MESSAGES)
        controller.post = self._post

    def close(self) -> None:
        """Stop responding, and cancel running work: nobody sees it."""
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
    asked = param.Dict({"address": "", "step": 0}, doc="The requested state, as for `go`.")
    parts = param.List(item_type=dict, doc="Name, label and title of each of its views.")
    here = param.Dict({"address": "", "step": -1}, doc="The current state and its step.")

    def __init__(self, references: ReferenceSet, **options: Any) -> None:
        self.controller = ExplorerController(references, served=True, **options)
        super().__init__(self.controller, parts=registry.described())

    def go(self, address: str, step: int) -> None:
        """Go to the state in a URL."""
        self.asked = {"address": address, "step": step}

    @property
    def address(self) -> str:
        """The current state; the requested one until the browser confirms it."""
        arrived = self.here.get("step") == self.asked["step"]
        return str((self.here if arrived else self.asked).get("address", ""))


class EditorView(View):
    """The template editor, also with exercises."""

    _bundle = BUNDLES / "editor.js"

    # Not `document`, as in a notebook: Bokeh's models have another use for that name.
    text = param.String(doc="The text as it is in the editor.")

    def __init__(
        self, editor: EditorController, explore: Callable[[ReferenceSet, str], None]
    ) -> None:
        # changes of the page are made in its own turn
        editor.show = lambda references, key: self._turns.soon(explore, references, key)
        super().__init__(editor, text=editor.document)
        self.controller = editor


class PieceWanted(Event, frozen=True, tag="piece"):
    """Tells the browser to send the bytes of the dropped file from this offset."""

    start: int


class Frame(JSComponent):
    """The header of the page, and the screen where a set is chosen."""

    _bundle = BUNDLES / "page.js"

    view = param.String("start", doc="start, explorer, or another view of the page.")
    screens = param.List(item_type=dict, doc="Name and label of those in the header.")
    place = param.Dict(
        {"address": "", "step": 0},
        doc="The state of the page as the query of its URL, and the last step of the history that "
        "Python knows.",
    )
    names = param.List(item_type=str, doc="The names in an address; others are of a proxy or hub.")
    title = param.String(doc="Name of the set that is open; empty if there is none.")
    sets = param.List(item_type=dict, doc="Title and source of each offered set.")
    opening = param.String(doc="The name of the set being opened.")
    opened = param.List(item_type=int, doc="Its bytes read, and its size; empty if unknown.")
    problem = param.String(doc="Why the last one could not be opened.")
    notice = param.String(doc="Why the view cannot show the set.")
    lesson = param.Dict({}, doc="The lesson that the set is of: its title, its steps, the next.")
    largest = param.Integer(doc="Bytes of a file that may be dropped.")
    typed = param.String(doc="The initial text of the field for a path or URL.")

    def __init__(self, sets: Mapping[str, str], largest: int) -> None:
        listed = [{"title": title, "source": source} for source, title in sets.items()]
        super().__init__(  # type: ignore[no-untyped-call]
            sets=listed,
            screens=registry.screens(),
            names=["source", "view", *_NAMES],
            largest=largest,
            sizing_mode="stretch_width",
            margin=0,
        )

    def ask_for_piece(self, start: int) -> None:
        """Tell the browser to start sending the bytes of a dropped file."""
        message, buffers = event(PieceWanted(start))
        self._send_msg({"message": message, "buffers": buffers})


_NAMES = [
    "key", "slice", "part", "mode", "axes", "colours", "limits", "raw", "find", "kinds",
    "list", "only", "notes", "by", "other", "changes", "gone",
    *(name for part in PARTS for name in part.address),
]  # fmt: skip
"""Parts of the state of the explorer in a URL, named as in ``shared/host.ts``."""


@dataclass(frozen=True)
class Address:
    """A state of the page, as in the query of its URL."""

    # What is open: the name of an offered set, a path or a URL; empty on the start screen
    source: str = ""
    # A tab of the explorer or another view of the page, as `addressed`; empty for the first tab
    view: str = ""
    explorer: Mapping[str, str] = field(default_factory=dict)  # By name

    @classmethod
    def read(cls, query: str) -> Address:
        """Parse a query; missing and unknown parts are omitted."""
        texts_by_name = {name: texts[-1] for name, texts in parse_qs(query).items()}
        view = texts_by_name.get("view", "")
        explorer = {each: texts_by_name[each] for each in _NAMES if each in texts_by_name}
        return cls(texts_by_name.get("source", ""), view if view in addressed() else "", explorer)

    def __str__(self) -> str:
        texts = {"source": self.source, "view": self.view, **self.explorer}
        return urlencode({name: text for name, text in texts.items() if text}, safe="/:,")


def is_shareable(source: str) -> bool:
    """Return whether a URL may name a source: not with a password or a signature."""
    return masked_text(source) == source


_TEMPLATE = Path(__file__).with_suffix(".html")
SHOWN_CHARS = 10_000_000
"""Of a document that the editor shows; with more, each response takes longer than a second."""
_NO_TEXT = (
    "{} is not JSON text of at most {:,} characters: the editor begins with the "
    "specification's own example instead."
)
_EDITED = "Edited text"
_READING = "The text is being read …"
OPENINGS = 4  # Sets that one page opens at once; one that nobody waits for is stopped soon
Opening = Callable[..., ReferenceSet]  # Opens a set; takes the `OpeningWatch` of the page
START = "start"
Result = TypeVar("Result")


class ServedPage:
    """The parts of one page and their interaction; nothing is shared with other pages."""

    events = (PieceWanted,)

    def __init__(
        self, library: Library, shown_chars: int = SHOWN_CHARS, *, is_owner: bool = False
    ) -> None:
        self._library = library
        self._is_owner = is_owner
        self._shown_chars = shown_chars
        self._references: ReferenceSet | None = None
        self._source = ""
        self._upload: Upload | None = None
        self._compared: ExplorerView | None = None  # With whose set the upload is compared
        self._attempt: object = None
        # Of its own: a server that stalls for one person must not hold up the others.
        self._threads = ThreadPoolExecutor(OPENINGS, thread_name_prefix="refexplorer-opening")
        self._begun = 0
        self._editor_notice = ""
        self._chosen = ""  # The key that the editor shows when it is made
        self._made: dict[str, View] = {}
        self._making: dict[str, object] = {}
        self._explorer: ExplorerView | None = None
        titles = {name: offer.title for name, offer in library.offers.items()}
        self._frame = Frame(titles, library.largest)
        self._turns = Turns()
        self._answers = bound([self])
        self._frame.on_msg(lambda event: self._turns.soon(self._do, event.data))
        self._step = 0
        self._views = panel.Column(sizing_mode="stretch_both", margin=0)
        self.layout = panel.Column(
            self._frame, self._views, sizing_mode="stretch_both", styles={"height": "100vh"}
        )

    def show(
        self, references: ReferenceSet, source: str = "", place: Address | None = None
    ) -> None:
        """Show a set in the explorer, and its text in the editor once that is opened."""
        self._hold(references, source)
        self._stand(place or Address(source))

    @property
    def is_busy(self) -> bool:
        """Whether something is being read or created on a thread."""
        return self._begun > 0

    def close(self) -> None:
        """Stop all work, and open no more: the person has left."""
        self._attempt = self._upload = None
        self._making.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for view in self._made.values():
            view.close()

    def _hold(self, references: ReferenceSet, source: str) -> None:
        """Load a set into the explorer, whichever view is visible."""
        self._references = references
        self._source = source if is_shareable(source) else ""
        self._chosen = ""
        self._making.pop("editor", None)
        if (editor := self._made.pop("editor", None)) is not None:
            editor.close()  # its text is that of the set before; exercises stay
        self._explore(references)
        lesson = self._library.lesson(source)
        self._frame.param.update(
            title=references.source.name, lesson=lesson, problem="", opening=""
        )

    def _explore(self, references: ReferenceSet) -> None:
        """Create the explorer again; the other views stay as they are."""
        library = self._library
        explorer: ExplorerView = ExplorerView(
            references,
            allow=library.grants(references),
            others=replace(
                library.others(),
                open=lambda source, *watch: self._library.open(source, OpeningWatch(*watch)),
                consent=self._consent,
                grants=lambda other: self._library.grants(other),
            ),
            versions=library.versions(references),
            can_write=self._is_owner,
            edit=lambda key: self._turns.soon(self._edit, key),
            show=lambda other: self._turns.soon(self._show_other, explorer, other),
        )
        explorer.param.watch(lambda _: self._turns.soon(self._tell), "here")
        if self._explorer is not None:
            self._explorer.close()
        self._made[EXPLORER] = self._explorer = explorer
        self._views[:] = list(self._made.values())

    def _consent(self, source: str) -> None:
        """Let the owner of the page read the folder of a path that they typed."""
        if self._is_owner and self._library.needs_consent(source):
            self._library = self._library.consented(source)

    def _show_other(self, asker: View, references: ReferenceSet) -> None:
        """Show another version of the set, or a repaired one, unless the person opened a set."""
        # If the person has switched to another view or opened another set meanwhile, that stays.
        if asker is not self._explorer:
            return
        before = self._references.source.repository if self._references else None
        after, folder = references.source.repository, references.source.location
        name = self._source
        if before is not None and before.version is not None:
            name = name.removesuffix(f"@{before.version}")
        if after is not None:
            name = f"{name}@{after.version}" if name else ""
        elif folder is not None:  # a repaired set, which was written to a path
            name = str(Path(folder) / references.source.name)
        self._hold(references, name)
        if self._frame.view == EXPLORER:
            self._stand(Address(self._source))
        else:
            self._turn(self._frame.view)

    def _edit(self, key: str) -> None:
        """Show in the editor where a key comes from."""
        self._chosen = key
        self._turn(EDITOR.name)
        if isinstance(view := self._made.get(EDITOR.name), EditorView):
            view.controller.choose(key)

    def _select(self, key: str) -> None:
        if key and self._explorer is not None:
            self._explorer.selection = key

    def _explore_edited(self, name: str, asker: View, references: ReferenceSet, key: str) -> None:
        """Explore the set of a view's text, unless the person has opened another set."""
        # If the person has switched to another view or opened another set meanwhile, that stays.
        if not isinstance(asker, EditorView) or asker is not self._made.get(name):
            return
        is_shown = self._explorer is not None and name == EDITOR.name and not self._editor_notice
        if is_shown and not asker.controller.is_edited:
            self._select(key)
            if self._frame.view == name:
                self._turn(EXPLORER)
            return
        references.source = replace(references.source, name=_EDITED)
        self._source = ""
        self._explore(references)
        self._select(key)
        self._frame.title = _EDITED
        self._turn(EXPLORER if self._frame.view == name else self._frame.view)

    def _do(self, message: object) -> None:
        """Run an action of the header or the start screen; say why it is not possible."""
        if not isinstance(message, dict):
            return
        try:
            _, do, fields = read(self._answers, message)
            do(**fields)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception, *, turns: bool = True) -> None:
        self._frame.param.update(opening="", problem=sentence(error))
        if turns:
            self._turn(START)

    @request("open")
    def choose(self, source: str) -> None:
        """Open an offered set, or one that the person names; the owner may name any path."""
        # The owner of the page may name any local path: typing it and asking to open it allows its
        # folder to be read.
        self._consent(source)
        self._open(source, partial(self._library.open, source), Address(source))

    @request("go")
    def go(
        self,
        address: str,  # Its query
        step: int,  # Number of the step through the history of the browser
    ) -> None:
        """Go to the state in a URL; open its set unless it is open already."""
        self._step = step
        place = Address.read(address)
        if place.source in ("", self._source):
            self._stand(place)
        elif self._is_owner and self._library.needs_consent(place.source):
            text = f"The address names {escape(place.source, 200)} on this machine: open it here."
            self._frame.param.update(typed=place.source, opening="", problem=text)
            self._turn(START)
        else:
            opening = partial(self._library.open, place.source)
            self._open(place.source, opening, place)

    @request("turn")
    def turn_to(self, view: str) -> None:
        """Show another view: the explorer, the editor, the exercises, or the start screen."""
        # The header marks the view that Python reports, so that both agree.
        self._turn(view)

    @request("stop")
    def stop(self) -> None:
        """Stop opening or uploading."""
        self._attempt = self._upload = None
        self._frame.opening = ""
        self._tell()

    @request("upload")
    def begin_upload(
        self,
        name: str,
        size: int,
        compares: bool = False,  # Whether the set that is open is compared with it
    ) -> None:
        """Announce a dropped file and its size."""
        self._frame.problem = ""
        self._upload = Upload(name, size, self._library.largest)
        self._compared = self._explorer if compares else None
        self._frame.ask_for_piece(0)

    @request("piece")
    def take_piece(self, piece: Bytes) -> None:
        """Receive the next bytes of the file."""
        if (upload := self._upload) is None:
            return
        upload.add(piece)
        if not upload.is_complete:
            self._frame.ask_for_piece(len(upload.content))
            return
        self._upload = None
        opening = partial(self._library.open_dropped, upload)
        self._open(upload.name, opening, Address(), self._compared)

    def _aside(self, work: Callable[[], Result], finish: Callable[[Future[Result]], None]) -> None:
        """Run slow work on a thread, and the rest in a callback of the page."""

        def turn(done: Future[Result]) -> None:
            try:
                finish(done)
            finally:
                self._begun -= 1

        self._begun += 1
        done = self._threads.submit(work)
        done.add_done_callback(lambda done: self._turns.soon(turn, done))

    def _open(
        self, name: str, opening: Opening, place: Address, beside: ExplorerView | None = None
    ) -> None:
        """Open a set on a thread and show it, or compare that of `beside` with it."""
        # With `beside`, the set of that explorer is compared with it. If the person has switched to
        # another view meanwhile, that stays.
        self._attempt = attempt = object()
        begun = self._frame.view
        self._frame.param.update(opening=masked_text(name), opened=[], problem="")
        watch = OpeningWatch(self._show_progress, lambda: self._attempt is attempt)

        def finish(opened: Future[ReferenceSet]) -> None:
            if self._attempt is not attempt:
                return
            turned = self._frame.view != begun and self._frame.view in SCREENS
            view = self._frame.view if turned else place.view
            try:
                if beside is not None:
                    beside.controller.comparison.compare(opened.result(), is_shown=True)
                    self._frame.opening = ""
                    self._tell()
                    return
                self.show(opened.result(), place.source, replace(place, view=view))
            except Exception as error:
                self._fail(error, turns=beside is None)

        self._aside(partial(opening, watch), finish)

    def _show_progress(self, done: int, size: int) -> None:
        self._turns.soon(setattr, self._frame, "opened", [done, size])

    def _stand(self, place: Address) -> None:
        """Show the state in a URL, without adding a history entry."""
        view = place.view if place.view in SCREENS else START
        if view == START and self._explorer and (place.source or not self._source):
            self._explorer.go(str(place), self._step)
            view = EXPLORER
        self._turn(view)

    def _turn(self, chosen: str) -> None:
        """Show a view; the others keep their contents."""
        # The URL is sent first, since each change is a separate message: whoever sees the view can
        # go back from it.
        self._tell(chosen)  # first, so that a person who sees the view can go back from it
        if chosen in SCREENS and chosen not in self._made:
            self._make(chosen)
        self._see(chosen)

    def _see(self, chosen: str) -> None:
        for name, view in self._made.items():
            view.visible = name == chosen
        self._views.visible = chosen in self._made
        notice = _READING if chosen in self._making else ""
        if chosen == "editor":
            notice = notice or self._editor_notice
        self._frame.param.update(notice=notice, view=chosen)

    def _make(self, name: str) -> None:
        """Create a view on a thread, and show it if selected: a text of 6 MB takes seconds."""
        # An existing view is not created twice; the view of a set that is no longer shown is
        # closed.
        if name in self._making:
            return
        self._making[name] = making = object()
        references = self._references

        def make() -> tuple[EditorController, str]:
            text, notice = self._editable(references if name == "editor" else None)
            return SCREENS[name].controller(lambda: text), notice

        def finish(future: Future[tuple[EditorController, str]]) -> None:
            if self._making.get(name) is not making:
                if not future.cancelled() and future.exception() is None:
                    future.result()[0].close()
                return
            del self._making[name]
            try:
                controller, notice = future.result()
            except Exception as error:
                self._fail(error)
                return
            if name == "editor":
                self._editor_notice = notice
            view = EditorView(
                controller, lambda edited, key: self._explore_edited(name, view, edited, key)
            )
            if name == EDITOR.name and self._chosen:
                controller.choose(self._chosen)
            self._made[name] = view
            self._views.append(view)
            self._see(self._frame.view)

        self._aside(make, finish)

    def _editable(self, references: ReferenceSet | None) -> tuple[str, str]:
        """Return the text of the set, or an example and a notice that explains why."""
        notice = ""
        if references is not None:
            text = references.source.text_within(self._shown_chars)
            if text is not None:
                return text, ""
            notice = _NO_TEXT.format(escape(references.source.name), self._shown_chars)
        return demo.path("spec.v1.json").read_text(encoding="utf-8"), notice

    def _tell(self, view: str = "") -> None:
        """Keep the URL up to date; while a set is being opened, it waits."""
        if self._frame.opening:
            return
        view, place = view or self._frame.view, Address()
        if view in SCREENS:
            place = Address(self._source, view)
        elif view == EXPLORER and self._explorer and self._source:
            place = replace(Address.read(self._explorer.address), source=self._source)
            if not is_shareable(place.explorer.get("other", "")):
                place = replace(place, explorer={**place.explorer, "other": ""})
        self._frame.place = {"address": str(place), "step": self._step}


def page(
    references: ReferenceSet | None = None,
    library: Library | None = None,
    *,
    is_owner: bool = False,
) -> panel.Template:
    """Create a page for one person."""
    library = library or Library()
    served = ServedPage(library, is_owner=is_owner)
    if panel.state.curdoc is not None:
        panel.state.on_session_destroyed(lambda _: served.close())
    if references is not None:
        name = references.source.name
        served.show(references, name if name in library.offers else "")
    template = panel.Template(_TEMPLATE.read_text(encoding="utf-8"))
    template.add_panel("page", served.layout)
    return template
