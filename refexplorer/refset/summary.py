"""Counts of a set, or of the keys below a path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.core.files import Progress
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted, escape, shown, size_text, table
from refexplorer.formats.columns.references import KINDS, Columns, UrlColumn
from refexplorer.formats.source import Source
from refexplorer.refset.chunk_grid import StateCounts, chunk_counts
from refexplorer.refset.generated import EVALUATED_KEYS, Generated, columns_of
from refexplorer.refset.numbered_segment import Records, Tally
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import ParquetRecords
from refexplorer.refset.tree import Folder
from refexplorer.spec.findings import parts_of, pointer
from refexplorer.spec.references import Kind, NodeType
from refexplorer.spec.templates.template import Template
from refexplorer.spec.zarr_metadata import ArrayMeta

if TYPE_CHECKING:
    from refexplorer.spec.derivation import TraceStep


@dataclass(frozen=True)
class ArrayStates:
    """The counts of all arrays of a set, in its order: each column has one entry per array."""

    arrays: tuple[ArrayMeta, ...]  # Their metadata
    counts: tuple[StateCounts, ...]  # Their chunks
    # Bytes of all references below them; None where they are not known
    sizes: tuple[int | None, ...]
    folders: tuple[int, ...]  # Their numbers in the walk through the tree, ascending

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each array, by path."""
        return {array.path: place for place, array in enumerate(self.arrays)}

    @cached_property
    def total(self) -> StateCounts:
        """The sums over all arrays."""
        return summed(self.counts)


def array_states(opened: OpenedSet) -> ArrayStates:
    """Count the chunks of all arrays; record files are read."""
    found = opened.arrays
    arrays = list(found)
    found.count(arrays)
    folders = [opened.tree.folder(array.path) for array in arrays]
    return ArrayStates(
        tuple(arrays),
        tuple(chunk_counts(opened, array) for array in arrays),
        tuple(None if each is None else opened.tree.size_below(each) for each in folders),
        tuple(-1 if each is None else each.number for each in folders),
    )


def summed(counts: Sequence[StateCounts]) -> StateCounts:
    """Add counts; the sum is unknown if one of them is."""
    columns = list(zip(*counts, strict=True)) or [()] * len(StateCounts._fields)
    chunks, *states = (None if None in column else sum(column) for column in columns)
    return StateCounts(chunks or 0, *states)


def derive(
    opened: OpenedSet,
    key: str,
    source: Source,
    base: str,
    templates: dict[str, Template],
    limits: Limits,
) -> Iterator[TraceStep]:
    """Return the steps from the document (explicit keys below `base`) to the reference."""
    from refexplorer.spec.derivation import derive_entry, derive_generated, derive_record

    found = opened.find(key)
    reference = None if found is None else found[0].reference_at(found[1])
    if found is None or reference is None:
        raise opened.missing(key)
    segment, row = found
    if isinstance(segment, Generated):
        return derive_generated(segment.item, segment.number(row), reference)
    if isinstance(segment, ParquetRecords):
        number = segment.chunk_number(row)
        file, position = divmod(number, segment.store.record_size)
        name = segment.store.record_file(segment.array, file)
        return derive_record(key, name, position, reference)
    at = base + pointer(key)
    written = _json_value_at(source, at)
    return derive_entry(key, written, at, reference, templates, limits)


def _json_value_at(source: Source, at: str) -> object:
    """Return the JSON value at a pointer of the source, None if unknown."""
    from refexplorer.formats.json.positions import find_in_stream, locate

    if source.is_large and source.content is not None:
        with source.content() as stream:
            found = find_in_stream(stream, at)
        with suppress(ValueError):  # it is truncated
            return None if found is None else json.JSONDecoder().raw_decode(found.text)[0]
        return None
    if source.text is not None:
        span = locate(source.text, source.base + at)
        return None if span is None else json.loads(source.text[span.start : span.end])
    value: object = source.value
    for name in parts_of(at):
        value = value.get(name) if isinstance(value, dict) else None
    return value


# generated keys that are evaluated for a count; larger items are counted by shape
COUNTED_KEYS = 200_000


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a set, or of the keys below a path.

    Attributes
    ----------
    keys, arrays, groups
        Counts; in an outline without ``missing``, keys are an upper bound.
    kinds
        Keys of each kind; empty in an outline, which does not count them.
    bytes
        Of inline data and byte ranges; None in an outline, and if too many generated lengths
        would have to be computed. Whole files, counted in ``kinds``, add nothing: their sizes are
        unknown.
    targets
        Distinct URLs; None in an outline.
    missing
        Array chunks without a reference, which read as the fill value.
    left_out
        Array chunks whose references were rejected; reading them fails. Both are None if too
        many generated keys would have to be evaluated.
    """

    path: str
    keys: int
    arrays: int
    groups: int
    kinds: Mapping[Kind, int]
    bytes: int | None
    targets: int | None
    missing: int | None
    left_out: int | None

    @property
    def size(self) -> int | None:
        """Bytes of all keys; None if not all sizes are known, as for whole files."""
        return None if self.kinds.get(Kind.URL) else self.bytes

    def __str__(self) -> str:
        lines = [f"{escape(self.path)}: {facts_text(self)}" if self.path else facts_text(self)]
        return "\n".join([*lines, f"  {kinds_text(self)}"])

    def _repr_html_(self) -> str:
        rows = [["keys", f"{self.keys:,}"]]
        rows += [[f"keys that are {kind}", f"{n:,}"] for kind, n in self.kinds.items() if n]
        counts = {
            "arrays": self.arrays,
            "groups": self.groups,
            "targets": self.targets,
            "chunks without a reference": self.missing,
            "chunks rejected": self.left_out,
        }
        rows += [[name, "not counted" if n is None else f"{n:,}"] for name, n in counts.items()]
        rows.append(["bytes", bytes_text(self)])
        return f"<div><b>{shown(self.path or 'The set')}</b>{table(('', ''), rows)}</div>"


def facts_text(summary: Summary) -> str:
    """Return the counts of a summary in one line."""
    is_outline = summary.targets is None
    most = "at most " if is_outline and summary.missing is None else ""
    parts = [f"{most}{counted(summary.keys, 'key')}", counted(summary.arrays, "array")]
    if summary.targets is not None:
        parts += [counted(summary.targets, "target"), bytes_text(summary)]
    if summary.missing:
        parts.append(f"{counted(summary.missing, 'chunk')} without a reference")
    elif summary.missing is None and not is_outline:
        parts.append("chunks without a reference not counted")
    if summary.left_out:
        parts.append(f"{counted(summary.left_out, 'chunk')} rejected by errors")
    return f"{', '.join(parts)}{'; targets and bytes are not counted yet' * is_outline}"


def bytes_text(summary: Summary) -> str:
    """Return how many bytes are referenced, as far as known."""
    if summary.bytes is None:
        return "size not known"
    return f"{size_text(summary.bytes)} referenced{whole_files_text(summary)}"


def whole_files_text(summary: Summary) -> str:
    """Return the whole files, which ``Summary.bytes`` excludes, as text; empty if none."""
    n_files = summary.kinds.get(Kind.URL, 0)
    return f" plus {counted(n_files, 'whole file')} (size unknown)" if n_files else ""


def kinds_text(summary: Summary) -> str:
    """Return the number of references of each kind as text."""
    if summary.targets is None:
        return "kinds not counted yet"
    counts = [f"{n:,} {kind}" for kind in Kind if (n := summary.kinds.get(kind, 0))]
    return ", ".join(counts) or "no references"


@dataclass
class _Totals:
    kinds: dict[Kind, int]
    bytes: int | None
    urls: dict[str | None, int]  # With a number each, in the order in which they are met
    more_urls: int = 0

    def add(self, columns: Columns, rows: np.ndarray | None, alone: bool = False) -> None:
        """Count some rows, or all; `alone` if nothing else can name the same targets."""
        kinds, named = columns.kinds, columns.used(rows)
        if rows is not None:
            kinds = kinds[rows]
        for code, kind in enumerate(KINDS):
            self.kinds[kind] += int(np.count_nonzero(kinds == code))
        if self.bytes is not None:
            self.bytes += columns.total(rows)
        if alone:
            self.more_urls += len(named)
        else:
            self.name(columns.urls.at(named))

    def take(self, found: Tally, urls: UrlColumn) -> None:
        """Add the counts of a record file."""
        for kind, count in zip(KINDS, found.kinds.tolist(), strict=True):
            self.kinds[kind] += count
        if self.bytes is not None:
            self.bytes += found.bytes
        self.name(urls.at(np.arange(len(urls))))

    def name(self, urls: Iterable[str | None]) -> None:
        """Give a number to each new target."""
        for url in urls:
            self.urls.setdefault(url, len(self.urls))


def outline(opened: OpenedSet, path: str) -> Summary:
    """Return what is known about the keys below a path without reading references."""
    # The key count is an upper bound. If record files or manifests need not be read to count keys,
    # it and the number of chunks without a reference are exact.
    folder = _folder(opened, path)
    segments = opened.tree.segments_below(folder)
    keys = len(opened.tree.rows_below(folder)) + sum(segment.bound for segment in segments)
    arrays, missing, rejected = opened.arrays.below(folder), None, None
    if all(segment.is_counted for segment in segments if isinstance(segment, Records)):
        opened.arrays.count(arrays)
        counts = summed([chunk_counts(opened, array) for array in arrays])
        missing, rejected = counts.absent, counts.rejected
    groups = _groups(opened, folder)
    return Summary(path, keys, len(arrays), groups, {}, None, None, missing, rejected)


def seconds(opened: OpenedSet, path: str) -> float:
    """Return roughly how many seconds counting below a path takes."""
    parts = opened.tree.segments_below(_folder(opened, path))
    fresh = (part for part in parts if isinstance(part, Records) and not part.is_tallied)
    return sum(part.bound / part.counted_in_a_second for part in fresh)


def _folder(opened: OpenedSet, path: str) -> Folder:
    folder = opened.tree.folder(path)
    if folder is None:
        raise KeyError(path)
    return folder


def _groups(opened: OpenedSet, folder: Folder) -> int:
    below = opened.tree.folders[folder.number : folder.end]
    return sum(opened.tree.type_of(each) is NodeType.GROUP for each in below)


def summarize(
    opened: OpenedSet,
    path: str,
    progress: Progress | None = None,
    urls: dict[str | None, int] | None = None,
) -> Summary:
    """Count what is below a path; `progress` is called with the finished and total parts.

    Targets that are met are added to `urls`, as by `file_numbers`.
    """
    folder = _folder(opened, path)
    segments = opened.tree.segments_below(folder)
    tally = _Totals(dict.fromkeys(KINDS, 0), 0, {} if urls is None else urls)
    rows = None if folder is opened.tree.root else opened.tree.rows_below(folder)
    tally.add(opened.table.columns, rows, alone=not segments)
    below = set(map(id, segments))
    numbered = [each for each in opened.segments if isinstance(each, Records) and id(each) in below]
    parts = sum(len(segment.parts) for segment in numbered)
    tallied = chain.from_iterable(segment.tallied() for segment in numbered)
    for read, (found, named) in enumerate(tallied, 1):
        tally.take(found, named)
        if progress is not None:
            progress(read, parts)
    for segment in segments:
        if isinstance(segment, Generated) and segment.count > COUNTED_KEYS:
            _tally_by_shape(segment, tally)
        elif isinstance(segment, Generated):
            for run in segment.runs():
                tally.add(columns_of(run), None)
    arrays = opened.arrays.below(folder)
    opened.arrays.count(arrays)
    counts = summed([chunk_counts(opened, array) for array in arrays])
    keys, n_targets = sum(tally.kinds.values()), len(tally.urls) + tally.more_urls
    of_tree = keys, len(arrays), _groups(opened, folder), tally.kinds
    return Summary(path, *of_tree, tally.bytes, n_targets, counts.absent, counts.rejected)


def file_numbers(
    opened: OpenedSet,
    progress: Progress | None = None,
    known: Mapping[str, Sequence[str | None]] | None = None,
) -> dict[str | None, int]:
    """Return a number for each target, in the order in which the parts of a set name them."""
    # No byte range is read, and nothing of arrays whose targets are `known`. Of gen items that make
    # too many keys only the first ones are evaluated.
    numbers: dict[str | None, int] = {}
    known = known or {}
    left = EVALUATED_KEYS
    parts = sum(len(part.parts) for part in opened.parts if isinstance(part, Records))
    read = 0
    for part in opened.parts:
        found: Iterator[Iterable[str | None]] = iter([opened.table.columns.urls_used()])
        if isinstance(part, Generated):
            count = min(part.count, left)
            left -= count
            found = (run.urls for run in part.runs(0, count))
        elif isinstance(part, Records) and part.array.path in known:
            found = iter([known[part.array.path]])
        elif isinstance(part, Records):
            found = (urls for _, urls in part.tallied())
        for urls in found:
            for url in urls:
                numbers.setdefault(url, len(numbers))
            if progress is not None and isinstance(part, Records):
                read += 1
                progress(read, parts)
    return numbers


def _tally_by_shape(segment: Generated, tally: _Totals) -> None:
    """Count a gen item with very many keys from its templates only."""
    item = segment.item
    tally.kinds[Kind.URL if item.offset is None else Kind.RANGE] += segment.count
    tally.more_urls += prod(each.size for each in item.dimensions if each.name in item.url.names)
    size = segment.size
    if item.offset is not None:
        tally.bytes = None if size is None or tally.bytes is None else tally.bytes + size
