"""The keys of gen items against the grids of their arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from refexplorer.markup import counted
from refexplorer.refset.chunks.generated_counts import count_by_arithmetic
from refexplorer.refset.columns.chunk_names import chunk_indices
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.generated_columns import generated_tables
from refexplorer.refset.segments.listing import EVALUATED_KEYS
from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.core.references import Range
from refexplorer.spec.core.zarr_metadata import ArrayMeta


class _Outside(NamedTuple):
    """How many keys lie outside the grid of an array, and one of them."""

    array: ArrayMeta
    keys: int
    key: str


def lint_generated(opened: OpenedSet, findings: Findings) -> None:
    """Note the gen items that generate chunks which no reader requests."""
    for segment in opened.segments:
        if isinstance(segment, Generated):
            arrays = _arrays_of(opened, segment)
            for found in _outside(segment, arrays):
                _note(segment, found, findings)
            _lint_length(segment, arrays, findings)


def _arrays_of(opened: OpenedSet, segment: Generated) -> list[ArrayMeta]:
    """Return the arrays that a gen item may generate chunks of."""
    ends = [opened.arrays.of_key(segment.key_at(row)) for row in (0, segment.count - 1)]
    folder = opened.tree.folder(segment.folder)
    below = [] if folder is None else opened.arrays.below(folder)
    return list({each.path: each for each in [*below, *(end[0] for end in ends if end)]}.values())


def _outside(segment: Generated, arrays: list[ArrayMeta]) -> Iterator[_Outside]:
    for array in arrays:
        if not array.shape:
            continue
        inside = count_by_arithmetic(segment, array) if len(arrays) == 1 else None
        if inside == segment.count:
            continue
        if segment.count <= EVALUATED_KEYS:
            found = _evaluated(segment, array)
        else:
            found = None if inside is None else _last(segment, array, segment.count - inside)
        if found is not None:
            yield found


def _lint_length(segment: Generated, arrays: list[ArrayMeta], findings: Findings) -> None:
    """Note a length that no uncompressed chunk has; the first and the last are looked at."""
    length, sizes = segment.item.length, {array.encoded_size for array in arrays}
    if length is None or len(sizes) != 1 or None in sizes:
        return
    (size,) = sizes
    for row in (0, segment.count - 1):
        key, reference = segment.key_at(row), segment.reference_at(row)
        if isinstance(reference, Range) and reference.length != size:
            findings.add(
                "chunk-length" if reference.length else "empty-chunk",
                pointer("gen", segment.item.number, "length"),
                f"{segment.origin} gives `{key}` {counted(reference.length, 'byte')}, but a chunk "
                f"of `{arrays[0].path}`, which is not compressed, takes {size:,}.",
                "Check `length`, and shape, chunks and data type of the array.",
                key=key,
                count=segment.count if length.literal else 1,
            )
            return


def _evaluated(segment: Generated, array: ArrayMeta) -> _Outside | None:
    count, key = 0, ""
    start = array.folder + array.prefix
    for table in generated_tables(segment):
        rows = np.arange(table.count)
        found, indices = chunk_indices(table.keys, rows, start, array.separator, len(array.shape))
        outside = found[~array.inside(indices)]
        if len(outside) and not count:
            key = table.key_at(int(outside[0]))
        count += len(outside)
    return _Outside(array, count, key) if count else None


def _last(segment: Generated, array: ArrayMeta, keys: int) -> _Outside | None:
    """Show the last key of many, which is the likeliest to be outside; None if it is not."""
    key = segment.key_at(segment.count - 1)
    index = array.chunk_index(key)
    return None if index is None or array.contains(index) else _Outside(array, keys, key)


def _note(segment: Generated, found: _Outside, findings: Findings) -> None:
    grid = " x ".join(f"{size:,}" for size in found.array.grid)
    findings.add(
        "chunk-outside-grid",
        pointer("gen", segment.item.number),
        f"{segment.origin} generates {found.keys:,} of its {segment.count:,} keys outside the "
        f"{grid} chunk grid of `{found.array.path}`, such as `{found.key}`; no reader requests "
        "them.",
        "Check the dimensions: `stop` itself is not among the values.",
        key=found.key,
        count=found.keys,
    )
