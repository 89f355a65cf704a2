"""The requests of the page's header and start screen; its traits show the results."""

from __future__ import annotations

from refexplorer.views.wire.messages import Bytes, Event, Request


class OpenSource(Request, frozen=True, tag="open"):
    """Open one of the sets that the page offers, or what an address names."""

    source: str


class Go(Request, frozen=True, tag="go"):
    """Go where an address says.

    Attributes
    ----------
    address
        Its query.
    step
        Number of the step through the history of the browser.
    """

    address: str
    step: int


class Turn(Request, frozen=True, tag="turn"):
    """Show another view: the explorer, the editor, the exercises, or the start screen."""

    view: str


class Stop(Request, frozen=True, tag="stop"):
    """Wait no longer for what is being opened or uploaded."""


class BeginUpload(Request, frozen=True, tag="upload"):
    """Announce a file that was dropped.

    Attributes
    ----------
    size
        In bytes.
    """

    name: str
    size: int


class TakePiece(Request, frozen=True, tag="piece"):
    """Send the next bytes of the file."""

    piece: Bytes


class PieceWanted(Event, frozen=True, tag="piece"):
    """The bytes of the dropped file are taken from here on."""

    start: int
