"""Positions in a JSON text, as editors count them: in UTF-16 code units."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from refexplorer.formats.json.positions import TEXT, Positions, Span
from refexplorer.spec.diagnostics import pointer as pointer_to
from refexplorer.views.wire.editor.editor_messages import Window

_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_CHARACTER = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.|.", re.DOTALL)
"""One character of a JSON string, however it is written."""

_NAME = re.compile(rf"[ \t]*({TEXT}[ \t]*:[ \t]*)\Z")
"""All of a line before the value of a property."""
_LINES = 6
"""As many lines stand for themselves."""

_PAIRED = re.compile("[\U00010000-\U0010ffff]")
"""Characters that are two code units."""

TextRange = tuple[int, int]
"""First code unit, and last exclusive."""


class TextPositions:
    """Finds values and parts of values in one document."""

    def __init__(self, text: str, window: Window | None = None) -> None:
        self.text = text
        self._window = window
        self._positions = Positions(text)
        self._paired = [] if text.isascii() else [m.start() for m in _PAIRED.finditer(text)]

    def units(self, offset: int) -> int:
        """Return the code units before a character; -1 for one that is not shown."""
        units = offset + bisect_left(self._paired, offset)
        if self._window is None:
            return units
        if not self._window.start <= offset <= self._window.stop:
            return -1
        return units - self._window.start - bisect_left(self._paired, self._window.start)

    def span(self, pointer: str) -> Span | None:
        """Return where the value of a JSON pointer stands, in characters."""
        return self._positions.locate(pointer)

    def section(self, name: str) -> dict[str, str]:
        """Return the members of a section of the document, as they are written."""
        pointer = pointer_to(name)
        sections = self._positions.members(self._positions.start)  # to its end takes as long again
        names = self._positions.members(sections[name]) if sections and name in sections else None
        found = ((name, self.span(pointer + pointer_to(name))) for name in names or ())
        return {name: self.text[one.start : one.end] for (name, one) in found if one is not None}

    def value(self, pointer: str) -> TextRange | None:
        """Return where the value of a JSON pointer stands."""
        span = self.span(pointer)
        place = None if span is None else (self.units(span.start), self.units(span.end))
        return None if place is None or min(place) < 0 else place

    def seen_at(self, pointer: str) -> TextRange | None:
        """Return where a value stands; of one of many lines the first, with the name before it."""
        span = self.span(pointer)
        if span is None:
            return None
        start, end = span.start, span.end
        if self.text.count("\n", start, end) >= _LINES:
            end = self.text.index("\n", start)
            if name := _NAME.search(self.text, self.text.rfind("\n", 0, start) + 1, start):
                start = name.start(1)
        place = (self.units(start), self.units(end))
        return None if min(place) < 0 else place

    def inside(self, pointer: str, parts: Sequence[tuple[int, int]]) -> list[TextRange] | None:
        """Return where parts of a text value stand."""
        span = self.span(pointer)
        if span is None or self.text[span.start] != '"':
            return None
        starts = [
            found.start() for found in _CHARACTER.finditer(self.text, span.start + 1, span.end - 1)
        ]
        starts.append(span.end - 1)
        if any(end >= len(starts) for _, end in parts):
            return None
        found = [(self.units(starts[start]), self.units(starts[end])) for start, end in parts]
        return None if any(min(place) < 0 for place in found) else found
