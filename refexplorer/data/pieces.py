"""Bytes as they came from a target."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate


class Pieces:
    """Bytes in the pieces in which they came: to join them before parts are cut is one copy more.

    Parameters
    ----------
    pieces
        In their order.
    """

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        self._starts = list(accumulate(map(len, pieces), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def cut(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes from `start` to `stop`, or as many of them as there are."""
        stop = len(self) if stop is None else min(stop, len(self))
        if start >= stop:
            return b""
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop) - 1
        if first == last:
            begin = self._starts[first]
            return self._pieces[first][start - begin : stop - begin]
        views = [memoryview(piece) for piece in self._pieces[first : last + 1]]
        views[0] = views[0][start - self._starts[first] :]
        views[-1] = views[-1][: stop - self._starts[last]]
        return b"".join(views)
