"""Numbers of a part of an array at the resolution of the screen, drawn as their chunks come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from refexplorer.io.decode.chunk_shapes import Index, place_count
from refexplorer.io.reading.readings import ChunkState, Reading, overall
from refexplorer.views.preview.blocks import Box, PictureBlocks
from refexplorer.views.preview.coordinates import coordinates_of
from refexplorer.views.preview.outcomes import counts_of, lost_of, triples
from refexplorer.views.preview.region_reader import DecodedChunks
from refexplorer.views.preview.regions import PICTURE_CHUNKS, Region, chunks_touched, names_of
from refexplorer.views.preview.values import (
    Decoding,
    Physical,
    physical,
    type_name,
    value_text,
)
from refexplorer.views.wire.explorer.data_messages import Coordinate, ReadingModel
from refexplorer.views.wire.jobs import JobReport

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.zarr_metadata import ArrayMeta

TellCells = Callable[[ReadingModel, list[Box], bytes], None]
"""Called with what is known so far, the cells that changed, and their values one box after the
other."""
_SOON = 0.15
"""Seconds between two pictures, and before the first: what is there sooner is sent at once."""


def untold(reading: ReadingModel, boxes: list[Box], values: bytes) -> None:
    """Tell nobody."""


def is_pictured(array: ArrayMeta, decoding: Decoding | None = None) -> bool:
    """Say whether the values of an array are numbers that a chunk alone tells.

    Whether times can be decoded, for one, is only known of all of them.
    """
    try:
        kind = np.dtype(array.dtype).kind
    except TypeError:
        return False
    is_time = "since" in str(array.attributes.get("units", ""))
    return kind in "iuf" and not (is_time and (decoding is None or decoding.times))


class Picture:
    """One reading of numbers."""

    def __init__(
        self,
        refs: ReferenceSet,
        array: ArrayMeta,
        places: Region,
        chunks: DecodedChunks,
        decoding: Decoding,
        blank: ReadingModel,
        tell: TellCells,
    ) -> None:
        self._refs = refs
        self._array = array
        self._places = places
        self._chunks = chunks
        self._decoding = decoding
        self._tell = tell
        self._indices = list(chunks_touched(array, places, PICTURE_CHUNKS))
        self._states: dict[Index, ChunkState] = {}
        self._failures: dict[Index, str] = {}
        self._fill: Reading | None = None
        flags = {"flag_values", "flag_masks"} & set(array.attributes)
        self._blocks = PictureBlocks(array, places, is_mean=not flags)
        self._blank = replace(
            blank,
            state="fetched",
            region=triples(self._blocks.region),
            shape=self._blocks.shape,
            blocks=self._blocks.sizes,
            reduced=None if self._blocks.is_whole else "nearest" if flags else "mean",
        )

    def _sides(self, beside: ThreadPoolExecutor) -> Future[tuple[Coordinate, ...]]:
        """Start to read the coordinates; a kernel in the browser has no threads: now."""
        try:
            return beside.submit(copy_context().run, self._coordinates)
        except RuntimeError:
            found: Future[tuple[Coordinate, ...]] = Future()
            found.set_result(self._coordinates())
            return found

    def read(self, report: JobReport) -> tuple[ReadingModel, list[bytes]]:
        """Read all chunks, until it is stopped."""
        with ThreadPoolExecutor(1, "refexplorer-coordinates") as beside:
            sides = self._sides(beside)
            changed: list[Box] = []
            due = monotonic() + _SOON
            for waiting in self._batches(report):
                changed += self._decoded(waiting)
                if monotonic() >= due and len(self._states) < len(self._indices):
                    values = b"".join(self._blocks.cells[box].tobytes() for box in changed)
                    self._tell(self._so_far(sides), changed, values)
                    changed, due = [], monotonic() + _SOON
            state = overall(self._states)
            if state is ChunkState.FILL and self._fill is not None:
                meant = self._meant(self._fill)
                if meant.numbers is not None and meant.numbers.size:
                    self._blocks.fill(float(meant.numbers.flat[0]), meant.decoded.reshape(-1)[0])
            message = self._failures[min(self._failures)] if self._failures else self._said()
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
        self._blank = replace(self._blank, value_type=type_name(meant.decoded))
        return meant

    def _coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(
            coordinates_of(
                self._refs,
                self._array,
                self._blocks.region,
                self._chunks,
                self._decoding,
                self._blocks.sizes,
            )
        )

    def _batches(self, report: JobReport) -> Iterator[list[Reading]]:
        """Yield chunks together that came within a short time."""
        waiting: list[Reading] = []
        due = monotonic() + _SOON
        for found in self._chunks.each(self._array, self._indices, report):
            waiting.append(found)
            if monotonic() >= due or len(waiting) >= _TOGETHER:
                yield waiting
                waiting, due = [], monotonic() + _SOON
        yield waiting

    def _decoded(self, readings: list[Reading]) -> Iterator[Box]:
        """Add chunks to the cells; small ones together, since each call takes its time."""
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
        """Return the model with what is known now."""
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

    def _said(self) -> str | None:
        """Say what a cell is where it is not one value."""
        if self._blocks.is_whole:
            return None
        sizes = zip(self._blocks.sizes, names_of(self._array), strict=True)
        along = [f"{size} along {name}" for size, name in sizes if size > 1]
        what = "the mean of" if self._blocks.is_mean else "the value in the middle of"
        count = np.prod([place_count(part) for part in self._places])
        return f"Each cell is {what} {' and '.join(along)} ({count:,} values in all)."


_TOGETHER = 16
"""Chunks that are added together at most: meanwhile others are decoded."""
_LARGE = 2**14
"""Values of a chunk from which on it is decoded alone: to copy it would take longer."""
