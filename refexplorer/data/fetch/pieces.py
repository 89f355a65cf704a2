"""Bytes as they came from a target."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate


class Pieces:
    """Bytes in the pieces in which they came: to join them before parts are cut is one copy more.

    Parameters
    ----------
    pieces
        In their order.
    size
        Of the whole target; None if it is not known.
    """

    def __init__(self, pieces: list[bytes], size: int | None = None) -> None:
        self._pieces = pieces
        self.size = size

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(map(len, self._pieces), initial=0))

    def cut(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes from `start` to `stop`, or as many of them as there are."""
        if len(self._pieces) == 1:
            return self._pieces[0][start:stop]
        size = self._starts[-1]
        stop = size if stop is None else min(stop, size)
        if start >= stop:
            return b""
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop) - 1
        views = [memoryview(piece) for piece in self._pieces[first : last + 1]]
        views[-1] = views[-1][: stop - self._starts[last]]
        views[0] = views[0][start - self._starts[first] :]
        return b"".join(views)
