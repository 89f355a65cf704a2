"""The chunk map: one array's grid as cells that fit on a screen."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted
from refexplorer.io.decode.sizes import Index
from refexplorer.refset.chunk_grid import STATES, ChunkReferences, reduce
from refexplorer.refset.grid_view import GridView
from refexplorer.refset.moves import CHANGES
from refexplorer.refset.opened_set import internals, watched
from refexplorer.verbs.differing import MARKS, Difference
from refexplorer.views.health.health import unreadable
from refexplorer.views.wire.context import NOT_CHOSEN, ExplorerPart, FailureLog, ViewContext
from refexplorer.views.wire.jobs import JobReport, go_on, steps_of
from refexplorer.views.wire.requests import Buffers, Count, floats, job

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

CELLS = 120
"""Most rows and most columns of a picture."""
ARRAYS_LISTED = 500  # arrays that the menu lists
_STEPS = 3  # steps of the progress that is reported


WindowSpan = tuple[Count, Count]
"""Start and stop."""


class MapTarget(Struct, frozen=True):
    """A target in a chunk map, with the number that determines its colour."""

    url: str | None
    number: int


class Grid(Struct, frozen=True):
    """A picture of the chunks of an array, or of some of them."""

    array: str
    arrays: tuple[str, ...]  # Those to choose from; cut
    grid: tuple[Count, ...]  # Chunks along each dimension
    dimensions: tuple[str, ...]
    # key_start, separator: A chunk's key is ``key_start`` and its index joined by the separator
    key_start: str
    separator: str
    axes: tuple[int, ...]  # Those that are drawn, at most two
    window: tuple[WindowSpan, ...]  # Along each dimension, in chunks
    steps: tuple[Count, ...]  # Chunks in a cell, for each drawn axis
    rows: int
    columns: int
    # What a chunk can be. The last is ``failed``: in this session, in the last audit, or
    # rejected.
    states: tuple[str, ...]
    counts: tuple[Count, ...]  # Chunks of each state
    targets: tuple[MapTarget, ...]
    target_count: int
    outside: Count  # Keys of chunks that the grid does not have
    sampled: bool  # Whether of generated chunks only one in each cell was looked at


StripColour = Literal["state", "kind", "target", "size", "offset", "access"]
"""What the letters of a strip of chunks say."""
_COLOURED = 100_000
"""Chunks of an array whose strip has colours of its own: the tree waits for it."""
_SERIES = 7
"""Colours of files before they repeat."""
_LEVELS = "abcefghjkl"
"""From the least to the greatest size, offset or number of reads."""
_PLAIN = "i"
"""What has no file, no offset, or is not read."""


def file_numbers(refs: ReferenceSet, urls: Sequence[str | None]) -> list[int]:
    """Return the numbers that determine the colours of files: one per file of the whole set."""
    numbers = internals(refs).file_numbers
    # if there are too many templates to evaluate, not all files are known
    return [numbers.get(url, len(numbers)) for url in urls]


def coloured_strip(
    refs: ReferenceSet,
    array: ArrayMeta,
    strip: str,
    by: StripColour,
    axis: int = 0,
    access: str = "",
) -> str:
    """Return a strip with one letter per segment, for the most common value of `by`.

    ``I``, ``B``, ``U``, ``R`` are kinds, digits are colours of files, and ``i`` is an inline
    segment or one that `access` does not read; the last of `_LEVELS` is the highest. Segments with
    faults or without a reference keep their letter.
    """
    is_sorted = not {"target_index", "file_numbers"}.isdisjoint(vars(internals(refs)))
    if by == "state" or not strip or array.chunk_count > _COLOURED:
        return strip
    if array.chunk_count == 1 and by not in ("kind", "target"):  # more or less than no other
        return strip
    if by == "target" and not is_sorted:  # later, when it takes no time
        return strip
    if by == "access":
        letters = _access_letters(refs, array, len(strip), axis, access)
    else:
        letters = _cell_letters(refs, array, len(strip), axis, by)
    pairs = zip(strip, letters, strict=True)
    return "".join(letter if known in "rvp" else known for known, letter in pairs)


def _cell_letters(
    refs: ReferenceSet, array: ArrayMeta, length: int, axis: int, by: StripColour
) -> list[str]:
    grid = refs.chunk_grid(array.path)
    view = grid.view((axis,), cells=length)
    if by == "kind":
        letters = [STATES[1 + most][0].upper() for most in view.counts[1:, 0, :].argmax(axis=0)]
    elif by == "target":
        numbers = file_numbers(refs, grid.urls)
        letters = [_PLAIN if code < 0 else str(numbers[code] % _SERIES) for code in view.targets[0]]
    elif by == "size":
        present = np.maximum(view.counts[1:, 0, :].sum(axis=0), 1)
        letters = _levels(np.where(view.sizes[0] < 0, -1, view.sizes[0] / present))
    else:
        letters = _levels(view.offsets[0].astype(np.float64))
    first = -(-np.arange(length) * array.grid[axis] // length) // view.sides[0].step
    return [letters[at] for at in first.tolist()]


def _access_letters(
    refs: ReferenceSet, array: ArrayMeta, length: int, axis: int, access: str
) -> list[str]:
    """Return how often an access pattern reads the chunks of each segment."""
    from refexplorer.checks.advice import advising
    from refexplorer.checks.advice.accesses import part_of

    standard = advising.standard_accesses(internals(refs).opened, array)
    if not standard:
        return [_PLAIN] * length
    # an array may have the same access by another name, or only that of all of it
    first, second = {advising.MAP, advising.SLICE}, {advising.SERIES, advising.ALONG}
    is_second = access in second or (access == "" and len(standard) > 2)
    place = 0 if access in first else 1 if is_second else 2
    name = [*standard][min(place, len(standard) - 1)]
    try:
        named = {"", advising.WHOLE, *first, *second}
        part = standard[name] if access in named else part_of(array, access)
    except RefexplorerError:  # it is written for another array
        return [_PLAIN] * length
    count = array.grid[axis]
    times = part.touches(axis, np.arange(count))
    most = np.zeros(length)
    np.maximum.at(most, np.arange(count) * length // count, times)
    return _levels(np.where(most > 0, most, -1), 0)


def _levels(numbers: np.ndarray, low: float | None = None) -> list[str]:
    """Return the level of each number between `low`, or the minimum, and the maximum."""
    known = numbers[numbers >= 0]
    if not len(known):
        return [_PLAIN] * len(numbers)
    low, high = float(known.min()) if low is None else low, float(known.max())
    shares = (numbers - low) / (high - low) if high > low else np.ones(len(numbers))
    places = np.rint(np.clip(shares, 0, 1) * (len(_LEVELS) - 1)).astype(int)
    pairs = zip(numbers, places, strict=True)
    return [_LEVELS[place] if number >= 0 else _PLAIN for number, place in pairs]


class ChunkMap:
    """Handles the requests of a chunk map; keeps the grid of the last array."""

    def __init__(self, context: ViewContext) -> None:
        self._context = context
        self._other: ChunkMap | None = None
        self._refs = context.references
        self._failure_log = context.failure_log
        self._kept: tuple[str, ChunkReferences] | None = None

    @job(
        "grid.show",
        unsaved="This part of the map was not drawn when the page was saved",
        in_turn=True,
        buffers="float64 in C order: chunks of each state (states x rows x columns); then for each "
        "cell (rows x columns) the target of most chunks (place in `targets`, or -1), the least "
        "offset (or -1), bytes (or -1: not known, a whole file is among them), and how many "
        "targets there are.",
        sends="map",
    )
    def show(
        self,
        report: JobReport,
        array: str | None = None,  # Null: the one of most chunks
        axes: tuple[int, ...] | None = None,  # The drawn ones: rows, columns
        # Along each dimension, in chunks; null: everything
        window: tuple[tuple[int, int], ...] | None = None,
        # Of the set that this one is compared with, as for an array that is no longer there
        before: bool = False,
    ) -> tuple[Grid | None, Buffers]:
        """Draw the chunks of an array; null if the set has no arrays."""
        if before:
            return self._before().show(report, array, axes, window)
        go_on(report, 0, _STEPS, "Looking for the array with the most chunks")
        path = self._largest() if array is None else array
        if path is None:
            return None, []
        grid = self._grid(path)
        present = counted(grid.array.chunk_count, "chunk")
        go_on(report, 1, _STEPS, f"Looking up {present}")
        grid.read(steps_of(report, "Reading chunks"))
        with watched(steps_of(report, "Numbering files")):
            internals(self._refs).number_files(path, grid.urls)
        outside = len(grid.outside)
        go_on(report, 2, _STEPS, f"Counting {present}")
        view = grid.view(axes, window, CELLS)
        codes, places = np.unique(view.targets, return_inverse=True)
        places = places.reshape(view.shape) - int(-1 in codes)
        counts = self._counts(grid, view)
        columns = (counts, places, view.offsets, view.sizes, view.distinct)
        buffers = [floats(each) for each in columns]
        go_on(report, _STEPS, _STEPS, "Drawing")
        return self._model(grid, view, counts, codes[codes >= 0].tolist(), outside), buffers

    def _before(self) -> ChunkMap:
        """Return the map of the comparison set, of which nothing was read here."""
        other = self._context.comparison.other
        if other is None:
            raise RefexplorerError(NOT_CHOSEN)
        if self._other is None or self._other._refs is not other:
            log = FailureLog()
            self._other = ChunkMap(replace(self._context, references=other, failure_log=log))
        return self._other

    def _largest(self) -> str | None:
        """Return the array with most chunks, shown first for a set."""
        paths = self._refs.arrays()
        return max(paths, key=lambda path: self._refs.array(path).chunk_count, default=None)

    def _grid(self, path: str) -> ChunkReferences:
        if self._kept is None or self._kept[0] != path:
            try:
                self._kept = path, self._refs.chunk_grid(path)
            except KeyError:
                raise RefexplorerError(f"There is no array at {path!r}.") from None
        return self._kept[1]

    def _counts(self, grid: ChunkReferences, view: GridView) -> np.ndarray:
        """Return the chunks by state; failed ones are not counted in their original state."""
        found_bad = unreadable(self._refs, grid.array) if grid.complete else None
        counts = np.concatenate([view.counts, np.zeros((1, *view.shape))])
        if found_bad is not None:
            bad = grid.chunks.select(found_bad[tuple(grid.chunks.indices.T)])
            failed = reduce(bad, view.sides, view.window, len(STATES)).counts
            counts[:-1] -= failed
            counts[-1] += failed.sum(axis=0)
        rejected = reduce(grid.left_out, view.sides, view.window, 1).counts[0]
        rejected = np.minimum(rejected, counts[0])  # of a sample not all were looked at
        counts[0] -= rejected
        counts[-1] += rejected
        self._count_outcomes(grid, view, counts, found_bad)
        return counts

    def _count_outcomes(
        self,
        grid: ChunkReferences,
        view: GridView,
        counts: np.ndarray,
        found_bad: np.ndarray | None,
    ) -> None:
        """Count the failures of this session, unless already counted."""
        failed = self._failure_log.failed(grid.array.path)
        known = {tuple(index) for index in grid.left_out.indices.tolist()} if failed else set()
        for index in failed:
            if index in known or (found_bad is not None and found_bad[index]):
                continue
            reference = self._refs.get(grid.array.chunk_key(index))
            state = STATES.index("absent" if reference is None else reference.kind)
            cell = _cell(view, index)
            if cell is not None and counts[state][cell] > 0:
                counts[state][cell] -= 1
                counts[-1][cell] += 1

    def _model(
        self,
        grid: ChunkReferences,
        view: GridView,
        counts: np.ndarray,
        codes: list[int],
        outside: int,
    ) -> Grid:
        array, urls = grid.array, grid.urls
        numbers = file_numbers(self._refs, [urls[code] for code in codes])
        rank = len(array.grid)
        rows, columns = view.shape
        return Grid(
            array.path,
            self._refs.arrays()[:ARRAYS_LISTED],
            array.grid,
            tuple(
                (array.dimensions or ("",) * rank)[axis] or f"axis {axis}" for axis in range(rank)
            ),
            array.folder + array.prefix if rank else array.chunk_key(()),
            array.separator,
            tuple(side.axis for side in view.sides),
            view.window,
            tuple(side.step for side in view.sides),
            rows,
            columns,
            (*STATES, "failed"),
            _totals(view, counts),
            tuple(
                MapTarget(urls[code], number) for code, number in zip(codes, numbers, strict=True)
            ),
            len(urls),
            outside,
            view.sampled,
        )


def _totals(view: GridView, counts: np.ndarray) -> tuple[int, ...]:
    """Return the chunks by state; float64 cannot count all that may be absent."""
    absent, *others = (int(count) for count in counts.sum(axis=(1, 2)))
    if not view.sampled:
        absent = math.prod(stop - start for start, stop in view.window) - sum(others)
    return absent, *others


def _cell(view: GridView, index: Index) -> tuple[int, int] | None:
    """Return the row and column of the cell with a chunk; None outside the window."""
    if any(not a <= at < b for at, (a, b) in zip(index, view.window, strict=True)):
        return None
    places = [(index[side.axis] - side.start) // side.step for side in view.sides]
    row, column = [0] * (2 - len(places)) + places
    return row, column


WORDS = {
    "same": "the same",
    "removed": "removed",
    "added": "added",
    "moved": "moved to another file",
    "shifted": "shifted offset",
    "resized": "changed length",
    "inlined": "inline on one side only",
    "embedded": "inline on one side, with equal bytes",
    "content": "other content",
    "metadata": "changed fields",
    "rejected": "rejected on one side",
}


class ChangeKind(Struct, frozen=True):
    """One change: its letter, its name, and the number of keys with it."""

    name: str
    mark: str
    words: str
    keys: Count


class Changes(Struct, frozen=True):
    """The changes of the chunks of a picture."""

    array: str
    window: tuple[WindowSpan, ...]
    kinds: tuple[ChangeKind, ...]


class ChangesOfChunks:
    """Draws how chunks changed since the set used for comparison."""

    def __init__(self, context: ViewContext) -> None:
        self._comparison = context.comparison
        self._lock = threading.Lock()
        self._kept: tuple[Difference, str, np.ndarray] | None = None

    @job(
        "changes.show",
        buffers="Chunks of each kind (kinds x rows x columns), float64, C order.",
        sends="changes",
    )
    def show(
        self,
        report: JobReport,
        # array, axes, window, steps: As in `Grid`
        array: str,
        axes: tuple[int, ...],
        window: tuple[tuple[int, int], ...],
        steps: tuple[int, ...],
    ) -> tuple[Changes | None, Buffers]:
        """Draw how the chunks of a picture changed; null without a set to compare with."""
        if (found := self._comparison.difference(report)) is None:
            return None, []
        kinds = kinds_of(found)
        codes = [CHANGES.index(kind.name) for kind in kinds]
        cells = changes_in_cells(self._grid(found, array), window, axes, steps, codes)
        return Changes(array, window, kinds), [floats(cells)]

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


PART = ExplorerPart(
    "chunks", "Chunks", "Chunks", (ChunkMap, ChangesOfChunks), place=4, paints="by",
    address=("map",),
)  # fmt: skip
