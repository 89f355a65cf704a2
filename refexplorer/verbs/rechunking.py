"""Arrays that `convert` gives other chunks: which, and the proof that no value changed."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from refexplorer.checks.advice.connections import DEFAULT_PLACE, connection_of
from refexplorer.checks.advice.costs import groups_of, opening_cost
from refexplorer.core.errors import HarmError, RefexplorerError
from refexplorer.core.text import size_text
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.io.access.policy import allowed_names
from refexplorer.refset.contents import internals
from refexplorer.refset.writing.rechunking import Reshaping, can_hold
from refexplorer.spec.references import Range
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

_MOST_BYTES = 2**26
"""Of one coordinate in a set, which every reader loads to open it."""
_AT_ONCE = 64  # requests of Zarr at a time, in place of its ten


def coordinates_of(refs: ReferenceSet) -> list[str]:
    """Return the arrays that opening with xarray reads from targets, or in several chunks."""
    opened = internals(refs).opened
    coordinates: dict[str, None] = {}
    for group, arrays in groups_of(opened).items():
        _, read = opening_cost(opened, group, arrays, connection_of(DEFAULT_PLACE))
        several = [
            array.path
            for array in arrays
            if array.dimensions == (array.path.rpartition("/")[2],) and array.chunk_count > 1
        ]
        coordinates |= dict.fromkeys([*read, *several])
    return list(coordinates)


def values_of(
    refs: ReferenceSet, paths: Sequence[str], allow: Collection[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield arrays with the bytes that their values have in memory, read from their targets."""
    for path in paths:
        array = refs.array(path)
        if not can_hold(array):
            message = f"{path} stays as it is: values of data type {array.dtype} vary in size."
            warnings.warn(message, stacklevel=2)
            continue
        size = math.prod(array.shape) * (array.itemsize or 0)
        if size > _MOST_BYTES:
            raise RefexplorerError(
                f"{path} has {size_text(size)}, more than the {size_text(_MOST_BYTES)} of one "
                "coordinate that a set should hold; convert without `inline_coordinates`."
            )
        yield path, _read(refs, path, allow)


def check_values(
    refs: ReferenceSet, reshaping: Reshaping, divided: Collection[str], inline: Mapping[str, bytes]
) -> None:
    """Read arrays in their new chunks with Zarr, and compare the values.

    Those that are held are compared with what was read from targets. Those that are divided refer
    to the same bytes as before; that these mean the same is seen on stand-ins for the first and the
    last chunk, so that no target is read.
    """
    table = internals(refs).opened.table
    metadata = table.select(np.array(list(table.metadata.values()), np.int64))
    after = _opened(reshaping.apply(metadata), refs)
    for path, data in inline.items():
        if _read(after, path, ()) != data:
            raise _differs(path)
    for path in divided:
        array = refs.array(path)
        for index in {tuple(0 for _ in array.grid), tuple(count - 1 for count in array.grid)}:
            _check_stand_in(refs, reshaping, metadata, array, index)


def _check_stand_in(
    refs: ReferenceSet,
    reshaping: Reshaping,
    metadata: Table,
    array: ArrayMeta,
    index: tuple[int, ...],
) -> None:
    """Compare the values of a chunk before and after, made of random bytes."""
    size, sides = array.encoded_size or 0, zip(index, array.chunks, strict=True)
    region = tuple(slice(number * step, (number + 1) * step) for number, step in sides)
    with TemporaryDirectory() as folder:
        place = Path(folder, "chunk")
        place.write_bytes(os.urandom(size))
        chunk = array.chunk_key(index), Range(str(place), 0, size)
        table = build_table([*metadata.iterate(), chunk])
        values = [
            _read(_opened(each, refs), array.path, [folder], region)
            for each in (table, reshaping.apply(table))
        ]
    if values[0] != values[1]:
        raise _differs(array.path)


def _opened(table: Table, refs: ReferenceSet) -> ReferenceSet:
    document = {key: reference.to_v0() for key, reference in table.iterate()}
    return open_references(document, limits=refs.limits)


def _read(refs: ReferenceSet, path: str, allow: Collection[str], region: Any = Ellipsis) -> bytes:
    """Return the bytes of values, in the byte order that the array has when it is one chunk."""
    import zarr

    root: Any = refs.allowing(*allowed_names(allow)).to_zarr()
    array = refs.array(path)
    with zarr.config.set({"async.concurrency": _AT_ONCE}):
        try:
            values = np.asarray((root[path] if path else root)[region])
        except RefexplorerError:
            raise
        except Exception as error:
            raise RefexplorerError(f"{path} could not be read: {error}") from error
    kind = np.dtype(array.dtype) if array.zarr_format == 2 else values.dtype.newbyteorder("<")
    return np.ascontiguousarray(values, kind).tobytes()


def _differs(path: str) -> HarmError:
    return HarmError(
        f"{path} does not have the same values in its new chunks, so nothing was written."
    )
