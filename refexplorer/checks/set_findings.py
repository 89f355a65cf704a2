"""What an audit records about the set itself: key states, and findings not about files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.ledger import Counts, Ledger
from refexplorer.checks.records import NAMED_KEYS
from refexplorer.checks.references import AuditedBlock, LostFiles, numbers_of_chunks
from refexplorer.checks.states import KeyState, LedgerState
from refexplorer.core.text import array_text, counted, escape
from refexplorer.formats.columns.references import RANGE, URL
from refexplorer.refset.lint_absent import lint_groups, lint_lost_places
from refexplorer.refset.lint_arrays import lint_metadata
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import ParquetRecords
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, Findings, parts_of, pointer
from refexplorer.spec.lint import KeyFindings
from refexplorer.spec.zarr_metadata import ArrayMeta

_GRAVE = frozenset({"metadata-copies-differ"})
"""Warnings of the set that are errors once files are read: one of the copies differs from them."""
_UNOPENED = frozenset({"dimension-sizes-differ", "no-dimension-names", "bad-attribute"})
"""Findings that say why xarray does not open a set whose values may all be right.

kerchunk writes such sets of HDF5 files without dimension scales, so they are no errors.
"""
_METADATA = r"(^|/)(\.z(array|attrs|group|metadata)|zarr\.json)$"
_CHUNK = r"(^|/)(c(/\d+)*|\d+([./]\d+)*|)$"
"""The last part of a key that looks like one of a chunk; GRIB sets of kerchunk have "step/"."""


def note_references(ledger: Ledger, block: AuditedBlock, arrays: Sequence[ArrayMeta]) -> None:
    """Record the keys of a block in the ledger, and their chunks."""
    kinds = block.table.columns.kinds
    leads_away = (kinds == RANGE) | (kinds == URL)
    is_chunk = (block.arrays >= 0) & (block.chunks >= 0)
    for place in np.unique(block.arrays[is_chunk]).tolist():
        mine = is_chunk & (block.arrays == place)
        path = arrays[place].path
        ledger.mark(path, block.chunks[mine & leads_away], LedgerState.REFERENCED)
        ledger.mark(path, block.chunks[mine & ~leads_away], LedgerState.HELD)
    counts = ledger.keys.counts
    counts[KeyState.CHUNK] += int(is_chunk.sum())
    counts[KeyState.OUTSIDE_GRID] += int(((block.arrays >= 0) & ~is_chunk).sum())
    counts[KeyState.REJECTED] += block.rejected
    others = block.table.keys.filter(pa.array(block.arrays < 0))
    metadata = others.filter(pc.match_substring_regex(others, _METADATA))
    chunks = others.filter(pc.match_substring_regex(others, _CHUNK))
    counts[KeyState.METADATA] += len(metadata)
    counts[KeyState.OF_NO_ARRAY] += len(chunks)
    counts[KeyState.OTHER] += len(others) - len(metadata) - len(chunks)
    named = ledger.keys.examples.setdefault(KeyState.OF_NO_ARRAY, [])
    named += chunks[: NAMED_KEYS - len(named)].to_pylist()


def note_rejected(ledger: Ledger, opened: OpenedSet, findings: Findings, later: int) -> None:
    """Record the keys that errors reject, and the chunks among them."""
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        if array is not None and path in ledger.paths and opened.rejected.touches(path):
            numbers = numbers_of_chunks(array, opened.rejected.indices(array))
            ledger.mark(path, np.unique(numbers[numbers >= 0]), LedgerState.REJECTED)
    stores = [part.store for part in opened.parts if isinstance(part, ParquetRecords)]
    files = frozenset[str]().union(*(store.files for store in stores))
    errors = (found for found in findings if found.severity is Severity.ERROR)
    # what record files reject was counted when they were read once more
    ledger.keys.counts[KeyState.REJECTED] = later + sum(
        found.count for found in errors if found.pointer not in files
    )


def note_unreadable(ledger: Ledger, lost: LostFiles, known: Iterable[Finding]) -> list[Finding]:
    """Record the chunks of unreadable record files; add findings about them."""
    for path, start, stop in lost.unreadable_rows:
        ledger.mark(path, np.arange(start, stop), LedgerState.LOST_RECORDS)
    unreadable = [each for each in lost.files if each.code]
    pointers = {each.file for each in unreadable}
    return [each for each in known if each.pointer not in pointers] + [
        Finding(
            each.code, Severity.ERROR, each.file, each.message, array=each.array,
            reference_count=each.chunks,
        )
        for each in unreadable
    ]  # fmt: skip


def set_findings(
    opened: OpenedSet, rejected: Iterable[Finding], base: str, is_full: bool, counts: Counts
) -> Iterator[Finding]:
    """Yield faults of the set itself, and arrays without any reference; note what xarray opens."""
    # No file determines whether a reader opens the set, or which of two metadata copies it reads.
    found = Findings()
    lint_groups(opened, KeyFindings(base, found))
    lint_metadata(opened, KeyFindings(base, found))
    counts.unopened = tuple(each.message for each in found if each.code in _UNOPENED)
    graves = [each for each in found if each.severity is Severity.ERROR or each.code in _GRAVE]
    lost = Findings()
    if not is_full:  # else counting would read all record files once more
        lint_lost_places(opened, KeyFindings(base, lost))
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for each in (*rejected, *graves, *lost):
        key = _key_of(each, base)
        owner = opened.arrays.of_key(key)
        path = each.array or (key.rpartition("/")[0] if owner is None else owner[0].path)
        groups.setdefault((each.code, path, each.message), []).append(each)
    for (code, path, message), group in groups.items():
        keys = tuple(_key_of(each, base) for each in group)
        if path and array_text(path) not in message:
            message = f"{array_text(path)}: {message}"
        if len(keys) > 1:
            message += f" ({escape(keys[0], 100)} and {len(keys) - 1:,} more)"
        severity = Severity.ERROR if code in _GRAVE else group[0].severity
        count = sum(each.reference_count or each.count for each in group)
        yield Finding(
            code, severity, group[0].pointer, message, key=keys[0], array=path,
            keys=keys[:NAMED_KEYS], reference_count=count,
        )  # fmt: skip


def _key_of(found: Finding, base: str) -> str:
    """Return the key that a finding is about, or would be about if it were there."""
    return found.key or "/".join(parts_of(found.pointer.removeprefix(base)))


def orphan_findings(opened: OpenedSet, ledger: Ledger, base: str) -> Iterator[Finding]:
    """Yield keys that look like chunks of no array: they were probably meant as data."""
    count = ledger.keys.counts[KeyState.OF_NO_ARRAY]
    if count:
        keys = ledger.keys.examples[KeyState.OF_NO_ARRAY]
        names = ", ".join(map(array_text, keys[:3])) + (", …" if count > 3 else "")
        held = filter(None, map(opened.lookup, keys))
        urls = (getattr(reference, "url", None) for _, reference in held)
        files = tuple(dict.fromkeys(url for url in urls if url))
        shown = f": {', '.join(escape(url, 200) for url in files[:2])}" if files else ""
        verb = "looks like a chunk and belongs" if count == 1 else "look like chunks and belong"
        message = f"{counted(count, 'key')} {verb} to no array: {names}{shown}"
        yield Finding(
            "orphan-chunk", Severity.ERROR, base + pointer(keys[0]), message, key=keys[0],
            array=keys[0].rpartition("/")[0], keys=tuple(keys), reference_count=count,
            files=files, file_count=len(files),
        )  # fmt: skip
