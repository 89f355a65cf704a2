"""An opened answer, and its results with other templates, dimensions or URLs."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, partial
from itertools import chain, islice, product
from math import prod
from typing import Any, NamedTuple, TypeVar

from refexplorer.spec.references import Base64, Inline, Kind, Range, Reference, Url
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.exercises.exercise_models import GivenRange

_PROBE = "\x00"  # Begins the keys of a URL that is tried, which no answer has
_INTEGER = re.compile(r"\d+")
_MOST_INTEGERS = 20  # integers of an answer whose neighbours are compared
_PARTNERS = 4  # Keys that are looked at for each value of a dimension at which something may change


_Made = TypeVar("_Made")


class GivenAnswer:
    """An opened answer, and queries on it."""

    def __init__(self, text: str, refs: ReferenceSet | None = None) -> None:
        self.text = text
        self.refs = open_references(text.encode()) if refs is None else refs
        self._made: dict[str, Any] = {}

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document as a value."""
        return json.loads(self.text)

    @property
    def is_v1(self) -> bool:
        """Whether it is a document of version 1."""
        return self.refs.source.form == "V1"

    @property
    def items(self) -> list[Any]:
        """The gen items, as written."""
        items = self.document.get("gen", []) if self.is_v1 else []
        return items if isinstance(items, list) else []

    @property
    def templates(self) -> dict[str, Any]:
        """The templates, as written."""
        templates = self.document.get("templates", {}) if self.is_v1 else {}
        return templates if isinstance(templates, dict) else {}

    @cached_property
    def bends(self) -> list[int]:
        """Key numbers where an expression may change: at and next to the integers in it."""
        # A sample of 10^12 keys would miss an exception for one row; but the exception names its
        # number.
        return [number for index in range(len(self.items)) for number in self._bends_of(index)]

    def _bends_of(self, index: int) -> Iterator[int]:
        item, keys = self.items[index], self.refs.numbers(f"gen[{index}]")
        try:
            values = [_values(dimension) for dimension in item["dimensions"].values()]
        except (AttributeError, KeyError, TypeError, ValueError):
            return  # no item, which is a diagnostic
        written = " ".join(value for value in item.values() if isinstance(value, str))
        named = list(map(int, _INTEGER.findall(written)[:_MOST_INTEGERS]))
        near = {value + by for value in named for by in (-1, 0, 1)}
        lengths = list(map(len, values))
        if prod(lengths) != len(keys):
            return  # some of its keys are rejected, which is already a fault
        strides = [prod(lengths[axis + 1 :]) for axis in range(len(lengths))]
        chosen = random.Random(len(keys))
        for axis, each in enumerate(values):
            for value in sorted(near):
                if value not in each:
                    continue
                for _ in range(_PARTNERS):
                    at = [chosen.randrange(length) for length in lengths]
                    at[axis] = each.index(value)
                    yield keys[sum(map(int.__mul__, at, strides))]

    def tried(self, templates: dict[str, str]) -> ReferenceSet:
        """Open the answer with other templates in place of its own."""
        opening = partial(open_references, self.text.encode(), templates=templates)
        return self._once(opening, "templates", templates)

    def ranged(self, values: GivenRange) -> ReferenceSet:
        """Open the answer with other values of its dimensions."""

        def make() -> ReferenceSet:
            items = [
                {**item, "dimensions": dict.fromkeys(item["dimensions"], values)}
                for item in self.items
            ]
            return open_references(json.dumps({**self.document, "gen": items}).encode())

        return self._once(make, "ranges", values)

    def called(
        self, url: str, dimensions: Mapping[str, GivenRange]
    ) -> list[tuple[str, Reference | None]]:
        """Open the answer with one additional URL, once per combination of values."""
        return self._once(lambda: self._called(url, dimensions), "call", url, dimensions)

    def _called(
        self, url: str, dimensions: Mapping[str, GivenRange]
    ) -> list[tuple[str, Reference | None]]:
        key = _PROBE + "/".join(f"{{{{{name}}}}}" for name in dimensions)
        written = self.document.get("refs", {}) if self.is_v1 else self.document
        more = {**(self.document if self.is_v1 else {"version": 1}), "refs": written}
        if dimensions:
            more["gen"] = [*self.items, {"key": key, "url": url, "dimensions": dict(dimensions)}]
        else:
            more["refs"] = {**written, key: [url]}
        opened = open_references(json.dumps(more).encode())
        return [
            (
                ", ".join(
                    f"`{name}` = {value}" for name, value in zip(dimensions, each, strict=True)
                ),
                opened.get(_PROBE + "/".join(map(str, each))),
            )
            for each in product(*map(_values, dimensions.values()))
        ]

    def _once(self, make: Callable[[], _Made], *asked: object) -> _Made:
        """Return a cached result: the solution is queried again for every answer."""
        name = json.dumps(asked)
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


def _values(dimension: Any) -> Sequence[int]:
    if isinstance(dimension, Mapping):
        return range(dimension.get("start", 0), dimension["stop"], dimension.get("step", 1))
    if not isinstance(dimension, list):
        raise TypeError
    return dimension


_ALL = 10_000  # Keys up to which each of them is compared
_SAMPLE = 400  # keys of a larger set that are compared, from everywhere
_KINDS = {
    Kind.INLINE: "inline data",
    Kind.BASE64: "base64",
    Kind.URL: "a whole file",
    Kind.RANGE: "a byte range",
}


class OddReference(NamedTuple):
    """The first differing reference, and the difference."""

    sentence: str
    key: str | None = None
    is_missing: bool = False


def difference(
    found: ReferenceSet, wanted: ReferenceSet, bends: Sequence[int] = ()
) -> OddReference | None:
    """Find the first reference of a set that differs from the wanted one."""
    miscounted = OddReference(
        f"There are {found.count:,} keys, but there should be {wanted.count:,}."
    )
    if wanted.count > _ALL and found.count != wanted.count:
        return miscounted
    for key in _looked_at(wanted):
        reference = found.get(key)  # a key that a gen item makes may fail when it is looked at
        if reference is None:
            near = _near(key, found, wanted)
            but = f", but there is `{near}`" if near else ""
            return OddReference(f"There is no key `{key}` yet{but}.", key, is_missing=not near)
        if (differs := _difference_text(reference, wanted[key])) is not None:
            return OddReference(f"`{key}`: {differs}", key)
    more = bends if wanted.count > _ALL else ()
    for key in chain(_looked_at(found), (key for n in more for key in found.keys_at(n, n + 1))):
        if key not in wanted:
            return OddReference(f"The key `{key}` is not part of the solution.", key)
        # keys of the solution were compared above, except those of a bend
        reference = found.get(key) if more else None
        differs = None if reference is None else _difference_text(reference, wanted[key])
        if differs is not None:
            return OddReference(f"`{key}`: {differs}", key)
    return miscounted if found.count > wanted.count else None


def _looked_at(refs: ReferenceSet) -> Iterable[str]:
    """Return all keys, or the first, the last, and a sample between them."""
    if refs.count <= _ALL:
        return refs.keys_at(0, _ALL)
    # the same in each process, so that an answer is judged alike today and tomorrow
    numbers = random.Random(refs.count).sample(range(refs.count), _SAMPLE)
    ends = (*range(3), *range(refs.count - 3, refs.count))
    return (key for n in (*ends, *numbers) for key in refs.keys_at(n, n + 1))


def _difference_text(found: Reference, right: Reference) -> str | None:
    """Describe which part of a reference differs."""
    if isinstance(found, Inline) and isinstance(right, Inline):
        return _text_difference(found.text, right.text)
    if isinstance(found, Inline | Base64) and isinstance(right, Inline | Base64):
        if _data(found) == _data(right):
            return None
        if found.kind == right.kind:
            return "the data differ from the solution."
    if found.kind != right.kind:
        return f"it is {_KINDS[found.kind]}, but should be {_KINDS[right.kind]}."
    if isinstance(found, Url | Range) and isinstance(right, Url | Range) and found.url != right.url:
        return _url_difference(found.url or "", right.url or "")
    if isinstance(found, Range) and isinstance(right, Range):
        return _range_difference(found, right)
    return None


def _near(key: str, found: ReferenceSet, wanted: ReferenceSet) -> str | None:
    """Return a key of the answer that may be meant as a missing one."""
    others = islice((key for key in found.keys_at(0, _SAMPLE) if key not in wanted), _SAMPLE)
    return next(iter(get_close_matches(key, others, 1, 0.7)), None)


def _text_difference(found: str, right: str) -> str | None:
    """Return which field of a JSON object differs; for other texts, that they differ."""
    if meaning(found) == meaning(right):
        return None
    try:
        ours, theirs = json.loads(found), json.loads(right)
    except ValueError:
        return "the text differs from the solution."
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return "the text differs from the solution."
    for name in theirs:
        if name not in ours:
            return f"the field `{name}` is missing."
    for name, value in ours.items():
        if name not in theirs:
            return f"the field `{name}` is not part of the solution."
        if json.dumps(value, sort_keys=True) != json.dumps(theirs[name], sort_keys=True):
            return f"the field `{name}` should not be `{json.dumps(value)}`."
    return None


def _url_difference(found: str, right: str) -> str:
    if found.lower() == right.lower():
        return f"the URL `{found}` differs in upper and lower case."
    if "{{" in found and "{" not in right:
        return f"the URL `{found}` is not rendered: only version 1 has templates."
    if "{" in found and "{" not in right:
        return f"the URL `{found}` still has braces: a template is written with two, `{{{{…}}}}`."
    letters = enumerate(zip(found, right, strict=False))
    same = next((number for number, (a, b) in letters if a != b), min(len(found), len(right)))
    if same == len(found):
        return f"the URL `{found}` ends too early."
    if same == 0:
        return f"the URL `{found}` is not right from its first letter on."
    return f"the URL `{found}` is right as far as `{found[:same]}` only."


def _range_difference(found: Range, right: Range) -> str | None:
    offset, length = found.offset, found.length
    if (offset, length) == (right.length, right.offset) and offset != length:
        return f"the offset {offset:,} and the length {length:,} are exchanged."
    end = right.offset + right.length
    if length in (end - 1, end) and offset == right.offset != 0:
        return f"the length {length:,} is where the bytes end, not how many there are."
    for name, ours, theirs in (("offset", offset, right.offset), ("length", length, right.length)):
        if ours != theirs:
            return f"the {name} {ours:,} is too {'large' if ours > theirs else 'small'}."
    return None


def _data(reference: Inline | Base64) -> str | bytes:
    """Return the bytes of a key, however they are written."""
    try:
        return meaning(reference.data.decode())
    except UnicodeDecodeError:
        return reference.data


def meaning(text: str) -> str:
    """Return a text; a JSON object in canonical form, so that order and spaces do not count."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else text
