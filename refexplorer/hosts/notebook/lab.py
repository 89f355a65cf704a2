"""A view in a tab or an output of JupyterLab: the extension opens a comm, a controller responds."""

from __future__ import annotations

from typing import Any

import msgspec
from comm import get_comm_manager
from comm.base_comm import BaseComm
from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.hosts import bundle_text
from refexplorer.verbs.display import set_named
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.registry import EXPLORER, described
from refexplorer.views.wire.requests import Message, sentence, to_wire

TARGET = "refexplorer.tab"
_STEPS = 100  # How often at most the opening of a set is reported


class OpenTab(Struct, frozen=True, forbid_unknown_fields=True):
    """The data that a comm is opened with."""

    view: str  # ``explorer`` or ``editor``
    source: str = ""  # Path or URL of a set, for the explorer
    document: str = ""  # The text, for the editor
    # For the explorer, in place of a source: the name of a set that an output shows
    shown: str = ""


def register() -> None:
    """Register the comm for tabs; the extension runs this in its kernel."""
    get_comm_manager().register_target(TARGET, open_tab)


def open_tab(comm: BaseComm, message: dict[str, Any]) -> None:
    """Open the set for a tab, and respond to its view from then on."""
    try:
        tab = msgspec.convert(message["content"]["data"], OpenTab)
        controller, traits = _editor(tab) if tab.view == "editor" else _explorer(comm, tab)
    except Exception as error:
        comm.send({"lab": "failed", "sentence": to_wire(sentence(error))})
        return

    def receive(received: dict[str, Any]) -> None:
        for reply, buffers in controller.handle(received["content"]["data"], []):
            comm.send(reply, buffers=buffers)

    controller.post = lambda message, buffers: comm.send(message, buffers=buffers)
    comm.on_msg(receive)
    comm.on_close(lambda _: controller.close())
    comm.send({"lab": "opened", "bundle": bundle_text(tab.view), "traits": traits})


def _explorer(comm: BaseComm, tab: OpenTab) -> tuple[ExplorerController, Message]:
    reported = 0

    def report(done: int, size: int) -> None:
        nonlocal reported
        if size and done * _STEPS // size > reported:
            reported = done * _STEPS // size
            comm.send({"lab": "opening", "done": done, "size": size})

    references = _shown(tab.shown) if tab.shown else open_references(tab.source, progress=report)
    traits = {"parts": described(), "part": EXPLORER, "selection": "", "state": {}}
    return ExplorerController(references), traits


def _shown(name: str) -> ReferenceSet:
    try:
        references: ReferenceSet = set_named(name)
    except KeyError:
        raise RefexplorerError(
            "The set no longer exists, because the kernel was restarted or the set was deleted: "
            "run the cell again."
        ) from None
    return references


def _editor(tab: OpenTab) -> tuple[EditorController, Message]:
    controller = EditorController(tab.document)
    controller.show = _refuse
    return controller, {"document": tab.document}


def _refuse(references: ReferenceSet, key: str) -> None:
    raise RefexplorerError("Save the file, then press “Open as reference set” above.")
