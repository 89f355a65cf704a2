"""The references of a set with a patch applied."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refexplorer.checks.records import WHOLE
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import RANGE, URL, Columns
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.refset.opened_set import concatenated
from refexplorer.rewriting.repair.metadata_written import (
    NotWritableError,
    changed_metadata,
    consolidated,
)
from refexplorer.rewriting.repair.plan import ArrayPatch, Patch
from refexplorer.spec.keys import folders_above, prefix
from refexplorer.spec.references import Inline
from refexplorer.spec.zarr_metadata import ArrayMeta


@dataclass(frozen=True)
class Patched:
    """A set with a patch applied."""

    table: Table  # All of its references
    has_changed: bool  # Whether any of them is another one, new or gone
    reasons: tuple[tuple[str, str], ...]  # Why something cannot be written, by array


def patched(table: Table, arrays: Mapping[str, ArrayMeta], patch: Patch) -> Patched:
    """Return a set with a patch applied."""
    texts, reasons = _texts(table, arrays, patch)
    tables = [build_table((key, Inline(text)) for key, text in texts.items())]
    gone = [row for key in patch.idle if (row := table.find(key)) is not None]
    for path, each in patch.arrays.items():
        tables.append(_references(arrays[path], each, patch.urls))
        rows = table.index.find_many(chunk_keys(arrays[path], each.dropped))
        gone += rows[rows >= 0].tolist()
    new = concatenated(tables)
    return Patched(_combined(table, new, gone), bool(new.count or gone), tuple(reasons))


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
            if new := consolidated(key, text, changes, own, patch.compared):
                texts[key] = new
    return texts, reasons


def _own(table: Table, texts: Mapping[str, str], group_key: str) -> dict[str, Any]:
    """Return what the metadata keys of the same format that are below a group say themselves."""
    folder, _, name = group_key.rpartition("/")
    found = {}
    for key in table.metadata:
        is_alike = (key.rpartition("/")[2] == "zarr.json") == (name == "zarr.json")
        text = texts.get(key) or table.text(key)
        is_below = key.startswith(prefix(folder)) and key != group_key
        if is_alike and is_below and text is not None and not key.endswith(".zmetadata"):
            found[key] = json.loads(text)
    return found


def _references(meta: ArrayMeta, each: ArrayPatch, urls: tuple[str, ...]) -> Table:
    is_whole = each.lengths == WHOLE
    columns = Columns(
        np.where(is_whole, URL, RANGE).astype(np.uint8),
        each.files.astype(np.int32),
        urls,
        each.offsets,
        np.where(is_whole, 0, each.lengths),
        [],
    )
    return Table(chunk_keys(meta, each.numbers), columns)


def _combined(table: Table, new: Table, gone: list[int]) -> Table:
    """Return a table with other references of some keys, more keys at its end, others gone."""
    at = np.array([-1 if (row := table.find(key)) is None else row for key in _keys(new)], np.int64)
    rows = np.arange(table.count)
    known = np.flatnonzero(at >= 0)
    rows[at[known]] = table.count + known
    kept = np.ones(table.count, np.bool_)
    kept[np.array(gone, np.int64)] = False
    rows = np.concatenate([rows[kept], table.count + np.flatnonzero(at < 0)])
    return concatenated([table, new]).select(rows) if new.count or gone else table


def _keys(table: Table) -> Iterator[str]:
    return iter(table.keys.to_pylist())
