"""The planned changes of a set, from the results of verifying it; and the changed set."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from refexplorer.checks.compare.messages import FORM as GRIB
from refexplorer.checks.records import FORBIDDEN, WHOLE
from refexplorer.checks.report import Report
from refexplorer.checks.states import CHUNK_TERMS, FileState, LedgerState, Rank
from refexplorer.core.text import counted
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import RANGE, URL, Columns, UrlColumn
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.io.decode.codecs import is_installed
from refexplorer.refset.segments import concatenated
from refexplorer.refset.writing.rechunking import exchanged, update_consolidated
from refexplorer.spec.codes import Severity
from refexplorer.spec.references import Inline, Range, folders_above, prefix
from refexplorer.spec.zarr_metadata import DIMENSIONS, ArrayMeta, regular_grid
from refexplorer.verbs.repair.law import DECODING, is_replaceable

COPIES = "metadata-copies-differ"
_GROUPS = {"no-root", "no-group"}
_GROUP_TEXTS = {
    ".zgroup": '{"zarr_format": 2}',
    "zarr.json": '{"zarr_format": 3, "node_type": "group"}',
}
_ASTRAY = (LedgerState.WRONG_RANGE, LedgerState.PAST_END, LedgerState.UNREACHABLE)
"""States of references that are dropped if the right file never wrote the chunk."""
_MOST_ASTRAY = 10**6  # references of one array that are dropped; a bound on what a ledger lists
_MOVED = {"held-values", "same-variable"}
"""Causes that mean that a whole file is at the wrong position."""
_NO_CHUNKS = np.empty(0, np.int64)


@dataclass(frozen=True)
class ArrayPatch:
    """The planned changes of one array."""

    # numbers, files, offsets, lengths: New references of chunks, ascending, the files as places in
    # `Patch.urls`; ``(n,)`` int64
    numbers: np.ndarray = field(default_factory=lambda: _NO_CHUNKS)
    files: np.ndarray = field(default_factory=lambda: _NO_CHUNKS)
    offsets: np.ndarray = field(default_factory=lambda: _NO_CHUNKS)
    lengths: np.ndarray = field(default_factory=lambda: _NO_CHUNKS)
    # Chunks that get no reference any more, ``(m,)`` int64
    dropped: np.ndarray = field(default_factory=lambda: _NO_CHUNKS)
    # New values of metadata by cause, and ``"shape"``
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(len(self.numbers) or len(self.dropped) or self.fields)


@dataclass(frozen=True)
class Patch:
    """The planned changes of a set."""

    urls: tuple[str, ...]  # The files that references are made to, as the set names them
    arrays: Mapping[str, ArrayPatch]  # By path
    groups: Mapping[str, str]  # Metadata of groups that have none, by key
    # copies, compared: Keys of consolidated metadata that are to be written again, and the arrays
    # whose metadata are known to be those of their files: copies of others stay as they are
    copies: tuple[str, ...]
    compared: frozenset[str]
    idle: tuple[str, ...]  # Keys that no reader requests, and whose bytes a new reference points to
    reasons: tuple[tuple[str, str], ...]  # By array, why something of it cannot be repaired

    def without(self, paths: Collection[str]) -> Patch:
        """Return the patch without the changes to the given arrays."""
        return replace(self, arrays={p: each for p, each in self.arrays.items() if p not in paths})


def plan(report: Report, table: Table, arrays: Mapping[str, ArrayMeta]) -> Patch:
    """Return the planned changes; the same report gives the same patch."""
    planner = _Planner(report, table, arrays)
    for results in report.tables_as_read():
        for batch in results.to_batches(max_chunksize=1024):
            for row in batch.to_pylist():
                planner.take(row)
    patches = {path: planner.patch(path) for path in arrays}
    keys = [each.key for each in report.findings if each.key and each.code in _GROUPS]
    return Patch(
        tuple(planner.urls),
        {path: each for path, each in patches.items() if each},
        {key: _GROUP_TEXTS[key.rpartition("/")[2]] for key in keys},
        tuple(each.key for each in report.findings if each.key and each.code == COPIES),
        frozenset(_compared(report)),
        tuple(planner.idle(patches)),
        tuple(planner.reasons),
    )


def _compared(report: Report) -> Iterator[str]:
    """Yield the arrays that are identical to their files."""
    errors = (each for each in report.findings if each.severity is Severity.ERROR)
    wrong = {each.array for each in errors if each.code != COPIES}
    for array in report.arrays:
        ranks = {CHUNK_TERMS[state].rank for state in array.states}
        if array.path not in wrong and Rank.GOOD in ranks <= {Rank.GOOD, Rank.ALONE}:
            yield array.path


@dataclass
class _OfArray:
    """The contents of the files for one array."""

    files: set[int] = field(default_factory=set)
    has_unread: bool = False
    is_whole: bool = True
    stops: np.ndarray | None = None
    values: dict[str, Counter[str]] = field(default_factory=dict)
    claims: list[tuple[int, list[int], list[int], list[int]]] = field(default_factory=list)
    regions: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    certain: set[str] = field(default_factory=set)


class _Planner:
    """Collects the rows of a report."""

    def __init__(self, report: Report, table: Table, arrays: Mapping[str, ArrayMeta]) -> None:
        self.urls: dict[str, int] = {}
        self.reasons: dict[tuple[str, str], None] = {}
        self._found, self._table, self._arrays = report, table, arrays
        self._known = {path: _OfArray() for path in arrays}
        self._moved: set[str] = set()
        self._wrong = {each.array for each in report.findings}
        self._moving = {(each.code, each.array) for each in report.findings if each.code in _MOVED}
        self._odd_shapes = {each.array for each in report.findings if each.code == "shape"}

    def take(self, row: Mapping[str, Any]) -> None:
        """Add what one file says about one array."""
        causes = {(each["cause"], row["array"]) for each in row["findings"] or ()}
        if causes & self._moving:
            self._moved.add(row["target"])
        facts = self._known.get(row["array"])
        if facts is None:
            return
        new = row["remade"]
        facts.has_unread |= row["file"] != FileState.READ or row["state"] == FORBIDDEN
        is_compared = row["references"] or (new is not None and new["said"])
        if row["native"] is not None and row["message"] is None and is_compared:
            facts.files.add(row["number"])
        if row["form"] != GRIB and row["start"] is not None and row["shape"] is not None:
            stops = np.array(row["start"], np.int64) + np.array(row["shape"], np.int64)
            facts.stops = stops if facts.stops is None else np.maximum(facts.stops, stops)
        if new is not None:
            self._take_corrected(row, new, facts)

    def _take_corrected(
        self, row: Mapping[str, Any], new: Mapping[str, Any], facts: _OfArray
    ) -> None:
        if new["reason"] is not None and row["array"] in self._wrong:
            self.reasons[row["array"], new["reason"]] = None
        for cause, value in {(each["cause"], each["value"]) for each in new["said"]}:
            facts.values.setdefault(cause, Counter())[value] += 1
        number = self.urls.setdefault(row["target"], len(self.urls))
        if new["chunks"]:
            facts.claims.append((number, new["chunks"], new["offsets"], new["lengths"]))
        if new["start"] is not None:
            start, shape = (np.array(new["start"], np.int64), np.array(new["shape"], np.int64))
            facts.is_whole &= tuple(shape.tolist()) == self._arrays[row["array"]].shape
            facts.regions.append((start, start + shape))
            facts.certain.add(row["target"])

    def patch(self, path: str) -> ArrayPatch:
        """Return the planned changes of an array."""
        meta, facts = self._arrays[path], self._known[path]
        rows = self._claimed(meta, facts)
        dropped = self._dropped(meta, facts, rows[0])
        fields = dict(self._fields(meta, facts))
        if fields.keys() & DECODING:  # what values mean is seen once they can be decoded
            fields = {n: each for n, each in fields.items() if n in DECODING or n == "shape"}
        return ArrayPatch(rows[0], rows[1], rows[2], rows[3], dropped, fields)

    def idle(self, patches: Mapping[str, ArrayPatch]) -> Iterator[str]:
        """Yield the keys of no array whose bytes the new references of the parent array use."""
        if not any(each.code == "orphan-chunk" for each in self._found.findings):
            return
        urls, keys = list(self.urls), self._table.keys
        for path, each in patches.items():
            columns = (each.files.tolist(), each.offsets.tolist(), each.lengths.tolist())
            new = {(urls[file], start, size) for file, start, size in zip(*columns, strict=True)}
            below = pc.starts_with(keys, self._arrays[path].folder).to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(below).tolist() if new else ():
                key, ref = self._table.key_at(row), self._table.reference_at(row)
                is_new = isinstance(ref, Range) and (ref.url, ref.offset, ref.length) in new
                if is_new and self._arrays[path].chunk_index(key) is None:
                    yield key

    def _claimed(self, meta: ArrayMeta, facts: _OfArray) -> np.ndarray:
        """Return the references that files claim and that may be written, ``(4, n)`` int64."""
        # For a chunk claimed by several files, there is none; but for an array that all files
        # contain completely, such as a coordinate, the one that the set refers to, or the first.
        parts = [np.array([n, [file] * len(n), o, s], np.int64) for file, n, o, s in facts.claims]
        rows = np.unique(np.concatenate(parts, axis=1), axis=1) if parts else np.empty((4, 0))
        rows = rows.astype(np.int64)
        at, targets = self._current(meta, rows[0])
        moved = self._moved & facts.certain  # those whose other place is known
        is_moved = np.array([url in moved for url in targets], np.bool_)
        is_free = is_replaceable(self._found.ledger, meta.path, rows[0], at < 0, is_moved)
        rows, targets = rows[:, is_free], [t for t, ok in zip(targets, is_free, strict=True) if ok]
        if facts.is_whole and rows.size:
            urls = list(self.urls)
            is_other = [urls[n] != t for n, t in zip(rows[1].tolist(), targets, strict=True)]
            rows = rows[:, np.lexsort((rows[1], is_other, rows[0]))]
            return rows[:, np.append(True, rows[0][1:] != rows[0][:-1])]
        numbers, counts = np.unique(rows[0], return_counts=True)
        if len(twice := numbers[counts > 1]):
            self.reasons[meta.path, f"several files claim {counted(len(twice), 'chunk')}"] = None
        return rows[:, ~np.isin(rows[0], twice)]

    def _current(self, meta: ArrayMeta, numbers: np.ndarray) -> tuple[np.ndarray, list[str | None]]:
        """Return the row of each chunk, -1 without a reference, and its file."""
        if not len(numbers):
            return numbers, []
        rows = self._table.index.find_many(chunk_keys(meta, numbers))
        columns = self._table.columns
        places = np.where(rows < 0, -1, columns.targets[rows]).tolist()
        return rows, [None if place < 0 else columns.urls[place] for place in places]

    def _dropped(self, meta: ArrayMeta, facts: _OfArray, claimed: np.ndarray) -> np.ndarray:
        """Return the wrong references to drop, because the right file wrote no chunk."""
        if not facts.regions:
            return _NO_CHUNKS
        of_state = (
            self._found.ledger.chunks_in(meta.path, state, _MOST_ASTRAY) for state in _ASTRAY
        )
        numbers = np.setdiff1d(np.concatenate([*of_state]), claimed)
        every = np.concatenate([_NO_CHUNKS, *(np.array(each[1]) for each in facts.claims)])
        numbers = np.setdiff1d(numbers, every)
        if not len(numbers) or not meta.grid:
            return _NO_CHUNKS
        indices = np.stack(np.unravel_index(numbers, meta.narrow_grid), axis=1)
        places = meta.starts_of(indices)
        is_within = np.zeros(len(numbers), np.bool_)
        for start, stop in facts.regions:
            is_within |= ((places >= start) & (places < stop)).all(axis=1)
        return numbers[is_within]

    def _fields(self, meta: ArrayMeta, facts: _OfArray) -> Iterator[tuple[str, Any]]:
        """Yield the metadata on which all files agree."""
        if facts.has_unread:
            return
        for cause, values in facts.values.items():
            # only files with chunks that were never written have a fill value
            is_open = cause == "fill_value" and meta.fill_value is None
            if len(values) == 1 and (is_open or values.total() >= len(facts.files)):
                yield cause, json.loads(next(iter(values)))
        if meta.path in self._odd_shapes and facts.stops is not None:
            shape = self._shape(meta, facts.stops.tolist(), len(facts.files))
            if shape != list(meta.shape):
                yield "shape", shape

    def _shape(self, meta: ArrayMeta, stops: list[int], file_count: int) -> list[int]:
        """Return the shape at the end of all files, if other arrays of the set agree."""
        shape = list(meta.shape)
        for axis, (length, actual) in enumerate(zip(meta.shape, stops, strict=True)):
            lengths = self._other_lengths(meta, axis)
            is_alone = file_count == 1 and not lengths
            if length != actual and length not in lengths and (actual in lengths or is_alone):
                shape[axis] = actual
        return shape

    def _other_lengths(self, meta: ArrayMeta, axis: int) -> set[int]:
        """Return the lengths of a dimension in other arrays of the group."""
        name = next(iter((meta.dimensions or ())[axis : axis + 1]), None)
        folder = meta.path.rpartition("/")[0]
        return {
            length
            for path, other in self._arrays.items()
            if name and path != meta.path and path.rpartition("/")[0] == folder
            for each, length in zip(other.dimensions or (), other.shape, strict=False)
            if each == name
        }


ATTRIBUTES = frozenset(
    {"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "units", "calendar"}
)  # Fields that are attributes; null removes one
_V2_NAMES = {"byte-order": "dtype", "chunk-shape": "chunks"}


class NotWritableError(Exception):
    """A field cannot be expressed in Zarr's metadata; the text is the reason."""


def changed_metadata(
    meta: ArrayMeta, attributes: Mapping[str, Any] | None, fields: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the metadata keys that change, and their new contents."""
    array = copy.deepcopy(dict(meta.metadata))
    if meta.zarr_format == 3:
        _change_v3(array, fields)
        return {meta.metadata_key: array}
    new_attributes = dict(attributes or {})
    for name, value in fields.items():
        if name in ATTRIBUTES:
            _put(new_attributes, name, value)
        elif name == "dimensions":
            new_attributes[DIMENSIONS] = value
        elif name == "filters":
            filters = [{"id": _known_codec(codec, 2), **settings} for codec, settings in value]
            array |= {"filters": filters or None, "compressor": None}
        else:
            array[_V2_NAMES.get(name, name)] = value
    changes = {}
    if array != meta.metadata:
        changes[meta.metadata_key] = array
    if new_attributes != (attributes or {}):
        changes[meta.folder + ".zattrs"] = new_attributes
    return changes


def _put(attributes: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        attributes.pop(name, None)
    else:
        attributes[name] = value


def _change_v3(array: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if name in ATTRIBUTES:
            _put(array.setdefault("attributes", {}), name, value)
        elif name == "dimensions":
            array["dimension_names"] = value
        elif name in ("dtype", "byte-order"):
            dtype = np.dtype(value)
            if dtype.kind in "SU":
                raise NotWritableError("Zarr v3 specifies no data type for fixed-length strings")
            array["data_type"] = dtype.name
            endian = "big" if dtype.str[0] == ">" else "little"
            codec = {"name": "bytes", "configuration": {"endian": endian}}
            array["codecs"] = [codec if _is_bytes(each) else each for each in array["codecs"]]
        elif name == "chunk-shape":
            array["chunk_grid"] = regular_grid(value)
        elif name == "filters":
            filters = [
                {"name": _known_codec(f"numcodecs.{codec}", 3), "configuration": settings}
                for codec, settings in value
            ]
            array["codecs"] = [*filter(_is_bytes, array["codecs"]), *filters]
        else:
            array[name] = value


def _is_bytes(codec: Any) -> bool:
    return (codec if isinstance(codec, str) else codec.get("name")) in ("bytes", "endian")


def _known_codec(codec: str, zarr_format: int) -> str:
    if not is_installed(codec, zarr_format):
        raise NotWritableError(f"no installed codec decodes the filter {codec}")
    return codec


@dataclass(frozen=True)
class PatchedTable:
    """A set with a patch applied."""

    table: Table  # All of its references
    has_changed: bool  # Whether any of them is another one, new or gone
    reasons: tuple[tuple[str, str], ...]  # Why something cannot be written, by array


def apply_patch(table: Table, arrays: Mapping[str, ArrayMeta], patch: Patch) -> PatchedTable:
    """Return a set with a patch applied."""
    texts, reasons = _texts(table, arrays, patch)
    tables = [build_table((key, Inline(text)) for key, text in texts.items())]
    dropped = [row for key in patch.idle if (row := table.find(key)) is not None]
    for path, each in patch.arrays.items():
        tables.append(_references(arrays[path], each, patch.urls))
        rows = table.index.find_many(chunk_keys(arrays[path], each.dropped))
        dropped += rows[rows >= 0].tolist()
    new = concatenated(tables)
    rows = table.index.find_many(new.keys)
    gone = np.concatenate([np.array(dropped, np.int64), rows[rows >= 0]])
    result = exchanged(table, gone, new, np.where(rows < 0, table.count, rows))
    return PatchedTable(result, bool(new.count or dropped), tuple(reasons))


def _texts(
    table: Table, arrays: Mapping[str, ArrayMeta], patch: Patch
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the metadata keys that change, with their texts."""
    changes: dict[str, dict[str, Any]] = {k: json.loads(v) for k, v in patch.groups.items()}
    reasons = []
    for path, each in patch.arrays.items():
        meta, fields = arrays[path], each.fields
        written = table.text(meta.folder + ".zattrs")
        attributes = None if written is None else json.loads(written)
        for name, value in fields.items():  # what cannot be written leaves the others alone
            try:
                changed_metadata(meta, attributes, {name: value})
            except NotWritableError as reason:
                reasons.append((path, str(reason)))
                fields = {other: value for other, value in fields.items() if other != name}
        changes |= changed_metadata(meta, attributes, fields)
    texts = {key: json.dumps(value) for key, value in changes.items()}
    groups = {prefix(folder) for key in changes for folder in folders_above(key)}
    copies = {folder + name for folder in groups for name in (".zmetadata", "zarr.json")}
    for key in sorted({*patch.copies, *copies}):
        text = texts.get(key) or table.text(key)
        if text is not None:
            own = _own(table, texts, key) if key in patch.copies else {}
            if new := update_consolidated(key, text, changes, own, patch.compared):
                texts[key] = new
    return texts, reasons


def _own(table: Table, texts: Mapping[str, str], group_key: str) -> dict[str, Any]:
    """Return the contents of the metadata keys of the same format below a group."""
    folder, _, name = group_key.rpartition("/")
    metadata = {}
    for key in table.metadata:
        is_alike = (key.rpartition("/")[2] == "zarr.json") == (name == "zarr.json")
        text = texts.get(key) or table.text(key)
        is_below = key.startswith(prefix(folder)) and key != group_key
        if is_alike and is_below and text is not None and not key.endswith(".zmetadata"):
            metadata[key] = json.loads(text)
    return metadata


def _references(meta: ArrayMeta, each: ArrayPatch, urls: tuple[str, ...]) -> Table:
    is_whole = each.lengths == WHOLE
    columns = Columns(
        np.where(is_whole, URL, RANGE).astype(np.uint8),
        each.files.astype(np.int32),
        UrlColumn(more=urls),
        each.offsets,
        np.where(is_whole, 0, each.lengths),
        [],
    )
    return Table(chunk_keys(meta, each.numbers), columns)
