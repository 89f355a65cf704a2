"""Values for a picture: read, decoded as CF says, reduced to what a screen can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.io.decode.sizes import WHOLE_CHUNKS, place_count
from refexplorer.io.reading.chunks import ChunkState, Reading
from refexplorer.io.reading.selection import estimate_keys
from refexplorer.io.reading.trace_value import trace_value
from refexplorer.spec.references import Base64, Inline, Range
from refexplorer.views.code.cells import code_of_slices
from refexplorer.views.preview.axes import coordinates_of, first_look, labels_of, sides_of
from refexplorer.views.preview.netcdf import Cells, netcdf
from refexplorer.views.preview.picture import (
    Box,
    Picture,
    TellCells,
    blank_reading,
    counts_of,
    is_pictured,
    lost_of,
    triples,
    untold,
)
from refexplorer.views.preview.regions import (
    PICTURE_CHUNKS,
    Region,
    chunks_touched,
    names_of,
    of_chunk,
    parse,
    places_of,
    slices,
    whole,
)
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
    type_name,
    value_text,
)
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.data_messages import (
    CellsCame,
    FindValue,
    PartSaved,
    Plan,
    Planned,
    PlanSlice,
    ReadAhead,
    ReadChunk,
    ReadingModel,
    ReadValue,
    SavePart,
    TraceValue,
    ValuePlace,
    ValueStep,
    ValueText,
    ValueTraced,
    WasRead,
    WasReadAhead,
)
from refexplorer.views.wire.jobs import JobAnswer, JobReport, unheard
from refexplorer.views.wire.models import EstimateModel

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

_FORGOTTEN = EstimateModel(0, 0, (), "Show what was read before")


def plan(refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks) -> Plan:
    """Estimate the cost of reading a part of an array, without the chunks that are here already."""
    keys = dict.fromkeys(keys_to_read(refs, array, places, chunks))
    return Plan(
        array.path,
        names_of(array),
        array.shape,
        slices(array, places),
        tuple(map(place_count, places)),
        sum(1 for _ in chunks_touched(array, places, _most(array))),
        _estimate(refs, keys) if keys else _FORGOTTEN,
        chunks.cache.size,
        chunks.cache.most,
        refs.limits.picture_bytes,
    )


def _estimate(refs: ReferenceSet, keys: Iterable[str]) -> EstimateModel:
    found = estimate_keys(refs, keys)
    return EstimateModel(found.bytes, found.requests, found.targets, found.label, found.chunks)


def keys_to_read(
    refs: ReferenceSet, array: ArrayMeta, places: Region, chunks: DecodedChunks | None = None
) -> Iterator[str]:
    """Yield the keys to read; those of chunks that are here are left out."""
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
    tell: TellCells = untold,
) -> tuple[ReadingModel, list[bytes]]:
    """Read a part of an array."""
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
    reading, buffers = _shown(array, places, found, decoding, blank)
    thin = tuple(range(*part) for part in reading.region)
    sides = tuple(coordinates_of(refs, array, thin, chunks, decoding))
    return replace(reading, coordinates=sides, seconds=perf_counter() - started), buffers


def _shown(
    array: ArrayMeta, places: Region, found: Reading, decoding: Decoding, blank: ReadingModel
) -> tuple[ReadingModel, list[bytes]]:
    """Return the reading with its summary, which is of all values, and the thinned values."""
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
        value_type="" if meant.numbers is None else type_name(decoded),
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
    """Say which values are left out."""
    sides = zip(places, names_of(array), strict=True)
    along = [f"1 of {part.step} along {name}" for part, name in sides if part.step > 1]
    return f"Shown: {', '.join(along)}." if along else None


class PreviewReader:
    """Reads parts of the arrays of one set."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._jobs = context.jobs
        self._did = context.did
        self.chunks = DecodedChunks(self._refs, context.targets, context.failure_log)
        self.last: tuple[ReadingModel, bytes | None] | None = None
        self.operations: Operations = {
            PlanSlice: self._plan,
            ReadChunk: self._read,
            ReadAhead: self._read_ahead,
            SavePart: self._save,
            FindValue: self._find,
            ReadValue: self._read_value,
            TraceValue: self._explain,
        }

    def _plan(self, request: PlanSlice) -> Planned:
        array = self._array(request.array)
        if request.index is None and request.slices is None:
            places = first_look(self._refs, array, request.budget)
            # it takes a while, and who looks at an array is about to read it
            self._jobs.aside(load_array_libraries)
        else:
            places = self._asked(array, request)
        found = plan(self._refs, array, places, self.chunks)
        if any(target.startswith("http") for target in found.estimate.targets):
            self._jobs.aside(load_http)
        if request.shown:
            self._show(array, places, is_here=found.estimate.bytes == 0)
        return Planned(replace(found, grant=self._grant(array, places)))

    def _grant(self, array: ArrayMeta, places: Region) -> str | None:
        """Return what has to be allowed before a part may be read; None if nothing has to."""
        try:
            for key in keys_to_read(self._refs, array, places, self.chunks):
                reference = self._refs.get(key)
                if reference is not None and not isinstance(reference, Inline | Base64):
                    self._targets.wanted(key, reference)
        except AccessError as error:
            return error.grant
        except RefexplorerError:  # what is wrong is said where it is read
            return None
        return None

    def _show(self, array: ArrayMeta, places: Region, is_here: bool) -> None:
        """Keep what a front end shows that had it already."""
        granted = self._targets.policy.granted
        self._did(code_of_slices(self._refs, array.path, slices(array, places), granted))
        if is_here:

            def keep() -> None:
                found = preview(self._refs, array, places, self.chunks, Decoding(), unheard)
                self.last = found[0], next(iter(found[1]), None)

            self._jobs.aside(keep)

    def _read(self, request: ReadChunk) -> None:
        array = self._array(request.array)
        named = slices(array, self._asked(array, request))
        if not request.ahead:
            self._did(code_of_slices(self._refs, array.path, named, self._targets.policy.granted))
        self._jobs.start(request.id, lambda report: self._reading(request, report))

    def _reading(self, request: ReadChunk, report: JobReport) -> JobAnswer:
        load_array_libraries()
        array = self._array(request.array)
        places = self._asked(array, request)
        decoding = Decoding(request.scale, request.times, request.field)

        def tell(so_far: ReadingModel, boxes: list[Box], values: bytes) -> None:
            named = tuple(tuple((side.start, side.stop) for side in box) for box in boxes)
            self._jobs.tell(CellsCame(str(request.id), so_far, named), [values])

        reading, buffers = preview(self._refs, array, places, self.chunks, decoding, report, tell)
        if not request.ahead:
            self.last = reading, next(iter(buffers), None)
        return WasRead(reading), buffers

    def drawn(self, path: str | None) -> tuple[ReadingModel, bytes | None] | None:
        """Return the last reading, or the first look at another array that is chosen.

        A picture without a front end is not worth a request: what is not on this machine, may not
        be read or is more than the first look fetches is not read.
        """
        if path is None or (self.last is not None and self.last[0].array == path):
            return self.last
        with suppress(RefexplorerError):
            array = self._array(path)
            places = first_look(self._refs, array)
            cost = plan(self._refs, array, places, self.chunks).estimate.bytes
            if cost is None or cost > self._refs.limits.picture_bytes:
                return None
            keys = keys_to_read(self._refs, array, places, self.chunks)
            if all(map(self._is_here, keys)):
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
        return self._targets.wanted(key, reference).place.protocol == "file"

    def _read_ahead(self, request: ReadAhead) -> None:
        self._jobs.start(request.id, lambda report: self._reading_ahead(request, report))

    def _reading_ahead(self, request: ReadAhead, report: JobReport) -> JobAnswer:
        """Read what fits into the budget; what fails is said when it is asked for."""
        load_array_libraries()
        array = self._array(request.array)
        left, done = request.budget, 0
        for part in request.parts:
            places = self._places(array, part)
            cost = plan(self._refs, array, places, self.chunks).estimate.bytes
            if cost is None or cost > left:
                break
            left -= cost
            for _ in self.chunks.each(array, list(chunks_touched(array, places)), report):
                pass
            done += 1
        return WasReadAhead(self.chunks.cache.size, done), []

    def _save(self, request: SavePart) -> None:
        self._jobs.start(request.id, lambda report: self._saving(request, report))

    def _saving(self, request: SavePart, report: JobReport) -> JobAnswer:
        load_array_libraries()
        array = self._array(request.array)
        places = self._places(array, request.slices)
        name = array.path.replace("/", "_") or "values"
        if request.form == "netcdf":
            data = netcdf(self._refs, array, places, self.chunks, report)
            return PartSaved(f"{name}.nc"), [data]
        decoding = Decoding(request.scale, request.times, request.field)
        cells = Cells(self._refs, array, places, request.axes, decoding)
        write = cells.csv if request.form == "csv" else cells.npy
        return PartSaved(f"{name}.{request.form}"), [write(self.chunks, report)]

    def _read_value(self, request: ReadValue) -> None:
        self._jobs.start(request.id, lambda report: self._reading_value(request, report))

    def _reading_value(self, request: ReadValue, report: JobReport) -> JobAnswer:
        array = self._array(request.array)
        self._require_place(array, request.index)
        index = array.chunk_at(request.index)
        if not self.chunks.holds(array.path, index):
            return ValueText(None), []
        found = self.chunks.read(array, tuple(range(at, at + 1) for at in request.index), report)
        if found.state is not ChunkState.FETCHED:
            return ValueText(None), []
        decoding = Decoding(request.scale, request.times, request.field)
        meant, _ = shown_of(array, found, decoding)
        value = np.asarray(meant.decoded).reshape(-1)[0]
        is_missing = meant.numbers is not None and bool(np.isnan(meant.numbers).all())
        is_masked = is_missing and np.asarray(value).dtype.kind in "iub"
        return ValueText("NaN" if is_masked else value_text(value)), []

    def _find(self, request: FindValue) -> ValuePlace:
        array = self._array(request.array)
        self._require_place(array, request.index)
        index = array.chunk_at(request.index)
        key = array.chunk_key(index)
        found = self._refs.get(key)
        if found is None:
            return ValuePlace(key, None, None, None, None)
        url = None if isinstance(found, Inline | Base64) else found.url
        if isinstance(found, Range):
            return ValuePlace(key, found.kind, url, found.offset, found.length)
        return ValuePlace(key, found.kind, url, None, None)

    def _require_place(self, array: ArrayMeta, index: Sequence[int]) -> None:
        is_inside = len(index) == len(array.shape) and all(
            0 <= at < size for at, size in zip(index, array.shape, strict=True)
        )
        if not is_inside:
            raise RefexplorerError(f"{array.path} has no place {list(index)}.")

    def _explain(self, request: TraceValue) -> None:
        self._jobs.start(request.id, lambda report: self._explaining(request))

    def _explaining(self, request: TraceValue) -> JobAnswer:
        load_xarray()
        array = self._array(request.array)
        found = trace_value(self._refs, array.path, request.index, self._targets)
        steps = tuple(
            ValueStep(step.name, step.text, step.message is not None) for step in found.seen().steps
        )
        return ValueTraced(str(found.sentence), steps), []

    def _array(self, path: str) -> ArrayMeta:
        try:
            return self._refs.array(path)
        except KeyError:
            raise RefexplorerError(f"There is no array at {path!r}.") from None

    def _asked(self, array: ArrayMeta, request: PlanSlice | ReadChunk) -> Region:
        if request.slices is not None:
            return self._places(array, request.slices)
        return whole(array) if request.index is None else of_chunk(array, request.index)

    def _places(self, array: ArrayMeta, texts: Sequence[str]) -> Region:
        def named(axis: int, text: str) -> range:
            labels = labels_of(self._refs, array, axis, self.chunks)
            return places_of(text, names_of(array)[axis], labels)

        return parse(array, texts, named)
