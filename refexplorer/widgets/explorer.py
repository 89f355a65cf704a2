"""The explorer in a notebook."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets

from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.views.explorer import ExplorerController
from refexplorer.widgets.bundles import bundle_text
from refexplorer.widgets.traits import ReferencesTrait

_OPENING = tuple(inspect.signature(open_references).parameters)[1:]


class Explorer(anywidget.AnyWidget):
    """Browse a reference set: its keys as a tree, each key's reference, and its data.

    Parameters
    ----------
    references
        The opened set; `explore` opens one and shows it.
    allow
        What may be read without asking, besides the folder of the reference file, such as
        ``["s3://bucket"]``.

    Attributes
    ----------
    selection
        The key or path that is chosen; setting it opens the tree there.
    code
        Python that gives what is chosen.
    references
        The set that is shown.
    """

    selection = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    references = ReferencesTrait(read_only=True)

    def __init__(self, references: ReferenceSet, *, allow: Iterable[str] = ()) -> None:
        self._controller = ExplorerController(references, allow=allow)
        super().__init__(code=self._controller.code)
        self.set_trait("references", references)
        self._controller.post = self.send
        self.on_msg(self._receive)

    @property
    def _esm(self) -> str:
        return bundle_text("explorer")

    def _receive(self, _: object, message: dict[str, Any], buffers: list[bytes]) -> None:
        for reply, attached in self._controller.handle(message, buffers):
            self.send(reply, attached)

    @traitlets.observe("selection")
    def _follow(self, change: dict[str, Any]) -> None:
        self._controller.selection = change["new"]
        self.code = self._controller.code


def explore(source: object, *, allow: Iterable[str] = (), **options: Any) -> Explorer:
    """Open a reference set and show it.

    Parameters
    ----------
    source
        A `ReferenceSet`, or what `open_references` takes: path, URL, dict, JSON text or bytes.
    allow
        What may be read without asking, besides the folder of the reference file.
    **options
        As for `open_references`.

    Raises
    ------
    TypeError
        If an option is unknown; the text names the nearest.
    SourceError
        If the source cannot be read.
    """
    unknown = [name for name in options if name not in _OPENING]
    if unknown:
        raise TypeError(_unknown_option(unknown[0]))
    if not isinstance(source, ReferenceSet):
        return Explorer(open_references(source, **options), allow=allow)
    if options:
        raise TypeError(
            f"The set is open already: pass {next(iter(options))} to open_references instead."
        )
    return Explorer(source, allow=allow)


def _unknown_option(name: str) -> str:
    options = ("allow", *_OPENING)
    near = difflib.get_close_matches(name, options, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(options)}."
    return f"explore() has no option {name!r}: {meant}"
