"""Chunks without a reference: some of an array, all of it, or all arrays at the same position.

They read as the fill value, so that a lost file looks like missing data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from refexplorer.core.text import counted
from refexplorer.formats.columns.table import Table
from refexplorer.refset.chunk_grid import ChunkColumns, ChunkReferences, chunk_counts
from refexplorer.refset.lint_arrays import attributes_of
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import ParquetRecords
from refexplorer.spec.findings import pointer
from refexplorer.spec.lint import KeyFindings
from refexplorer.spec.references import folders_above, prefix
from refexplorer.spec.zarr_metadata import ArrayMeta, is_metadata, parse_metadata

_ELEMENTS = 10_000_000  # places of a joined axis that are looked at, one byte each
_CHUNKS = 2_000_000
"""Limits on an axis, and the arrays along it, for searching positions that no array has."""

_STRAY, _DIGIT = 1_000, re.compile(r"[0-9]")


class _Along(NamedTuple):
    """One dimension of an array."""

    array: ArrayMeta
    place: int

    @property
    def chunks(self) -> int:
        """The number of chunks along the dimension."""
        return self.array.grid[self.place]

    def key_at(self, element: int) -> str:
        """Return the key of the first chunk at an element of the dimension."""
        index = [0] * len(self.array.shape)
        index[self.place] = self.array.axes[self.place].number_at(element)
        return self.array.chunk_key(index)

    def present(self, chunks: ChunkReferences) -> np.ndarray:
        """Return for each element of the axis whether any chunk there is in the source."""
        flags, axis = np.zeros(self.chunks, np.bool_), self.array.axes[self.place]
        for known in (chunks.chunks, chunks.left_out):
            flags[known.indices[:, self.place].astype(np.int64)] = True
        starts = axis.starts_of(np.arange(len(flags)))
        return np.repeat(flags, np.diff(starts, append=axis.extent))


def lint_absent(opened: OpenedSet, notes: KeyFindings) -> None:
    """Report chunks without a reference, arrays without any, and positions that no array has."""
    missing = _missing(opened)
    for path, count in missing.items():
        array = opened.arrays.get(path)
        assert array is not None
        if not _is_container(opened, array, count):
            _lint_array(opened, array, count, notes)
    _lint_places(opened, missing, notes)
    for part in opened.segments:
        if isinstance(part, ParquetRecords):
            _lint_files(part, notes)


def _lint_files(records: ParquetRecords, notes: KeyFindings) -> None:
    """Report missing record files."""
    store, array = records.store, records.array
    for first, last, is_lost in records.missing_files():
        names = [f"`{store.record_file(array, number)}`" for number in dict.fromkeys((first, last))]
        files = f"file {names[0]} is" if len(names) == 1 else f"files {' to '.join(names)} are"
        start, end = first * store.record_size, (last + 1) * store.record_size
        end = min(end, array.chunk_count) - 1
        message = f"The record {files} missing: chunks {start:,} to {end:,} of `{array.path}` read "
        message += "as the fill value."
        why = " Those before and after refer to each chunk, so it was probably lost." * is_lost
        code, file = ("parquet-missing-file", "parquet-lost-file")[is_lost], names[0].strip("`")
        count = last - first + 1
        notes.findings.add(code, file, message + why, array=array.path, count=count)


def lint_lost_places(opened: OpenedSet, notes: KeyFindings) -> None:
    """Report positions along a dimension where no array has a reference."""
    _lint_places(opened, _missing(opened), notes)


def _missing(opened: OpenedSet) -> dict[str, int | None]:
    """Return the number of chunks without a reference for each array."""
    opened.arrays.count(opened.arrays)
    return {array.path: chunk_counts(opened, array).absent for array in opened.arrays}


def _lint_places(opened: OpenedSet, missing: dict[str, int | None], notes: KeyFindings) -> None:
    if any(missing.values()):
        for name, axes in _joined(opened).items():
            _lint_axis(opened, name[1], axes, missing, notes)


def _is_container(opened: OpenedSet, array: ArrayMeta, missing: int | None) -> bool:
    """Return whether an array without chunks only carries attributes, like grid mappings."""
    if missing != array.chunk_count:
        return False
    is_scalar = not array.shape and not _is_text(array)
    return is_scalar or "grid_mapping_name" in attributes_of(opened.table, array)


def _is_text(array: ArrayMeta) -> bool:
    return array.dtype in ("|O", "string")


def _stray(opened: OpenedSet, array: ArrayMeta) -> str:
    """Return a remedy if a key below an array looks like a chunk, but no reader requests it."""
    folder = opened.tree.folder(array.path)
    if folder is None or not array.path:
        return ""
    others = opened.tree.rows_below(folder)
    if opened.arrays.is_tidy(array):
        others = others[:0]
    others = np.setdiff1d(others, opened.arrays.chunk_rows(array)[0])[:_STRAY].tolist()
    generated = (part.key_at(0) for part in opened.tree.segments_below(folder) if part.count)
    for key in (*map(opened.table.key_at, others), *generated):
        is_chunk = is_metadata(key) or array.chunk_index(key) is not None
        if not is_chunk and _DIGIT.search(key, len(array.folder)):
            right = array.chunk_key([0] * len(array.shape))
            return f"Readers request keys such as `{right}`, but not `{key}`: rename such keys."
    return ""


def _lint_array(
    opened: OpenedSet, array: ArrayMeta, missing: int | None, notes: KeyFindings
) -> None:
    if not missing:
        return
    key = array.metadata_key
    reads = f"Zarr reads the fill value {array.fill_value!r}"
    if array.fill_value is None:
        reads = "as the fill value is null, Zarr reads zeros"
    if missing == array.chunk_count and (prod(array.shape) > 1 or _is_text(array)):
        them = "it" if prod(array.shape) == 1 else "any of them"
        message = (
            f"{array.path_text(True)} has {counted(prod(array.shape), 'value')} and no "
            f"reference to {them}; {reads}."
        )
        hint = _stray(opened, array)
        hint = hint or "If its files have values, create the references to them again."
        notes.add("array-without-references", key, message, hint)
        return
    notes.add(
        "missing-chunks",
        key,
        f"{missing:,} of {counted(array.chunk_count, 'chunk')} of {array.path_text()} "
        f"{'has' if missing == 1 else 'have'} no reference; {reads}.",
        _stray(opened, array),
    )


def _joined(opened: OpenedSet) -> dict[tuple[str, str, int], list[_Along]]:
    """Return the dimensions by folder, name and length, with their arrays."""
    found: dict[tuple[str, str, int], list[_Along]] = {}
    for array in opened.arrays:
        path, folder = array.path, array.path.rpartition("/")[0]
        for place, length in enumerate(array.shape):
            names = array.dimensions or ()
            name = names[place] if place < len(names) else None
            name = name or f"dimension {place} of {path}"
            found.setdefault((folder, name, length), []).append(_Along(array, place))
    return found


def _lint_axis(
    opened: OpenedSet,
    name: str,
    axes: list[_Along],
    missing: dict[str, int | None],
    notes: KeyFindings,
) -> None:
    """Report positions along one dimension where no array has a reference."""
    data = [each for each in axes if each.chunks > 1 and not _is_coordinate(each.array, name)]
    counts = [missing[each.array.path] for each in data]
    length = axes[0].array.shape[axes[0].place]
    coordinate = next((each for each in axes if _is_coordinate(each.array, name)), None)
    if coordinate is not None and missing[coordinate.array.path]:
        _lint_coordinate(opened, coordinate, axes, missing, notes)
    if not data or not all(counts) or length > _ELEMENTS:
        return  # an array without a missing chunk has every place
    if sum(each.array.chunk_count for each in data) > _CHUNKS:
        return
    has, is_joined = np.zeros(length, np.bool_), False
    for each in data:
        chunks = ChunkReferences(opened, each.array)
        if not chunks.complete:
            return
        has |= each.present(chunks)
        is_joined |= _has_files(chunks, chunks.chunks.indices[:, each.place].astype(np.int64))
    if not is_joined or not has.any():
        return
    values = None if coordinate is None else _values_at(opened, coordinate, missing)
    for start, stop in _runs(~has):
        lacks = values is not None and not values[start:stop].any()
        _note_place(notes, data, coordinate, name, (start, stop), lacks)


def _lint_coordinate(
    opened: OpenedSet,
    coordinate: _Along,
    axes: list[_Along],
    missing: dict[str, int | None],
    notes: KeyFindings,
) -> None:
    """Report a coordinate without any reference, if arrays have data."""
    array = coordinate.array
    others = (each.array for each in axes if each.array is not array)
    full = next((a for a in others if missing[a.path] not in (None, a.chunk_count)), None)
    if missing[array.path] != array.chunk_count or array.shape == (1,) or full is None:
        return
    message = (
        f"The coordinate {array.path_text()} has no reference to any of its {array.shape[0]:,} "
        "values"
    )
    message += f", where `{full.path}` has data; `{coordinate.key_at(0)}` reads as the fill value."
    hint = "Add the references to its chunks, or its values inline."
    at = notes.base + pointer(array.metadata_key)
    notes.findings.add(
        "no-references-at", at, message, hint, key=coordinate.key_at(0), is_error=True
    )


def _is_coordinate(array: ArrayMeta, name: str) -> bool:
    return array.dimensions == (name,) and array.path.rpartition("/")[2] == name


def _has_files(chunks: ChunkReferences, along: np.ndarray) -> bool:
    """Return whether references along an axis are to different files, at several offsets each."""
    # In a Zarr store, where each chunk is a separate file, a missing file was never written.
    found: ChunkColumns = chunks.chunks
    if not len(found):
        return False
    if (found.targets < 0).all():
        return True  # all are inline: which files they come from is not known
    pairs = np.unique(np.stack([along, found.targets]), axis=1)
    files = np.unique(pairs[1])
    if len(files) < 2 or _is_store(chunks):
        return False
    counts = np.unique(pairs[0], return_counts=True)[1]
    return len(np.unique(pairs[0])) > 1 and int(counts.max()) < len(files)


def _is_store(chunks: ChunkReferences) -> bool:
    """Return whether targets are named like Zarr chunks."""
    urls = [url for url in chunks.urls[:2] if url]
    index = chunks.chunks.indices[0].tolist()
    names = {chunks.array.separator.join(map(str, index)), ".".join(map(str, index))}
    names.add("/".join(map(str, index)))
    return bool(urls) and any(urls[0].endswith(f"/{name}") for name in names)


def _values_at(
    opened: OpenedSet, axis: _Along, missing: dict[str, int | None]
) -> np.ndarray | None:
    """Return at which elements a coordinate has a reference; None if unknown."""
    count = missing[axis.array.path]
    if count is None:
        return None
    if count == 0:
        return np.ones(axis.array.shape[0], np.bool_)
    chunks = ChunkReferences(opened, axis.array)
    return axis.present(chunks) if chunks.complete else None


def _runs(flags: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield where runs of true flags start and stop."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _note_place(
    notes: KeyFindings,
    data: list[_Along],
    coordinate: _Along | None,
    name: str,
    place: tuple[int, int],
    lacks: bool,
) -> None:
    start, stop = place
    first = data[0].array
    others = f" and {counted(len(data) - 1, 'more array')}" if len(data) > 1 else ""
    where = f"element {start:,}" if stop == start + 1 else f"elements {start:,} to {stop - 1:,}"
    message = f"No array has a reference at {where} along `{name}`: neither `{first.path}`{others}"
    message += f" nor the coordinate `{name}`." if lacks else "."
    if not others and not lacks:
        message = f"`{first.path}` has no reference at {where} along `{name}`."
    along = coordinate if lacks and coordinate is not None else data[0]
    message += f" All values there, such as those of `{along.key_at(start)}`, read as fill values; "
    message += "a whole file may be missing."
    hint = "Add the references to the file again, or create the set without this position."
    at, key = notes.base + pointer(along.array.metadata_key), along.key_at(start)
    notes.findings.add("no-references-at", at, message, hint, key=key, is_error=lacks)


_CONSOLIDATED = ".zmetadata"


def lint_groups(opened: OpenedSet, notes: KeyFindings) -> None:
    """Report groups without metadata: xarray cannot open them, or shows an empty dataset."""
    if (root := opened.arrays.get("")) is not None:
        message = "The root of the set is an array, not a group, so xarray cannot open it."
        hint = "Open it with Zarr: `refs.to_zarr()`, or the code that the set shows."
        notes.add("root-array", root.metadata_key, message, hint)
    table, below = opened.table, dict[str, list[str]]()
    if opened.count == len(table.metadata):
        return  # a set without data, such as a part of one that is being written
    for path in opened.arrays.paths:
        for folder in folders_above(path):
            below.setdefault(folder, []).append(path)
    listed = _consolidated(table)
    for folder, paths in below.items():
        is_group = any(table.find(prefix(folder) + name) is not None for name, _ in _GROUPS)
        if is_group or opened.arrays.get(folder) is not None:
            continue
        if folder and f"{folder}/.zgroup" in listed:
            continue
        array = opened.arrays.get(paths[0])
        is_v3 = array is not None and array.zarr_format == 3
        name, text = _GROUPS[is_v3]
        key = prefix(folder) + name
        arrays = f"`{paths[0]}`"
        if len(paths) > 1:
            arrays += f" and {counted(len(paths) - 1, 'more array')}"
        if folder:
            message = f"`{folder}` is not a group, since `{key}` is missing: xarray does not "
            message += f"find {arrays}."
        else:
            message = f"The set has no root group, since `{key}` is missing: xarray and Zarr "
            message += f"cannot open it, nor {arrays} in it."
        hint = f"Add `{key}` with the value `{text}`."
        # no key: the tree has no row for a missing one
        code = "no-group" if folder else "no-root"
        notes.findings.add(code, notes.base + pointer(key), message, hint)


_GROUPS = (
    (".zgroup", '{"zarr_format": 2}'),
    ("zarr.json", '{"zarr_format": 3, "node_type": "group"}'),
)


def _consolidated(table: Table) -> frozenset[str]:
    """Return the names in the root's consolidated metadata, which xarray reads first."""
    text = table.text(_CONSOLIDATED)
    document = None if text is None else parse_metadata(text)
    names = None if document is None else document.get("metadata")
    return frozenset(names) if isinstance(names, dict) else frozenset()
