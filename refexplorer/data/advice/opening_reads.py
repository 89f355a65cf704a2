"""What xarray reads of a group when it opens it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from refexplorer.data.advice.access_costs import AccessCost, read_costs
from refexplorer.data.advice.connections import Connection
from refexplorer.data.advice.running_reads import RunningReads
from refexplorer.data.advice.selections import PartOfArray, is_countable, part_of
from refexplorer.refset.grids.chunk_grid import ChunkReferences
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.paths import prefix
from refexplorer.spec.core.zarr_metadata import ArrayMeta

_TIMES = ("time", "t")
"""Names of a dimension that no coordinate says more of."""
_STANDARD_NAMES = ("time", "forecast_reference_time")


def groups_of(opened: OpenedSet) -> dict[str, list[ArrayMeta]]:
    """Return the arrays of each group that has some, by the path of the group."""
    found: dict[str, list[ArrayMeta]] = {}
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        if path and array is not None:
            found.setdefault(path.rpartition("/")[0], []).append(array)
    return found


def opening_cost(
    opened: OpenedSet, group: str, arrays: Sequence[ArrayMeta], place: Connection
) -> tuple[AccessCost, tuple[str, ...]]:
    """Return what `xarray.open_dataset` costs, and the coordinates that it reads from targets.

    It reads all of each dimension coordinate to index it, and of each array whose units have
    "since" the first and the last value, to see whether they can be decoded (xarray 2026.9).

    Parameters
    ----------
    opened, group
        The set, and the path of a group.
    arrays
        Those directly in it.
    place
        Where the targets are.
    """
    columns: list[tuple[np.ndarray, ...]] = []
    held = absent = 0
    codes: dict[str | None, int] = {}
    coordinates: dict[str, None] = {}
    for number, part in enumerate(_parts(arrays)):
        grid = ChunkReferences(opened, part.array)
        if not is_countable(part.array):
            return _not_known(group, place, f"{part.array.path} is too long to be counted"), ()
        if not grid.complete:
            return _not_known(group, place, f"{part.array.path} has too many generated chunks"), ()
        chunks = grid.chunks
        selected = part.select(chunks.indices)
        absent += part.chunk_count - len(selected.rows)
        rows = selected.rows[chunks.targets[selected.rows] >= 0]
        held += len(selected.rows) - len(rows)
        if len(rows):
            numbers = np.array([codes.setdefault(url, len(codes)) for url in grid.urls], np.int64)
            targets = numbers[chunks.targets[rows]]
            reads = np.full(len(rows), number)
            columns.append((reads, targets, chunks.offsets[rows], chunks.lengths[rows]))
            coordinates[part.array.path] = None
    empty = (np.empty(0, np.int64),) * 4
    merged = RunningReads(place)
    reads, targets, offsets, lengths = map(np.concatenate, zip(empty, *columns, strict=True))
    merged.add(reads, targets, offsets, lengths, is_last=True)
    cost = read_costs("open", group, "open_dataset", merged, held, absent)
    return cost, tuple(coordinates)


def _parts(arrays: Sequence[ArrayMeta]) -> Iterator[PartOfArray]:
    """Yield what xarray reads, one after the other."""
    bounds = {array.attributes.get("bounds") for array in arrays if _is_time(array)}
    for array in arrays:
        is_bounds = array.path.rpartition("/")[2] in bounds and "units" not in array.attributes
        if (_is_time(array) or is_bounds) and all(array.shape):
            yield part_of(array, (0,) * len(array.shape))
            yield part_of(array, (-1,) * len(array.shape))
    for array in arrays:
        if array.dimensions == (array.path.rpartition("/")[2],):
            yield part_of(array, ())


def is_time_dimension(opened: OpenedSet, array: ArrayMeta, axis: int) -> bool:
    """Whether a dimension is one of time, by its coordinate (CF conventions, 4.4) or its name."""
    name = array.dimensions[axis] if array.dimensions else None
    if not name:
        return False
    coordinate = opened.arrays.get(prefix(array.path.rpartition("/")[0]) + name)
    return name.lower() in _TIMES or (coordinate is not None and _says_time(coordinate))


def _says_time(coordinate: ArrayMeta) -> bool:
    """Whether a coordinate is one of time, which xarray need not decode as such."""
    says = coordinate.attributes.get
    is_named = says("axis") == "T" or says("standard_name") in _STANDARD_NAMES
    return is_named or _is_time(coordinate) or coordinate.dtype[1:].startswith("M8")


def _is_time(array: ArrayMeta) -> bool:
    units = array.attributes.get("units")
    return isinstance(units, str) and "since" in units


def _not_known(group: str, place: Connection, why: str) -> AccessCost:
    cost = read_costs("open", group, "open_dataset", RunningReads(place), 0, 0)
    readers = tuple(replace(each, requests=None, bytes=None, seconds=None) for each in cost.readers)
    return replace(
        cost,
        chunks=None,
        held=None,
        absent=None,
        files=None,
        least_requests=None,
        least_bytes=None,
        readers=readers,
        unknown=(why,),
    )


def metadata_elsewhere(opened: OpenedSet) -> int:
    """Return how many keys of metadata the set refers to instead of holding them."""
    table = opened.table
    rows = np.array(list(table.metadata.values()), np.int64)
    return int((table.columns.targets[rows] >= 0).sum()) if len(rows) else 0


def has_consolidated(opened: OpenedSet, group: str) -> bool:
    """Say whether a group of Zarr v2 has consolidated metadata."""
    return f"{prefix(group)}.zmetadata" in opened.table.metadata
