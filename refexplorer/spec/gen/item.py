"""One item of ``gen``: a shape, a count and a function of a number, never written out.

Source: reference specification, "Version 1", ``gen``. The keys of an item are in the order of the
cartesian product of its dimensions, the last one fastest. If combinations generate the same key,
the last one wins, as in any JSON object.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from typing import TypeVar

import numpy as np

from refexplorer.core.errors import LimitError, PickledByFields
from refexplorer.core.limits import MOST_BYTES, Limits
from refexplorer.core.text import integer_text, masks_repr
from refexplorer.spec.findings import Findings
from refexplorer.spec.gen.dimensions import (
    BLOCK,
    Block,
    Dimension,
    DimensionProduct,
    Values,
    as_column,
    blocks,
    values_at,
)
from refexplorer.spec.gen.inversion import Inverter, invert
from refexplorer.spec.references import BadReference, Range, Reference, Url, V0Value, check_text
from refexplorer.spec.templates.columns import (
    FormattedIntegers,
    Scopes,
    TextPiece,
    TooMuchText,
    differ,
    flat,
    join,
)
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import Expression, Scope, Template

FIELDS = ("key", "url", "offset", "length")
LISTED_KEYS = 100_000  # see `most_listed`
CHECKED_KEYS = 256  # the first keys of an item, which are evaluated with its corners to find errors
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHOLE = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)


class BadField(Exception):
    """A field of a gen item fails for one combination: code, field, sentence and hint."""

    def __init__(self, code: str, field: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.field, self.hint = code, field, hint


def whole_number(field: str, text: str) -> int:
    """Parse an offset or a length."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        hint = "Use // for integer division." if "." in text else ""
        message = f"`{field}` renders to {text[:60]!r}, which is not an integer."
        raise BadField("gen-bad-int", field, message, hint)
    try:
        value = int(match[1])
    except ValueError:  # more digits than Python accepts
        sentence = f"`{field}` renders to a number of {len(match[1]):,} digits, which is too large."
        raise BadField("gen-bad-int", field, sentence) from None
    if value < 0:
        raise BadField(
            f"bad-{field}", field, f"`{field}` renders to {integer_text(value)}, which is negative."
        )
    if value > MOST_BYTES:
        raise BadField(
            "vast-number", field, f"`{field}` renders to {integer_text(value)}, beyond 2**62 - 1."
        )
    return value


def written(field: str, text: str) -> str:
    """Return a key or URL, if it can be stored in a file."""
    try:
        check_text(text, *(("bad-url", "URL") if field == "url" else ("bad-text", field)))
    except BadReference as bad:
        raise BadField(bad.code, field, str(bad)) from None
    return text


def values_text(values: Mapping[str, int]) -> str:
    """Format the values of dimensions for a sentence."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


@masks_repr
@dataclass(frozen=True)
class GenItem(PickledByFields):
    """A parsed gen item; combinations in the product are more than keys if some share one."""

    # Keys are numbered from 0 to ``count - 1``. A *combination* is a number in the whole product;
    # the two differ only if combinations share a key.

    number: int  # Its position in ``gen``
    dimensions: tuple[Dimension, ...]  # All dimensions, in the order of the document
    key: Template
    url: Template
    offset: Template | None
    length: Template | None
    templates: Mapping[str, Template]  # The templates section of the document
    limits: Limits
    # Findings, numbers of failing keys, how many keys may be listed, and whether no other key fails
    findings: Findings = field(default_factory=Findings, compare=False, repr=False)
    failing: tuple[int, ...] = field(default=(), compare=False, repr=False)
    most_listed: int = field(default=LISTED_KEYS, compare=False, repr=False)
    is_tried: bool = field(default=True, compare=False, repr=False)

    @cached_property
    def grid(self) -> DimensionProduct:
        """The whole product."""
        return DimensionProduct(self.dimensions)

    @cached_property
    def varying(self) -> DimensionProduct:
        """The dimensions that the key uses; for the others only their last value matters."""
        return DimensionProduct(tuple(d for d in self.dimensions if d.name in self.key.names))

    @cached_property
    def _fixed(self) -> dict[str, int]:
        return {d.name: d.values[-1] for d in self.dimensions if d.name not in self.key.names}

    @cached_property
    def inverter(self) -> Inverter | None:
        """Finds the combination of a key by arithmetic; None if not certain."""
        if not self.grid.count:
            return None
        dimensions = {dimension.name: dimension for dimension in self.varying.dimensions}
        try:
            return invert(self.key, dimensions, self._texts)
        except (TemplateProblem, TooMuchText):
            return None

    def _texts(self, part: Expression, dimension: Dimension | None) -> list[str]:
        """Render a part of the key for each value of the one dimension that it uses, if any."""
        values = {} if dimension is None else {dimension.name: as_column(dimension.values)}
        scopes = Scopes(values, self.templates, self.limits)
        return scopes.expression(part).ravel().tolist()

    def scopes(self, values: Values) -> Scopes:
        """Return the scopes of the templates for many combinations of the `varying` dimensions."""
        fixed = {name: as_column([value]) for name, value in self._fixed.items()}
        return Scopes({**values, **fixed}, self.templates, self.limits)

    @cached_property
    def _listing(self) -> dict[str, int] | None:
        """Each key and its last combination, for an item that must be listed."""
        if self.inverter is not None or self.varying.count > self.most_listed:
            return None
        found: dict[str, int] = {}
        try:
            for block in blocks(self.varying, 0, self.varying.count):
                found.update(self._list(block))
        except TooMuchText:
            return None
        return found

    def _list(self, block: Block) -> Iterator[tuple[str, int]]:
        scopes = self.scopes(block.values(self.varying))
        keys = flat(scopes.texts(self.key), block.shape)
        good = np.flatnonzero(scopes.good(block.shape))
        return zip(keys[good].tolist(), (block.start + good).tolist(), strict=True)

    @cached_property
    def listed(self) -> np.ndarray | None:
        """The combination of each key, shape ``(n,)`` int64; None if equal to the key's number."""
        numbers = None if self._listing is None else self._listing.values()
        return None if numbers is None else np.fromiter(numbers, np.int64, len(numbers))

    @property
    def certain(self) -> bool:
        """Whether every key is known to be generated once."""
        return self.inverter is not None or self._listing is not None

    @cached_property
    def count(self) -> int:
        """The number of keys; an upper bound unless `certain`."""
        if not self.grid.count:
            return 0
        return self.varying.count if self._listing is None else len(self._listing)

    def values(self, number: int) -> dict[str, int]:
        """Return the value of each dimension for a key number."""
        return self.varied(number if self.listed is None else int(self.listed[number]))

    def varied(self, number: int) -> dict[str, int]:
        """Return the value of each dimension for a combination of the `varying` ones."""
        values = {**self.varying.at(number), **self._fixed}
        return {dimension.name: values[dimension.name] for dimension in self.dimensions}

    def failure(self, values: Mapping[str, int]) -> BadField | None:
        """Return why a template fails for these values of the dimensions; None if none does."""
        try:
            self.rendered("key", values)
            self.reference(values)
        except BadField as bad:
            return bad
        return None

    def combination(self, number: int) -> int:
        """Return the number in the whole product of the key with this number."""
        found = self.grid.number(self.values(number))
        assert found is not None
        return found

    def key_at(self, number: int) -> str:
        return self.rendered("key", self.values(number))

    def reference_at(self, number: int) -> Reference:
        """Return the reference of the key with this number."""
        return self.reference(self.values(number))

    def reference(self, values: Mapping[str, int]) -> Reference:
        """Return the reference for these values; errors as for `reference_at`."""
        url = self.rendered("url", values)
        if self.offset is None:
            return Url(url)
        return Range(url, self._whole("offset", values), self._whole("length", values))

    def rendered(self, field: str, values: Mapping[str, int]) -> str:
        """Return the text of one of the `FIELDS` for these values; errors as for `reference_at`."""
        template: Template = getattr(self, field)
        try:
            return written(field, template.render(Scope(values, self.templates, self.limits)))
        except TemplateProblem as problem:
            raise BadField(problem.code, field, str(problem), problem.hint) from None

    def _whole(self, field: str, values: Mapping[str, int]) -> int:
        return whole_number(field, self.rendered(field, values))

    def find(self, key: str) -> int | None:
        """Return the number of a key, or None if the item does not generate it."""
        if not self.grid.count:
            return None
        if self.inverter is None:
            if self._listing is None:
                raise LimitError(
                    f"Whether gen[{self.number}] generates {key!r} cannot be computed from its "
                    f"templates, and its {self.count:,} keys are too many to list them all (at "
                    f"most {self.most_listed:,})."
                )
            return self._listed_places.get(key)
        values = self.inverter.solve(key)
        number = None if values is None else self.varying.number(values)
        try:
            return number if number is not None and self.key_at(number) == key else None
        except BadField:
            return None

    @cached_property
    def _listed_places(self) -> dict[str, int]:
        return {key: position for position, key in enumerate(self._listing or ())}

    @cached_property
    def folder(self) -> str:
        """The folder of all its keys: the literal start of the key, up to a slash."""
        first = self.key.parts[0] if self.key.parts else ""
        return first.rpartition("/")[0] if isinstance(first, str) else ""

    def sample(self) -> list[int]:
        """Return combinations of `varying` worth checking: the corners, and the first few."""
        sizes = self.varying.sizes
        numbers = set(range(min(self.varying.count, CHECKED_KEYS)))
        for corner in product(*({0, size - 1} for size in sizes[:6])):
            positions = [*corner, *[0] * (len(sizes) - len(corner))]
            number = 0
            for size, position in zip(sizes, positions, strict=True):
                number = number * size + position
            numbers.add(number)
        return sorted(numbers)


_RunPart = tuple[np.ndarray, Values, tuple[int, ...]]

SOME = 2_048  # Up to so many keys are not divided into blocks


@dataclass(frozen=True)
class Run:
    """n references of a gen item, in order; failing ones are omitted."""

    # Their numbers in the item, shape ``(n,)`` int64, or object where they are larger
    numbers: np.ndarray
    texts: np.ndarray  # Of their keys, objects, shape ``(n,)``
    urls: list[str]  # The distinct URLs; of combinations that fail they may be here too
    targets: np.ndarray  # Positions in `urls`, shape ``(n,)`` int32
    # offsets, lengths: In bytes, shape ``(n,)`` int64; None for whole files
    offsets: np.ndarray | None
    lengths: np.ndarray | None

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def keys(self) -> list[str]:
        """Their keys, written out on demand."""
        return self.texts.tolist()

    def select(self, rows: np.ndarray) -> Run:
        offsets = None if self.offsets is None else self.offsets[rows]
        lengths = None if self.lengths is None else self.lengths[rows]
        return Run(
            self.numbers[rows], self.texts[rows], self.urls, self.targets[rows], offsets, lengths
        )

    def references(self) -> Iterator[tuple[str, Reference]]:
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
        return np.array(self.urls, object)[self.targets].tolist()


T = TypeVar("T")


def runs(
    item: GenItem, start: int = 0, stop: int | None = None, *, most: int = BLOCK
) -> Iterator[Run]:
    """Yield the keys numbered from `start` to `stop` in runs of limited size."""
    stop = item.count if stop is None else min(stop, item.count)
    return _in_parts(_run, item, start, stop, most)


def failing(item: GenItem, start: int, stop: int) -> Iterator[int]:
    """Yield the numbers of keys, from `start` to `stop`, for which a template fails."""
    parts = _in_parts(
        lambda item, numbers, *of: numbers[~_good(item, *of)].tolist(), item, start, stop, BLOCK
    )
    return chain.from_iterable(parts)


def _in_parts(
    work: Callable[[GenItem, np.ndarray, Values, tuple[int, ...]], T],
    item: GenItem, start: int, stop: int, most: int,
) -> Iterator[T]:  # fmt: skip
    for numbers, values, shape in _parts(item, start, stop, most):
        try:
            done = work(item, numbers, values, shape)
        # texts may have very different lengths: only smaller blocks are certain to fit into memory
        except TooMuchText:
            first, last = int(numbers[0]), int(numbers[-1])
            yield from _in_parts(work, item, first, last + 1, max(1, len(numbers) // 8))
        else:
            yield done


def _parts(item: GenItem, start: int, stop: int, most: int) -> Iterator[_RunPart]:
    """Yield the numbers of some keys, their dimension values, and their shape."""
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
    """Return whether templates fail for any of some combinations of the `varying` dimensions."""
    return not _good(item, values_at(item.varying, combinations), combinations.shape).all()


def _good(item: GenItem, values: Values, shape: tuple[int, ...]) -> np.ndarray:
    """Return for each of some combinations whether all templates can be rendered."""
    scopes = item.scopes(values)
    for template in (item.key, item.url):
        _note_unwritable(scopes.check(template), scopes.failures)
    for name in ("offset", "length"):
        _whole(name, scopes, getattr(item, name))
    return scopes.good(shape)


def _run(item: GenItem, numbers: np.ndarray, values: Values, shape: tuple[int, ...]) -> Run:
    """Evaluate the templates for all index combinations of the given shape."""
    scopes = item.scopes(values)
    keys, urls = scopes.pieces(item.key), scopes.pieces(item.url)
    _note_unwritable([*keys, *urls], scopes.failures)
    sizes = [_whole(field, scopes, getattr(item, field)) for field in ("offset", "length")]
    good = scopes.good(shape)
    texts = flat(join(keys), shape)
    distinct, codes = _coded(urls)
    rows = slice(None) if good.all() else good
    targets = flat(codes, shape)[rows]
    offsets, lengths = (None if size is None else flat(size, shape)[rows] for size in sizes)
    return Run(numbers[rows], texts[rows], distinct, targets, offsets, lengths)


def _note_unwritable(pieces: list[TextPiece], failures: list[np.ndarray]) -> None:
    """Record texts with lone surrogates, which no file can contain."""
    for piece in pieces:
        texts = np.asarray(
            piece.before + piece.after if isinstance(piece, FormattedIntegers) else piece
        )
        found = texts.ravel().tolist()
        if not all(map(str.isascii, found)):
            failed = [_SURROGATE.search(text) is not None for text in found]
            if any(failed):
                failures.append(np.array(failed).reshape(texts.shape))


def _whole(field: str, scopes: Scopes, template: Template | None) -> np.ndarray | None:
    """Evaluate an offset or a length; record the failure if it is invalid."""
    if template is None:
        return None
    numbers = scopes.integers(template)
    if numbers is None:
        texts = scopes.texts(template)
        found = []
        for text in texts.ravel().tolist():
            try:
                found.append(whole_number(field, text))
            except BadField:
                found.append(-1)
        numbers = as_column(found).reshape(texts.shape)
    failed = (numbers < 0) | (numbers > MOST_BYTES)
    if failed.any():
        scopes.failures.append(failed.astype(np.bool_))
        numbers = np.where(failed, 0, numbers)
    return numbers.astype(np.int64)


def _coded(urls: list[TextPiece]) -> tuple[list[str], np.ndarray]:
    """Return the distinct URLs, and the index of each row among them, int32."""
    written = join(urls)
    texts = written.ravel().tolist()
    distinct = texts if differ(urls) else list(dict.fromkeys(texts))
    codes = np.arange(len(texts), dtype=np.int32)
    if len(distinct) < len(texts):
        positions = dict(zip(distinct, range(len(distinct)), strict=True))
        codes = np.fromiter(map(positions.__getitem__, texts), np.int32, len(texts))
    return distinct, codes.reshape(written.shape)
