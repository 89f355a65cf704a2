"""The explorer in a notebook, and each of its parts as a separate widget."""

from __future__ import annotations

import difflib
import inspect
import time
from collections.abc import Iterable, Mapping
from shlex import join
from typing import Any, overload
from uuid import uuid4

import anywidget
import ipywidgets
import traitlets
from IPython import get_ipython
from IPython.display import display, update_display

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import escape, masked_text
from refexplorer.hosts import bundle_text
from refexplorer.io.reading.code import place_of
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.preview.values import cache_of
from refexplorer.views.registry import EXPLORER, PARTS, described, part_named
from refexplorer.views.static_html import explorer_html, explorer_text
from refexplorer.views.wire.requests import SourceChanged, event, question


class StaticWidget(anywidget.AnyWidget):
    """A widget whose saved output contains its content as HTML and text.

    Hosts with widget support show only the live view; GitHub, nbviewer and nbconvert show the
    HTML.
    """

    _display_id: str | None = None

    def _static(self) -> tuple[str, str]:
        """Return the content as HTML and as text."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove the widget from the screen, and stop its work."""
        controller = getattr(self, "_controller", None)  # none where the widget cannot be made
        if controller is not None:
            controller.close()
        super().close()

    def save_static(self) -> None:
        """Save the current state in the output where the widget was last displayed.

        Nothing happens if it was not displayed. The live view is drawn again.
        """
        if self._display_id is not None:
            data, metadata = self._bundle()
            update_display(data, raw=True, metadata=metadata, display_id=self._display_id)  # type: ignore[no-untyped-call]

    def _ipython_display_(self) -> None:
        self._display_id = uuid4().hex
        data, metadata = self._bundle()
        display(data, raw=True, metadata=metadata, display_id=self._display_id)  # type: ignore[no-untyped-call]

    def _bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_() or ({}, {})
        html, text = self._static()
        return {**data, "text/html": html, "text/plain": text}, metadata

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self._bundle()


AFTER = 0.5  # Seconds before there is anything to see
_BETWEEN = 0.1  # seconds between two updates of the bar


def open_with_bar(source: object, options: Mapping[str, Any]) -> ReferenceSet:
    """Open a set with a progress bar below the cell; a button would wait for the cell to end."""
    # Interrupt the kernel to stop it: a button would not work, since a kernel handles no messages
    # while a cell runs.
    if get_ipython() is None or "progress" in options:
        return open_references(source, **options)
    bar = OpeningBar(str(source) if isinstance(source, str) else type(source).__name__)
    try:
        return open_references(source, progress=bar.report, **options)
    finally:
        bar.close()


class OpeningBar:
    """A bar of the bytes read from a source."""

    def __init__(self, name: str) -> None:
        self._name = masked_text(name)
        self._due = time.monotonic() + AFTER
        self._box: ipywidgets.HBox | None = None

    def report(self, done: int, size: int) -> None:
        """Update the bar now and then."""
        if (now := time.monotonic()) < self._due:
            return
        self._due = now + _BETWEEN
        if self._box is None:
            self._show(size)
        self._bar.value = done
        megabytes = f"{done / 1e6:,.1f} of {size / 1e6:,.1f} MB"
        self._label.value = f"{megabytes}; interrupt the kernel to stop"

    def close(self) -> None:
        """Remove the bar."""
        if self._box is not None:
            self._box.close()

    def _show(self, size: int) -> None:
        self._bar = ipywidgets.IntProgress(max=size, description="Opening")
        self._bar.tooltip = f"Opening {self._name}"
        self._label = ipywidgets.Label()
        self._box = ipywidgets.HBox([self._bar, self._label])
        display(self._box)  # type: ignore[no-untyped-call]


_OPENING = tuple(inspect.signature(open_references).parameters)[1:]
FIRST_ROWS = 60  # Rows that a view begins with


class ReferencesWidget(StaticWidget):
    """The base class of the explorer and its parts: a set, a selection, and Python code.

    Parameters
    ----------
    source
        A `ReferenceSet`, or any source of `open_references`: path, URL, dict, JSON or bytes.
    selection
        The key or path that is selected at the start.
    allow
        Locations that may be read without asking, in addition to the folder of the set, such as
        ``["s3://bucket"]``.
    compare
        An earlier version of the set, in any form accepted for `source`: changes are shown in the
        comparison, the tree and the chunk map.
    **options
        Same as in `open_references`.

    Attributes
    ----------
    selection
        The selected key or path; setting it opens the tree there.
    code
        Python code for the last action: a selection, a search, a read.
    references
        The displayed set; setting it shows another one.
    compare
        The set to compare with, or None; can be set.
    first
        For the front end: the responses to the first requests of a view, while they are valid.
    parts
        For the front end: the name, label and title of each part.

    Raises
    ------
    TypeError
        If an option is unknown; the message suggests a similar one.
    SourceError
        If the source cannot be read.
    """

    selection = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    # compared by identity
    references = traitlets.Instance(ReferenceSet, allow_none=True)
    compare = traitlets.Instance(ReferenceSet, allow_none=True)
    part = traitlets.Unicode(read_only=True).tag(sync=True)
    first = traitlets.Dict(read_only=True).tag(sync=True)
    parts = traitlets.List(traitlets.Dict(), read_only=True).tag(sync=True)

    _part = EXPLORER

    def __init_subclass__(cls, *, part: str | None = None, **options: Any) -> None:
        """Register a widget for one part of the explorer, by its name in the registry."""
        super().__init_subclass__(**options)
        if part is not None:
            cls._part = part_named(part).name

    def __init__(
        self,
        source: object,
        *,
        selection: str = "",
        allow: Iterable[str] = (),
        compare: object = None,
        **options: Any,
    ) -> None:
        references = _open(type(self).__name__, source, options)
        other = None if compare is None else _open(type(self).__name__, compare, {})
        references.check_path(selection)
        self._controller = ExplorerController(
            references, allow=allow, compare=other, show=self._show
        )
        self._controller.selection = selection
        code = self._controller.code
        super().__init__(selection=selection, code=code, references=references, compare=other)
        self._attach()
        self.on_msg(self._receive)
        # The browser loads the front end meanwhile, since the widget is open there already.
        self.set_trait("first", _first_answers(self._controller))

    def __repr__(self) -> str:
        source = self._controller.references.source
        place = place_of(source)
        # a terminal shows only this
        serve = "" if place is None else f", or run `{join(['refexplorer', 'serve', place])}`"
        name = f"{type(self).__name__} of {source.name}"
        return masked_text(escape(f"{name}: display it in a notebook{serve}"))

    @traitlets.default("part")
    def _own_part(self) -> str:
        return self._part

    @traitlets.default("parts")
    def _all_parts(self) -> list[dict[str, Any]]:
        return described()

    @property
    def _esm(self) -> str:
        return bundle_text("explorer")

    @property
    def kept_bytes(self) -> int:
        """Bytes of decoded chunks kept by all views of the set, at most `Limits.kept_bytes`."""
        return cache_of(self._controller.references).size

    def _static(self) -> tuple[str, str]:
        name = EXPLORER if self.part == EXPLORER else f"{self.part} view"
        return explorer_html(self._controller), explorer_text(self._controller, name)

    def save_static(self) -> None:
        """Save the current state in the output where the widget was last displayed.

        For a large set, this also runs the checks that the first view does not wait for.
        Nothing happens if it was not displayed. The live view is drawn again.
        """
        _ = self._controller.references.diagnostics
        super().save_static()

    def _attach(self) -> None:
        """Forward the controller's messages, and follow the set chosen for comparison."""
        controller = self._controller
        controller.post = self.send
        controller.comparison.changed.append(
            lambda: self.set_trait("compare", controller.comparison.other)
        )

    def _receive(self, _: object, message: dict[str, Any], buffers: list[bytes]) -> None:
        self.set_trait("first", {})
        for reply, attached in self._controller.handle(message, buffers):
            self.send(reply, attached)
        self.code = self._controller.code

    @traitlets.observe("selection")
    def _follow(self, change: dict[str, Any]) -> None:
        if change["new"] != self._controller.selection:
            self.set_trait("first", {})
            self._controller.selection = change["new"]
            self.code = self._controller.code

    def _show(self, references: ReferenceSet) -> None:
        self.references = references

    @traitlets.observe("references")
    def _reopen(self, change: dict[str, Any]) -> None:
        if change["new"] in (None, self._controller.references):
            return
        allowed = self._controller.policy.granted
        self._controller.close()
        self._controller = ExplorerController(
            change["new"], allow=allowed, compare=self.compare, show=self._show
        )
        self._attach()
        self.selection = ""
        self.code = self._controller.code
        self.set_trait("first", {})
        self.send(*event(SourceChanged()))

    @traitlets.observe("compare")
    def _compare(self, change: dict[str, Any]) -> None:
        if change["new"] is not self._controller.comparison.other:
            self._controller.comparison.compare(change["new"])


class Explorer(ReferencesWidget):
    """Browse a reference set: its keys as a tree, each key's reference, and its data.

    Parameters, other traits and errors are those of `ReferencesWidget`, as of all its parts.

    Attributes
    ----------
    state
        The view, as strings by name: ``{"view": "data", "key": "sst", "slice": "1,0,0"}``.
        Setting it restores the view. The names are those in the page's URL; values that have
        not changed since the start are omitted.
    """

    state = traitlets.Dict(value_trait=traitlets.Unicode()).tag(sync=True)


class KeyTree(ReferencesWidget, part="tree"):
    """The keys of a reference set as a tree, with a search; see `ReferencesWidget`."""


class KeyInspector(ReferencesWidget, part="key"):
    """Everything about one key that needs no request; see `ReferencesWidget`."""


class ArrayPreview(ReferencesWidget, part="data"):
    """The values of an array, read one part at a time on request; see `ReferencesWidget`."""


class ChunkGrid(ReferencesWidget, part="chunks"):
    """The chunks of an array as a map; see `ReferencesWidget`.

    `refexplorer.refset.chunk_grid.ChunkReferences` has the numbers behind it.
    """


class TargetMap(ReferencesWidget, part="targets"):
    """The targets of a set, and a byte map of one of them; see `ReferencesWidget`.

    `refexplorer.refset.target_layout.TargetLayout` has the numbers behind it.
    """


class SetComparison(ReferencesWidget, part="compare"):
    """Two reference sets side by side: their differences, and one chunk in both.

    See `ReferencesWidget`; ``SetComparison(after, compare=before)``.
    `refexplorer.verbs.differing.Difference` has the numbers behind it.
    """


@overload
def explore(source: object, *, part: str, **options: Any) -> ReferencesWidget: ...
@overload
def explore(source: object, **options: Any) -> Explorer: ...
def explore(source: object, *, part: str = EXPLORER, **options: Any) -> ReferencesWidget:
    """Open a reference set and show it.

    Parameters
    ----------
    source
        A `ReferenceSet`, or any source accepted by `refexplorer.open_references`.
    part
        A single part: ``"tree"``, ``"key"``, ``"data"``, ``"chunks"``, ``"targets"`` or
        ``"compare"``. All of them can be linked by their traits.
    options
        Same as in `refexplorer.types.Explorer`: ``selection``, ``allow``, ``compare`` and those of
        `refexplorer.open_references`.

    Raises
    ------
    TypeError
        If an option is unknown; the message suggests a similar one.
    RefexplorerError
        If the source cannot be read, there is no such part, or the set has nothing at
        ``selection``.
    """
    _check_options("explore", options)
    kinds: tuple[type[ReferencesWidget], ...] = (Explorer, KeyTree, KeyInspector, ArrayPreview)
    kinds += (ChunkGrid, TargetMap, SetComparison)
    widgets = {each._part: each for each in kinds}
    names = [*widgets, *(each.name for each in PARTS if each.alone and each.name not in widgets)]
    if part not in names:
        raise RefexplorerError(f"There is no part {part!r}; use one of {', '.join(names)}.")
    kind = widgets.get(part) or type("ViewWidget", (ReferencesWidget,), {}, part=part)
    return kind(source, **options)


def _open(name: str, source: object, options: dict[str, Any]) -> ReferenceSet:
    _check_options(name, options)
    if not isinstance(source, ReferenceSet):
        return open_with_bar(source, options)
    if options:
        raise TypeError(
            f"The set is open already: pass {next(iter(options))} to open_references instead."
        )
    return source


def _first_answers(controller: ExplorerController) -> dict[str, Any]:
    """Return the responses to the first requests of every view, so that none are needed."""
    asked = (question("hello"), question("tree.rows", start=0, n=FIRST_ROWS))
    answers = {each["op"]: controller.handle(each)[0][0] for each in asked}
    return {} if any("error" in answer for answer in answers.values()) else answers


def _check_options(caller: str, options: Iterable[str]) -> None:
    known = ("allow", "compare", "selection", *_OPENING)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(known)}."
            raise TypeError(f"{caller}() has no option {name!r}: {meant}")
