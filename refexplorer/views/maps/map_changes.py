"""Changes of the chunks of an array since another set, for the map of chunks."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from refexplorer.differing import Difference, diff
from refexplorer.display.difference import MARKS, SHOWN, reference_text, sentences, title
from refexplorer.errors import RefexplorerError
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.differences.comparing import CHANGES
from refexplorer.spec.core.references import Reference
from refexplorer.views.wire.answering import Operations, floats
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer_messages import ChangesMap, CompareWith, ShowChanges
from refexplorer.views.wire.jobs import JobAnswer, Report, go_on
from refexplorer.views.wire.map_models import ChangeKind, ChangeRow, Changes
from refexplorer.views.wire.messages import Done

WORDS = {
    "same": "the same",
    "removed": "removed",
    "added": "added",
    "moved": "moved to another target",
    "shifted": "shifted offset",
    "resized": "changed length",
    "inlined": "inline on one side only",
    "embedded": "inline on one side, with equal bytes",
    "content": "other content",
    "metadata": "changed fields",
}
_TEXT = 200


class Comparison:
    """Answers how the set of an explorer differs from another one."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._other = context.compare
        self._jobs = context.jobs
        self._named_here = context.compare_here
        self._lock = threading.Lock()
        self._found: Difference | None = None
        self._kept: tuple[str, np.ndarray] | None = None
        self.operations: Operations = {
            ShowChanges: lambda request: self._jobs.start(
                request, lambda report: self._show(request, report)
            ),
            CompareWith: lambda request: self._jobs.start(
                request, lambda report: self._compare(request.source, report)
            ),
        }

    @property
    def other(self) -> ReferenceSet | None:
        """The set to compare with."""
        return self._other

    @property
    def found(self) -> Difference | None:
        """The difference, if it was looked for already."""
        return self._found

    def difference(self) -> Difference | None:
        """Return the difference; None if there is nothing to compare with."""
        with self._lock:
            if self._found is None and self._other is not None:
                self._found = diff(self._other, self._refs)
            return self._found

    def _compare(self, source: str, report: Report) -> JobAnswer:
        if not self._named_here:
            raise RefexplorerError("Comparing with another set is not allowed here.")

        def tell(done: int, size: int) -> None:
            go_on(report, done, size, f"Opening {source[:_TEXT]}")

        other = open_references(source, progress=tell) if source else None
        with self._lock:
            self._other, self._found, self._kept = other, None, None
        return Done(), []

    def _show(self, request: ShowChanges, report: Report) -> JobAnswer:
        report(None, None, f"Comparing {self._refs.count:,} keys")
        found = self.difference()
        if found is None:
            return ChangesMap(self._named_here, None), []
        path, window = request.array, request.window
        kinds = [name for name in CHANGES if name in found.counts]
        codes = [CHANGES.index(name) for name in kinds]
        cells = changes_in_cells(
            self._grid(found, path), window, request.axes, request.steps, codes
        )
        model = _model(found, path, window, kinds)
        return ChangesMap(self._named_here, model), [floats(cells)]

    def _grid(self, found: Difference, path: str) -> np.ndarray:
        with self._lock:
            if self._kept is None or self._kept[0] != path:
                self._kept = path, found.grid(path)
            return self._kept[1]


def changes_in_cells(
    grid: np.ndarray,
    window: Sequence[tuple[int, int]],
    axes: Sequence[int],
    steps: Sequence[int],
    codes: Sequence[int],
) -> np.ndarray:
    """Count the chunks of a window by cell and change.

    Parameters
    ----------
    grid
        As of `Difference.grid`.
    window, axes, steps
        Of a picture; see `refexplorer.views.wire.map_models.Grid`.
    codes
        The changes, places in `CHANGES`.

    Returns
    -------
    numpy.ndarray
        float64, shape ``(changes, rows, columns)``.
    """
    part = grid[tuple(slice(*span) for span in window)]
    others = [axis for axis in range(part.ndim) if axis not in axes]
    drawn = [1] * (2 - len(axes)) + [part.shape[axis] for axis in axes]
    part = part.transpose([*others, *axes]).reshape(-1, *drawn)
    widths = [1] * (2 - len(axes)) + list(steps)
    starts = [np.arange(0, size, step) for size, step in zip(drawn, widths, strict=True)]
    if not part.size:
        return np.zeros((len(codes), *map(len, starts)))
    counted = [np.count_nonzero(part == code, axis=0) for code in codes]
    return np.array(
        [np.add.reduceat(np.add.reduceat(each, starts[0], 0), starts[1], 1) for each in counted],
        np.float64,
    )


def _model(
    found: Difference, path: str, window: Sequence[tuple[int, int]], kinds: Sequence[str]
) -> Changes:
    rows = (
        ChangeRow(MARKS[row.change], row.key, _cut(row.before), _cut(row.after))
        for row in found.rows(0, SHOWN)
    )
    return Changes(
        title(found),
        path,
        tuple(window),
        tuple(ChangeKind(name, MARKS[name], WORDS[name], found.counts[name]) for name in kinds),
        tuple(sentences(found)),
        tuple(rows),
        max(0, found.total - SHOWN),
    )


def _cut(reference: Reference | None) -> str:
    return reference_text(reference)[:_TEXT]
