"""Values for a picture: read, decoded as in CF, reduced to screen resolution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.io.decode.sizes import WHOLE_CHUNKS, Index, place_count
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.io.reading.selection import Estimate, estimate_keys
from refexplorer.io.reading.trace_value import trace_value
from refexplorer.refset.conventions import PyramidLevel, pyramids
from refexplorer.refset.opened_set import internals
from refexplorer.spec.references import Base64, Inline, Kind, Range
from refexplorer.spec.zarr_metadata import ArrayMeta, type_name
from refexplorer.views.code.cells import code_of_slices
from refexplorer.views.preview.axes import coordinates_of, first_look, labels_of, sides_of
from refexplorer.views.preview.netcdf import Cells, netcdf
from refexplorer.views.preview.picture import Box, Picture, TellCells, ignore_progress, is_pictured
from refexplorer.views.preview.reading_model import (
    ReadingModel,
    blank_reading,
    counts_of,
    lost_of,
    triples,
)
from refexplorer.views.preview.regions import (
    PICTURE_CHUNKS,
    Region,
    chunks_touched,
    names_of,
    of_chunk,
    parse,
    places_of,
    whole,
)
from refexplorer.views.preview.regions import slices as slices_text
from refexplorer.views.preview.values import (
    DecodedChunks,
    Decoding,
    extremes_of,
    fields_of,
    hide_unread,
    integers_of,
    load_array_libraries,
    load_http,
    load_xarray,
    shown_of,
    texts,
    thinning,
    value_text,
)
from refexplorer.views.wire.context import ExplorerPart, ViewContext, array_at
from refexplorer.views.wire.jobs import JobReport, unheard
from refexplorer.views.wire.requests import Buffers, Count, Event, Real, job, request

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

_FORGOTTEN = Estimate(0, 0, (), "Show what was read before")


class ArrayLevel(Struct, frozen=True):
    """One resolution of a pyramid."""

    array: str
    sizes: tuple[Count, ...]
    # Lengths of a cell along y and x in the units of the CRS; null where that is not said
    resolution: tuple[Real, Real] | None


class Plan(Struct, frozen=True):
    """A selection of an array, and the cost of reading it."""

    array: str
    dimensions: tuple[str, ...]
    sizes: tuple[Count, ...]
    slices: tuple[str, ...]  # One for each dimension, as Python writes them: ``3``, ``0:10:2``
    shape: tuple[Count, ...]
    chunk_count: int
    estimate: Estimate  # Cached and inline chunks cost nothing
    # kept, kept_most: Bytes of decoded chunks that are kept for all views of the set, and how
    # many may be
    kept: Count = 0
    kept_most: Count = 0
    # Bytes that the first look at an array fetches, by default
    budget: Count = 0
    # What must be allowed before it may be read, such as ``s3://bucket``; empty if this page may
    # not read it at all; null if it may be read already
    grant: str | None = None
    # All resolutions of the array, if it is a level of a pyramid (`multiscales`), the finest first
    levels: tuple[ArrayLevel, ...] = ()


def plan(refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks) -> Plan:
    """Estimate the cost of reading a selection of an array, without loaded chunks."""
    keys = dict.fromkeys(keys_to_read(refs, array, places, chunks))
    return Plan(
        array.path,
        names_of(array),
        array.shape,
        slices_text(array, places),
        tuple(map(place_count, places)),
        sum(1 for _ in chunks_touched(array, places, _most(array))),
        estimate_keys(refs, keys) if keys else _FORGOTTEN,
        chunks.cache.size,
        chunks.cache.most,
        refs.limits.picture_bytes,
    )


def keys_to_read(
    refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks | None = None
) -> Iterator[str]:
    """Yield the keys to read; loaded chunks are omitted."""
    parts = [(array, places)]
    parts += [(side, whole(side)) for side in sides_of(refs, array) if side is not None]
    for each, part in parts:
        for index in chunks_touched(each, part, _most(each)):
            if chunks is None or not chunks.holds(each.path, index):
                yield each.chunk_key(index)


def _most(array: ArrayMeta) -> int:
    """Return how many chunks of an array one reading may take."""
    return PICTURE_CHUNKS if is_pictured(array) else WHOLE_CHUNKS


def preview(
    refs: ReferenceSet,
    array: ArrayMeta,
    places: Region,
    chunks: DecodedChunks,
    decoding: Decoding,
    report: JobReport,
    tell: TellCells = ignore_progress,
) -> tuple[ReadingModel, list[bytes]]:
    """Read a selection of an array."""
    started = perf_counter()
    blank = blank_reading(array, places)
    try:
        if is_pictured(array, decoding) and all(places):
            drawn = Picture(refs, array, places, chunks, decoding, blank, tell).read(report)
            return replace(drawn[0], seconds=perf_counter() - started), drawn[1]
        found = chunks.read(array, places, report)
    except AccessError as error:
        state = "ask" if error.grant else "failed"
        return replace(blank, state=state, message=error.fact, grant=error.grant or None), []
    except RefexplorerError as error:
        return replace(blank, state="failed", message=str(error)), []
    blank = replace(blank, chunks=counts_of(found.states), lost=tuple(lost_of(found.states)))
    if found.values is None:
        return replace(blank, message=found.message), []
    reading, buffers = _thinned_reading(array, places, found, decoding, blank)
    thin = tuple(range(*part) for part in reading.region)
    sides = tuple(coordinates_of(refs, array, thin, chunks, decoding))
    return replace(reading, coordinates=sides, seconds=perf_counter() - started), buffers


def _thinned_reading(
    array: ArrayMeta, places: Region, found: Reading, decoding: Decoding, blank: ReadingModel
) -> tuple[ReadingModel, list[bytes]]:
    """Return the reading with its summary over all values, and the thinned values."""
    meant, field = shown_of(array, found, decoding)
    decoded = np.asarray(meant.decoded)
    reading = replace(
        blank,
        fields=fields_of(np.asarray(found.values)),
        field=field,
        state=found.state,
        shape=decoded.shape,
        times=meant.times,
        message=found.message,
        value_type="" if meant.numbers is None else type_name(decoded.dtype),
    )
    if decoded.dtype.kind == "c":
        magnitudes = reading.message or "Shown: the magnitudes."
        reading = replace(reading, message=magnitudes, is_complex=True, value_type="float64")
    if meant.numbers is None:
        return replace(reading, texts=texts(decoded)), []
    values = meant.numbers
    if found.state is not ChunkState.FILL:
        hide_unread(array, places, found.states, values)
    known = np.isfinite(values)
    finite = values[known]
    steps = thinning(values.shape)
    every = tuple(slice(None, None, step) for step in steps)
    thin = values[every]
    buffers = [np.ascontiguousarray(thin, "<f8").tobytes()]
    integers = integers_of(decoded, values)
    if integers is not None:
        buffers.append(integers[every].astype(f"<{integers.dtype.kind}8").tobytes())
    kept = tuple(part[::step] for part, step in zip(places, steps, strict=True))
    return replace(
        reading,
        shape=thin.shape,
        region=triples(kept),
        message=reading.message or _thinned(array, kept),
        minimum=float(finite.min()) if finite.size else None,
        maximum=float(finite.max()) if finite.size else None,
        extremes=extremes_of(finite if reading.is_complex else decoded[known]),
        missing=int(np.isnan(values).sum()),
        infinite=(int(np.isneginf(values).sum()), int(np.isposinf(values).sum())),
    ), buffers


def _thinned(array: ArrayMeta, places: Region) -> str | None:
    """Return which values are omitted."""
    sides = zip(places, names_of(array), strict=True)
    along = [f"1 of {part.step} along {name}" for part, name in sides if part.step > 1]
    return f"Shown: {', '.join(along)}." if along else None


class CellsCame(Event, frozen=True, tag="cells"):
    """Cells of an unfinished reading; their values are sent along, box after box."""

    job: str  # The id of the request
    reading: ReadingModel  # What is known so far
    # Start and end of the cells along each dimension
    boxes: tuple[tuple[tuple[int, int], ...], ...]


class WasReadAhead(Struct, frozen=True):
    """The chunks that are now cached."""

    kept: Count  # In bytes
    parts: int  # How many of the parts fitted into the budget


class ValuePlace(Struct, frozen=True):
    """The location of the bytes of a value."""

    key: str
    kind: Kind | None  # Of the reference; null where there is none
    url: str | None
    # offset, length: Of the byte range in the target; null for all of it
    offset: Count | None
    length: Count | None


class ValueStep(Struct, frozen=True):
    """One step from a chunk to a value."""

    name: str  # As of `refexplorer.types.TraceStep`
    text: str  # One sentence
    is_broken: bool = False  # Whether it fails, so that there is none after it


class ValueTraced(Struct, frozen=True):
    """The reason for a value, in a sentence, and the steps that lead to it."""

    sentence: str
    steps: tuple[ValueStep, ...]


class PreviewReader:
    """Reads selections of the arrays of one set."""

    events = (CellsCame,)

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._jobs = context.jobs
        self._did = context.did
        self.chunks = DecodedChunks(self._refs, context.targets, context.failure_log)
        self.last: tuple[ReadingModel, bytes | None] | None = None

    @request(
        "slice.plan",
        unsaved="This part was not read when the page was saved",
        sends="plan",
    )
    def plan(
        self,
        array: str,
        slices: tuple[str, ...] | None = None,  # One for each dimension: ``3`` or ``0:10:2``
        index: tuple[int, ...] | None = None,  # Of a chunk
        budget: int | None = None,  # Bytes of the first look; null for the limit of the set
        # Whether the part is on screen, although it was not read: the front end had it
        shown: bool = False,
    ) -> Plan:
        """Return the cost of reading a selection; by default, of the first look."""
        meta = array_at(self._refs, array)
        if index is None and slices is None:
            places = first_look(self._refs, meta, budget)
            # importing takes a while, and a person who selects an array is about to read it
            self._jobs.aside(load_array_libraries)
        else:
            places = self._region(meta, slices, index)
        found = plan(self._refs, meta, places, self.chunks)
        if any(target.startswith("http") for target in found.estimate.targets):
            self._jobs.aside(load_http)
        if shown:
            self._show(meta, places, is_here=found.estimate.bytes == 0)
        levels = tuple(
            ArrayLevel(each.array.path, each.array.shape, each.resolution)
            for each in self._pyramids.get(array, ())
        )
        return replace(found, grant=self._grant(meta, places), levels=levels)

    @cached_property
    def _pyramids(self) -> dict[str, list[PyramidLevel]]:
        return pyramids(internals(self._refs).opened)

    def _grant(self, array: ArrayMeta, places: Region) -> str | None:
        """Return what must be allowed before a selection may be read; None if nothing."""
        urls = set[str | None]()  # to resolve a path takes longer than to look up its references
        try:
            for key in keys_to_read(self._refs, array, places, self.chunks):
                reference = self._refs.get(key)
                if reference is None or isinstance(reference, Inline | Base64):
                    continue
                if reference.url not in urls:
                    urls.add(reference.url)
                    self._targets.range_of(key, reference)
        except AccessError as error:
            return error.grant
        except RefexplorerError:  # reading reports the error
            return None
        return None

    def _show(self, array: ArrayMeta, places: Region, is_here: bool) -> None:
        """Record a part that a front end already shows."""
        granted = self._targets.policy.granted
        named = slices_text(array, places)
        self._did(code_of_slices(self._refs, array.path, named, granted), array.path)
        if is_here:

            def keep() -> None:
                found = preview(self._refs, array, places, self.chunks, Decoding(), unheard)
                self.last = found[0], next(iter(found[1]), None)

            self._jobs.aside(keep)

    @job(
        "chunk.read",
        unsaved="These values were not read when the page was saved",
        buffers="The values, float64 in C order; none of text and structured values. Where float64 "
        "cannot express them all, a second buffer has them as 64-bit integers: unsigned for "
        "``uint64``, ticks of the unit for times.",
        sends="reading",
    )
    def read(
        self,
        number: str,
        report: JobReport,
        array: str,
        slices: tuple[str, ...] | None = None,  # One for each dimension: ``3`` or ``0:10:2``
        index: tuple[int, ...] | None = None,  # Of a chunk
        # scale, times: What of the CF conventions is applied
        scale: bool = True,
        times: bool = True,
        # Of structured values; null for the first with numbers, empty for all as text
        field: str | None = None,
        ahead: bool = False,  # Whether nobody looks at it yet: no code is made of it
        # Whether it is asked for together with the plan of a first look, before its cost is
        # known: nothing is read that needs consent or takes more than ``budget``
        first: bool = False,
        budget: int | None = None,  # Bytes of a first look; null for the limit of the set
    ) -> tuple[ReadingModel, Buffers]:
        """Read a selection of an array; without slices and index, the whole or the first look."""
        meta = array_at(self._refs, array)
        if first and index is None and slices is None:
            places = first_look(self._refs, meta, budget)
        else:
            places = self._region(meta, slices, index)
        if first and not self._is_free(meta, places, budget):
            return replace(blank_reading(meta, places), state="ask"), []
        if not ahead:
            named, granted = slices_text(meta, places), self._targets.policy.granted
            self._did(code_of_slices(self._refs, array, named, granted), array)
        load_array_libraries()
        decoding = Decoding(scale, times, field)

        def tell(so_far: ReadingModel, boxes: list[Box], values: bytes) -> None:
            named = tuple(tuple((side.start, side.stop) for side in box) for box in boxes)
            self._jobs.tell(CellsCame(str(number), so_far, named), [values])

        reading, buffers = preview(self._refs, meta, places, self.chunks, decoding, report, tell)
        if not ahead:
            self.last = reading, next(iter(buffers), None)
        return reading, buffers

    def _is_free(self, array: ArrayMeta, places: Region, budget: int | None) -> bool:
        """Return whether a first look may be read without a question."""
        cost = plan(self._refs, array, places, self.chunks).estimate.bytes
        most = self._refs.limits.picture_bytes if budget is None else budget
        return cost is not None and cost <= most and self._grant(array, places) is None

    def drawn(self, path: str | None) -> tuple[ReadingModel, bytes | None] | None:
        """Return the last reading, or the first look at another array if that needs no request."""
        # Without a front end no request is sent for a picture: data are read only if they are
        # local, allowed, and within the limit of the first display.
        if path is None or (self.last is not None and self.last[0].array == path):
            return self.last
        with suppress(RefexplorerError):
            array = array_at(self._refs, path)
            places = first_look(self._refs, array)
            keys = keys_to_read(self._refs, array, places, self.chunks)
            if self._is_free(array, places, None) and all(map(self._is_here, keys)):
                load_array_libraries()
                found, buffers = preview(
                    self._refs, array, places, self.chunks, Decoding(), unheard
                )
                return (found, buffers[0]) if buffers else None
        return None

    def _is_here(self, key: str) -> bool:
        reference = self._refs.get(key)
        if reference is None or isinstance(reference, Inline | Base64):
            return True
        return self._targets.range_of(key, reference).place.protocol == "file"

    @job(
        "chunk.ahead",
        unsaved="The next part was not read when the page was saved",
    )
    def read_ahead(
        self,
        report: JobReport,
        array: str,
        # Slices of each part, in the order in which they will be asked for
        parts: tuple[tuple[str, ...], ...],
        budget: int,  # Bytes to fetch; the parts after those that fit are left
    ) -> WasReadAhead:
        """Read selections needed soon, and keep their chunks; failures are reported when used."""
        load_array_libraries()
        meta = array_at(self._refs, array)
        left, done = budget, 0
        for part in parts:
            places = self._places(meta, part)
            cost = plan(self._refs, meta, places, self.chunks).estimate.bytes
            if cost is None or cost > left:
                break
            left -= cost
            for _ in self.chunks.each(meta, list(chunks_touched(meta, places)), report):
                pass
            done += 1
        return WasReadAhead(self.chunks.cache.size, done)

    @job(
        "slice.save",
        unsaved="This saved page cannot write a file of values",
        buffers="The bytes of the file.",
        sends="name",
    )
    def save(
        self,
        report: JobReport,
        array: str,
        slices: tuple[str, ...],
        # NetCDF has the values as they are stored, with attributes and coordinates; CSV and npy
        # have them decoded, in their own data type
        form: Literal["netcdf", "csv", "npy"] = "netcdf",
        # Of CSV and npy: the dimensions of the table or array, in this order; one place is read
        # along all others
        axes: tuple[int, ...] = (),
        # scale, times, field: Of CSV and npy: as for ``chunk.read``
        scale: bool = True,
        times: bool = True,
        field: str | None = None,
    ) -> tuple[str, Buffers]:
        """Write all values of a selection of an array to a file; the response has its name."""
        load_array_libraries()
        meta = array_at(self._refs, array)
        places = self._places(meta, slices)
        name = meta.path.replace("/", "_") or "values"
        if form == "netcdf":
            data = netcdf(self._refs, meta, places, self.chunks, report)
            return f"{name}.nc", [data]
        cells = Cells(self._refs, meta, places, axes, Decoding(scale, times, field))
        write = cells.csv if form == "csv" else cells.npy
        return f"{name}.{form}", [write(self.chunks, report)]

    @job(
        "value.read",
        unsaved="Single values of these cells were not read when the page was saved",
        sends="text",
    )
    def read_value(
        self,
        report: JobReport,
        array: str,
        index: tuple[int, ...],  # The place of the value, one number for each dimension
        # scale, times, field: As for ``chunk.read``
        scale: bool = True,
        times: bool = True,
        field: str | None = None,
    ) -> str | None:
        """Return a value with every digit of its type; null if its chunk would be fetched."""
        meta = array_at(self._refs, array)
        if not self.chunks.holds(meta.path, self._chunk_of(meta, index)):
            return None
        found = self.chunks.read(meta, tuple(range(at, at + 1) for at in index), report)
        if found.state is not ChunkState.FETCHED:
            return None
        meant, _ = shown_of(meta, found, Decoding(scale, times, field))
        value = np.asarray(meant.decoded).reshape(-1)[0]
        is_missing = meant.numbers is not None and bool(np.isnan(meant.numbers).all())
        is_masked = is_missing and np.asarray(value).dtype.kind in "iub"
        return "NaN" if is_masked else value_text(value)

    @request("value.place", unsaved="The position of this value was not saved with the page")
    def find(
        self,
        array: str,
        index: tuple[int, ...],  # A place for each dimension
    ) -> ValuePlace:
        """Return the location of the bytes of a value."""
        meta = array_at(self._refs, array)
        key = meta.chunk_key(self._chunk_of(meta, index))
        found = self._refs.get(key)
        if found is None:
            return ValuePlace(key, None, None, None, None)
        url = None if isinstance(found, Inline | Base64) else found.url
        if isinstance(found, Range):
            return ValuePlace(key, found.kind, url, found.offset, found.length)
        return ValuePlace(key, found.kind, url, None, None)

    def _chunk_of(self, array: ArrayMeta, index: Sequence[int]) -> Index:
        """Return the chunk that contains a value."""
        is_inside = len(index) == len(array.shape) and all(
            0 <= at < size for at, size in zip(index, array.shape, strict=True)
        )
        if not is_inside:
            raise RefexplorerError(f"{array.path} has no element {list(index)}.")
        return array.chunk_at(index)

    @job("value.why", unsaved="This saved page cannot explain this value")
    def explain(
        self,
        array: str,
        index: tuple[int, ...],  # The place of the value, one number for each dimension
    ) -> ValueTraced:
        """Explain a value of an array; its chunk is read."""
        load_xarray()
        found = trace_value(self._refs, array_at(self._refs, array).path, index, self._targets)
        steps = tuple(
            ValueStep(step.name, step.text, step.message is not None) for step in found.seen().steps
        )
        return ValueTraced(str(found.sentence), steps)

    def _region(self, array: ArrayMeta, texts: Sequence[str] | None, index: Index | None) -> Region:
        if texts is not None:
            return self._places(array, texts)
        return whole(array) if index is None else of_chunk(array, index)

    def _places(self, array: ArrayMeta, texts: Sequence[str]) -> Region:
        def named(axis: int, text: str) -> range:
            labels = labels_of(self._refs, array, axis, self.chunks)
            return places_of(text, names_of(array)[axis], labels)

        return parse(array, texts, named)


PART = ExplorerPart("data", "Values", "Values", (PreviewReader,), place=1)
