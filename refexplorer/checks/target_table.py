"""The targets of a set, a row each, from the results of their references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.parts import places_of
from refexplorer.checks.states import CHUNK_NAMES, CHUNK_TERMS, FileState, LedgerState, Rank
from refexplorer.core.text import masked_url
from refexplorer.formats.columns.references import LARGEST

ROW_COLUMNS = ("key", "chunk", "number", "target", "offset", "length", "state", "file", "message",
               "target_size", "etag", "modified", "grant")  # fmt: skip
"""The columns of results that are read."""
TARGETS = pa.schema(
    {
        "target": pa.string(),
        "state": pa.string(),
        "size": pa.int64(),
        "etag": pa.string(),
        "modified": pa.string(),
        "references": pa.int64(),
        "end": pa.int64(),
        "past_end": pa.int64(),
        "failed": pa.int64(),
        "unwritten": pa.int64(),
        "message": pa.string(),
        "grant": pa.string(),
    }
)
"""A row for each target: its URL (null is the one that the reader names); a `FileState`; what its
store reports; how many references lead to it (null for generated keys that were not listed), where
the last range ends (null for whole files, and past 64 bits), how many ranges reach past the end,
how many chunks cannot be read or decoded, and how many were never written; what is wrong."""
_FAILED = np.array(
    [
        term.rank is Rank.BAD and state is not LedgerState.PAST_END
        for state, term in CHUNK_TERMS.items()
    ]
)


def target_table(parts: Iterable[pa.Table], changed: Mapping[str, str]) -> pa.Table:
    """Return `TARGETS`, in the order in which the set first names them."""
    names = ["number", "worst", *TARGETS.names]
    found = pa.concat_tables([_of_part(part) for part in parts] or [_EMPTY])
    sums = found.group_by("number", use_threads=False).aggregate(
        [(name, "sum") for name in _SUMMED] + [("end", "max"), ("worst", "max")]
    )
    # of a target in several parts, what is said in the one with the worst state
    order = [("number", "ascending"), ("worst", "descending")]
    firsts = found.take(pc.sort_indices(found, order))
    numbers = firsts["number"].to_numpy()
    is_first = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
    firsts = firsts.filter(pa.array(is_first))
    sums = sums.take(pc.sort_indices(sums, [("number", "ascending")]))
    for name in (*_SUMMED, "end"):
        kind = "max" if name == "end" else "sum"
        at = firsts.column_names.index(name)
        firsts = firsts.set_column(at, name, sums[f"{name}_{kind}"].cast(pa.int64()))
    table = firsts.select(names).select(TARGETS.names).cast(TARGETS)
    return _with_changes(table, changed) if changed else table


_SUMMED = ("references", "past_end", "failed", "unwritten")
_EMPTY = pa.schema([("number", pa.int64()), ("worst", pa.int64()), *TARGETS]).empty_table()


def _of_part(results: pa.Table) -> pa.Table:
    """Return a row for each target of a part, with what is said of its worst reference."""
    numbers = results["number"].to_numpy()
    rows = np.flatnonzero(numbers >= 0)
    states = places_of(results["state"], CHUNK_NAMES)[rows]
    numbers = numbers[rows]
    if not len(rows):
        return _EMPTY
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    ranks = _WORSE[states]
    worst = np.maximum.reduceat(ranks, starts)
    lengths = np.diff(np.append(starts, len(rows)))
    is_worst = ranks == np.repeat(worst, lengths)
    places = np.flatnonzero(is_worst)
    first = places[np.searchsorted(places, starts)]
    said = results.take(pa.array(rows[first]))
    offsets, sizes = (_numbers(results[name].take(pa.array(rows))) for name in ("offset", "length"))
    is_cut = (offsets == LARGEST) | (sizes > LARGEST - np.maximum(offsets, 0))
    ends = np.where(is_cut, LARGEST, np.where(offsets >= 0, offsets + sizes, -1))
    ends = np.maximum.reduceat(ends, starts)
    # of generated keys that were not listed nobody knows how many there are
    has_key = np.array([key != "" for key in said["key"].to_pylist()], np.bool_)
    is_listed = has_key | (said["chunk"].to_numpy() >= 0)

    def count(flags: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.add.reduceat(flags.astype(np.int64), starts)
        return found

    columns = {
        "number": pa.array(numbers[starts]),
        "worst": pa.array(worst),
        "target": said["target"].cast(pa.string()),
        "state": said["file"].cast(pa.string()),
        "size": said["target_size"],
        "etag": said["etag"].cast(pa.string()),
        "modified": said["modified"].cast(pa.string()),
        "references": pa.array(lengths, mask=~is_listed),
        "end": pa.array(ends, mask=(ends < 0) | (ends == LARGEST)),
        "past_end": pa.array(count(states == LedgerState.PAST_END)),
        "failed": pa.array(count(_FAILED[states])),
        "unwritten": pa.array(count(states == LedgerState.EMPTY)),
        "message": said["message"].cast(pa.string()),
        "grant": said["grant"].cast(pa.string()),
    }
    return pa.table(columns, schema=_EMPTY.schema)


_WORSE = np.array(
    [int(state) if term.rank in (Rank.BAD, Rank.UNKNOWN) else 0
     for state, term in CHUNK_TERMS.items()]
)  # fmt: skip
"""Which state of a reference a target is described by: the largest."""


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    found: np.ndarray = column.fill_null(-1).to_numpy()
    return found


def _with_changes(table: pa.Table, changed: Mapping[str, str]) -> pa.Table:
    """Return a table with what is known of targets that changed."""
    said = [None if url is None else changed.get(masked_url(url)) for url in (
        table["target"].to_pylist())]  # fmt: skip
    states, messages = table["state"].to_pylist(), table["message"].to_pylist()
    states = [FileState.CHANGED if why else state for state, why in zip(states, said, strict=True)]
    messages = [why or message for message, why in zip(messages, said, strict=True)]
    for name, values in (("state", states), ("message", messages)):
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(values, pa.string()))
    return table
