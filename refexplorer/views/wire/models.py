"""What crosses the wire, as CONTRIBUTING.md lists it: frozen models, and their JSON form."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from refexplorer.data.read.estimates import Estimate

_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Row:
    """A visible row of the tree, or a result of a search."""

    path: str
    name: str
    depth: int
    type: str
    kind: str | None
    size: int | None
    target: str | None
    origin: str | None
    children: int
    open: bool
    position: int
    siblings: int


@dataclass(frozen=True, slots=True)
class Note:
    """A diagnostic, with the key that it is about where it is about one."""

    code: str
    severity: str
    message: str
    hint: str | None
    pointer: str
    line: int | None
    column: int | None
    count: int
    key: str | None


@dataclass(frozen=True, slots=True)
class Array:
    """An array, from its metadata alone."""

    path: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    grid: tuple[int, ...]
    dtype: str
    codecs: tuple[str, ...]
    fill: object
    dimensions: tuple[str, ...] | None
    zarr_format: int
    attributes: tuple[tuple[str, str], ...]
    attribute_count: int
    chunk_count: int
    present: int | None
    left_out: int | None
    bytes: int | None
    small: bool
    estimate: Estimate | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk of an array; its shape is cut at the edge of the array."""

    array: str
    index: tuple[int, ...]
    shape: tuple[int, ...]
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Item:
    """All that is known of a path without a request."""

    path: str
    name: str
    type: str
    code: str
    kind: str | None = None
    raw: str | None = None
    url: str | None = None
    offset: int | None = None
    length: int | None = None
    resolved: str | None = None
    text: str | None = None
    text_total: int = 0
    origin: str | None = None
    size: int | None = None
    notes: tuple[Note, ...] | None = None
    array: Array | None = None
    chunk: Chunk | None = None


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The positions along one dimension; None where they are not known without more reads."""

    name: str
    values: tuple[float, ...] | None
    times: bool = False


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """What became of the chunks of a reading."""

    fetched: int
    fill: int
    failed: int


@dataclass(frozen=True, slots=True)
class LostChunk:
    """A chunk of a reading that has no reference, or failed."""

    key: str
    index: tuple[int, ...]
    state: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A part of an array, and what reading it takes."""

    array: str
    dimensions: tuple[str, ...]
    sizes: tuple[int, ...]
    slices: tuple[str, ...]
    shape: tuple[int, ...]
    chunk_count: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Reading:
    """Values that were read, or why they were not; numbers travel beside it as a buffer."""

    state: str
    array: str
    slices: tuple[str, ...]
    region: tuple[tuple[int, int, int], ...]
    chunk_shape: tuple[int, ...]
    key_start: str
    separator: str
    shape: tuple[int, ...]
    dtype: str
    dimensions: tuple[str, ...]
    units: str | None
    name: str
    times: bool
    minimum: float | None
    maximum: float | None
    missing: int
    seconds: float
    message: str | None
    grant: str | None
    coordinates: tuple[Coordinate, ...]
    chunks: ChunkCounts
    lost: tuple[LostChunk, ...]
    texts: tuple[str, ...] | None = None


@cache
def _names_of(model: type) -> dict[str, str]:
    """Return the names of a model's fields, and under which they are sent."""
    return {field.name: field.name.rstrip("_") for field in dataclasses.fields(model)}


def to_wire(value: Any) -> Any:
    """Return the JSON form of a model.

    Integers beyond 2^53 become text, since JSON readers round them; NaN and infinities become
    null; lone surrogates become escapes; a trailing underscore is not part of a name.
    """
    if isinstance(value, str):
        if type(value) is str and value.isascii():
            return value
        return str(value).encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value):
        model: type = type(value)
        names = _names_of(model).items()
        return {sent: to_wire(getattr(value, name)) for name, sent in names}
    if isinstance(value, Mapping):
        return {to_wire(str(key)): to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(item) for item in value]
    return value
