"""The check of a parquet store that was just written, file by file, against its source."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from fsspec.implementations.local import LocalFileSystem

from refexplorer.formats.parquet.store import ParquetStore, read_store
from refexplorer.limits import Limits
from refexplorer.refset.columns.chunk_keys import chunk_keys
from refexplorer.refset.columns.joining import joined_columns
from refexplorer.refset.columns.table import Table, build_table
from refexplorer.refset.segments.record_part import RecordPart
from refexplorer.refset.write.chunk_order import ArraysByPath, InOrder, in_chunk_order
from refexplorer.refset.write.sameness import check_same, differs
from refexplorer.refset.write.spool import Spool


def check_store(
    wanted: Iterable[Table], arrays: ArraysByPath, written: Path, limits: Limits
) -> int:
    """Compare references with a store, in the order of its record files; return how many.

    Raises
    ------
    RefexplorerError
        If a file of the store is missing, cannot be read or says anything else.
    """
    # absolute: fsspec takes `file:` at the start of a name for its protocol
    store = read_store(LocalFileSystem(), str(written.absolute()), limits)
    with Spool(written.parent) as spool:
        order = in_chunk_order(wanted, arrays, store.record_size, spool, proved=True)
        metadata = build_table(order.metadata.items())
        check_same(metadata, build_table(store.metadata.items()))
        count, files = metadata.count, set()
        for found in order:
            files |= _check_records(found, store)
            count += len(found.numbers)
    if store.files - files:
        raise differs(f"there is an additional file `{min(store.files - files)}`")
    return count


def _check_records(wanted: InOrder, store: ParquetStore) -> set[str]:
    """Compare the references of whole record files; return the names of these."""
    numbers = np.unique(wanted.numbers // store.record_size).tolist()
    parts = [RecordPart(store, wanted.array, number) for number in numbers]
    columns = joined_columns([part.columns for part in parts])  # first: they tell what is held
    rows = [part.start + part.held.rows_at(np.arange(part.count)) for part in parts]
    read = np.concatenate(rows)
    keys = before = chunk_keys(wanted.array, read)
    if not np.array_equal(read, wanted.numbers):
        before = chunk_keys(wanted.array, wanted.numbers)
    check_same(Table(before, wanted.columns), Table(keys, columns))
    return {part.name for part in parts}
