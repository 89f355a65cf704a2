"""The reader of a preview: the cost of a part of an array, its values, the reason for one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.io.reading.readings import ChunkState
from refexplorer.io.reading.trace_value import trace_value
from refexplorer.spec.references import Base64, Inline, Range
from refexplorer.views.code.statements import code_of_slices
from refexplorer.views.preview.blocks import Box
from refexplorer.views.preview.coordinates import labels_of
from refexplorer.views.preview.first_look import first_look
from refexplorer.views.preview.labels import places_of
from refexplorer.views.preview.libraries import load_array_libraries, load_http, load_xarray
from refexplorer.views.preview.preview import keys_to_read, plan, preview
from refexplorer.views.preview.region_reader import DecodedChunks
from refexplorer.views.preview.regions import (
    Region,
    chunks_touched,
    names_of,
    of_chunk,
    parse,
    slices,
    whole,
)
from refexplorer.views.preview.take.cells import Cells
from refexplorer.views.preview.take.netcdf import netcdf
from refexplorer.views.preview.values import Decoding, shown_of, value_text
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.data_messages import (
    CellsCame,
    FindValue,
    PartSaved,
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

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta


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
        return Planned(found)

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
        self._jobs.start(request, lambda report: self._reading(request, report))

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
        self._jobs.start(request, lambda report: self._reading_ahead(request, report))

    def _reading_ahead(self, request: ReadAhead, report: JobReport) -> JobAnswer:
        """Read what fits into the budget; what fails is said when it is asked for."""
        load_array_libraries()
        array = self._array(request.array)
        left, done = request.budget, 0
        for texts in request.parts:
            places = self._places(array, texts)
            cost = plan(self._refs, array, places, self.chunks).estimate.bytes
            if cost is None or cost > left:
                break
            left -= cost
            for _ in self.chunks.each(array, list(chunks_touched(array, places)), report):
                pass
            done += 1
        return WasReadAhead(self.chunks.cache.size, done), []

    def _save(self, request: SavePart) -> None:
        self._jobs.start(request, lambda report: self._saving(request, report))

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
        self._jobs.start(request, lambda report: self._reading_value(request, report))

    def _reading_value(self, request: ReadValue, report: JobReport) -> JobAnswer:
        array = self._array(request.array)
        self._require_place(array, request.index)
        index = tuple(at // size for at, size in zip(request.index, array.chunks, strict=True))
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
        index = tuple(at // size for at, size in zip(request.index, array.chunks, strict=True))
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
        self._jobs.start(request, lambda report: self._explaining(request))

    def _explaining(self, request: TraceValue) -> JobAnswer:
        load_xarray()
        array = self._array(request.array)
        found = trace_value(self._refs, array.path, request.index, self._targets)
        steps = tuple(ValueStep(step.name, step.text) for step in found.seen().steps)
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
