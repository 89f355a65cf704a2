"""Lines and columns of JSON pointers in a source, looked up when asked."""

from __future__ import annotations

import re
from itertools import count

from refexplorer.formats.json.positions import Positions, find_in_stream
from refexplorer.formats.source import Source
from refexplorer.spec.diagnostics import Locator

LOCATED = 10
"""Positions of a large document that are looked up: each costs a look at all of it."""

_LIST_PLACES = re.compile(r"(/[0-9]+)+$")


def locator_of(source: Source) -> Locator | None:
    """Return a function that finds a pointer in the text of a source, read when it is needed."""
    if source.content is None:
        return None
    content, walked, asked = source.content, list[Positions](), count()

    def place(pointer: str) -> tuple[int, int] | None:
        if pointer and not pointer.startswith("/"):
            return None
        if source.is_large:
            if next(asked) >= LOCATED:
                return None
            with content() as stream:
                there = find_in_stream(stream, pointer)
            if there is None and pointer != (above := _LIST_PLACES.sub("", pointer)):
                return place(above)
            return None if there is None else (there.line, there.column)
        if not walked:
            walked.append(Positions(source.text or ""))
        found = walked[0].locate(source.base + pointer)
        return None if found is None else (found.line, found.column)

    return place
