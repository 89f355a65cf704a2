"""Static HTML and text of a widget, which a saved notebook keeps beside the live view."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import anywidget
from IPython.display import display, update_display


class SnapshotWidget(anywidget.AnyWidget):
    """A widget with HTML and text of its state in its output.

    A host that shows widgets shows the live view alone; GitHub, nbviewer and nbconvert, which do
    not, show the HTML.
    """

    _display_id: str | None = None

    def _snapshot(self) -> tuple[str, str]:
        """Return the state as HTML and as text."""
        raise NotImplementedError

    def close(self) -> None:
        """Take the widget from the screen, and stop what it does."""
        controller = getattr(self, "_controller", None)  # none where the widget cannot be made
        if controller is not None:
            controller.close()
        super().close()

    def save_static(self) -> None:
        """Put the state as it is now into the outputs where the widget was displayed last.

        Nothing happens if it was not displayed. The live view is drawn anew.
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
        html, text = self._snapshot()
        return {**data, "text/html": html, "text/plain": text}, metadata

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self._bundle()
