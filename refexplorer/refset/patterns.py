"""Patterns of a search, matched against whole columns of keys.

Regular expressions are those of RE2, whose time grows with the text and with nothing else: one
from a stranger cannot keep a search busy for ever.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.core.errors import RefexplorerError
from refexplorer.formats.columns.arrow import flags_of, text_column
from refexplorer.formats.columns.references import Columns

GLOB_MARKS = re.compile(r"(\[!?\]?[^\]]+\]|[*?])")
_ATOM = r"(?:[^\\^$.|?*+()\[\]{}/]|\\[.d]|\[(?:[0-9A-Za-z]-[0-9A-Za-z]|[0-9A-Za-z_.])+\])"
_PIECE = re.compile(rf"(?:{_ATOM}(?:[?*+]|\{{\d+(?:,\d*)?\}})?)+")
"""What of a regular expression is sure to match no slash."""
_BETWEEN = re.compile(r"/|(?<!\\)\.[*+]?")


class PatternPart(NamedTuple):
    """A text, or a regular expression."""

    text: str
    is_pattern: bool = False

    def matches(self, texts: pa.Array) -> np.ndarray:
        """Say in which texts it is, shape ``(n,)`` bool."""
        ask = pc.match_substring_regex if self.is_pattern else pc.match_substring
        return flags_of(ask(texts, self.text))


class PatternParts(NamedTuple):
    """The literals of a search."""

    parts: tuple[PatternPart, ...]  # Each is somewhere in every key that matches; there may be none
    is_all: bool  # Whether a key with the one part matches


def literals_of(text: str, mode: str) -> PatternParts:
    """Return the literals of a search; the mode is one of `pattern_matching.MODES`."""
    if mode == "regex":
        return _of_regex(text)
    texts = GLOB_MARKS.split(text)[::2] if mode == "glob" else [text]
    parts = tuple(PatternPart(part) for piece in texts for part in piece.split("/") if part)
    return PatternParts(parts, mode == "substring" and len(parts) == 1 and parts[0].text == text)


def _of_regex(text: str) -> PatternParts:
    body = text.removeprefix("^").removesuffix("$")
    pieces = _BETWEEN.split(body)
    if body.endswith("\\") or not all(_PIECE.fullmatch(piece) for piece in pieces if piece):
        return PatternParts((), False)
    if text.endswith("$") and pieces[-1]:
        pieces[-1] += "$"
    parts = tuple(PatternPart(piece, True) for piece in pieces if piece)
    return PatternParts(parts, len(parts) == 1 and parts[0].text == text)


MODES = ("glob", "regex", "substring")
_GLOB_MARKS = {"*": ".*", "?": "."}
_LITERAL = re.compile(r"\^([A-Za-z0-9_/-]*)(?![A-Za-z0-9_/*?+{-])")
_BOUND_TO_TEXT = re.compile(r"\\[AzZ]|\(\?[A-Za-z]*-")
"""What means something else in a text of many lines: ends of the text, flags taken back."""


class Matcher:
    """A parsed search pattern."""

    def __init__(self, text: str, mode: str) -> None:
        if mode not in MODES:
            raise RefexplorerError(f"{mode!r} is not a search mode; use one of {', '.join(MODES)}.")
        pattern = text if mode == "regex" else re.escape(text)
        if mode == "glob":
            pattern = _regex_of_glob(text)
        self.across_lines = mode != "regex" or _BOUND_TO_TEXT.search(text) is None
        self._per_line = "(?m)" + pattern
        self._pattern = "(?s)" + pattern if mode == "glob" else pattern
        self.start = _start(text, mode)
        self.literals = literals_of(text, mode)
        self._literal = text if mode == "substring" else None
        self._check(text)

    def may_be_in(self, folder: str) -> bool:
        """Say whether a key in a folder or below it may match."""
        return folder.startswith(self.start) or self.start.startswith(folder)

    def matches(self, keys: pa.Array) -> np.ndarray:
        """Say which keys match, shape ``(n,)`` bool."""
        if self._literal is not None:
            return flags_of(pc.match_substring(keys, self._literal))
        return flags_of(pc.match_substring_regex(keys, self._pattern))

    def may_match(self, lines: pa.Array) -> np.ndarray:
        """Say which texts may have a line that matches, shape ``(n,)`` bool; no other one has."""
        return flags_of(pc.match_substring_regex(lines, self._per_line))

    def urls_of(self, columns: Columns) -> np.ndarray:
        """Return the positions of the URLs of some references that match, ascending."""
        positions = columns.urls.matching(self._pattern)
        urls = [url or "" for url in columns.urls.at(positions)]
        found: np.ndarray = positions[self.matches(text_column(urls))]
        return found

    def _check(self, text: str) -> None:
        try:
            self.matches(text_column([""]))
        except pa.ArrowInvalid as error:
            raise RefexplorerError(_why_not(text, str(error))) from None


def _start(text: str, mode: str) -> str:
    if mode == "glob":
        return GLOB_MARKS.split(text)[0]
    match = None if mode == "substring" or "|" in text else _LITERAL.match(text)
    return "" if match is None else match[1]


def _why_not(text: str, message: str) -> str:
    # RE2 does not say which of its limits was met; Python tells a typing error from the rest
    try:
        re.compile(text)
    except re.error as error:
        return f"{text!r} is not a valid regular expression: {error}."
    return (
        f"{text!r} is not supported, since matching it could take unbounded time: use a regular "
        "expression without look-ahead, look-behind and back references "
        f"({message.rpartition(': ')[2]})."
    )


def _regex_of_glob(text: str) -> str:
    """Translate a glob to what RE2 reads, which `fnmatch.translate` is not."""
    parts = GLOB_MARKS.split(text)
    return "^" + "".join(_GLOB_MARKS.get(part) or _glob_part(part) for part in parts) + "$"


def _glob_part(part: str) -> str:
    if len(part) > 2 and part[0] == "[" and part[-1] == "]":
        inside = part[1:-1].replace("\\", "\\\\")
        return f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
    return re.escape(part)
