"""Rechunking arrays without new bytes in a target: chunks divided, or inlined as one."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.core.errors import RefexplorerError
from refexplorer.formats.columns.chunk_names import chunk_indices, chunk_keys
from refexplorer.formats.columns.references import (
    RANGE,
    Columns,
    build_columns,
    joined_columns,
    json_text,
    number_column,
)
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.refset.arrays import arrays_of
from refexplorer.refset.writing.json import replaced
from refexplorer.spec.references import Inline, Range, prefix, read_bytes
from refexplorer.spec.zarr_metadata import ArrayMeta, regular_grid

# chunk numbers are int64
_MOST_CHUNKS = 2**63
_KINDS_V2 = "biufcSUMm"
_TYPES_V3 = (
    *("bool", "float16", "float32", "float64", "complex64", "complex128"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)


def is_divisible(array: ArrayMeta) -> bool:
    """Return whether equal parts of a chunk's bytes are chunks: uncompressed, C order."""
    if array.encoded_size is None:
        return False
    if array.zarr_format == 2:
        return not array.codecs and array.metadata.get("order", "C") == "C"
    return [codec.partition("(")[0] for codec in array.codecs] == ["bytes"]


def factors_of(array: ArrayMeta, factor: int | None) -> tuple[int, ...]:
    """Return the number of parts of a chunk along each dimension."""
    name = array.path or "the root array"
    if not is_divisible(array):
        raise RefexplorerError(
            f"The chunks of {name} are compressed, filtered, not in C order or of different "
            "lengths, so they cannot be divided into equal parts; leave the array out."
        )
    left = next((step for step in array.chunks if step > 1), 1) if factor is None else factor
    factors = []
    # only where those before it are 1 is a part along a dimension one run of bytes
    for step in array.chunks:
        factors.append(math.gcd(step, left) if left % step else step)
        left //= factors[-1]
        if factors[-1] < step:
            break
    if left > 1 or math.prod(factors) < 2:
        shape = ", ".join(map(str, array.chunks))
        raise RefexplorerError(
            f"Chunks of shape ({shape}) of {name} cannot be divided into {factor or 1:,} along "
            "their first dimensions; use a factor of those lengths, the first one first."
        )
    return (*factors, *[1] * (len(array.chunks) - len(factors)))


def can_hold(array: ArrayMeta) -> bool:
    """Return whether an array can be written as one chunk of its in-memory bytes."""
    if not array.shape or not all(array.shape) or array.itemsize is None:
        return False
    if array.zarr_format == 3:
        return array.dtype in _TYPES_V3
    return array.dtype[1:2] in set(_KINDS_V2)


class Reshaping:
    """Changes a set in which some arrays get other chunks."""

    def __init__(
        self, table: Table, divided: Mapping[str, tuple[int, ...]], held: Mapping[str, bytes]
    ) -> None:
        before = arrays_of(table)
        self._before, self._divided, self._held = before, divided, held
        changed = {path: _metadata(before[path], divided.get(path)) for path in (*divided, *held)}
        self._texts = dict(_texts(table, before, changed))
        metadata = table.select(np.array(list(table.metadata.values()), np.int64))
        self.arrays = arrays_of(self._with_metadata(metadata))
        for path in divided:
            if self.arrays[path].chunk_count >= _MOST_CHUNKS:
                raise RefexplorerError(f"{path} would have more chunks than can be numbered.")

    def apply(self, table: Table) -> Table:
        """Return the changed references."""
        table = self._with_metadata(table)
        for path, factors in self._divided.items():
            table = self._with_parts(table, path, factors)
        for path, data in self._held.items():
            table = self._with_one_chunk(table, path, data)
        return table

    def _with_metadata(self, table: Table) -> Table:
        keys = [key for key in table.metadata if key in self._texts]
        rows = np.array([table.metadata[key] for key in keys], np.int64)
        return replaced(table, rows, build_columns(Inline(self._texts[key]) for key in keys))

    def _with_parts(self, table: Table, path: str, factors: tuple[int, ...]) -> Table:
        """Return a table with each chunk of an array divided."""
        array, after = self._before[path], self.arrays[path]
        rows, indices = chunk_indices(array, table.keys)
        is_inside = array.inside(indices)  # what no reader looks at has no place in the new grid
        rows, indices = rows[is_inside], indices[is_inside]
        columns = table.columns.select(rows)
        _check_divisible(table, rows, columns, array)
        every = np.arange(math.prod(factors))
        numbers = np.zeros((len(rows), len(every)), np.int64)
        is_there = np.ones((len(rows), len(every)), np.bool_)
        for axis, factor in enumerate(factors):
            part = every // math.prod(factors[axis + 1 :]) % factor
            places = indices[:, axis, None] * factor + part
            numbers = numbers * after.grid[axis] + places
            is_there &= places < after.grid[axis]  # the last chunk may reach beyond the array
        times = np.count_nonzero(is_there, axis=1)
        size = after.encoded_size or 0
        made = columns.select(np.repeat(np.arange(len(rows)), times))
        offsets = (columns.offsets[:, None] + every * size)[is_there]
        made = replace(made, offsets=offsets, lengths=np.full_like(made.lengths, size))
        numbers = numbers[is_there]
        order = np.argsort(numbers, kind="stable")  # keys are made of ascending numbers
        keys = chunk_keys(after, numbers[order]).take(number_column(np.argsort(order)))
        return exchanged(table, rows, Table(keys, made), np.repeat(rows, times))

    def _with_one_chunk(self, table: Table, path: str, data: bytes) -> Table:
        """Return a table with one chunk, next to its metadata, in place of an array's chunks."""
        array, after = self._before[path], self.arrays[path]
        rows, _ = chunk_indices(array, table.keys)
        row = table.metadata.get(array.metadata_key)
        chunk = after.chunk_key((0,) * len(after.shape)), read_bytes(data)
        made = build_table([] if row is None else [chunk])
        return exchanged(table, rows, made, np.array([] if row is None else [row], np.int64))


def exchanged(table: Table, gone: np.ndarray, made: Table, places: np.ndarray) -> Table:
    """Return a table without some rows, and others inserted at their positions."""
    if not len(gone) and not made.count:
        return table
    is_kept = np.ones(table.count, np.bool_)
    is_kept[gone] = False
    kept = np.flatnonzero(is_kept)
    order = np.argsort(np.concatenate([kept, places]), kind="stable")
    rows = np.concatenate([kept, table.count + np.arange(made.count)])[order]
    keys = pa.concat_arrays([table.keys, made.keys]).take(number_column(rows))
    columns = joined_columns([table.columns, made.columns]).select(rows)
    return Table(keys, columns, table.origin)


def _check_divisible(table: Table, rows: np.ndarray, columns: Columns, array: ArrayMeta) -> None:
    """Raise an error unless all of some chunks are byte ranges of whole chunks."""
    is_odd = (columns.kinds != RANGE) | (columns.lengths != array.encoded_size)
    if is_odd.any():
        row = int(rows[is_odd.argmax()])
        found = table.reference_at(row)
        what = f"{found.length:,} bytes" if isinstance(found, Range) else "no byte range"
        raise RefexplorerError(
            f"`{table.key_at(row)}` cannot be divided: it refers to {what}, and a chunk has "
            f"{array.encoded_size:,}; leave {array.path} out."
        )


def _metadata(array: ArrayMeta, factors: tuple[int, ...] | None) -> dict[str, Any]:
    """Return the metadata members of an array that change: to smaller chunks, or to one."""
    if factors is None:
        chunks = list(array.shape)
    else:
        chunks = [step // factor for step, factor in zip(array.chunks, factors, strict=True)]
    if array.zarr_format == 3:
        found: dict[str, Any] = {"chunk_grid": regular_grid(chunks)}
        if factors is None:
            found["codecs"] = [{"name": "bytes", "configuration": {"endian": "little"}}]
        return found
    found = {"chunks": chunks}
    if factors is None:
        found |= {"compressor": None, "filters": None, "order": "C"}
    return found


def _texts(
    table: Table, arrays: Mapping[str, ArrayMeta], changed: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield the changed metadata keys with their texts, including consolidated metadata."""
    by_key = {arrays[path].metadata_key: members for path, members in changed.items()}
    changes = {key: json.loads(table.text(key) or "{}") | by_key[key] for key in by_key}
    for key in table.metadata:
        if key in changes:
            yield key, json_text(changes[key])
        elif key.rpartition("/")[2] in (".zmetadata", "zarr.json") and (
            new := update_consolidated(key, table.text(key) or "null", changes)
        ):
            yield key, new


def update_consolidated(
    key: str,
    text: str,
    changes: Mapping[str, Mapping[str, Any]],
    own: Mapping[str, Mapping[str, Any]] | None = None,
    compared: Collection[str] = (),
) -> str | None:
    """Return consolidated metadata with changes; None if not affected."""
    document = json.loads(text)
    if not isinstance(document, dict):
        return None
    inside = document.get("consolidated_metadata") or document
    metadata = inside.get("metadata") if isinstance(inside, dict) else None
    if not isinstance(metadata, dict):
        return None
    was, start, own = dict(metadata), prefix(key.rpartition("/")[0]), own or {}
    end = "" if inside is document else "/zarr.json"

    def is_compared(each: str) -> bool:
        return each.rpartition("/")[0] in compared

    for name in was if own else ():
        each = f"{start}{name}{end}"
        if each not in own and is_compared(each):
            del metadata[name]
    for each, value in {**own, **changes}.items():
        name = each.removeprefix(start).removesuffix(end)
        is_listed = name in metadata
        if not each.startswith(start):
            continue
        if is_listed if each in changes else not is_listed or is_compared(each):
            metadata[name] = value
    return None if metadata == was else json.dumps(document)
