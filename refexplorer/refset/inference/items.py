"""Grids of rows as gen items: templates for key, URL, offset and length over dimensions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refexplorer.refset.inference.axis_cuts import cuts_of, own_field, slopes
from refexplorer.refset.inference.covers import Blocks, cover
from refexplorer.refset.inference.groups import Group
from refexplorer.refset.inference.lattices import Lattice
from refexplorer.refset.inference.progressions import fit_whole, times

NAMES = ("i", "j", "k", "l", "m", "n", "o", "p", "q", "r")
"""Names of dimensions, in the order of the numbers of a key."""
_TENS = 10 ** np.arange(1, 19, dtype=np.int64)
_READ = re.compile(r"[{\r\n]")


@dataclass(frozen=True)
class FoundItem:
    """A gen item and the rows that it stands for, in the order in which it makes them."""

    rows: np.ndarray
    source: dict[str, Any]


@dataclass(frozen=True)
class _AxisTerms:
    """The contribution of an axis to each field: expressions of its numbers, and a number.

    Attributes
    ----------
    numbers
        What stands for the positions: the numbers of the key if all fields follow them.
    growth
        By what each field grows with these; None if they do not.
    share
        What each field has at each position.
    """

    numbers: np.ndarray
    growth: np.ndarray | None
    share: np.ndarray

    def terms(self, number: str) -> list[list[str]]:
        """Return the expressions for each field, of a number by its expression."""
        if self.growth is None:
            return [list(fit_whole(share).terms(number)) for share in self.share]
        return [[times(number, slope)] if slope else [] for slope in self.growth.tolist()]

    @property
    def shifts(self) -> np.ndarray:
        """The constants to add to each field."""
        none = np.zeros(len(self.share), np.int64)
        return none if self.growth is None else -self.growth * self.numbers[0]


@dataclass
class _Fields:
    """A gen item in the making: its dimensions, and what they add to each field."""

    base: np.ndarray
    terms: list[list[str]]
    dimensions: dict[str, object] = field(default_factory=dict)

    def name(self, source: object) -> str:
        """Add a dimension."""
        name = NAMES[len(self.dimensions)]
        self.dimensions[name] = source
        return name

    def add(self, axis: _AxisTerms, number: str) -> None:
        """Add what an axis adds."""
        self.base = self.base + axis.shifts
        for terms, more in zip(self.terms, axis.terms(number), strict=True):
            terms += more


def pieces(group: Group, lattice: Lattice) -> Iterator[Lattice]:
    """Cut a lattice into those that gen items can say."""
    waiting = [lattice]
    while waiting:
        lattice = waiting.pop()
        for axis, size in enumerate(lattice.rows.shape):
            cuts = cuts_of(lattice.shares[axis], lattice.rows.size // size, group.keys)
            if cuts != [(0, size)]:
                waiting += [lattice.cut(axis, *cut) for cut in reversed(cuts)]
                break
        else:
            yield lattice


def write_items(group: Group, lattice: Lattice) -> Iterator[FoundItem]:
    """Yield the gen item of a piece, or of blocks where it has holes; none if no format fits."""
    present = lattice.rows >= 0
    rows = lattice.rows[present]
    if not len(rows):  # a piece that lies in a hole
        return
    pads = [
        _pad(numbers[rows], widths[rows])
        for numbers, widths in zip(group.fields, group.widths, strict=True)
    ]
    if len(NAMES) <= present.ndim or None in pads:
        return
    axes = [
        _axis(share, lattice.first, group.keys) if share.shape[1] > 1 else None
        for share in lattice.shares
    ]
    if present.all():
        yield _item(group, lattice, axes, pads, None)
    else:
        for blocks in cover(present):
            yield _item(group, lattice, axes, pads, blocks)


def _item(
    group: Group,
    lattice: Lattice,
    axes: Sequence[_AxisTerms | None],
    pads: Sequence[int | None],
    blocks: Blocks | None,
) -> FoundItem:
    fields = _Fields(lattice.first, [[] for _ in lattice.first])
    if blocks is not None:
        _add_blocks(fields, axes[: blocks.outer], blocks)
    for axis in axes[blocks.outer if blocks else 0 :]:
        if axis is not None:
            fields.add(axis, fields.name(_dimension(axis.numbers)))
    texts = [
        _number(base, terms, pad or 0)
        for base, terms, pad in zip(fields.base.tolist(), fields.terms, pads, strict=True)
    ]
    rows = lattice.rows.ravel() if blocks is None else blocks.rows(lattice.rows)
    return FoundItem(group.rows[rows], _source(group, fields.dimensions, texts))


def _add_blocks(fields: _Fields, axes: Sequence[_AxisTerms | None], blocks: Blocks) -> None:
    """Add one listed dimension for the outer axes: their numbers, joined like digits."""
    length = blocks.length
    outer = [None if axis is None else axis.numbers for axis in axes]
    if length > 1:
        outer[-1] = np.arange(blocks.positions[:, -1].max() + 1)
    joined = np.zeros(len(blocks.positions), np.int64)
    bases = []
    for numbers, positions in zip(outer, blocks.positions.T, strict=True):
        bases.append(1 if numbers is None else int(numbers.max()) + 1)
        joined = joined * bases[-1] + (0 if numbers is None else numbers[positions])
    name = fields.name(_dimension(joined))
    within = fields.name({"stop": length}) if length > 1 else ""
    for number, axis in enumerate(axes):
        if axis is None:
            continue
        digit = _digit(name, bases, number)
        if length > 1 and number == len(axes) - 1:
            fields.add(_by_position(axis), f"({times(digit, length)} + {within})")
        else:
            fields.add(axis, digit)


def _digit(name: str, bases: Sequence[int], number: int) -> str:
    """Write one of the numbers that were joined."""
    divisor = math.prod(bases[number + 1 :])
    text = f"{name} // {divisor}" if divisor > 1 else name
    return f"{text} % {bases[number]}" if math.prod(bases[:number]) > 1 else text


def _axis(share: np.ndarray, first: np.ndarray, keys: int) -> _AxisTerms:
    """Let the numbers be those of the key if all fields follow them, else positions."""
    own = own_field(share, keys)
    assert own is not None  # of a piece
    growth = slopes(share, own)
    numbers = np.arange(share.shape[1]) if growth is None else share[own] + first[own]
    return _AxisTerms(numbers, growth, share)


def _by_position(axis: _AxisTerms) -> _AxisTerms:
    return _AxisTerms(np.arange(len(axis.numbers)), None, axis.share)


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
