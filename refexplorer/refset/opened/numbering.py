"""The numbers of keys, which run over all segments in the order of the set."""

from __future__ import annotations

from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.segment import Segment


def number_of(opened: OpenedSet, key: str) -> int:
    """Return the number of a key.

    Raises
    ------
    KeyError
        If there is no such key.
    """
    found = opened.find(key)
    if found is None:
        raise KeyError(key)
    segment, row = found
    return _first(opened, segment) + row


def numbers_from(opened: OpenedSet, origin: str) -> range:
    """Return the numbers of the keys of one origin, such as ``gen[0]``; empty if it made none."""
    for part in opened.parts:
        if part.origin == origin:
            first = _first(opened, part)
            return range(first, first + part.count)
    return range(0)


def _first(opened: OpenedSet, segment: Segment) -> int:
    before = 0
    for part in opened.parts:
        if part is segment:
            break
        before += part.count
    return before
