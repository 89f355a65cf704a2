"""A repair as text and static HTML: what was repaired, what is left and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from refexplorer.display.difference import ShownDifference, difference_html, difference_text
from refexplorer.markup import counted, escape, items, shown

SHOWN = 50
_CHARS = 500


class ShownLeft(Protocol):
    """A finding that is left."""

    @property
    def message(self) -> str:
        """What differs."""

    @property
    def remedy(self) -> str:
        """What to do about it."""


class ShownRepair(Protocol):
    """The part of a `refexplorer.rewriting.repair_result.Repair` that is shown."""

    @property
    def source(self) -> str:
        """The name of the set."""

    @property
    def verdict(self) -> str:
        """What became of it."""

    @property
    def repaired(self) -> Sequence[str]:
        """Findings that are no longer there."""

    @property
    def left(self) -> Sequence[ShownLeft]:
        """Findings that are."""

    @property
    def notes(self) -> Sequence[str]:
        """What else is to be known."""

    @property
    def difference(self) -> ShownDifference:
        """The set before and after."""


def repair_text(found: ShownRepair) -> str:
    """Return a repair in lines, the difference first."""
    lines = [difference_text(found.difference)] if found.difference.total else []
    lines += repair_lines(found)
    return "\n".join(lines)


def repair_lines(found: ShownRepair) -> Iterator[str]:
    """Yield what was repaired, and what is left."""
    yield f"{escape(found.source, _CHARS)}: {found.verdict}"
    yield from (f"  repaired: {message}" for message in found.repaired[:SHOWN])
    yield from _more(len(found.repaired))
    for left in found.left[:SHOWN]:
        yield f"  left: {left.message}"
        yield f"    {left.remedy}."
    yield from _more(len(found.left))
    yield from (f"  {note}" for note in found.notes[:SHOWN])


def repair_html(found: ShownRepair) -> str:
    """Return the same as lists."""
    parts = [f"<p><b>{shown(found.source, _CHARS)}</b>: {shown(found.verdict)}</p>"]
    if found.repaired:
        parts.append(f"<p>Repaired:</p>{_items(found.repaired)}")
    if found.left:
        left = [f"{each.message}. {each.remedy}." for each in found.left]
        parts.append(f"<p>Left as it was:</p>{_items(left)}")
    if found.notes:
        parts.append(_items(found.notes))
    if found.difference.total:
        parts.append(difference_html(found.difference))
    return f'<div class="refexplorer">{"".join(parts)}</div>'


def _items(sentences: Sequence[str]) -> str:
    listed = items(shown(each, _CHARS) for each in sentences[:SHOWN])
    return listed + "".join(f"<p>{each.strip()}</p>" for each in _more(len(sentences)))


def _more(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"  … {counted(count - SHOWN, 'more finding')}"
