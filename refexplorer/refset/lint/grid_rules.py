"""Chunks against the grids of their arrays: outside, of the wrong rank, or of none."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import flags_of
from refexplorer.refset.columns.chunk_names import in_blocks
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.tree.folders import Folder
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.core.paths import prefix
from refexplorer.spec.core.zarr_metadata import ArrayMeta
from refexplorer.spec.document.expansion import note_all
from refexplorer.spec.document.lint_rules import Remark, remark_on_chunk

_CHUNK_LIKE = r"(?:^|/)(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))*$"


def lint_arrays(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note what is odd about the chunks of every array, and chunks without an array."""
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        assert array is not None
        _lint_chunks(opened, array, base, findings)
    _lint_orphans(opened, base, findings)


def _lint_chunks(opened: OpenedSet, array: ArrayMeta, base: str, findings: Findings) -> None:
    if opened.arrays.is_tidy(array):
        return
    rows, indices = opened.arrays.chunk_rows(array)
    outside = ~array.inside(indices)
    folder = opened.tree.folder(array.path)
    others = (
        []
        if folder is None
        else np.setdiff1d(opened.tree.rows_in(folder), rows, assume_unique=True).tolist()
    )
    for row in [*rows[outside].tolist(), *others]:
        key = opened.table.key_at(row)
        index = array.chunk_index(key)
        remark = None if index is None else remark_on_chunk(array, key, index)
        if remark is not None:
            note_all([remark], findings, base + pointer(key), key)


def _lint_orphans(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note folders of keys that look like chunks where no array is.

    In a set without any Zarr metadata they may be plain files.
    """
    roots = (".zgroup", ".zmetadata", "zarr.json")
    is_zarr = bool(opened.arrays.paths) or any(
        opened.table.find(name) is not None for name in roots
    )
    table, folders = opened.table, _outside_arrays(opened)
    rows_of = [opened.tree.rows_in(folder) for folder in folders]
    chunk_like = _chunk_like(table, np.concatenate([np.empty(0, np.int64), *rows_of]))
    for folder, every in zip(folders, rows_of, strict=True):
        rows = every[chunk_like[every]]
        if not len(rows):
            continue
        key = table.key_at(int(rows[0]))
        where = f"`{folder.path}`" if folder.path else "the root"
        names = (prefix(folder.path) + name for name in (".zarray", "zarr.json"))
        unread = next((name for name in names if table.find(name) is not None), None)
        remark = Remark(
            "orphan-chunk",
            f"`{key}` looks like a chunk, but there is no array metadata at {where}.",
            "Without .zarray or zarr.json no reader finds the array.",
        )
        if unread is not None:
            said = f"`{key}` looks like a chunk, but the metadata `{unread}` cannot be used."
            remark = Remark("orphan-chunk", said, "Mend the metadata first.")
        at = base + pointer(key)
        lost = is_zarr or unread is not None
        findings.add(
            remark.code, at, remark.message, remark.hint, key=key, count=len(rows), is_error=lost
        )


def _outside_arrays(opened: OpenedSet) -> list[Folder]:
    """Return the folders that are no array and in none."""
    outside: dict[int, Folder] = {}
    for folder in opened.tree.folders:
        is_free = folder.parent is None or folder.parent.number in outside
        if is_free and opened.arrays.get(folder.path) is None:
            outside[folder.number] = folder
    return list(outside.values())


def _chunk_like(table: Table, rows: np.ndarray) -> np.ndarray:
    """Say of some keys whether they look like chunks, shape ``(n,)`` bool of all keys."""
    found = np.zeros(table.count, np.bool_)
    for start, keys in in_blocks(table.keys, rows):
        found[rows[start : start + len(keys)]] = flags_of(
            pc.match_substring_regex(keys, _CHUNK_LIKE)
        )
    return found
