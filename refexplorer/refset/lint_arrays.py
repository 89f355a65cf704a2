"""The lint of arrays: metadata, impossible chunk lengths, exchanged ranges."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pyarrow.compute as pc

from refexplorer.core.text import counted, escape
from refexplorer.formats.columns.chunk_names import chunk_indices, in_blocks
from refexplorer.formats.columns.references import (
    LARGEST,
    RANGE,
    URL,
    Columns,
    flags_of,
    numbers_of,
    text_column,
)
from refexplorer.formats.columns.table import Table
from refexplorer.refset.arrays import count_by_arithmetic
from refexplorer.refset.generated import EVALUATED_KEYS, Generated, generated_keys, generated_tables
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.segments import Segment
from refexplorer.refset.tree import Folder
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.lint import (
    METADATA_IN_TARGET,
    ODD_KEY,
    KeyFindings,
    LintFinding,
    lint_chunk,
    lint_key,
    lint_links,
    lint_nodes,
)
from refexplorer.spec.lint_metadata import (
    is_refused,
    lint_attributes,
    lint_ignored_fill_value,
    lint_metadata_text,
    named_arrays,
)
from refexplorer.spec.references import Range, Url, folders_above, prefix
from refexplorer.spec.zarr_metadata import METADATA_NAMES, ArrayMeta, is_metadata, parse_metadata

_Outside = tuple[int, str]  # How many keys are outside the grid of an array, and one of them


def lint_generated(opened: OpenedSet, findings: Findings) -> None:
    """Report gen items that generate chunks that no reader requests."""
    for segment in opened.segments:
        if isinstance(segment, Generated):
            arrays = _arrays_of(opened, segment)
            for array in arrays:
                if array.shape and (found := _outside(segment, array, len(arrays) == 1)):
                    _note(segment, array, *found, findings)
            _lint_length(segment, arrays, findings)
            _lint_keys(opened, segment, findings)


def _arrays_of(opened: OpenedSet, segment: Generated) -> list[ArrayMeta]:
    """Return the arrays of which a gen item may generate chunks."""
    ends = [opened.arrays.of_key(segment.key_at(row)) for row in (0, segment.count - 1)]
    folder = opened.tree.folder(segment.folder)
    below = [] if folder is None else opened.arrays.below(folder)
    return list({each.path: each for each in [*below, *(end[0] for end in ends if end)]}.values())


def _outside(segment: Generated, array: ArrayMeta, is_alone: bool) -> _Outside | None:
    """Return what is outside; of very many keys the last one is the likeliest to be."""
    inside = count_by_arithmetic(segment, array) if is_alone else None
    if inside == segment.count:
        return None
    if segment.count <= EVALUATED_KEYS:
        return _evaluated(segment, array)
    key = segment.key_at(segment.count - 1)
    index = array.chunk_index(key)
    is_outside = inside is not None and index is not None and not array.contains(index)
    return (segment.count - (inside or 0), key) if is_outside else None


def _lint_length(segment: Generated, arrays: list[ArrayMeta], findings: Findings) -> None:
    """Report a length that no uncompressed chunk has; only the first and last are checked."""
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


def _lint_keys(opened: OpenedSet, segment: Generated, findings: Findings) -> None:
    """Check generated keys like written ones; of similar ones, the first and the last."""
    counts: dict[LintFinding, list[Any]] = {}
    # all keys have the same folder, and numbers after the last slash
    is_flat = segment.item.inverter is not None
    is_flat = is_flat and segment.key_at(0).rpartition("/")[0] == segment.folder
    are_alike = is_flat or segment.count > EVALUATED_KEYS
    ends = [segment.key_at(row) for row in sorted({0, segment.count - 1})]
    for keys in [text_column(ends)] if are_alike else generated_keys(segment):
        odd = flags_of(pc.match_substring_regex(keys, ODD_KEY))
        for row in np.flatnonzero(odd)[:1].tolist():  # those of one template are odd alike
            key = keys[row].as_py()
            for found in lint_key(key, 1):
                counts.setdefault(found, [key, 0])[1] += int(odd.sum())
        is_chunk = flags_of(pc.match_substring_regex(keys, _CHUNK_LIKE))
        folders = pc.replace_substring_regex(keys, "/?[^/]*$", "").dictionary_encode()
        names, of_rows = folders.dictionary.to_pylist(), numbers_of(folders.indices)
        for number, name in enumerate(names):
            rows = np.flatnonzero(is_chunk & (of_rows == number)) if len(names) < _FEW else ()
            for row in rows[:1]:
                key = keys[int(row)].as_py()
                if (remark := _misplaced(opened, name, key)) is not None:
                    counts.setdefault(remark, [key, 0])[1] += len(rows)
    at = pointer("gen", segment.item.number, "key")
    for (code, message, hint), (key, count) in counts.items():
        is_error = code == "orphan-chunk" and _is_zarr(opened)
        if are_alike and count == len(ends):
            count = segment.count
        findings.add(code, at, message, hint, key=key, count=count, is_error=is_error)


_FEW = 1_000  # Folders of generated keys that are looked at one by one


def _misplaced(opened: OpenedSet, folder: str, key: str) -> LintFinding | None:
    """Return why a key that looks like a chunk belongs to no array."""
    for path in folders_above(key):
        if (array := opened.arrays.get(path)) is not None:
            index = array.chunk_index(key)
            has_rank = index is None or len(index) == len(array.shape)
            return None if index is None or has_rank else lint_chunk(array, key, index)
    where = f"`{folder}`" if folder else "the root"
    return _orphan(key, where)


def _orphan(key: str, where: str) -> LintFinding:
    return LintFinding(
        "orphan-chunk",
        f"`{key}` looks like a chunk, but there is no array metadata at {where}.",
        "Without .zarray or zarr.json no reader finds the array.",
    )


def _evaluated(segment: Generated, array: ArrayMeta) -> _Outside | None:
    count, key = 0, ""
    for table in generated_tables(segment):
        found, indices = chunk_indices(array, table.keys)
        outside = found[~array.inside(indices)]
        if len(outside) and not count:
            key = table.key_at(int(outside[0]))
        count += len(outside)
    return (count, key) if count else None


def _note(segment: Generated, array: ArrayMeta, count: int, key: str, findings: Findings) -> None:
    grid = " x ".join(f"{size:,}" for size in array.grid)
    message = (
        f"{segment.origin} generates {count:,} of its {segment.count:,} keys outside the {grid} "
        f"chunk grid of {array.path_text()}, such as `{key}`; no reader requests them."
    )
    hint = "Check the dimensions: `stop` itself is not among the values."
    at = pointer("gen", segment.item.number)
    findings.add("chunk-outside-grid", at, message, hint, key=key, count=count)


_CHUNK_LIKE = r"(?:^|/)(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))*$"


def lint_arrays(opened: OpenedSet, notes: KeyFindings) -> None:
    """Report odd chunks of every array, and chunks without an array."""
    for array in opened.arrays:
        _lint_chunks(opened, array, notes)
    _lint_orphans(opened, notes)


def _lint_chunks(opened: OpenedSet, array: ArrayMeta, notes: KeyFindings) -> None:
    if opened.arrays.is_tidy(array):
        return
    rows, indices = opened.arrays.chunk_rows(array)
    outside = ~array.inside(indices)
    folder = opened.tree.folder(array.path)
    direct = rows[:0] if folder is None else opened.tree.rows_in(folder)
    others = np.setdiff1d(direct, rows, assume_unique=True).tolist()
    for row in [*rows[outside].tolist(), *others]:
        key = opened.table.key_at(row)
        index = array.chunk_index(key)
        right = "" if array.shape else array.chunk_key(())
        if right and key == array.folder and opened.lookup(right) is None:
            # as VirtualiZarr 2.5 writes the chunk of a scalar
            text = f"`{key}` is no chunk key: readers request `{right}`, and find no value."
            notes.add("chunk-wrong-rank", key, text, f"Rename it to `{right}`.", is_error=True)
        remark = None if index is None else lint_chunk(array, key, index)
        if remark is not None:
            notes.add_all(key, [remark])


def _array_metadata(table: Table, key: str) -> Iterator[str]:
    """Yield the metadata keys of arrays in the folders above a key."""
    for path in folders_above(key):
        for name in (prefix(path) + name for name in (".zarray", "zarr.json")):
            if table.find(name) is None:
                continue
            document = parse_metadata(table.text(name) or "{}") or {}
            if document.get("node_type") != "group":
                yield name


def _lint_orphans(opened: OpenedSet, notes: KeyFindings) -> None:
    """Report folders with chunk-like keys where there is no array."""
    table, folders = opened.table, _outside_arrays(opened)
    rows_of = [opened.tree.rows_in(folder) for folder in folders]
    paths = {normalize("NFC", path) for path in opened.arrays.paths if not path.isascii()}
    chunk_like = _chunk_like(table, np.concatenate([np.empty(0, np.int64), *rows_of]))
    for folder, every in zip(folders, rows_of, strict=True):
        rows = every[chunk_like[every]]
        if not len(rows):
            continue
        key = table.key_at(int(rows[0]))
        where = f"`{folder.path}`" if folder.path else "the root"
        unread = next(_array_metadata(table, key), None)
        remark = _orphan(key, where)
        if not folder.path.isascii() and normalize("NFC", folder.path) in paths:
            text = f"`{key}` is no chunk of the array whose name looks the same: Unicode has two "
            text += "forms of it, composed (NFC) and decomposed (NFD)."
            remark = LintFinding("orphan-chunk", text, "Write both in the same form.")
        if unread is not None:
            text = f"`{key}` looks like a chunk, but the metadata `{unread}` cannot be used."
            remark = LintFinding("orphan-chunk", text, "Correct the metadata first.")
        lost = unread is not None or _is_zarr(opened)
        code, message, hint = remark
        notes.add(code, key, message, hint, count=len(rows), is_error=lost)


def _is_zarr(opened: OpenedSet) -> bool:
    """Return whether a set has any Zarr metadata; if not, chunk-like keys may be files."""
    roots = (".zgroup", ".zmetadata", "zarr.json")
    return bool(opened.arrays.paths) or any(opened.table.find(name) is not None for name in roots)


def _outside_arrays(opened: OpenedSet) -> list[Folder]:
    """Return the folders that are not arrays and not inside one."""
    outside: dict[int, Folder] = {}
    for folder in opened.tree.folders:
        is_free = folder.parent is None or folder.parent.number in outside
        if is_free and opened.arrays.get(folder.path) is None:
            outside[folder.number] = folder
    return list(outside.values())


def _chunk_like(table: Table, rows: np.ndarray) -> np.ndarray:
    """Return which of some keys look like chunks, shape ``(n,)`` bool for all keys."""
    found = np.zeros(table.count, np.bool_)
    for start, keys in in_blocks(table.keys, rows):
        found[rows[start : start + len(keys)]] = flags_of(
            pc.match_substring_regex(keys, _CHUNK_LIKE)
        )
    return found


class StoredChunks(NamedTuple):
    """The references of one array that are not generated."""

    array: ArrayMeta  # Whose chunks they are
    part: Segment  # The segment that contains them
    columns: Columns  # All references of that segment
    # Which of them, shape ``(n,)``, in no order: all that are below the array and no metadata, so
    # that some keys may be no chunk
    rows: np.ndarray

    def numbers(self, opened: OpenedSet) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are chunks of the grid, and their numbers in it, both ``(n,)``."""
        if isinstance(self.part, Records):
            return self.rows, self.part.chunk_numbers(self.rows)
        rows, indices = opened.arrays.chunk_rows(self.array)
        inside = self.array.inside(indices)
        rows, indices = rows[inside], indices[inside]
        if not self.array.shape:
            return rows, np.zeros(len(rows), np.int64)
        if self.array.chunk_count <= LARGEST:
            return rows, np.ravel_multi_index(tuple(indices.T), self.array.narrow_grid)
        order = np.lexsort(indices.T[::-1])  # the numbers are too large, their order is not
        return rows[order], np.arange(len(order))


def _stored_chunks(opened: OpenedSet, part: Segment, columns: Columns) -> Iterator[StoredChunks]:
    """Yield the references of every array in a segment."""
    table = opened.table
    if isinstance(part, Records):
        yield StoredChunks(part.array, part, columns, np.arange(len(columns)))
        return
    for array in opened.arrays:
        folder = opened.tree.folder(array.path)
        assert folder is not None
        rows = opened.tree.rows_below(folder)
        own = [table.metadata.get(array.folder + name) for name in METADATA_NAMES]
        rows = rows[~np.isin(rows, [row for row in own if row is not None])]
        if len(rows):
            yield StoredChunks(array, table, columns, rows)


_FEWEST = 6  # Chunks from which on their order in the file is plain
_SORTED_URLS = 100_000  # Targets of a set up to which their names are put in order
_EXCHANGES = 2
"""Positions where the order breaks if two chunks were exchanged: one if they are neighbours."""


def lint_chunks(opened: OpenedSet, part: Segment, columns: Columns, notes: KeyFindings) -> None:
    """Report chunks of impossible length, and exchanged ranges."""
    ranks = _ranks(columns)
    for chunks in _stored_chunks(opened, part, columns):
        _lint_lengths(opened, chunks, notes)
        _lint_order(opened, chunks, ranks, notes)


def _lint_lengths(opened: OpenedSet, chunks: StoredChunks, notes: KeyFindings) -> None:
    kinds, lengths = chunks.columns.kinds[chunks.rows], chunks.columns.lengths[chunks.rows]
    array, size = chunks.array, chunks.array.encoded_size
    is_empty = (kinds != URL) & (lengths == 0)
    is_odd = (kinds != URL) & ~is_empty
    if array.varying is None:
        is_odd &= lengths != size if size is not None else False
    else:
        is_odd &= np.isin(chunks.rows, _odd_rows(opened, chunks))
    if not (is_empty.any() or is_odd.any()):
        return
    of_grid, _ = chunks.numbers(opened)
    for rows, code in (
        (chunks.rows[is_empty], "empty-chunk"),
        (chunks.rows[is_odd], "chunk-length"),
    ):
        rows = np.intersect1d(rows, of_grid)
        if not len(rows):
            continue
        key = chunks.part.key_at(int(rows[0]))
        length = int(chunks.columns.lengths[rows[0]])
        more = f" {len(rows):,} chunks of {array.path_text()} are like it." if len(rows) > 1 else ""
        chunk = array.chunk_array(array.chunk_index(key) or ())
        if code == "empty-chunk":
            message = f"`{key}` has a length of 0 bytes, which decode to no chunk.{more}"
            hint = "Leave the key out if the chunk has no data: then it reads as the fill value."
        else:
            shape = " x ".join(map(str, chunk.chunks)) or "1"
            message = (
                f"`{key}` has {counted(length, 'byte')}, but a chunk of {array.path_text()}, "
                f"which is not compressed, takes {chunk.encoded_size:,}: "
                f"{shape} elements of {array.dtype}.{more}"
            )
            hint = "Check the length, and shape, chunks and data type of the array."
        notes.add(code, key, message, hint, count=len(rows))


def _odd_rows(opened: OpenedSet, chunks: StoredChunks) -> np.ndarray:
    """Return the rows whose length differs from their chunk's, if chunks vary in size."""
    array = chunks.array
    rows, numbers = chunks.numbers(opened)
    if array.chunk_count > LARGEST or not array.shape:
        return rows[:0]
    indices = np.stack(np.unravel_index(numbers, array.narrow_grid), axis=1)
    sizes = array.encoded_sizes(indices)
    return rows[:0] if sizes is None else rows[chunks.columns.lengths[rows] != sizes]


def _ranks(columns: Columns) -> np.ndarray:
    """Return the sort rank of each URL, shape ``(urls,)``; unsorted if there are many."""
    count = len(columns.urls)
    ranks = np.arange(count)
    if count <= _SORTED_URLS:
        urls = text_column([url or "" for url in columns.urls.at(np.arange(count))])
        ranks[numbers_of(pc.array_sort_indices(urls)).astype(np.int64)] = np.arange(count)
    return ranks


def _lint_order(
    opened: OpenedSet, chunks: StoredChunks, ranks: np.ndarray, notes: KeyFindings
) -> None:
    """Report two chunks that break the order of all others, but would not if exchanged."""
    columns = chunks.columns
    ranges = chunks.rows[columns.kinds[chunks.rows] == RANGE]
    files = ranks[columns.targets[ranges]]
    if len(ranges) < _FEWEST or not len(_falls(files, columns.offsets[ranges])):
        return  # the keys are written in order, and so nothing has to be read out of them
    rows, numbers = chunks.numbers(opened)
    is_range = columns.kinds[rows] == RANGE
    rows, numbers = rows[is_range], numbers[is_range]
    if np.any(numbers[1:] < numbers[:-1]):
        rows = rows[np.argsort(numbers, kind="stable")]
    found = _exchanged(ranks[columns.targets[rows]], columns, rows)
    if found is None and len(np.unique(columns.targets[rows])) > 1:
        # file names may have no order, so each file is checked separately
        rows = rows[np.argsort(columns.targets[rows], kind="stable")]
        found = _exchanged(columns.targets[rows], columns, rows)
    if found is None:
        return
    one, other = (chunks.part.key_at(int(rows[place])) for place in found)
    message = (
        f"`{one}` and `{other}` seem to have each other's references: {len(rows) - 2:,} other "
        f"chunks of `{chunks.array.path}` follow each other in their files, these two do not."
    )
    notes.add("swapped-ranges", one, message, "Rebuild the references from the files.")


def _exchanged(files: np.ndarray, columns: Columns, rows: np.ndarray) -> tuple[int, int] | None:
    """Return the two positions to exchange for everything to be in order, or None."""
    falls = _falls(files, columns.offsets[rows])
    if len(rows) < _FEWEST or not 1 <= len(falls) <= _EXCHANGES:
        return None
    first, second = int(falls[0]), int(falls[-1]) + 1
    counts = np.unique(files, return_counts=True)[1]
    if files[first] != files[second] and counts.min() < counts.max():
        return None  # one chunk in a separate file: a lost file rather than an exchange
    near = {place + step for place in (first, second) for step in (-1, 0, 1)}
    places = [place for place in sorted(near) if 0 <= place < len(rows)]
    taken = {place: place for place in places} | {first: second, second: first}
    in_order = all(
        _is_before(files, columns, rows, taken[place], taken[place + 1])
        for place in places
        if place + 1 in taken
    )
    return (first, second) if in_order else None


def _is_before(files: np.ndarray, columns: Columns, rows: np.ndarray, one: int, other: int) -> bool:
    """Return whether a row's range ends where another starts, or is in an earlier file."""
    if files[one] != files[other]:
        return bool(files[one] < files[other])
    end = int(columns.offsets[rows[one]]) + int(columns.lengths[rows[one]])
    return end == int(columns.offsets[rows[other]])


def _falls(files: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the positions whose range does not precede the next one, shape ``(m,)``."""
    is_later = (files[1:] == files[:-1]) & (offsets[1:] <= offsets[:-1])
    return np.flatnonzero(is_later | (files[1:] < files[:-1]))


_CONSOLIDATED = ".zmetadata"


def lint_metadata(opened: OpenedSet, notes: KeyFindings) -> None:
    """Report metadata that no reader opens, and copies that differ."""
    table = opened.table
    _lint_nodes(table, notes)
    _lint_texts(opened, notes)
    _lint_links(table, notes)
    for array in opened.arrays:
        _lint_attributes(opened, array, notes)
    _lint_dimensions(opened, notes)
    for key in table.metadata:
        _lint_copies(table, key, notes)


def attributes_of(table: Table, array: ArrayMeta) -> Mapping[str, object]:
    """Return all attributes of an array, including those that define its decoding."""
    if array.zarr_format == 3:
        return array.attributes
    return _object_at(table, array.folder + ".zattrs") or {}


def _lint_nodes(table: Table, notes: KeyFindings) -> None:
    for key, found in lint_nodes(table.metadata):
        notes.add_all(key, [found])
    for key, row in table.metadata.items():
        if isinstance(table.reference_at(row), Url | Range):
            notes.add("metadata-elsewhere", key, METADATA_IN_TARGET)


def _lint_texts(opened: OpenedSet, notes: KeyFindings) -> None:
    table, is_zarr = opened.table, _is_zarr(opened)
    good: set[tuple[str, str]] = set()  # many arrays have the same
    for key in table.metadata:
        text, (folder, _, name) = table.text(key), key.rpartition("/")
        if text is None or (name, text) in good:
            continue
        remarks = list(lint_metadata_text(key, text))
        if not remarks:
            good.add((name, text))
        for remark in remarks:
            is_lost = remark.code == "bad-chunks" and opened.arrays.get(folder) is None
            is_error = is_zarr and (is_lost or is_refused(remark.code, text))
            notes.add_all(key, [remark], is_error=is_error)


def _lint_links(table: Table, notes: KeyFindings) -> None:
    for key in table.metadata:
        text, (folder, _, name) = table.text(key), key.rpartition("/")
        if text is None or "_LINK" not in text or name == _CONSOLIDATED:
            continue
        found = _object_at(table, key) or {}
        attributes = found if name == ".zattrs" else found.get("attributes")
        if isinstance(attributes, Mapping):
            notes.add_all(key, lint_links(folder, attributes))


def _lint_attributes(opened: OpenedSet, array: ArrayMeta, notes: KeyFindings) -> None:
    attributes, key = attributes_of(opened.table, array), array.folder + ".zattrs"
    if array.zarr_format == 3 or opened.table.find(key) is None:
        key = array.metadata_key
    notes.add_all(key, lint_attributes(array, attributes))
    if (ignored := lint_ignored_fill_value(array, attributes)) is not None:
        notes.add_all(key, [ignored])
    folders = [prefix(folder) for folder in folders_above(array.path)]
    lacking = [
        f"`{escape(name, 100)}` ({attribute})"
        for attribute, name in named_arrays(attributes)
        if not any(
            opened.arrays.get(posixpath.normpath(posixpath.join(f"/{folder}", name)).strip("/"))
            for folder in folders
        )
    ]
    if lacking:
        more = f" and {len(lacking) - _SHOWN:,} more" if len(lacking) > _SHOWN else ""
        names = f"{', '.join(lacking[:_SHOWN])}{more}"
        message = f"{array.path_text(True)} names {names}, but the set has no "
        notes.add("names-nothing", key, f"{message}such array{'s' * (len(lacking) > 1)}.")


_SHOWN = 5  # names in one message


def _lint_dimensions(opened: OpenedSet, notes: KeyFindings) -> None:
    """Report dimensions that have more than one length in a group."""
    lengths: dict[tuple[str, str], tuple[int, str]] = {}
    for array in opened.arrays:
        path, group = array.path, array.path.rpartition("/")[0]
        for name, length in zip(array.dimensions or (), array.shape, strict=False):
            before, other = lengths.setdefault((group, name), (length, path))
            if before != length:
                message = (
                    f"The dimension {name!r} has a length of {length:,} in `{path}`, but of "
                    f"{before:,} in `{other}`; xarray opens no group with both."
                )
                hint = "Give one of them another name, or open without it (`drop_variables`)."
                notes.add("dimension-sizes-differ", array.metadata_key, message, hint)


def _lint_copies(table: Table, key: str, notes: KeyFindings) -> None:
    """Report differences between consolidated metadata and the keys they copy."""
    folder, _, name = key.rpartition("/")
    if name not in (_CONSOLIDATED, "zarr.json"):
        return
    document = _object_at(table, key) or {}
    copies = dict(_copies(document, name, prefix(folder)))
    odd = [one for one, copy in copies.items() if _canonical(_object_at(table, one)) != copy]
    if copies:
        is_below = (one for one in table.metadata if one.startswith(prefix(folder)))
        odd += [one for one in is_below if one not in copies and not _is_copy(one, key)]
    if not odd:
        return
    first, own = odd[0], {prefix(folder) + name for name in (".zgroup", ".zattrs")}
    pairs = ((one, _refused(one, copies[one])) for one in odd if one in copies and one not in own)
    if lost := next((pair for pair in pairs if pair[1]), None):
        message = (
            f"Zarr and xarray cannot open the set because of `{lost[0]}` in `{key}`: {lost[1]}"
        )
        notes.add("metadata-copies-differ", key, message, _AGAIN, count=len(odd), is_error=True)
        return
    if table.find(first) is None:
        message = f"has `{first}`, which is not a key of the set"
    elif first not in copies:
        message = f"lacks `{first}`"
    else:
        message = f"differs from `{first}`"
    more = f", and {counted(len(odd) - 1, 'more key')} too" if len(odd) > 1 else ""
    message = f"`{key}` {message}{more}: readers of consolidated metadata see another set."
    array = first.rpartition("/")[0]
    notes.add("metadata-copies-differ", key, message, _AGAIN, array=array, count=len(odd))


_AGAIN = "Consolidate the metadata again, or open with `consolidated=False`."


def _refused(key: str, text: str) -> str:
    """Return why Zarr rejects consolidated metadata because of one copy in it."""
    if not is_metadata(key):
        return "It is not a metadata key."
    found = lint_metadata_text(key, text)
    return next((each.message for each in found if is_refused(each.code, text)), "")


def _copies(document: Mapping[str, object], name: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the keys that have a copy in consolidated metadata, and the copy."""
    within = document if name == _CONSOLIDATED else document.get("consolidated_metadata")
    copies = within.get("metadata") if isinstance(within, Mapping) else None
    for path, copy in copies.items() if isinstance(copies, Mapping) else ():
        key = f"{folder}{path}" if name == _CONSOLIDATED else f"{folder}{prefix(path)}zarr.json"
        yield key, _canonical(copy)


def _is_copy(key: str, other: str) -> bool:
    """Return whether a key is consolidated metadata itself, or of another Zarr version."""
    name = key.rpartition("/")[2]
    return (
        name == _CONSOLIDATED
        or (name == "zarr.json") != (other.endswith("zarr.json"))
        or (key == other)
    )


def _canonical(value: object) -> str:
    """Write metadata so that equal metadata become equal text, without copies of copies."""
    if isinstance(value, Mapping):
        value = {name: one for name, one in value.items() if name != "consolidated_metadata"}
    return json.dumps(value, sort_keys=True)


def _object_at(table: Table, key: str) -> Mapping[str, object] | None:
    text = table.text(key)
    return None if text is None else parse_metadata(text)
