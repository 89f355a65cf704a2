"""One item of ``gen``: a shape, a count and a function of a number, never written out.

Source: reference specification, "Version 1", ``gen``. The keys of an item come in the order of
the cartesian product of its dimensions, the last one fastest. Where combinations make the same
key, the last one counts, as in any JSON object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from refexplorer.errors import LimitError
from refexplorer.limits import Limits
from refexplorer.masking import masks_repr
from refexplorer.pickling import PickledByFields
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.core.reference_parsing import BadReference, check_text
from refexplorer.spec.core.references import Range, Reference, Url
from refexplorer.spec.gen.blocks import Block, Values, as_column, blocks
from refexplorer.spec.gen.dimensions import Dimension, DimensionProduct
from refexplorer.spec.gen.inversion import Inverter, invert
from refexplorer.spec.templates.operations import TemplateProblem
from refexplorer.spec.templates.template import Expression, Scope, Template
from refexplorer.spec.templates.vectors import Scopes, TooMuchText, flat

FIELDS = ("key", "url", "offset", "length")
LISTED_KEYS = 100_000
CHECKED_KEYS = 256
_WHOLE = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)


class BadField(Exception):
    """One field of a gen item fails for one combination: code, field, sentence and hint."""

    def __init__(self, code: str, field: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.hint = hint


def whole_number(field: str, text: str) -> int:
    """Read an offset or a length.

    Raises
    ------
    BadField
        If the text is no whole number, or less than 0.
    """
    match = _WHOLE.fullmatch(text)
    if match is None:
        hint = "Use // for integer division." if "." in text else ""
        raise BadField(
            "gen-bad-int",
            field,
            f"`{field}` renders to {text[:60]!r}, which is not an integer.",
            hint,
        )
    try:
        value = int(match[1])
    except ValueError:  # the digits are more than Python reads
        raise BadField(
            "gen-bad-int",
            field,
            f"`{field}` renders to a number of {len(match[1]):,} digits, which is too large.",
        ) from None
    if value < 0:
        raise BadField(f"bad-{field}", field, f"`{field}` renders to {value}, which is negative.")
    return value


def written(field: str, text: str) -> str:
    """Return a key or URL, if a file can hold it.

    Raises
    ------
    BadField
        If half a surrogate pair is in it.
    """
    try:
        check_text(text, *(("bad-url", "URL") if field == "url" else ("bad-text", field)))
    except BadReference as bad:
        raise BadField(bad.code, field, str(bad)) from None
    return text


def said_of_values(values: Mapping[str, int]) -> str:
    """Write the values of dimensions as in a sentence."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


@masks_repr
@dataclass(frozen=True)
class GenItem(PickledByFields):
    """A gen item that was read and checked.

    Keys are numbered from 0 to ``count - 1``. A *combination* is a number of the whole product;
    the two differ only where combinations share a key.

    Attributes
    ----------
    number
        Its position in ``gen``.
    dimensions
        All dimensions, in the order of the document.
    templates
        The templates section of the document.
    findings
        What was noted while it was read.
    failing
        The numbers of keys that are known to fail, in order.
    most_listed
        So many combinations are written out, where equal keys are not to be told by arithmetic.
    is_tried
        Whether no other key fails; False where there are too many to know.
    """

    number: int
    dimensions: tuple[Dimension, ...]
    key: Template
    url: Template
    offset: Template | None
    length: Template | None
    templates: Mapping[str, Template]
    limits: Limits
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
        """The dimensions that the key uses; the others matter only by their last value."""
        return DimensionProduct(tuple(d for d in self.dimensions if d.name in self.key.names))

    @cached_property
    def _fixed(self) -> dict[str, int]:
        return {d.name: d.values[-1] for d in self.dimensions if d.name not in self.key.names}

    @cached_property
    def inverter(self) -> Inverter | None:
        """Finds the combination of a key by arithmetic; None where that is not certain."""
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
        texts: list[str] = scopes.expression(part).ravel().tolist()
        return texts

    def _scope(self, values: Mapping[str, int]) -> Scope:
        return Scope(values, self.templates, self.limits)

    def scopes(self, values: Values) -> Scopes:
        """Return what the templates see for many combinations of the `varying` dimensions."""
        fixed = {name: as_column([value]) for name, value in self._fixed.items()}
        return Scopes({**values, **fixed}, self.templates, self.limits)

    @cached_property
    def _listing(self) -> dict[str, int] | None:
        """Each key and its last combination, for an item that must be listed to be known."""
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
        """The combination of each key, shape ``(n,)`` int64; None where it is the key's number."""
        numbers = None if self._listing is None else self._listing.values()
        return None if numbers is None else np.fromiter(numbers, np.int64, len(numbers))

    @property
    def certain(self) -> bool:
        """Whether every key is known to be made once."""
        return self.inverter is not None or self._listing is not None

    @cached_property
    def count(self) -> int:
        """How many keys it makes; an upper bound where it is not `certain`."""
        if not self.grid.count:
            return 0
        return self.varying.count if self._listing is None else len(self._listing)

    def values(self, number: int) -> dict[str, int]:
        """Return the value of each dimension for a key, by its number."""
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
        """Return the key with this number.

        Raises
        ------
        BadField
            If its template fails for this combination.
        """
        return self._render("key", self.values(number))

    def reference_at(self, number: int) -> Reference:
        """Return the reference of the key with this number.

        Raises
        ------
        BadField
            If a template fails, or an offset or length is no whole number of bytes.
        """
        return self.reference(self.values(number))

    def reference(self, values: Mapping[str, int]) -> Reference:
        """Return the reference for these values of the dimensions; errors as `reference_at`."""
        url = self._render("url", values)
        if self.offset is None:
            return Url(url)
        return Range(url, self._whole("offset", values), self._whole("length", values))

    def rendered(self, field: str, values: Mapping[str, int]) -> str:
        """Return the text of one of the `FIELDS` for these values; errors as `reference_at`."""
        return self._render(field, values)

    def _render(self, field: str, values: Mapping[str, int]) -> str:
        template: Template = getattr(self, field)
        try:
            return written(field, template.render(self._scope(values)))
        except TemplateProblem as problem:
            raise BadField(problem.code, field, str(problem), problem.hint) from None

    def _whole(self, field: str, values: Mapping[str, int]) -> int:
        return whole_number(field, self._render(field, values))

    def find(self, key: str) -> int | None:
        """Return the number of a key, or None if the item does not make it.

        Raises
        ------
        LimitError
            If the item makes more keys than can be listed and its key cannot be inverted.
        """
        if not self.grid.count:
            return None
        if self.inverter is not None:
            return self._find_by_arithmetic(key)
        if self._listing is None:
            raise LimitError(
                f"Whether gen[{self.number}] generates {key!r} cannot be computed from its "
                f"templates, and its {self.count:,} keys are more than the {self.most_listed:,} "
                "that are listed to find out."
            )
        return self._listed_places.get(key)

    @cached_property
    def _listed_places(self) -> dict[str, int]:
        return {key: position for position, key in enumerate(self._listing or ())}

    def _find_by_arithmetic(self, key: str) -> int | None:
        assert self.inverter is not None
        values = self.inverter.solve(key)
        number = None if values is None else self.varying.number(values)
        if number is None:
            return None
        try:
            return number if self.key_at(number) == key else None
        except BadField:
            return None

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order; combinations that fail are left out."""
        for number in range(start, self.count if stop is None else min(stop, self.count)):
            try:
                values = self.values(number)
                yield self._render("key", values), self.reference(values)
            except BadField:
                continue

    @property
    def folder(self) -> str:
        """The folder that all its keys are in: the literal start of the key, up to a slash."""
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
