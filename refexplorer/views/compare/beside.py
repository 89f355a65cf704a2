"""Two selections side by side: their cost, their values, their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.views.compare.chunk_values import OtherChunks
from refexplorer.views.preview.axes import first_look
from refexplorer.views.preview.preview import Plan, plan, preview
from refexplorer.views.preview.reading_model import ReadingModel
from refexplorer.views.preview.regions import Region, names_of, parse
from refexplorer.views.preview.values import (
    DecodedChunks,
    Decoding,
    load_array_libraries,
    subtract_integers,
)
from refexplorer.views.wire.context import NOT_CHOSEN, ExplorerPart, ViewContext, array_at
from refexplorer.views.wire.jobs import JobReport
from refexplorer.views.wire.requests import Buffers, job

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet


def obstacle(left: ReadingModel, right: ReadingModel) -> str | None:
    """Return why two readings have no difference; None if they have one."""
    for side, reading in (("left", left), ("right", right)):
        if reading.state == "fill":
            return f"No difference: the {side} part has no reference."
        if reading.state != "fetched" or reading.texts is not None:
            return f"No difference: the {side} part has no numbers."
        if reading.times or reading.flags:
            what = "times" if reading.times else "flags"
            return f"No difference: the {side} part has {what}, not numbers."
    if left.units != right.units:
        units = " and ".join(each.units or "none" for each in (left, right))
        return f"No difference: the units differ ({units})."
    return _grids(left, right)


def _long_sides(reading: ReadingModel) -> list[tuple[str, int, Sequence[float | None] | None]]:
    """Return name, cells and coordinate of each dimension with more than one value."""
    known = [side.values for side in reading.coordinates]
    known += [None] * (len(reading.shape) - len(known))
    return [
        (name, size, values)
        for name, size, values in zip(reading.dimensions, reading.shape, known, strict=True)
        if size > 1
    ]


def _grids(left: ReadingModel, right: ReadingModel) -> str | None:
    sides = _long_sides(left), _long_sides(right)
    if len(sides[0]) != len(sides[1]):
        return (
            "No difference: the left part has "
            f"{len(sides[0])} dimensions longer than 1, the right part {len(sides[1])}."
        )
    for (name, size, one), (other_name, other_size, other) in zip(*sides, strict=True):
        if size != other_size:
            return (
                f"No difference: {name} has {size:,} cells on the left, {other_name} "
                f"{other_size:,} on the right."
            )
        if one is None or other is None:
            continue
        ours, theirs = (np.array(each, "f8") for each in (one, other))
        step = float(np.abs(np.diff(ours)).min())
        if not np.allclose(ours, theirs, rtol=0, atol=step / 1000, equal_nan=True):
            at = int(np.argmax(~(np.abs(ours - theirs) <= step / 1000)))
            return (
                f"No difference: the grids differ: {name} is {ours[at]:g} on the left, "
                f"{other_name} is {theirs[at]:g} on the right."
            )
    return None


_DRAWN = 2  # Dimensions of more than one value that a picture has


def _integers(reading: ReadingModel, buffers: list[bytes]) -> np.ndarray:
    """Return the integer values of a reading unchanged; 0 where nothing was fetched."""
    if len(buffers) > 1:
        return np.frombuffer(buffers[1], "<u8" if reading.value_type == "uint64" else "<i8")
    return np.nan_to_num(np.frombuffer(buffers[0], "<f8")).astype(np.int64)


class BesidePart(Struct, frozen=True):
    """One of two selections shown side by side."""

    array: str
    slices: tuple[str, ...] | None = None  # One for each dimension; null: what is shown first
    other: bool = False  # Of the set that this one is compared with


class BesidePlanned(Struct, frozen=True):
    """The cost of both selections, and the first arrays of the other set."""

    left: Plan
    right: Plan
    others: tuple[str, ...]


class BesideRead(Struct, frozen=True):
    """Two selections and their difference."""

    left: ReadingModel
    right: ReadingModel
    said: str  # What the difference is, or why there is none
    # low, high: Of the difference; null where no cell has a number on both sides
    low: float | None
    high: float | None
    has_difference: bool = False


def _compared(
    left: ReadingModel, right: ReadingModel, parts: Sequence[list[bytes]]
) -> tuple[BesideRead, Buffers]:
    """Return two readings and their difference, if there is one."""
    one, other = (next(iter(part), None) for part in parts)
    said = obstacle(left, right)
    buffers = [b"" if values is None else values for values in (one, other)]
    integers = [part[1] if len(part) > 1 else b"" for part in parts]
    if said is not None or one is None or other is None:
        said = said or "No difference: a part has no numbers."
        answer = BesideRead(left, right, said, None, None)
        return answer, [*buffers, b"", *integers] if any(integers) else buffers
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.frombuffer(other, "<f8") - np.frombuffer(one, "<f8")
    is_integer = all("int" in each.value_type and not each.reduced for each in (left, right))
    if is_integer and max(map(len, parts)) > 1:
        exact = subtract_integers(*map(_integers, (left, right), parts))
        gap = np.where(np.isnan(gap), gap, exact)
    known = gap[np.isfinite(gap)]
    low, high = (float(known.min()), float(known.max())) if known.size else (None, None)
    is_blocks = left.reduced or right.reduced
    words = "Right minus left"
    words += ", from the block means that are drawn." if is_blocks else "."
    if not known.size:
        words += " No cell has a number on both sides."
    answer = BesideRead(left, right, words, low, high, has_difference=True)
    buffers.append(gap.astype("<f8").tobytes())
    return answer, [*buffers, *integers] if any(integers) else buffers


class BesideController:
    """Reads two selections of arrays, from this set or the one it is compared with."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._comparison = context.comparison
        self._own = DecodedChunks(self._refs, context.targets, context.failure_log)
        self._others = OtherChunks(context)

    @job("beside.plan", in_turn=True)
    def plan(self, left: BesidePart, right: BesidePart) -> BesidePlanned:
        """Return the cost of reading two selections."""
        other = self._comparison.other
        others = () if other is None else other.arrays()[:500]
        return BesidePlanned(self._planned(left), self._planned(right), others)

    def _planned(self, part: BesidePart) -> Plan:
        refs, chunks = self._set_of(part)
        array = array_at(refs, part.array)
        return plan(refs, array, self._places(refs, array, part), chunks)

    @job(
        "beside.read",
        in_turn=True,
        buffers="The values of both, empty where there are none, and their difference, if any. "
        "Where float64 cannot express them all, two more have both as 64-bit integers, as "
        "`chunk.read`.",
    )
    def read(
        self,
        report: JobReport,
        left: BesidePart,
        right: BesidePart,
        # scale, times: What of the CF conventions is applied
        scale: bool = True,
        times: bool = True,
    ) -> tuple[BesideRead, Buffers]:
        """Read two selections; subtract the left from the right one if their grids are equal."""
        load_array_libraries()
        decoding = Decoding(scale, times)
        read: list[tuple[ReadingModel, list[bytes]]] = []
        for part in (left, right):
            refs, chunks = self._set_of(part)
            array = array_at(refs, part.array)
            places = self._places(refs, array, part)
            read.append(preview(refs, array, places, chunks, decoding, report))
        (one, other), parts = zip(*read, strict=True)
        return _compared(one, other, parts)

    def _set_of(self, part: BesidePart) -> tuple[ReferenceSet, DecodedChunks]:
        if not part.other:
            return self._refs, self._own
        other = self._comparison.other
        if other is None:
            raise RefexplorerError(NOT_CHOSEN)
        return other, self._others.of(other)

    def _places(self, refs: ReferenceSet, array: ArrayMeta, part: BesidePart) -> Region:
        if part.slices is None:
            places = first_look(refs, array)
            long = [axis for axis, side in enumerate(places) if len(side) > 1][:-_DRAWN]
            return tuple(side[:1] if axis in long else side for axis, side in enumerate(places))
        places = parse(array, part.slices)
        long = [axis for axis, side in enumerate(places) if len(side) > 1]
        if len(long) > _DRAWN:
            names = [names_of(array)[axis] for axis in long]
            raise RefexplorerError(
                f"{array.path}: two dimensions are drawn, and {', '.join(names)} each have more "
                "than one value: write an index for the others."
            )
        return places


PART = ExplorerPart(
    "beside", "Side by side", "Side by side", (BesideController,), place=3, alone=False,
    under="data", address=("beside",),
)  # fmt: skip
