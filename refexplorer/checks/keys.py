"""What the keys of a set are: chunks of its arrays, metadata, or neither."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.ledger import Ledger
from refexplorer.checks.records import NAMED_KEYS
from refexplorer.checks.references import AuditedBlock, numbers_of_chunks
from refexplorer.checks.states import KeyState, LedgerState
from refexplorer.formats.columns.references import RANGE, URL
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import Records
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Findings
from refexplorer.spec.zarr_metadata import ArrayMeta

_METADATA = r"(^|/)(\.z(array|attrs|group|metadata)|zarr\.json)$"
_CHUNK = r"(^|/)(c(/\d+)*|\d+([./]\d+)*|)$"
"""The last part of a key that looks like one of a chunk; GRIB sets of kerchunk have "step/"."""


def note_references(ledger: Ledger, block: AuditedBlock, arrays: Sequence[ArrayMeta]) -> None:
    """Note the keys of a block in the ledger, and which chunks they are of."""
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
    """Note the keys that errors reject, and the chunks among them."""
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        if array is not None and path in ledger.paths and opened.rejected.touches(path):
            numbers = numbers_of_chunks(array, opened.rejected.indices(array))
            ledger.mark(path, np.unique(numbers[numbers >= 0]), LedgerState.REJECTED)
    stores = [part.store for part in opened.parts if isinstance(part, Records)]
    files = frozenset[str]().union(*(store.files for store in stores))
    errors = (found for found in findings if found.severity is Severity.ERROR)
    # what record files reject was counted when they were read once more
    ledger.keys.counts[KeyState.REJECTED] = later + sum(
        found.count for found in errors if found.pointer not in files
    )
