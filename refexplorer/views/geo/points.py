"""A point of an array as a person writes it: an index, labels of dimensions, a place on earth."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import escape
from refexplorer.views.preview.axes import labels_of
from refexplorer.views.preview.regions import names_of, parse, places_of
from refexplorer.views.preview.values import DecodedChunks

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

_LABEL = re.compile(r"([^\W\d][\w.-]*)\s*=\s*([^,;]+)")
_INDEX = re.compile(r"(\[)?\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*(?(1)\])")


def point_parts(text: str) -> tuple[dict[str, str], str]:
    """Return the labels by their dimensions, and what is left: a place, or an index."""
    labels = {name: label.strip() for name, label in _LABEL.findall(text)}
    return labels, _LABEL.sub("", text).strip(" ,;")


def index_of(text: str, array: ArrayMeta) -> tuple[int, ...] | None:
    """Return an index; None for what is a place: two numbers without brackets are one."""
    found = _INDEX.fullmatch(text)
    if found is None:
        return None
    numbers = [int(number) for number in found[2].split(",")]
    if found[1] is None and (len(numbers) == 2 or len(numbers) != len(array.shape)):
        return None
    regions = parse(array, [str(number) for number in numbers])
    return tuple(region[0] for region in regions)


def place_of_label(
    refs: ReferenceSet,
    array: ArrayMeta,
    name: str,
    text: str,
    chunks: DecodedChunks,
    index: list[int],
) -> int:
    """Put the place that a label or an index selects into an index, and return its dimension."""
    names = names_of(array)
    if name not in names:
        raise RefexplorerError(
            f"{array.path or 'The root array'} has no dimension {escape(name)}: it has "
            f"{', '.join(names)}."
        )
    axis = names.index(name)
    texts = [str(at) for at in index]
    texts[axis] = text

    def named(place: int, label: str) -> range:
        return places_of(label, names[place], labels_of(refs, array, place, chunks))

    index[axis] = parse(array, texts, named)[axis][0]
    return axis
