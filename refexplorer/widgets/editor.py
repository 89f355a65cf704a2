"""The template editor in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from refexplorer.spec.diagnostics import Diagnostic
from refexplorer.views.editor import EditorController
from refexplorer.widgets.bundles import bundle_text
from refexplorer.widgets.traits import ReferencesTrait


class TemplateEditor(anywidget.AnyWidget):
    """Write a version 1 reference set and watch the version 0 keys that it makes.

    Parameters
    ----------
    document
        JSON text, or a dict that is written as JSON.

    Attributes
    ----------
    document
        The text as it is in the editor; setting it replaces the text.
    references
        The set that the last good text makes; None before there was one.
    """

    document = traitlets.Unicode("").tag(sync=True)
    references = ReferencesTrait(read_only=True)

    def __init__(self, document: str | Mapping[str, object]) -> None:
        self._controller = EditorController(document)
        super().__init__(document=self._controller.document)
        self.set_trait("references", self._controller.references)
        self._controller.post = self.send
        self.on_msg(self._receive)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What there is to say about the last good text."""
        return () if self.references is None else self.references.diagnostics

    @property
    def _esm(self) -> str:
        return bundle_text("editor")

    def _receive(self, _: object, message: dict[str, Any], buffers: list[bytes]) -> None:
        for reply, attached in self._controller.handle(message, buffers):
            self.send(reply, attached)
        self.set_trait("references", self._controller.references)

    @traitlets.observe("document")
    def _follow(self, change: dict[str, Any]) -> None:
        if change["new"] != self._controller.document:
            self._controller.document = change["new"]
            self.set_trait("references", self._controller.references)
