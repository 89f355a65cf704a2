"""Texts of many combinations, put together from literal texts, whole numbers and other texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jinja2 import nodes

_PRINTF = re.compile(r"([^%]*)%(\d{0,2})d([^%]*)")
_TABLED = 4096
"""From so many numbers on, tables of their digits are worth making."""
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Numerals:
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
        first, last = int(self.numbers.min(initial=0)), int(self.numbers.max(initial=0))
        padded = not self.width or self.width.startswith("0")
        if padded and first >= 0 and self.numbers.size >= max(_TABLED, last // 250):
            return self._texts_of_halves(last)
        before, after = (text.replace("%", "%%") for text in (self.before, self.after))
        write = f"{before}%{self.width}d{after}".__mod__
        texts = np.array(list(map(write, self.numbers.ravel().tolist())), object)
        return texts.reshape(self.numbers.shape)

    def _texts_of_halves(self, last: int) -> np.ndarray:
        """Write the last three digits and those before them once each, and put them together."""
        high, low = np.divmod(self.numbers, 1000)
        width = int(self.width or 0)
        heads = [
            f"{self.before}{number:0{max(width - 3, 0)}d}" for number in range(last // 1000 + 1)
        ]
        tails = [f"{number:03d}{self.after}" for number in range(1000)]
        if width <= 3:  # nothing stands before the last digits of a number below 1000
            heads[0] = self.before
            tails += [f"{number:0{width}d}{self.after}" for number in range(1000)]
            low = np.where(high == 0, low + 1000, low)
        texts: np.ndarray = np.array(heads, object)[high] + np.array(tails, object)[low]
        return texts


Piece = str | Numerals | np.ndarray


def read_printf(node: nodes.Node) -> tuple[str, nodes.Node] | None:
    """Read ``'%03d' % number`` or ``'%03d' | format(number)``: the pattern and the number."""
    if isinstance(node, nodes.Mod):
        pattern: nodes.Node | None = node.left
        number = node.right
    elif isinstance(node, nodes.Filter) and node.name == "format" and len(node.args) == 1:
        pattern, number = node.node, node.args[0]
    else:
        return None
    if not isinstance(pattern, nodes.Const) or not isinstance(pattern.value, str):
        return None
    return pattern.value, number


def numerals(pattern: str, numbers: np.ndarray) -> Numerals | None:
    """Write numbers by a pattern; None if it is not one number in decimal digits."""
    match = _PRINTF.fullmatch(pattern)
    return None if match is None else Numerals(numbers, match[2], match[1], match[3])


def longest(piece: Piece) -> int:
    """Return a number of characters that no text of a piece exceeds."""
    if isinstance(piece, str):
        return len(piece)
    if isinstance(piece, Numerals):
        return piece.longest
    return max(map(len, piece.ravel().tolist()), default=0)


def count(pieces: Iterable[Piece]) -> int:
    """Return how many texts there are when pieces are put together."""
    arrays = [piece.numbers if isinstance(piece, Numerals) else piece for piece in pieces]
    shapes = [array.shape for array in arrays if not isinstance(array, str)]
    return math.prod(np.broadcast_shapes(*shapes))


def join(pieces: Iterable[Piece]) -> np.ndarray:
    """Put pieces together to texts as objects; neighbours of the fewest values come first."""
    arrays = [_array(piece) for piece in _with_literals(pieces)] or [_array("")]
    while len(arrays) > 1:
        sizes = [np.broadcast(left, right).size for left, right in pairwise(arrays)]
        place = sizes.index(min(sizes))
        arrays[place : place + 2] = [arrays[place] + arrays[place + 1]]
    return arrays[0]


def _with_literals(pieces: Iterable[Piece]) -> list[Piece]:
    """Let literal text be written together with the number beside it."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, str) and isinstance(last, Numerals):
            found[-1] = replace(last, after=last.after + piece)
        elif isinstance(piece, str) and isinstance(last, str):
            found[-1] = last + piece
        elif isinstance(piece, Numerals) and isinstance(last, str):
            found[-1] = replace(piece, before=last + piece.before)
        else:
            found.append(piece)
    return found


def _array(piece: Piece) -> np.ndarray:
    if isinstance(piece, Numerals):
        return piece.texts()
    return np.array([piece], object) if isinstance(piece, str) else piece
