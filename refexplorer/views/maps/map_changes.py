"""Changes of the chunks of an array since another set, for the map of chunks."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from refexplorer.differing import Difference
from refexplorer.display.difference import MARKS
from refexplorer.refset.moves import CHANGES
from refexplorer.views.wire.answering import Operations, floats
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.compare_messages import (
    ChangeKind,
    Changes,
    ChangesMap,
    ShowChanges,
)
from refexplorer.views.wire.jobs import JobAnswer, JobReport

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


class ChangesOfChunks:
    """Draws what became of chunks since the set that is compared with."""

    def __init__(self, context: ViewContext) -> None:
        self._comparison = context.comparison
        self._lock = threading.Lock()
        self._kept: tuple[Difference, str, np.ndarray] | None = None
        self.operations: Operations = {
            ShowChanges: lambda request: context.jobs.start(
                request, lambda report: self._show(request, report)
            ),
        }

    def _show(self, request: ShowChanges, report: JobReport) -> JobAnswer:
        report(None, None, "Comparing the keys of both sets")
        found = self._comparison.difference()
        if found is None:
            return ChangesMap(None), []
        kinds = kinds_of(found)
        codes = [CHANGES.index(kind.name) for kind in kinds]
        grid, window = self._grid(found, request.array), request.window
        cells = changes_in_cells(grid, window, request.axes, request.steps, codes)
        return ChangesMap(Changes(request.array, tuple(window), kinds)), [floats(cells)]

    def _grid(self, found: Difference, path: str) -> np.ndarray:
        with self._lock:
            if self._kept is None or self._kept[:2] != (found, path):
                self._kept = found, path, found.grid(path)
            return self._kept[2]


def kinds_of(found: Difference) -> tuple[ChangeKind, ...]:
    """Return the changes that occur, in the order of `CHANGES`."""
    counts = found.counts
    names = [name for name in CHANGES if name in counts]
    return tuple(ChangeKind(name, MARKS[name], WORDS[name], counts[name]) for name in names)


def changes_in_cells(
    grid: np.ndarray,
    window: Sequence[tuple[int, int]],
    axes: Sequence[int],
    steps: Sequence[int],
    codes: Sequence[int],
) -> np.ndarray:
    """Count the chunks of a window by cell and change."""
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
