"""The references of a gen item in runs: many keys for the price of a few.

`GenItem` tells what one key is; here the same is computed for a block of combinations at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refexplorer.spec.core.references import Range, Reference, Url, V0Value
from refexplorer.spec.gen.blocks import BLOCK, Values, as_column, blocks, values_at
from refexplorer.spec.gen.item import BadField, GenItem, whole_number, written
from refexplorer.spec.templates.formatted_integers import (
    FormattedIntegers,
    Halves,
    TextPiece,
    differ,
    halves,
    join,
)
from refexplorer.spec.templates.template import Template
from refexplorer.spec.templates.vectors import Scopes, TooMuchText, flat

_RunPart = tuple[np.ndarray, Values, tuple[int, ...]]

SOME = 2_048
"""So many keys are not worth being cut into blocks."""
FEW = 16
"""So few keys are rendered one by one, which takes less time."""


@dataclass(frozen=True)
class Run:
    """n references of a gen item, in order; those that fail are left out.

    Attributes
    ----------
    numbers
        Their numbers in the item, shape ``(n,)`` int64, or object where they are larger.
    texts
        Of their keys: objects, shape ``(n,)``, or halves.
    urls
        The distinct URLs; of combinations that fail they may be here too.
    targets
        Positions in `urls`, shape ``(n,)`` int32.
    offsets, lengths
        In bytes, shape ``(n,)`` int64, or object where they are larger; None for whole files.
    """

    numbers: np.ndarray
    texts: np.ndarray | Halves
    urls: list[str]
    targets: np.ndarray
    offsets: np.ndarray | None
    lengths: np.ndarray | None

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def keys(self) -> list[str]:
        """Their keys, written out when they are asked for."""
        texts = self.texts.texts() if isinstance(self.texts, Halves) else self.texts
        keys: list[str] = texts.tolist()
        return keys

    def select(self, rows: np.ndarray) -> Run:
        """Return some of the references."""
        offsets = None if self.offsets is None else self.offsets[rows]
        lengths = None if self.lengths is None else self.lengths[rows]
        texts = _select(self.texts, rows)
        return Run(self.numbers[rows], texts, self.urls, self.targets[rows], offsets, lengths)

    def references(self) -> Iterator[tuple[str, Reference]]:
        """Yield the keys and their references."""
        urls = self._urls()
        if self.offsets is None or self.lengths is None:
            return zip(self.keys, map(Url, urls), strict=True)
        ranges = map(Range, urls, self.offsets.tolist(), self.lengths.tolist())
        return zip(self.keys, ranges, strict=True)

    def v0(self) -> Iterator[tuple[str, V0Value]]:
        """Yield the keys and their values in a V0 document."""
        columns: list[list[str | int | None]] = [[*self._urls()]]
        if self.offsets is not None and self.lengths is not None:
            columns += [self.offsets.tolist(), self.lengths.tolist()]
        return zip(self.keys, map(list, zip(*columns, strict=True)), strict=True)

    def _urls(self) -> list[str]:
        urls: list[str] = np.array(self.urls, object)[self.targets].tolist()
        return urls


def runs(
    item: GenItem, start: int = 0, stop: int | None = None, *, most: int = BLOCK
) -> Iterator[Run]:
    """Yield the keys numbered from `start` to `stop` in runs of at most so many."""
    stop = item.count if stop is None else min(stop, item.count)
    for numbers, values, shape in _parts(item, start, stop, most):
        try:
            run = _run(item, numbers, values, shape)
        # templates may make texts of very different lengths: only fewer at a time are sure to fit
        except TooMuchText:
            first, last = int(numbers[0]), int(numbers[-1])
            yield from runs(item, first, last + 1, most=max(1, len(numbers) // 8))
        else:
            yield run


def _parts(item: GenItem, start: int, stop: int, most: int) -> Iterator[_RunPart]:
    """Yield the numbers of some keys, the values of the dimensions for them, and their shape."""
    if start >= stop:
        return
    if item.listed is None and stop - start > SOME:
        for block in blocks(item.varying, start, stop, most):
            numbers = as_column(range(block.start, block.start + math.prod(block.shape)))
            yield numbers, block.values(item.varying), block.shape
        return
    for first in range(start, stop, most):
        numbers = as_column(range(first, min(stop, first + most)))
        combinations = numbers if item.listed is None else item.listed[numbers]
        yield numbers, values_at(item.varying, combinations), numbers.shape


def fails(item: GenItem, combinations: np.ndarray) -> bool:
    """Say whether the templates fail for one of some combinations of the `varying` dimensions."""
    return not _good(item, values_at(item.varying, combinations), combinations.shape).all()


def failing(item: GenItem, start: int, stop: int, most: int = BLOCK) -> Iterator[int]:
    """Yield the numbers of keys, from `start` to `stop`, for which a template fails."""
    for numbers, values, shape in _parts(item, start, stop, most):
        try:
            good = _good(item, values, shape)
        except TooMuchText:
            first, last = int(numbers[0]), int(numbers[-1])
            yield from failing(item, first, last + 1, max(1, len(numbers) // 8))
        else:
            yield from numbers[~good].tolist()


def _good(item: GenItem, values: Values, shape: tuple[int, ...]) -> np.ndarray:
    """Say for each of some combinations whether all templates can be rendered."""
    scopes = item.scopes(values)
    for template in (item.key, item.url):
        _note_unwritable(scopes.check(template), scopes.failures)
    for name in ("offset", "length"):
        _whole(name, scopes, getattr(item, name))
    return scopes.good(shape)


def entries(
    item: GenItem, start: int = 0, stop: int | None = None
) -> Iterator[tuple[str, Reference]]:
    """Yield keys and references in order; combinations that fail are left out."""
    stop = item.count if stop is None else min(stop, item.count)
    if stop - start <= FEW:
        yield from item.iterate(start, stop)
        return
    for run in runs(item, start, stop):
        yield from run.references()


def _run(item: GenItem, numbers: np.ndarray, values: Values, shape: tuple[int, ...]) -> Run:
    """Evaluate the templates for combinations of a shape."""
    scopes = item.scopes(values)
    keys, urls = scopes.pieces(item.key), scopes.pieces(item.url)
    _note_unwritable([*keys, *urls], scopes.failures)
    sizes = [_whole(field, scopes, getattr(item, field)) for field in ("offset", "length")]
    good = scopes.good(shape)
    texts = halves(keys, len(good)) or flat(join(keys), shape)
    distinct, codes = _coded(urls)
    rows = slice(None) if good.all() else good
    targets = flat(codes, shape)[rows]
    offsets, lengths = (None if size is None else flat(size, shape)[rows] for size in sizes)
    return Run(numbers[rows], _select(texts, rows), distinct, targets, offsets, lengths)


def _select(texts: np.ndarray | Halves, rows: np.ndarray | slice) -> np.ndarray | Halves:
    return texts.select(rows) if isinstance(texts, Halves) else texts[rows]


def _note_unwritable(pieces: list[TextPiece], failures: list[np.ndarray]) -> None:
    """Note where a text holds half a surrogate pair, which no file can."""
    for piece in pieces:
        texts = np.asarray(
            piece.before + piece.after if isinstance(piece, FormattedIntegers) else piece
        )
        found = texts.ravel().tolist()
        if not all(map(str.isascii, found)):
            failed = [not _is_writable(text) for text in found]
            if any(failed):
                failures.append(np.array(failed).reshape(texts.shape))


def _is_writable(text: str) -> bool:
    try:
        written("key", text)
    except BadField:
        return False
    return True


def _whole(field: str, scopes: Scopes, template: Template | None) -> np.ndarray | None:
    """Evaluate an offset or a length; where it is none, note the failure."""
    if template is None:
        return None
    numbers = scopes.integers(template)
    if numbers is None:
        texts = scopes.texts(template)
        found = [_whole_or_less(field, text) for text in texts.ravel().tolist()]
        numbers = as_column(found).reshape(texts.shape)
    failed = numbers < 0
    if failed.any():
        scopes.failures.append(failed)
    return numbers


def _whole_or_less(field: str, text: str) -> int:
    try:
        return whole_number(field, text)
    except BadField:
        return -1


def _coded(urls: list[TextPiece]) -> tuple[list[str], np.ndarray]:
    """Return the distinct URLs, and the position among them of each, int32."""
    written = join(urls)
    texts = written.ravel().tolist()
    distinct = texts if differ(urls) else list(dict.fromkeys(texts))
    codes = np.arange(len(texts), dtype=np.int32)
    if len(distinct) < len(texts):
        positions = dict(zip(distinct, range(len(distinct)), strict=True))
        codes = np.fromiter(map(positions.__getitem__, texts), np.int32, len(texts))
    return distinct, codes.reshape(written.shape)
