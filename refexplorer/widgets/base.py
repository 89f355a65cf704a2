"""The base of all widgets, whose outputs also have static HTML, and the trait of a set."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import anywidget
import traitlets
from IPython.display import display, update_display

from refexplorer.referenceset import ReferenceSet


class ReferencesTrait(traitlets.TraitType[ReferenceSet | None, ReferenceSet | None]):
    """A reference set, told apart by identity.

    Traitlets compares the old and the new value, and two sets are equal if all their keys are:
    with a gen of 10^12 keys that comparison never ends.
    """

    default_value = None
    allow_none = True
    info_text = "a ReferenceSet"

    def validate(self, obj: Any, value: Any) -> ReferenceSet:
        """Refuse what is no reference set."""
        if not isinstance(value, ReferenceSet):
            self.error(obj, value)
        return value

    def set(self, obj: traitlets.HasTraits, value: ReferenceSet | None) -> None:
        """Keep the value, and notify if it is another object."""
        name = str(self.name)
        new, old = self._validate(obj, value), obj._trait_values.get(name)
        obj._trait_values[name] = new
        if new is not old:
            obj._notify_trait(name, old, new)


class StaticWidget(anywidget.AnyWidget):
    """A widget with HTML and text of what it shows in its output.

    A host that shows widgets shows the live view alone; GitHub, nbviewer and nbconvert, which do
    not, show the HTML.
    """

    _display_id: str | None = None

    def _static(self) -> tuple[str, str]:
        """Return what is shown as HTML and as text."""
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
        html, text = self._static()
        return {**data, "text/html": html, "text/plain": text}, metadata

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self._bundle()
