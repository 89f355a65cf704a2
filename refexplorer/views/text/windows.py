"""The part of a large document that the editor shows: whole lines of it, and nothing to edit."""

from __future__ import annotations

from refexplorer.markup import size_text
from refexplorer.views.wire.editor.editor_messages import Window

LARGEST = 2_000_000
"""Characters of a document that is edited as a whole."""
LINES = 2_000
CHARACTERS = 200_000


def window_of(text: str, line: int = 1) -> Window | None:
    """Return the window with a line near its middle; None for a text that is shown as a whole."""
    if len(text) <= LARGEST:
        return None
    total = text.count("\n") + 1
    first = max(1, min(line, total) - LINES // 2)
    start = _line_start(text, first)
    stop = start
    for _ in range(LINES):
        end = text.find("\n", stop)
        stop = len(text) if end < 0 else end + 1
        if end < 0 or stop - start > CHARACTERS:
            break
    stop = min(stop, start + CHARACTERS)
    last = first + text.count("\n", start, stop)
    return Window(
        start,
        stop,
        first,
        f"The document has {size_text(len(text))}: only lines {first:,} to {min(last, total):,} "
        f"of {total:,} are shown, and they cannot be edited here.",
    )


def _line_start(text: str, line: int) -> int:
    place = 0
    for _ in range(line - 1):
        place = text.find("\n", place) + 1
    return place
