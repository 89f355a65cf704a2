"""Places in a JSON text, as editors count them: in UTF-16 code units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from refexplorer.formats.positions import Span, locate

_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_CHARACTER = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.|.", re.DOTALL)
"""One character of a JSON string, however it is written."""

Place = tuple[int, int]
"""First code unit, and last exclusive."""


class Places:
    """Finds values and parts of values in one document.

    Parameters
    ----------
    text
        The JSON text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._simple = text.isascii()
        self._spans: dict[str, Span | None] = {}

    def units(self, offset: int) -> int:
        """Return the code units before a character."""
        return offset if self._simple else utf16_length(self._text[:offset])

    def value(self, pointer: str) -> Place | None:
        """Return where the value of a JSON pointer stands."""
        span = self._locate(pointer)
        return None if span is None else (self.units(span.start), self.units(span.end))

    def inside(self, pointer: str, parts: Sequence[tuple[int, int]]) -> list[Place] | None:
        """Return where parts of a text value stand.

        Parameters
        ----------
        pointer
            To a text.
        parts
            Offsets of characters of the decoded text, end exclusive.
        """
        span = self._locate(pointer)
        if span is None or self._text[span.start] != '"':
            return None
        starts = [
            found.start() for found in _CHARACTER.finditer(self._text, span.start + 1, span.end - 1)
        ]
        starts.append(span.end - 1)
        if any(end >= len(starts) for _, end in parts):
            return None
        return [(self.units(starts[start]), self.units(starts[end])) for start, end in parts]

    def _locate(self, pointer: str) -> Span | None:
        """Look for a value once: that is a walk through the text."""
        if pointer not in self._spans:
            self._spans[pointer] = locate(self._text, pointer)
        return self._spans[pointer]


def utf16_length(text: str) -> int:
    """Return how many UTF-16 code units a text has."""
    return len(text) + sum(character > "\uffff" for character in text)
