"""A file that a person drops on the page: its bytes come in pieces and stay in memory."""

from __future__ import annotations

from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.markup import escape, size_text

LARGEST = 50_000_000
"""Bytes of a dropped file, unless whoever starts the page says otherwise."""
_NAME_SHOWN = 80


class Upload:
    """Collects the pieces of one file."""

    def __init__(self, name: str, size: int, largest: int) -> None:
        self.name = escape(name, _NAME_SHOWN)
        if size > largest:
            raise LimitError(
                f"{self.name} has {size_text(size)}, but this page takes at most "
                f"{size_text(largest)}: give its URL, or start the page with a larger "
                "`--upload`."
            )
        self._size = size
        self._content = bytearray()

    @property
    def received(self) -> int:
        """Bytes that have come."""
        return len(self._content)

    @property
    def is_complete(self) -> bool:
        """Whether every announced byte has come."""
        return self.received == self._size

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        if self.received + len(piece) > self._size:
            raise RefexplorerError(f"{self.name} is longer than announced: drop it again.")
        self._content += piece

    @property
    def content(self) -> bytes:
        """The bytes that have come."""
        return bytes(self._content)
