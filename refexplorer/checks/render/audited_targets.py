"""The targets of an audit, a row each, from the results of their references."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from refexplorer.checks.look.audit_states import STATES, TARGET_STATE_OF, TARGET_STATES
from refexplorer.checks.parts import places_of
from refexplorer.formats.columns.arrow import number_column

TARGET_COLUMNS = ("number", "target", "state", "message", "target_size", "etag", "modified")
"""The columns of results that are read."""

_ROWS = pa.schema(
    {
        "number": pa.int64(),
        "target": pa.string(),
        "target_size": pa.int64(),
        "etag": pa.string(),
        "modified": pa.string(),
        "message": pa.string(),
        "worst": pa.int64(),
        "references": pa.int64(),
    }
)


def target_table(parts: Iterable[pa.Table]) -> pa.Table:
    """Return a row for each target, in the order in which the set first names them."""
    rows = pa.concat_tables([_ROWS.empty_table(), *map(_of_part, parts)]).combine_chunks()
    order = np.lexsort((-rows["worst"].to_numpy(), rows["number"].to_numpy()))
    starts = _starts(rows["number"].to_numpy()[order])  # one of very many rows has several parts
    sums = np.append(0, np.cumsum(rows["references"].to_numpy()[order]))
    references = np.diff(sums[np.append(starts, len(order))])
    rows = rows.take(number_column(order[starts]))
    states = [TARGET_STATES[TARGET_STATE_OF[worst]] for worst in rows["worst"].to_pylist()]
    found = rows.drop_columns(["number", "worst", "references"])
    found = found.append_column("state", pa.array(states, pa.string()))
    return found.append_column("references", pa.array(references))


def _of_part(results: pa.Table) -> pa.Table:
    """Return a row for each target of a part, with the worst state of its references there."""
    rows = np.flatnonzero(results["number"].to_numpy() >= 0)
    numbers = results["number"].to_numpy()[rows]
    states = places_of(results["state"], STATES)[rows]
    order = np.lexsort((rows, -states, numbers))
    starts = _starts(numbers[order])
    first = order[starts]
    found = results.take(number_column(rows[first]))
    columns = {name: found[name] for name in _ROWS.names if name in found.column_names}
    columns["worst"] = pa.array(states[first])
    columns["references"] = pa.array(np.diff(np.append(starts, len(rows))))
    return pa.table(columns).select(_ROWS.names).cast(_ROWS)


def _starts(numbers: np.ndarray) -> np.ndarray:
    """Return where each number begins, of ascending ones."""
    return np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
