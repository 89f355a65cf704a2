"""Byte ranges that are wanted, and the requests that bring them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from refexplorer.data.access.urls import Place, shown
from refexplorer.data.fetch.pieces import Pieces
from refexplorer.masking import masks_repr

MERGE_GAP = 2**16
"""Bytes that are read and thrown away to save a request: at 10 MB/s they take 6 ms, less than the
way to a server and back."""
MERGE_BYTES = 2**23
"""A request does not grow beyond this by merging: several run at once, and a failed one is
repeated as a whole."""


@masks_repr
@dataclass(frozen=True, slots=True)
class Wanted:
    """Bytes that a key refers to.

    Attributes
    ----------
    key, url
        As in the set.
    place
        Where the URL leads.
    start, end
        Offsets in the target; `end` is None for all that follows.
    """

    key: str
    url: str
    place: Place
    start: int
    end: int | None

    def __str__(self) -> str:
        span = "" if self.end is None and not self.start else f", bytes {self.start:,} to "
        stop = "" if not span else "the end" if self.end is None else f"{self.end:,}"
        return f"{self.key} could not be read from {shown(self.url)}{span}{stop}"


@dataclass(slots=True)
class RangeRequest:
    """One read of a target, for one key or several."""

    place: Place
    start: int
    end: int | None
    parts: list[Wanted] = field(default_factory=list)

    def take(self, wanted: Wanted) -> bool:
        """Take a range in that starts at `start` or later, if it belongs in here."""
        if wanted.end is None or self.end is None:
            same = (wanted.start, wanted.end) == (self.start, self.end)
        else:
            grown = max(wanted.end, self.end)
            fits = grown == self.end or grown - self.start <= MERGE_BYTES
            same = fits and wanted.start - self.end <= MERGE_GAP
            self.end = grown if same else self.end
        if same:
            self.parts.append(wanted)
        return same

    def cut(self, data: Pieces, part: Wanted) -> bytes:
        """Return the bytes of one part from all that came."""
        stop = None if part.end is None else part.end - self.start
        return data.cut(part.start - self.start, stop)


def merged(wanted: Iterable[Wanted]) -> Iterator[RangeRequest]:
    """Yield the requests that bring these ranges: those that touch, or nearly, share one."""
    ordered = sorted(wanted, key=lambda each: (each.place.url, each.start, each.end or 0))
    for _, group in groupby(ordered, key=lambda each: each.place.url):
        last: RangeRequest | None = None
        for each in group:
            if last is not None and last.take(each):
                continue
            if last is not None:
                yield last
            last = RangeRequest(each.place, each.start, each.end, [each])
        if last is not None:
            yield last
