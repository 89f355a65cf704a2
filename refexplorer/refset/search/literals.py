"""Literals of a search: texts that occur within one part of every key that matches.

A literal has no slash and cannot match one, so where it matches a key, it matches the key's folder
or what follows the folder. Of these a set has far fewer than keys: the chunks of all arrays are
called alike.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import flags_of

GLOB_MARKS = re.compile(r"(\[!?\]?[^\]]+\]|[*?])")
_ATOM = r"(?:[^\\^$.|?*+()\[\]{}/]|\\[.d]|\[(?:[0-9A-Za-z]-[0-9A-Za-z]|[0-9A-Za-z_.])+\])"
_PIECE = re.compile(rf"(?:{_ATOM}(?:[?*+]|\{{\d+(?:,\d*)?\}})?)+")
"""What of a regular expression is sure to match no slash."""
_BETWEEN = re.compile(r"/|(?<!\\)\.[*+]?")


class Literal(NamedTuple):
    """A text, or a regular expression."""

    text: str
    is_pattern: bool = False

    def matches(self, texts: pa.Array) -> np.ndarray:
        """Say in which texts it is, shape ``(n,)`` bool."""
        ask = pc.match_substring_regex if self.is_pattern else pc.match_substring
        return flags_of(ask(texts, self.text))


class Literals(NamedTuple):
    """The literals of a search.

    Attributes
    ----------
    parts
        Each is somewhere in every key that matches; there may be none.
    is_all
        Whether a key with the one part matches.
    """

    parts: tuple[Literal, ...]
    is_all: bool


def literals_of(text: str, mode: str) -> Literals:
    """Return the literals of a search; the mode is one of `pattern_matching.MODES`."""
    if mode == "regex":
        return _of_regex(text)
    texts = GLOB_MARKS.split(text)[::2] if mode == "glob" else [text]
    parts = tuple(Literal(part) for piece in texts for part in piece.split("/") if part)
    return Literals(parts, mode == "substring" and len(parts) == 1 and parts[0].text == text)


def _of_regex(text: str) -> Literals:
    body = text.removeprefix("^").removesuffix("$")
    pieces = _BETWEEN.split(body)
    if body.endswith("\\") or not all(_PIECE.fullmatch(piece) for piece in pieces if piece):
        return Literals((), False)
    if text.endswith("$") and pieces[-1]:
        pieces[-1] += "$"
    parts = tuple(Literal(piece, True) for piece in pieces if piece)
    return Literals(parts, len(parts) == 1 and parts[0].text == text)
