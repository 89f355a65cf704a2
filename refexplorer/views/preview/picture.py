"""Values of a selection at screen resolution, drawn as their chunks arrive."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from refexplorer.io.decode.sizes import Index, overlap, place_count
from refexplorer.io.reading.readings import ChunkState, Reading, overall
from refexplorer.spec.zarr_metadata import ArrayMeta, type_name
from refexplorer.views.preview.axes import Coordinate, coordinates_of
from refexplorer.views.preview.reading_model import ReadingModel, counts_of, lost_of, triples
from refexplorer.views.preview.regions import (
    PICTURE_CHUNKS,
    Region,
    channels_of,
    chunks_touched,
    names_of,
)
from refexplorer.views.preview.values import (
    DecodedChunks,
    Decoding,
    Physical,
    integers_of,
    physical,
    value_text,
)
from refexplorer.views.wire.jobs import JobReport

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

CELLS = 1_000_000  # Each is eight bytes on the wire, and few screens have more points

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Box = tuple[slice, ...]


def block_sizes(
    shape: Sequence[int], most: int = CELLS, colours: int | None = None
) -> tuple[int, ...]:
    """Return how many values share a cell along each dimension; drawn ones are reduced first."""
    # A picture shows the last two long dimensions: they are reduced first. The dimension of
    # `colours` is not one of them.
    sizes, left = [1] * len(shape), list(shape)
    shown = [axis for axis, length in enumerate(shape) if length > 1 and axis != colours][-2:]
    while math.prod(left) > most:
        long = [axis for axis in shown if left[axis] > 1] or range(len(left))
        axis = max(long, key=left.__getitem__)
        sizes[axis] += max(1, sizes[axis] // 64)
        left[axis] = -(-shape[axis] // sizes[axis])
    if len(shown) == 2 and max(left[axis] for axis in shown) > 1:
        # alike along both, as far as one of them alone would not be left without detail
        side = max(sizes[axis] for axis in shown)
        for axis in shown:
            sizes[axis] = max(sizes[axis], min(side, -(-shape[axis] // 256)))
    return tuple(sizes)


class PictureBlocks:
    """Cells that are completed as chunks arrive: means of blocks, or their middle value."""

    def __init__(self, array: ArrayMeta, places: Region, is_mean: bool) -> None:
        self._array = array
        self._places = places
        self.is_mean = is_mean
        counts = tuple(map(place_count, places))
        self.sizes = block_sizes(counts, colours=channels_of(array))
        self.shape = tuple(-(-n // size) for n, size in zip(counts, self.sizes, strict=True))
        self._lengths = counts
        self.is_whole = all(size == 1 for size in self.sizes)
        self.cells: Numbers = np.full(self.shape, np.nan)  # NaN without a number
        if not self.is_whole and is_mean:
            self._sums: Numbers = np.zeros(self.shape)
            self._counts = np.zeros(self.shape, np.int64)
        self.minimum: Any = None
        self.maximum: Any = None
        self.missing = 0
        self.infinite = (0, 0)
        self.integers: np.ndarray | None = None

    @property
    def region(self) -> Region:
        """The first position of each cell."""
        return tuple(part[::size] for part, size in zip(self._places, self.sizes, strict=True))

    def fill(self, value: float, decoded: Any) -> None:
        """Set all cells to one value; `decoded` is the same in its own type."""
        self.cells[...] = value
        self.minimum = self.maximum = decoded if math.isfinite(value) else None
        self.infinite = (
            self.cells.size * (value == -math.inf), self.cells.size * (value == math.inf)
        )  # fmt: skip
        if integers_of(np.asarray(decoded), self.cells) is not None:
            self.integers = np.full(self.shape, decoded)

    def add(self, index: Index, numbers: Numbers, decoded: np.ndarray) -> Box:
        """Add the values of a chunk, as float64 and in their own type; return the changed cells."""
        into, of = overlap(self._array, self._places, index)
        part = numbers[of]
        is_known = self._note(part, decoded[of])
        if self.is_whole:
            self._keep_integers(into, decoded[of])
        box = tuple(
            slice(side.start // size, -(-side.stop // size))
            for side, size in zip(into, self.sizes, strict=True)
        )
        if self.is_whole:
            self.cells[into] = part
        elif self.is_mean:
            self._add_to_means(box, into, part, is_known)
        else:
            self._pick(into, part)
        return box

    def _note(self, part: Numbers, decoded: np.ndarray) -> bool:
        """Count what is missing or infinite; return whether nothing is."""
        known = np.isfinite(part)
        is_known = bool(known.all())
        if is_known:
            finite = decoded
        else:
            finite = decoded[known]
            low, high = int(np.isneginf(part).sum()), int(np.isposinf(part).sum())
            self.missing += part.size - finite.size - low - high
            self.infinite = (self.infinite[0] + low, self.infinite[1] + high)
        if finite.size:
            low, high = finite.min(), finite.max()
            self.minimum = low if self.minimum is None else min(self.minimum, low)
            self.maximum = high if self.maximum is None else max(self.maximum, high)
        return is_known

    def _keep_integers(self, into: Box, decoded: np.ndarray) -> None:
        if self.integers is None:
            if integers_of(decoded, self.cells) is None:
                return
            # all that came before is exact as float64
            own = decoded.dtype.newbyteorder("=")
            self.integers = np.where(np.isfinite(self.cells), self.cells, 0).astype(own)
        self.integers[into] = decoded

    @np.errstate(invalid="ignore", over="ignore")
    def _add_to_means(self, box: Box, into: Box, part: Numbers, is_known: bool) -> None:
        """Add to sums and counts: a block may span several chunks."""
        firsts = [
            np.maximum(np.arange(cells.start, cells.stop) * size - side.start, 0)
            for side, cells, size in zip(into, box, self.sizes, strict=True)
        ]
        is_number = is_known or ~np.isnan(part)
        if np.all(is_number):  # the usual case: counting each takes three times as long
            self._sums[box] += self._block_sums(part, firsts)
            ends = [[*each[1:], n] for each, n in zip(firsts, part.shape, strict=True)]
            along = [np.subtract(end, first) for end, first in zip(ends, firsts, strict=True)]
            self._counts[box] += functools.reduce(np.multiply.outer, along, np.int64(1))
        else:
            self._sums[box] += self._block_sums(np.where(is_number, part, 0.0), firsts)
            self._counts[box] += self._block_sums(np.asarray(is_number, np.int64), firsts)
        means = self._sums[box] / np.maximum(self._counts[box], 1)
        if not any(self.infinite) and self.minimum is not None:
            # sums of the largest float64 overflow; no mean is beyond the values
            means = np.clip(means, float(self.minimum), float(self.maximum))
        means[np.isnan(means)] = np.inf  # of infinities of both signs: a cell with any is drawn so
        means[self._counts[box] == 0] = np.nan
        self.cells[box] = means

    def _block_sums(self, part: Any, firsts: list[Any]) -> Any:
        for axis in reversed(range(part.ndim)):  # the last lies together in memory
            if self.sizes[axis] > 1 and part.shape[axis]:
                part = np.add.reduceat(part, firsts[axis], axis)
        return part

    def _pick(self, into: Box, part: Numbers) -> None:
        cells, places = list[Any](), list[Any]()
        for side, size, length in zip(into, self.sizes, self._lengths, strict=True):
            middles = np.minimum(np.arange(-(-length // size)) * size + size // 2, length - 1)
            inside = (middles >= side.start) & (middles < side.stop)
            cells.append(np.flatnonzero(inside))
            places.append(middles[inside] - side.start)
        if cells:
            self.cells[np.ix_(*cells)] = part[np.ix_(*places)]


TellCells = Callable[[ReadingModel, list[Box], bytes], None]
"""Called with the reading so far, the changed cells, and their values box by box."""
_SOON = 0.15
"""Seconds before the first picture; what is expected within that is sent at once."""
_SELDOM = 1.0
"""Seconds between two pictures at most; at first less, as long as it took until then: a front end
takes longer to draw one than to read what is missing."""


def ignore_progress(reading: ReadingModel, boxes: list[Box], values: bytes) -> None:
    """Report to nobody."""


def is_pictured(array: ArrayMeta, decoding: Decoding | None = None) -> bool:
    """Return whether values of an array are numbers that can be decoded chunk by chunk."""
    # Whether times can be decoded, for example, is only known from all of them.
    try:
        kind = np.dtype(array.dtype).kind
    except TypeError:
        return False
    is_time = "since" in str(array.attributes.get("units", ""))
    return kind in "iuf" and not (is_time and (decoding is None or decoding.times))


@dataclass
class Picture:
    """One reading of numbers."""

    _refs: ReferenceSet
    _array: ArrayMeta
    _places: Region
    _chunks: DecodedChunks
    _decoding: Decoding
    _blank: ReadingModel
    _tell: TellCells

    def __post_init__(self) -> None:
        array, places = self._array, self._places
        self._indices = list(chunks_touched(array, places, PICTURE_CHUNKS))
        self._states: dict[Index, ChunkState] = {}
        self._failures: dict[Index, str] = {}
        self._fill: Reading | None = None
        flags = {"flag_values", "flag_masks"} & set(array.attributes)
        self._blocks = PictureBlocks(array, places, is_mean=not flags)
        self._blank = replace(
            self._blank,
            state="fetched",
            region=triples(self._blocks.region),
            shape=self._blocks.shape,
            blocks=self._blocks.sizes,
            reduced=None if self._blocks.is_whole else "nearest" if flags else "mean",
        )

    def _sides(self, beside: ThreadPoolExecutor) -> Future[tuple[Coordinate, ...]]:
        """Start reading the coordinates; immediately in a browser, which has no threads."""
        try:
            return beside.submit(copy_context().run, self._coordinates)
        except RuntimeError:
            found: Future[tuple[Coordinate, ...]] = Future()
            found.set_result(self._coordinates())
            return found

    def read(self, report: JobReport) -> tuple[ReadingModel, list[bytes]]:
        """Read all chunks, until stopped."""
        with ThreadPoolExecutor(1, "refexplorer-coordinates") as beside:
            sides = self._sides(beside)
            changed: list[Box] = []
            begun = monotonic()
            due = begun + _SOON
            for waiting in self._batches(report):
                changed += self._decoded(waiting)
                now, done = monotonic(), len(self._states)
                if now >= due and (now - begun) * (len(self._indices) - done) > _SOON * done:
                    values = b"".join(self._blocks.cells[box].tobytes() for box in changed)
                    self._tell(self._so_far(sides), changed, values)
                    changed, due = [], now + min(now - begun, _SELDOM)
            state = overall(self._states)
            if state is ChunkState.FILL and self._fill is not None:
                meant = self._meant(self._fill)
                if meant.numbers is not None and meant.numbers.size:
                    self._blocks.fill(float(meant.numbers.flat[0]), meant.decoded.reshape(-1)[0])
            message = self._failures[min(self._failures)] if self._failures else self._cell_text()
            reading = replace(self._known(), state=state, message=message)
            if state is ChunkState.FAILED:
                return reading, []
            reading = replace(reading, coordinates=sides.result())
        buffers = [np.ascontiguousarray(self._blocks.cells, "<f8").tobytes()]
        if (integers := self._blocks.integers) is not None:
            buffers.append(integers.astype(f"<{integers.dtype.kind}8").tobytes())
        return reading, buffers

    def _meant(self, found: Reading) -> Physical:
        meant = physical(self._array, found, self._decoding)
        self._blank = replace(self._blank, value_type=type_name(meant.decoded.dtype))
        return meant

    def _coordinates(self) -> tuple[Coordinate, ...]:
        region, sizes, decoding = self._blocks.region, self._blocks.sizes, self._decoding
        found = coordinates_of(self._refs, self._array, region, self._chunks, decoding, sizes)
        return tuple(found)

    def _batches(self, report: JobReport) -> Iterator[list[Reading]]:
        """Yield chunks that arrived within a short time together."""
        waiting: list[Reading] = []
        due = monotonic() + _SOON
        for found in self._chunks.each(self._array, self._indices, report):
            waiting.append(found)
            if monotonic() >= due or len(waiting) >= _TOGETHER:
                yield waiting
                waiting, due = [], monotonic() + _SOON
        yield waiting

    def _decoded(self, readings: list[Reading]) -> Iterator[Box]:
        """Add chunks to the cells; small ones together, since each call has a cost."""
        fetched: list[Reading] = []
        for each in readings:
            assert each.index is not None
            self._states[each.index] = each.state
            if each.state is ChunkState.FETCHED:
                fetched.append(each)
            elif each.state is ChunkState.FILL:
                self._fill = each
            else:
                self._failures[each.index] = each.message or "It failed."
        if fetched and fetched[0].values is not None and fetched[0].values.size >= _LARGE:
            for each in fetched:
                yield from self._added([each])
        elif fetched:
            yield from self._added(fetched)

    def _added(self, fetched: list[Reading]) -> Iterator[Box]:
        parts = [np.asarray(each.values) for each in fetched]
        flat = parts[0] if len(parts) == 1 else np.concatenate([each.reshape(-1) for each in parts])
        first = fetched[0]
        joined = Reading(None, flat, first.state, fill=first.fill)
        meant: Any = self._meant(joined)
        numbers, decoded, at = meant.numbers.reshape(-1), meant.decoded.reshape(-1), 0
        for each, values in zip(fetched, parts, strict=True):
            assert each.index is not None
            own = slice(at, at + values.size)
            part = numbers[own].reshape(values.shape)
            yield self._blocks.add(each.index, part, decoded[own].reshape(values.shape))
            at += values.size

    def _known(self) -> ReadingModel:
        """Return the model of the reading so far."""
        blocks = self._blocks
        is_known = blocks.minimum is not None
        return replace(
            self._blank,
            chunks=counts_of(self._states),
            lost=tuple(lost_of(self._states)),
            minimum=float(blocks.minimum) if is_known else None,
            maximum=float(blocks.maximum) if is_known else None,
            extremes=(value_text(blocks.minimum), value_text(blocks.maximum)) if is_known else None,
            missing=blocks.missing,
            infinite=blocks.infinite,
        )

    def _so_far(self, sides: Future[tuple[Coordinate, ...]]) -> ReadingModel:
        is_there = sides.done() and sides.exception() is None
        return replace(self._known(), coordinates=sides.result() if is_there else ())

    def _cell_text(self) -> str | None:
        """Describe a cell of several values."""
        if self._blocks.is_whole:
            return None
        sizes = zip(self._blocks.sizes, names_of(self._array), strict=True)
        along = [f"{size} along {name}" for size, name in sizes if size > 1]
        what = "the mean of" if self._blocks.is_mean else "the value in the middle of"
        count = np.prod([place_count(part) for part in self._places])
        return f"Each cell is {what} {' and '.join(along)} ({count:,} values in all)."


_TOGETHER = 16  # Chunks that are added together at most: meanwhile others are decoded
_LARGE = 2**14  # Values of a chunk from which on it is decoded alone: to copy it would take longer
