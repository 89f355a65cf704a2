"""The controller of the comparison: the other set, what differs, one chunk in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import escape
from refexplorer.refset.moves import CHANGES
from refexplorer.verbs.differing import MARKS, reference_text, sentences, title
from refexplorer.views.compare.chunk_values import ChunkSide, OtherChunks, compare_chunk
from refexplorer.views.maps.chunk_map import kinds_of
from refexplorer.views.preview.values import DecodedChunks, load_array_libraries
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.compare_messages import (
    ArrayChanges,
    ChangePage,
    ChangeRow,
    ChangeRows,
    ComparedSets,
    CompareValues,
    CompareWith,
    ComparisonSummary,
    Offered,
    SumChanges,
)
from refexplorer.views.wire.jobs import JobAnswer, JobReport, go_on
from refexplorer.views.wire.messages import Done

if TYPE_CHECKING:
    from refexplorer.refset.differences import KeyChange
    from refexplorer.spec.references import Reference
    from refexplorer.verbs.differing import Difference
    from refexplorer.verbs.referenceset import ReferenceSet

ROWS = 1000
"""Most rows that one answer carries."""
ARRAYS = 1000  # arrays in one answer
_TEXT = 200  # characters of a name or reference: a file may hold any text


class CompareController:
    """Answers how the set of an explorer differs from another one."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._comparison = context.comparison
        self._chunks = DecodedChunks(self._refs, context.targets, context.failure_log)
        self._others = OtherChunks(context)
        start = context.jobs.in_turn
        self.operations: Operations = {
            SumChanges: start(self._sum),
            CompareWith: start(self._compare),
            ChangeRows: start(self._rows),
            CompareValues: start(self._values),
        }

    def _compare(self, request: CompareWith, report: JobReport) -> JobAnswer:
        source, sets = request.source, self._comparison.sets
        if sets is None:
            raise RefexplorerError("Comparing with another set is not allowed here.")
        if not source:
            self._comparison.compare(None)
            return Done(), []
        if request.is_typed:
            sets.consent(source)
        label = f"Opening {escape(source, _TEXT)}"

        def tell(done: int, size: int) -> None:
            go_on(report, done, size, label)

        other = sets.open(source, tell, lambda: report(None, None, label))
        self._comparison.compare(other, source)
        return Done(), []

    def _sum(self, request: SumChanges, report: JobReport) -> JobAnswer:
        sets = self._comparison.sets
        offered = (
            ()
            if sets is None
            else tuple(Offered(name, source) for source, name in sets.offered().items())
        )
        found = self._difference(report)
        summed = None if found is None else self._summed(found)
        return ComparisonSummary(sets is not None, offered, summed), []

    def _difference(self, report: JobReport) -> Difference | None:
        if self._comparison.other is not None:
            go_on(report, None, None, "Comparing the keys of both sets")
        found = self._comparison.difference()
        if found is not None:
            _ = found.tree.tree  # what rows are marked with must not make it under a lock
        return found

    def _summed(self, found: Difference) -> ComparedSets:
        kinds = kinds_of(found)
        codes = [CHANGES.index(kind.name) for kind in kinds]
        arrays = []
        for path in found.arrays():
            counts = found.tree.counts_below(path)
            if counts.any():
                told = tuple(counts[codes].tolist())
                before, after = _form(found.before, path), _form(found.after, path)
                arrays.append(ArrayChanges(path, before, after, told))
        return ComparedSets(
            found.before.source.name,
            found.after.source.name,
            self._comparison.source,
            title(found),
            kinds,
            tuple(sentences(found)),
            tuple(arrays[:ARRAYS]),
            len(arrays),
        )

    def _needed(self, report: JobReport) -> Difference:
        found = self._difference(report)
        if found is None:
            raise RefexplorerError("There is no set to compare with: choose one in Compare.")
        return found

    def _rows(self, request: ChangeRows, report: JobReport) -> JobAnswer:
        found = self._needed(report)
        if request.change is not None and request.change not in CHANGES[1:]:
            raise RefexplorerError(f"{request.change!r} is not a kind of change.")
        numbers = found.tree.numbers(request.folder, request.change)
        start = max(request.start, 0)
        shown: np.ndarray = numbers[start : start + min(max(request.n, 0), ROWS)]
        rows = tuple(map(_row, found.rows_at(shown)))
        return ChangePage(start, len(numbers), rows), []

    def _values(self, request: CompareValues, report: JobReport) -> JobAnswer:
        load_array_libraries()
        found = self._needed(report)
        before, after = found.before, found.after
        sides = (
            ChunkSide(before, self._others.of(before)),
            ChunkSide(after, self._chunks),
        )
        return compare_chunk(request.key, *sides, report)


def _form(refs: ReferenceSet, path: str) -> str | None:
    """Return shape and data type of an array; None where there is none."""
    try:
        array = refs.array(path)
    except KeyError:
        return None
    lengths = " \N{MULTIPLICATION SIGN} ".join(f"{length:,}" for length in array.shape)
    return f"{lengths} {array.dtype}".strip()


def _row(change: KeyChange) -> ChangeRow:
    mark = MARKS[change.change]
    return ChangeRow(mark, change.change, change.key, _cut(change.before), _cut(change.after))


def _cut(reference: Reference | None) -> str:
    return reference_text(reference)[:_TEXT]
