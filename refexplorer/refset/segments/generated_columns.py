"""References of a gen item as columns: arithmetic until somebody asks for many of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import number_column, text_column
from refexplorer.formats.json.writer import joined
from refexplorer.refset.columns.reference_columns import RANGE, URL, Columns
from refexplorer.refset.columns.table import Table
from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.references import Range
from refexplorer.spec.gen.runs import Run
from refexplorer.spec.templates.formatted_integers import Halves

_LARGEST = 2**63 - 1


def generated_tables(part: Generated, start: int = 0, stop: int | None = None) -> Iterator[Table]:
    """Yield the references numbered `start` to `stop`; those that fail are skipped."""
    for run in part.runs(start, stop):
        yield Table(_keys_of(run), columns_of(run), part.origin)


def generated_keys(part: Generated) -> Iterator[pa.LargeStringArray]:
    """Yield the keys alone, in order; those of references that fail are skipped."""
    return map(_keys_of, part.runs())


def _keys_of(run: Run) -> pa.LargeStringArray:
    if not isinstance(run.texts, Halves):
        return text_column(run.keys)
    parts = ((run.texts.heads, run.texts.high), (run.texts.tails, run.texts.low))
    return joined(
        *(text_column(texts).take(number_column(positions)) for texts, positions in parts)
    )


def columns_of(run: Run) -> Columns:
    """Return the references of the keys of a run."""
    count = len(run)
    if run.offsets is None or run.lengths is None:
        none = np.zeros(count, np.int64)
        return Columns(np.full(count, URL, np.uint8), run.targets, run.urls, none, none, ())
    (offsets, huge), (lengths, long) = _bounded(run.offsets), _bounded(run.lengths)
    large = {
        row: Range(run.urls[run.targets[row]], int(run.offsets[row]), int(run.lengths[row]))
        for row in np.flatnonzero(huge | long).tolist()
    }
    kinds = np.full(count, RANGE, np.uint8)
    return Columns(kinds, run.targets, run.urls, offsets, lengths, (), large)


def _bounded(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers as int64, and where they do not fit."""
    large = numbers > _LARGEST
    return np.where(large, _LARGEST, numbers).astype(np.int64), large.astype(np.bool_)
