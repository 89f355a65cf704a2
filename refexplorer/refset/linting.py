"""The rules of `refexplorer.spec.lint`, asked of columns: only odd rows reach Python."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from refexplorer.refset.arrow import flags_of
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.table import Table
from refexplorer.spec.arrays import METADATA_NAMES, ArrayMeta
from refexplorer.spec.diagnostics import Findings, pointer
from refexplorer.spec.expansion import note_all
from refexplorer.spec.lint import (
    ODD_KEY,
    Remark,
    remark_on_chunk,
    remarks_on_key,
    remarks_on_metadata,
    remarks_on_url,
)
from refexplorer.spec.references import Inline

_METADATA = "(?:^|/)(?:" + "|".join(name.replace(".", r"\.") for name in METADATA_NAMES) + ")$"


def lint(opened: OpenedSet, version: int, base: str, findings: Findings) -> None:
    """Note what is odd about a set as a whole.

    Parameters
    ----------
    version
        0 or 1; templates mean nothing in V0.
    base
        What the pointer of a key starts with.
    """
    _lint_keys(opened.table, version, base, findings)
    _lint_folders(opened, base, findings)
    _lint_urls(opened.table, version, base, findings)
    _lint_metadata(opened.table, base, findings)
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        assert array is not None
        _lint_array(opened, array, base, findings)


def _matching(table: Table, pattern: str) -> list[int]:
    fits = pc.match_substring_regex(table.keys, pattern)
    rows: list[int] = np.flatnonzero(flags_of(fits)).tolist()
    return rows


def _lint_keys(table: Table, version: int, base: str, findings: Findings) -> None:
    for row in _matching(table, ODD_KEY):
        key = table.key_at(row)
        note_all(remarks_on_key(key, version), findings, base + pointer(key), key)


def _lint_folders(opened: OpenedSet, base: str, findings: Findings) -> None:
    for folder in opened.tree.folders[1:]:
        if opened.table.find(folder.path) is not None:
            findings.add(
                "key-is-also-directory",
                base + pointer(folder.path),
                f"`{folder.path}` is a key and the folder of other keys.",
                key=folder.path,
            )


def _lint_urls(table: Table, version: int, base: str, findings: Findings) -> None:
    targets, urls = table.columns.targets, table.columns.urls
    found = np.unique(targets, return_index=True, return_counts=True)
    for code, row, count in zip(*(part.tolist() for part in found), strict=True):
        if code < 0:
            continue
        key = table.key_at(row)
        for remark in remarks_on_url(urls[code], version):
            findings.add(
                remark.code,
                base + pointer(key),
                remark.message,
                remark.hint,
                key=key,
                count=count,
            )


def _lint_metadata(table: Table, base: str, findings: Findings) -> None:
    for row in _matching(table, _METADATA):
        reference, key = table.reference_at(row), table.key_at(row)
        if isinstance(reference, Inline):
            remarks = remarks_on_metadata(key, reference.text)
            note_all(remarks, findings, base + pointer(key), key)


def _lint_array(opened: OpenedSet, array: ArrayMeta, base: str, findings: Findings) -> None:
    _lint_missing(opened, array, base, findings)
    rows, indices = opened.arrays.chunk_rows(array)
    outside = np.any(indices >= np.array(array.grid, np.int64), axis=1)
    for row, index in zip(rows[outside].tolist(), indices[outside].tolist(), strict=True):
        key = opened.table.key_at(row)
        remark = remark_on_chunk(array, key, tuple(index))
        if remark is not None:
            note_all([remark], findings, base + pointer(key), key)
    _lint_rank(opened, array, rows, base, findings)


def _lint_rank(
    opened: OpenedSet, array: ArrayMeta, known: np.ndarray, base: str, findings: Findings
) -> None:
    """Note chunk keys with the wrong number of indices: they are not among the known rows."""
    folder = opened.tree.folder(array.path)
    if folder is None:
        return
    for row in np.setdiff1d(opened.tree.rows_in(folder), known).tolist():
        key = opened.table.key_at(row)
        index = array.chunk_index(key)
        remark = None if index is None else remark_on_chunk(array, key, index)
        if remark is not None:
            note_all([remark], findings, base + pointer(key), key)


def _lint_missing(opened: OpenedSet, array: ArrayMeta, base: str, findings: Findings) -> None:
    missing = array.chunk_count - opened.arrays.present(array)
    if missing <= 0:
        return
    name = "zarr.json" if array.zarr_format == 3 else ".zarray"
    key = array.folder + name
    remark = Remark(
        "missing-chunks",
        f"{missing:,} of {array.chunk_count:,} chunks of `{array.path}` have no reference; "
        f"they read as the fill value {array.fill_value!r}.",
    )
    note_all([remark], findings, base + pointer(key), key)
