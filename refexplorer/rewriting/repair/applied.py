"""The references of a set with a plan carried out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refexplorer.checks.records import WHOLE
from refexplorer.refset.columns.chunk_keys import chunk_keys
from refexplorer.refset.columns.reference_columns import BASE64, INLINE, RANGE, URL, Columns
from refexplorer.refset.columns.table import Table, build_table
from refexplorer.refset.opened.batches import concatenated
from refexplorer.rewriting.repair.metadata_written import (
    NotWritableError,
    changed_metadata,
    consolidated,
)
from refexplorer.rewriting.repair.plan import ArrayClaims, RepairPlan
from refexplorer.spec.core.paths import folders_above, prefix
from refexplorer.spec.core.references import Inline
from refexplorer.spec.core.zarr_metadata import ArrayMeta


@dataclass(frozen=True)
class Applied:
    """A set with a plan carried out.

    Attributes
    ----------
    table
        All of its references.
    keys
        Those that refer to something else than before, are new or gone.
    reasons
        Why something could not be done, by array.
    """

    table: Table
    keys: tuple[str, ...]
    reasons: tuple[tuple[str, str], ...]


def applied(table: Table, arrays: Mapping[str, ArrayMeta], plan: RepairPlan) -> Applied:
    """Return a set with a plan carried out.

    Parameters
    ----------
    table
        All of its references.
    arrays
        Its arrays, by path.
    plan
        What is to be changed.
    """
    texts, reasons = _texts(table, arrays, plan)
    tables = [build_table((key, Inline(text)) for key, text in texts.items())]
    gone: list[int] = []
    for path, claims in plan.claims.items():
        found = _allowed(table, arrays[path], claims, plan)
        if (left := len(claims.numbers) - len(found.numbers)) > 0:
            reasons.append((path, f"{left:,} chunks are referred to in other files already"))
        tables.append(_references(arrays[path], found, plan))
    for path, numbers in plan.absent.items():
        gone += _dropped(table, arrays[path], numbers, plan)
    new = concatenated(tables)
    keys = (*_keys(new), *(table.key_at(row) for row in gone))
    return Applied(_combined(table, new, gone), keys, tuple(reasons))


def _texts(
    table: Table, arrays: Mapping[str, ArrayMeta], plan: RepairPlan
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the metadata keys that change, with their texts."""
    changes: dict[str, dict[str, Any]] = {}
    reasons = []
    for path, fields in plan.fields.items():
        meta = arrays[path]
        written = table.text(meta.folder + ".zattrs")
        attributes = None if written is None else json.loads(written)
        for name, value in fields.items():  # one at a time: what cannot be written stays alone
            try:
                changed_metadata(meta, attributes, {name: value})
            except NotWritableError as reason:
                reasons.append((path, str(reason)))
                fields = {other: value for other, value in fields.items() if other != name}
        changes |= changed_metadata(meta, attributes, fields)
    texts = {key: json.dumps(value) for key, value in changes.items()}
    groups = {folder for key in changes for folder in folders_above(key)}
    for folder in sorted(groups):
        for name in (".zmetadata", "zarr.json"):
            key = prefix(folder) + name
            text = texts.get(key) or table.text(key)
            if text is not None and (new := consolidated(text, changes, prefix(folder))):
                texts[key] = new
    return texts, reasons


def _allowed(table: Table, meta: ArrayMeta, claims: ArrayClaims, plan: RepairPlan) -> ArrayClaims:
    """Return the claims of chunks that no file has with right, but the one that claims them."""
    rows = table.index.find_many(chunk_keys(meta, claims.numbers))
    columns = table.columns
    kinds = np.where(rows < 0, RANGE, columns.kinds[rows])
    places = np.where(rows < 0, -1, columns.targets[rows])
    urls = {place: columns.urls[place] for place in np.unique(places[places >= 0]).tolist()}
    known = {url: place for place, url in urls.items()}
    own = np.array([known.get(url, -2) for url in plan.urls], np.int64)[claims.files]
    free = (rows < 0) | (places == own)
    loose = plan.loose.get(meta.path, {})
    for at in np.flatnonzero(~free & (kinds != INLINE) & (kinds != BASE64)).tolist():
        free[at] = loose.get(int(claims.numbers[at])) == urls.get(int(places[at]))
    return ArrayClaims(*(column[free] for column in vars(claims).values()))


def _references(meta: ArrayMeta, claims: ArrayClaims, plan: RepairPlan) -> Table:
    is_whole = claims.lengths == WHOLE
    columns = Columns(
        np.where(is_whole, URL, RANGE).astype(np.uint8),
        claims.files.astype(np.int32),
        plan.urls,
        claims.offsets,
        np.where(is_whole, 0, claims.lengths),
        [],
    )
    return Table(chunk_keys(meta, claims.numbers), columns)


def _dropped(
    table: Table, meta: ArrayMeta, numbers: frozenset[int], plan: RepairPlan
) -> Iterator[int]:
    """Yield the rows of chunks that their file never wrote and no other file claims."""
    claims = plan.claims.get(meta.path)
    claimed = set() if claims is None else set(claims.numbers.tolist())
    for number in sorted(numbers - claimed):
        row = table.find(meta.chunk_key(meta.index_at(number)))
        if row is not None:
            yield row


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
