"""A text that was opened, and what it does where something else is given."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, TypeVar

from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.spec.references import Reference
from refexplorer.views.exercises.exercise_models import GivenRange

_PROBE = "\x00"
"""Begins the keys of a URL that is tried, which no answer has."""
_INTEGER = re.compile(r"\d+")
_MOST_INTEGERS = 20
_PARTNERS = 4
"""Keys that are looked at for each value of a dimension at which something may change."""


_Made = TypeVar("_Made")


class GivenAnswer:
    """A text that was opened, and what is asked of it.

    Parameters
    ----------
    text
        The document.
    refs
        The set that it makes; opened if it is not given.
    """

    def __init__(self, text: str, refs: ReferenceSet | None = None) -> None:
        self.text = text
        self.refs = open_references(text.encode()) if refs is None else refs
        self._made: dict[str, Any] = {}

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document as a value."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def is_v1(self) -> bool:
        """Whether it is a document of version 1."""
        return self.refs.source.form == "V1"

    @property
    def items(self) -> list[Any]:
        """The gen items, as they are written."""
        items = self.document.get("gen", []) if self.is_v1 else []
        return items if isinstance(items, list) else []

    @property
    def templates(self) -> dict[str, Any]:
        """The templates, as they are written."""
        templates = self.document.get("templates", {}) if self.is_v1 else {}
        return templates if isinstance(templates, dict) else {}

    @cached_property
    def bends(self) -> list[int]:
        """Numbers of keys at which an expression may change: at and beside integers that it names.

        A sample of 10^12 keys meets no exception for one row; whoever makes one writes its number.
        """
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
            return  # some of its keys are rejected, which is a fault by itself
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
        """Open it with other templates in place of its own."""
        return self._once(
            lambda: open_references(self.text.encode(), templates=templates), "templates", templates
        )

    def ranged(self, values: GivenRange) -> ReferenceSet:
        """Open it with other values in place of those of each dimension."""

        def ranged() -> ReferenceSet:
            items = [
                {**item, "dimensions": dict.fromkeys(item["dimensions"], values)}
                for item in self.items
            ]
            return open_references(json.dumps({**self.document, "gen": items}).encode())

        return self._once(ranged, "ranges", values)

    def called(
        self, url: str, dimensions: Mapping[str, GivenRange]
    ) -> list[tuple[str, Reference | None]]:
        """Open it with one URL more, once for each combination of values.

        Returns
        -------
        list of tuple
            The combination as text, and the reference; None where there is none.
        """
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
        """Return what was made for the same before: of a solution each answer asks it anew."""
        name = json.dumps(asked)
        if name not in self._made:
            self._made[name] = make()
        made: _Made = self._made[name]
        return made


def _values(dimension: Any) -> Sequence[int]:
    if isinstance(dimension, Mapping):
        return range(dimension.get("start", 0), dimension["stop"], dimension.get("step", 1))
    if not isinstance(dimension, list):
        raise TypeError
    return dimension
