"""Grids of rows as gen items: templates for key, URL, offset and length over dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from refexplorer.refset.inference.grids import profiles
from refexplorer.refset.inference.progressions import fit_whole
from refexplorer.refset.inference.segments import cuts_of, own_field, slopes

NAMES = ("i", "j", "k", "l", "m", "n", "o", "p", "q", "r")
"""What dimensions are called, in the order of the numbers of a key."""
_TENS = 10 ** np.arange(1, 19, dtype=np.int64)
_READ = re.compile(r"[{\r\n]")


@dataclass(frozen=True)
class Group:
    """References that are alike but for their numbers.

    Attributes
    ----------
    rows
        Their rows in the table, shape ``(n,)``.
    key, url
        Words of key and URL with ``0`` in the place of each number.
    fields, widths
        Numbers of the key, then of the URL, then offset and length of byte ranges, and how many
        digits each is written with (0 for offset and length); shape ``(fields, n)``.
    ranges
        Whether they are byte ranges.
    """

    rows: np.ndarray
    key: str
    url: str
    fields: np.ndarray
    widths: np.ndarray
    ranges: bool

    @property
    def keys(self) -> int:
        """How many of the fields are numbers of the key."""
        return self.key.count("0")


@dataclass(frozen=True)
class Item:
    """A gen item and the rows that it stands for, in the order in which it makes them."""

    rows: np.ndarray
    source: dict[str, Any]


@dataclass(frozen=True)
class _Axis:
    """A dimension, and what it adds to each field: an expression or nothing, and a number."""

    name: str
    source: object
    terms: list[list[str]]
    shifts: np.ndarray


def pieces(group: Group, grid: np.ndarray) -> Iterator[np.ndarray]:
    """Cut a grid on which all fields are additive into grids that one gen item can say."""
    waiting = [grid]
    while waiting:
        rows = waiting.pop()
        for axis, profile in enumerate(profiles(group.fields[:, rows])):
            size = rows.shape[axis]
            cuts = cuts_of(profile, rows.size // size, group.keys)
            if cuts != [(0, size)]:
                waiting += [rows.take(range(*cut), axis) for cut in reversed(cuts)]
                break
        else:
            yield rows


def write_item(group: Group, grid: np.ndarray) -> Item | None:
    """Return the gen item of a piece; None if no format writes its numbers."""
    numbers = group.fields[:, grid]
    used = [axis for axis, size in enumerate(grid.shape) if size > 1]
    if not used or len(used) > len(NAMES):
        return None
    along = profiles(numbers)
    first = numbers.reshape(len(numbers), -1)[:, 0]
    axes = [
        _axis(name, along[axis], along[axis] + first[:, None], group.keys)
        for name, axis in zip(NAMES, used, strict=False)
    ]
    widths = group.widths[:, grid.ravel()]
    pads = [_pad(*field) for field in zip(numbers.reshape(widths.shape), widths, strict=True)]
    if None in pads:
        return None
    base = first + np.sum([axis.shifts for axis in axes], axis=0)
    texts = [
        _number(int(base[field]), [term for axis in axes for term in axis.terms[field]], pad or 0)
        for field, pad in enumerate(pads)
    ]
    return Item(group.rows[grid.ravel()], _source(group, axes, texts))


def _source(group: Group, axes: Sequence[_Axis], texts: list[str]) -> dict[str, Any]:
    source: dict[str, Any] = {
        "key": _filled(group.key, texts[: group.keys]),
        "url": _filled(group.url, texts[group.keys :]),
    }
    if group.ranges:
        source |= {"offset": texts[-2], "length": texts[-1]}
    return source | {"dimensions": {axis.name: axis.source for axis in axes}}


def _axis(name: str, profile: np.ndarray, values: np.ndarray, keys: int) -> _Axis:
    """Let the dimension run over the numbers of the key if all fields follow, else over places."""
    field = own_field(profile, keys)
    growth = slopes(profile, field)
    if growth is not None:
        terms = [[_times(name, slope)] if slope else [] for slope in growth.tolist()]
        return _Axis(name, _dimension(values[field]), terms, -growth * values[field, 0])
    terms = [list(fit_whole(numbers).terms(name)) for numbers in profile]
    return _Axis(name, {"stop": profile.shape[1]}, terms, np.zeros(len(profile), np.int64))


def _times(name: str, factor: int) -> str:
    return name if factor == 1 else f"{name} * {factor}"


def _dimension(values: np.ndarray) -> object:
    step = int(values[1] - values[0])
    if np.any(np.diff(values) != step):
        return values.tolist()
    found = {"start": int(values[0]), "stop": int(values[-1]) + 1, "step": step}
    left_out = {"start": 0, "step": 1}
    return {name: value for name, value in found.items() if left_out.get(name) != value}


def _pad(numbers: np.ndarray, widths: np.ndarray) -> int | None:
    """Return the width that numbers are filled to with zeros, 0 for none; None if it varies."""
    digits = np.searchsorted(_TENS, numbers, side="right") + 1
    if not widths.any() or np.array_equal(digits, widths):
        return 0
    width = int(widths.min())
    return width if np.array_equal(np.maximum(digits, width), widths) else None


def _number(base: int, terms: list[str], pad: int) -> str:
    """Write a field: a number, or an expression in braces."""
    if not terms:
        return f"{base:0{pad}d}"
    total = " + ".join(terms) + (f" {'+' if base > 0 else '-'} {abs(base)}" if base else "")
    return f"{{{{'%0{pad}d' % ({total})}}}}" if pad else f"{{{{{total}}}}}"


def _filled(words: str, texts: list[str]) -> str:
    """Put numbers into words."""
    literals = [literal(word) for word in words.split("0")]
    return literals[0] + "".join(
        text + word for text, word in zip(texts, literals[1:], strict=False)
    )


def literal(text: str) -> str:
    """Write a text for a place that is rendered: braces and line ends would not stay."""
    return _READ.sub(lambda match: f"{{{{{match[0]!r}}}}}", text)
