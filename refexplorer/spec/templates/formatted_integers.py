"""Texts of many combinations, put together from literal texts, whole numbers and other texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

_PRINTF = re.compile(r"([^%]*)%([0-9]{0,2})d([^%]*)")
_TABLED = 4096
"""From so many numbers on, tables of their digits are worth making."""
# a sign and the 19 digits of 2^63
_DIGITS = 20


class Halves(NamedTuple):
    """n texts that are put together from few beginnings and few ends.

    Attributes
    ----------
    heads, tails
        Distinct texts.
    high, low
        For each text the positions of its head and its tail, shape ``(n,)`` int64.
    """

    heads: list[str]
    tails: list[str]
    high: np.ndarray
    low: np.ndarray

    def select(self, rows: np.ndarray | slice) -> Halves:
        """Return some of the texts."""
        return self._replace(high=self.high[rows], low=self.low[rows])

    def texts(self) -> np.ndarray:
        """Put them together, as objects, shape ``(n,)``."""
        texts: np.ndarray = np.array(self.heads, object)[self.high]
        texts += np.array(self.tails, object)[self.low]
        return texts


@dataclass(frozen=True, slots=True)
class FormattedIntegers:
    """Whole numbers as texts, not written yet.

    Attributes
    ----------
    numbers
        Any shape, int64.
    width
        As in printf: ``"03"`` pads with zeros, ``"3"`` with blanks.
    before, after
        Literal text around each number.
    """

    numbers: np.ndarray
    width: str = ""
    before: str = ""
    after: str = ""

    @property
    def longest(self) -> int:
        """No text has more characters."""
        return len(self.before) + max(_DIGITS, int(self.width or 0)) + len(self.after)

    def texts(self) -> np.ndarray:
        """Write the numbers; the same shape, texts as objects."""
        halves = self.halves()
        if halves is not None:
            return halves.texts().reshape(self.numbers.shape)
        before, after = (text.replace("%", "%%") for text in (self.before, self.after))
        write = f"{before}%{self.width}d{after}".__mod__
        texts = np.array(list(map(write, self.numbers.ravel().tolist())), object)
        return texts.reshape(self.numbers.shape)

    def halves(self) -> Halves | None:
        """Write the last three digits and those before them once each, if that is worth it."""
        if self.width[:1] not in ("", "0") or self.numbers.size < _TABLED:
            return None
        first, last = int(self.numbers.min()), int(self.numbers.max())
        if first < 0 or self.numbers.size < (last - first) // 250:
            return None
        high, low = np.divmod(self.numbers.ravel(), 1000)
        width = int(self.width or 0)
        lead, base = f"0{max(width - 3, 0)}d", first // 1000
        heads = [f"{self.before}{number:{lead}}" for number in range(base, last // 1000 + 1)]
        tails = [f"{number:03d}{self.after}" for number in range(1000)]
        if width <= 3 and not base:  # nothing stands before the digits of a number below 1000
            heads[0] = self.before
            tails += [f"{number:0{width}d}{self.after}" for number in range(1000)]
            low = np.where(high == 0, low + 1000, low)
        return Halves(heads, tails, high - base, low)

    def differ(self) -> bool:
        """Say whether each number is larger than the one before, or each smaller."""
        steps = np.diff(self.numbers.ravel())
        return bool(np.all(steps > 0) or np.all(steps < 0))


TextPiece = str | FormattedIntegers | np.ndarray


def formatted_integers(pattern: str, numbers: np.ndarray) -> FormattedIntegers | None:
    """Write numbers by a pattern; None if it is not one number in decimal digits."""
    match = _PRINTF.fullmatch(pattern)
    return None if match is None else FormattedIntegers(numbers, match[2], match[1], match[3])


def longest(piece: TextPiece) -> int:
    """Return a number of characters that no text of a piece exceeds."""
    if isinstance(piece, str):
        return len(piece)
    if isinstance(piece, FormattedIntegers):
        return piece.longest
    return max(map(len, piece.ravel().tolist()), default=0)


def count(pieces: Iterable[TextPiece]) -> int:
    """Return how many texts there are when pieces are put together."""
    arrays = [piece.numbers if isinstance(piece, FormattedIntegers) else piece for piece in pieces]
    shapes = [array.shape for array in arrays if not isinstance(array, str)]
    return math.prod(np.broadcast_shapes(*shapes))


def join(pieces: Iterable[TextPiece]) -> np.ndarray:
    """Put pieces together to texts as objects; neighbours of the fewest values come first."""
    arrays = [_array(piece) for piece in _with_literals(pieces)] or [_array("")]
    while len(arrays) > 1:
        sizes = [np.broadcast(left, right).size for left, right in pairwise(arrays)]
        position = sizes.index(min(sizes))
        arrays[position : position + 2] = [arrays[position] + arrays[position + 1]]
    return arrays[0]


def differ(pieces: Iterable[TextPiece]) -> bool:
    """Say whether it is plain that no two texts are equal when pieces are put together."""
    arrays = [piece for piece in pieces if not isinstance(piece, str)]
    return len(arrays) == 1 and isinstance(arrays[0], FormattedIntegers) and arrays[0].differ()


def halves(pieces: Iterable[TextPiece], count: int) -> Halves | None:
    """Return so many texts in halves; None if they are not to be had like that."""
    found = _with_literals(pieces)
    if (
        len(found) != 1
        or not isinstance(found[0], FormattedIntegers)
        or found[0].numbers.size < count
    ):
        return None
    return found[0].halves()


def _with_literals(pieces: Iterable[TextPiece]) -> list[TextPiece]:
    """Let literal text be written together with the number beside it."""
    found: list[TextPiece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, str) and isinstance(last, FormattedIntegers):
            found[-1] = replace(last, after=last.after + piece)
        elif isinstance(piece, str) and isinstance(last, str):
            found[-1] = last + piece
        elif isinstance(piece, FormattedIntegers) and isinstance(last, str):
            found[-1] = replace(piece, before=last + piece.before)
        else:
            found.append(piece)
    return found


def _array(piece: TextPiece) -> np.ndarray:
    if isinstance(piece, FormattedIntegers):
        return piece.texts()
    return np.array([piece], object) if isinstance(piece, str) else piece
