"""Grids of rows as gen items: templates for key, URL, offset and length over dimensions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from refexplorer.refset.inference.groups import Group, bases, evenly, own_field, profiles

NAMES = ("i", "j", "k", "l", "m", "n", "o", "p", "q", "r")
"""Names of dimensions, in the order of the numbers of a key."""
_TENS = 10 ** np.arange(1, 19, dtype=np.int64)
_READ = re.compile(r"[{\r\n]")


@dataclass(frozen=True)
class FoundItem:
    """A gen item and the rows that it stands for, in the order in which it makes them."""

    rows: np.ndarray
    source: dict[str, Any]


def write_item(group: Group, grid: np.ndarray) -> FoundItem | None:
    """Return the gen item of a grid along whose axes fields grow evenly; None if none fits."""
    rows = grid.ravel()
    pads = [
        _pad(numbers[rows], widths[rows])
        for numbers, widths in zip(group.fields, group.widths, strict=True)
    ]
    shares = [share for share in profiles(group.fields, grid) if share.shape[1] > 1]
    if len(NAMES) < len(shares) or None in pads:
        return None
    base = group.fields[:, rows[0]].copy()
    terms: list[list[str]] = [[] for _ in base]
    dimensions: dict[str, object] = {}
    for name, share in zip(NAMES, shares, strict=False):
        own = own_field(share, group.keys)
        if own is None:
            return None
        numbers = next(
            each for each in bases(share, group.keys) if evenly(share, each) == len(each)
        )
        growth = share[:, 1] // numbers[1]
        if growth[own] == 1:  # the numbers of the key, as they are in it
            numbers = numbers + base[own]
            base -= growth * numbers[0]
        dimensions[name] = _dimension(numbers)
        for field, step in enumerate(growth.tolist()):
            terms[field] += [_times(name, step)] if step else []
    texts = [
        _number(constant, added, pad or 0)
        for constant, added, pad in zip(base.tolist(), terms, pads, strict=True)
    ]
    return FoundItem(group.rows[rows], _source(group, dimensions, texts))


def _times(name: str, factor: int) -> str:
    return name if factor == 1 else f"{name} * {factor}"


def _source(group: Group, dimensions: dict[str, object], texts: list[str]) -> dict[str, Any]:
    source: dict[str, Any] = {
        "key": _filled(group.key, texts[: group.keys]),
        "url": _filled(group.url, texts[group.keys :]),
    }
    if group.ranges:
        source |= {"offset": texts[-2], "length": texts[-1]}
    return source | {"dimensions": dimensions}


def _dimension(values: np.ndarray) -> object:
    step = int(values[1] - values[0]) if len(values) > 1 else 1
    if np.any(np.diff(values) != step):
        return values.tolist()
    found = {"start": int(values[0]), "stop": int(values[-1]) + 1, "step": step}
    defaults = {"start": 0, "step": 1}
    return {name: value for name, value in found.items() if defaults.get(name) != value}


def _pad(numbers: np.ndarray, widths: np.ndarray) -> int | None:
    """Return the width that numbers are filled to with zeros, 0 for none; None if it varies."""
    width = int(widths.min())
    digits = np.searchsorted(_TENS, numbers, side="right").astype(np.uint8) + np.uint8(1)
    if not width or np.array_equal(digits, widths):
        return 0
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
