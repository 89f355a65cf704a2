"""Opens a set in a notebook: what takes long shows how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import ipywidgets
from IPython import get_ipython
from IPython.display import display

from refexplorer.masking import masked_text
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet

AFTER = 0.5
"""Seconds before there is anything to see."""
_BETWEEN = 0.1


def open_watched(source: object, options: Mapping[str, Any]) -> ReferenceSet:
    """Open a set as `open_references`, with a bar below the cell while a large one is read.

    Interrupting the kernel stops it: a button could not, since a kernel hears nothing while a
    cell runs.
    """
    if get_ipython() is None or "progress" in options:
        return open_references(source, **options)
    bar = OpeningBar(str(source) if isinstance(source, str) else type(source).__name__)
    try:
        return open_references(source, progress=bar.tell, **options)
    finally:
        bar.close()


class OpeningBar:
    """How many bytes of a source were read."""

    def __init__(self, name: str) -> None:
        self._name = masked_text(name)
        self._began = self._told = time.monotonic()
        self._box: ipywidgets.HBox | None = None

    def tell(self, done: int, size: int) -> None:
        """Show how far it is, now and then."""
        now = time.monotonic()
        if self._box is None and now - self._began >= AFTER:
            self._show(size)
        if self._box is not None and now - self._told >= _BETWEEN:
            self._told = now
            self._bar.value = done
            megabytes = f"{done / 1e6:,.1f} of {size / 1e6:,.1f} MB"
            self._label.value = f"{megabytes}; interrupt the kernel to stop"

    def close(self) -> None:
        """Take it from the screen."""
        if self._box is not None:
            self._box.close()

    def _show(self, size: int) -> None:
        self._bar = ipywidgets.IntProgress(max=size, description="Opening")
        self._bar.tooltip = f"Opening {self._name}"
        self._label = ipywidgets.Label()
        self._box = ipywidgets.HBox([self._bar, self._label])
        display(self._box)  # type: ignore[no-untyped-call]
