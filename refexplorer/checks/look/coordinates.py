"""Checking coordinates: those stored inline, and others where reading is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from refexplorer.checks.axes import (
    IN_FILES,
    NO_VALUES,
    AxisValues,
    CheckedAxis,
    OddPlaces,
    is_axis,
    look_at,
    odd_places,
)
from refexplorer.checks.compare.inline import INLINE_ELEMENTS, InlineValues
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.expectations import CheckedFacts, Expectations
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted, escape
from refexplorer.io.reading.readings import ChunkState
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.findings import Finding
from refexplorer.spec.references import Base64, Inline

if TYPE_CHECKING:
    from refexplorer.io.reading.selection import ArrayReading

AXIS_CHUNKS = 100_000  # Chunks of all coordinates that are looked up: 25 microseconds each
ReadArray = Callable[[str], "ArrayReading"]
"""Reads a whole array of a path, as far as its chunks can be read."""


class StoredCoordinate(NamedTuple):
    """A coordinate of the set: its stored values, or why they were not read."""

    array: SetArray
    stored: np.ndarray | None = None
    is_there: np.ndarray | None = None
    why: str = ""


def coordinates(
    opened: OpenedSet, limits: Limits, read: ReadArray | None
) -> Iterator[StoredCoordinate]:
    """Yield the dimension coordinates; without `read`, only inline ones have values."""
    n_values, n_chunks = 2 * INLINE_ELEMENTS, AXIS_CHUNKS
    for path in opened.arrays.paths:
        meta = opened.arrays.get(path)
        if meta is None or not is_axis(ours := SetArray(meta)):
            continue
        n_values -= meta.shape[0]
        n_chunks -= meta.chunk_count
        if n_values < 0 or n_chunks < 0:
            n_values += meta.shape[0]
            n_chunks += meta.chunk_count
            yield StoredCoordinate(ours, why="it has too many values or chunks for this check.")
            continue
        found = held_coordinate(opened, limits, ours)
        if found.stored is None and read is not None:
            found = _read(ours, read)
        yield found


def held_coordinate(opened: OpenedSet, limits: Limits, ours: SetArray) -> StoredCoordinate:
    """Return a coordinate whose referenced chunks are all inline."""
    meta = ours.meta
    held = InlineValues(limits)
    for number in range(meta.chunk_count):
        entry = opened.lookup(meta.key_at(number))
        if entry is None:
            continue
        if not isinstance(entry[1], Inline | Base64):
            return StoredCoordinate(ours, why=IN_FILES)
        held.put(ours, number, entry[1])
    if held.broken or held.reasons:
        why = next(iter(held.broken.get(meta.path, {}).values()), held.reasons.get(meta.path, ""))
        return StoredCoordinate(ours, why=f"it cannot be decoded: {escape(why, 200)}")
    if meta.path not in held.arrays:
        return StoredCoordinate(ours, why=NO_VALUES)
    known = held.arrays[meta.path]
    axis = meta.axes[0]
    starts = axis.starts_of(np.arange(axis.count))
    lengths = np.diff(np.append(starts, meta.shape[0]))
    return StoredCoordinate(ours, known.values, np.repeat(known.known, lengths))


def _read(ours: SetArray, read: ReadArray) -> StoredCoordinate:
    try:
        found = read(ours.meta.path)
    except RefexplorerError as error:
        return StoredCoordinate(ours, why=str(error))
    if found.failures:
        return StoredCoordinate(ours, why=next(iter(found.failures.values())))
    return StoredCoordinate(ours, np.asarray(found.values), ~found.mask(ChunkState.FILL))


class AxesLook(NamedTuple):
    """The results of checking coordinates, and the expectations of the set."""

    axes: tuple[CheckedAxis, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]  # In words that follow "not known:"
    has_read: bool  # Whether coordinates in files were to be read
    odd: tuple[OddPlaces, ...]  # The findings about coordinates, with their positions


def look_at_coordinates(
    opened: OpenedSet,
    limits: Limits,
    base: str,
    read: ReadArray | None,
    expected: Expectations | None = None,
    facts: Callable[..., CheckedFacts] | None = None,
) -> AxesLook:
    """Check all coordinates, and compare the set with its expectations."""
    # `facts` returns the facts to compare them with.
    axes: dict[str, CheckedAxis] = {}
    odd: list[OddPlaces] = []
    values: dict[str, AxisValues] = {}
    for each in coordinates(opened, limits, read):
        path = each.array.meta.path
        if each.stored is None or each.is_there is None:
            axes[path] = CheckedAxis(path, each.array.meta.shape[0], why=each.why)
            continue
        values[path] = AxisValues(each.array, each.stored, each.is_there)
        axes[path] = look_at(values[path])
        odd += odd_places(values[path], base)
    unread = sum(each.why not in ("", NO_VALUES) for each in axes.values())
    unknown = [f"{counted(unread, 'coordinate')} could not be read"] if unread and read else []
    findings = [each.finding for each in odd]
    if expected is not None and facts is not None:
        arrays = {path: meta for path in opened.arrays.paths if (meta := opened.arrays.get(path))}
        findings += expected.findings(facts(axes=axes, values=values, arrays=arrays), base)
        unknown += expected.unknown
    return AxesLook(
        tuple(axes.values()), tuple(findings), tuple(unknown), read is not None, tuple(odd)
    )
