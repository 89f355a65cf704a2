"""Trials without an edit: other templates, and one combination of the dimensions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from refexplorer.errors import RefexplorerError
from refexplorer.refset.contents import internals
from refexplorer.spec.gen.dimensions import Dimension
from refexplorer.spec.gen.item import BadField
from refexplorer.views.editor.editor_rows import values_of
from refexplorer.views.text.text_positions import TextPositions
from refexplorer.views.wire.editor.editor_messages import Axis, Generator, TemplateField

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

_FIELDS = 50
_ITEMS = 50
_LISTED = 1_000
_TEXT_SHOWN = 1_000


def template_fields(
    positions: TextPositions, given: Mapping[str, str]
) -> tuple[TemplateField, ...]:
    """Return the first templates of a document, and what is given in their place."""
    written = positions.section("templates")
    return tuple(
        TemplateField(name, _text(source), given.get(name))
        for name, source in list(written.items())[:_FIELDS]
    )


def generators(refs: ReferenceSet) -> tuple[Generator, ...]:
    """Return the first gen items of a set with the dimensions of each."""
    return tuple(
        Generator(item.number, tuple(_axis(d) for d in item.dimensions))
        for item in internals(refs).generated[:_ITEMS]
    )


def key_of(refs: ReferenceSet, number: int, places: Mapping[str, int]) -> str:
    """Return the key that a gen item makes."""
    item = next((one for one in internals(refs).generated if one.number == number), None)
    if item is None:
        raise RefexplorerError(f"gen[{number}] generates no keys.")
    try:
        values = {d.name: d.values[int(places.get(d.name, 0))] for d in item.dimensions}
        return item.rendered("key", values)
    except (IndexError, OverflowError):
        raise RefexplorerError(f"gen[{number}] has no such combination of dimensions.") from None
    except BadField as bad:
        raise RefexplorerError(str(bad)) from None


def places_of(refs: ReferenceSet, key: str) -> tuple[tuple[str, int], ...]:
    """Return which value of each dimension made a key, counted from 0."""
    values = values_of(refs, key)
    if not values:
        return ()
    origin = refs.origin(key)
    item = next(one for one in internals(refs).generated if origin == f"gen[{one.number}]")
    return tuple((d.name, d.index(values[d.name]) or 0) for d in item.dimensions)


def _axis(dimension: Dimension) -> Axis:
    values, name = dimension.values, dimension.name
    if isinstance(values, range):
        return Axis(name, dimension.size, values.start, values.step, None)
    return Axis(name, dimension.size, None, None, values[:_LISTED])


def _text(source: str) -> str:
    """Return a template's text; one that is no text is shown as it is written."""
    try:
        value = json.loads(source)
    except ValueError:
        value = source
    return (value if isinstance(value, str) else source)[:_TEXT_SHOWN]
