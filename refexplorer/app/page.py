"""One person's page: choose a set, explore it, edit its text."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import panel
from panel.models.esm import DataEvent

from refexplorer import demo
from refexplorer.app.components import EditorView, ExplorerView, Frame
from refexplorer.app.library import Library
from refexplorer.referenceset import ReferenceSet
from refexplorer.views.wire import sentence

_TEMPLATE = Path(__file__).with_suffix(".html")
_EDITABLE_CHARS = 1_000_000
_EDITED = "Edited text"


class Page:
    """The parts of one page and what happens between them.

    Parameters
    ----------
    library
        What may be opened.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._frame = Frame(library.sets)
        self._frame.on_msg(self._chosen)
        self._frame.param.watch(self._turn, "view")
        self._views = panel.Column(sizing_mode="stretch_both", margin=0)
        self.layout = panel.Column(
            self._frame, self._views, sizing_mode="stretch_both", styles={"height": "100vh"}
        )

    def show(self, references: ReferenceSet) -> None:
        """Put a set into the explorer and its text into the editor."""
        explorer = ExplorerView(references, self._library.grants(references))
        self._views[:] = [explorer, EditorView(_editable(references), self._explore)]
        self._frame.param.update(
            title=references.source.name, view="explorer", problem="", opening=""
        )
        self._turn()

    def _explore(self, references: ReferenceSet) -> None:
        """Put the set that was edited into the explorer; the editor keeps its text."""
        references.source = replace(references.source, name=_EDITED)
        self._views[0] = ExplorerView(references, self._library.grants(references))
        self._frame.view = "explorer"
        self._turn()

    async def _chosen(self, event: DataEvent) -> None:
        source = str(event.data["source"])
        self._frame.param.update(opening=source, problem="")
        try:
            self.show(await asyncio.to_thread(self._library.open, source))
        except Exception as error:
            self._frame.param.update(opening="", problem=sentence(error))

    def _turn(self, *_: object) -> None:
        """Show the view that the header says; the others keep what they hold."""
        self._views.visible = self._frame.view != "start"
        for name, view in zip(("explorer", "editor"), self._views, strict=False):
            view.visible = name == self._frame.view


def page(references: ReferenceSet | None = None, library: Library | None = None) -> panel.Template:
    """Make a page for one person.

    Parameters
    ----------
    references
        Shown at once; without it the page begins with the choice of a set.
    library
        What may be opened; the shipped sets by default.
    """
    made = Page(library or Library())
    if references is not None:
        made.show(references)
    template = panel.Template(_TEMPLATE.read_text(encoding="utf-8"))
    template.add_panel("page", made.layout)
    return template


def _editable(references: ReferenceSet) -> str:
    """Return the text of the set; the specification's example where there is none to edit."""
    text = references.source.text
    if text is None or len(text) > _EDITABLE_CHARS:
        return demo.path("spec.v1.json").read_text(encoding="utf-8")
    return text
