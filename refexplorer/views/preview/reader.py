"""The reader of a preview: the cost of a part of an array, its values, the reason for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.data.read.why import why
from refexplorer.errors import RefexplorerError
from refexplorer.views.preview.libraries import load_array_libraries
from refexplorer.views.preview.preview import plan, preview
from refexplorer.views.preview.region_reader import DecodedChunks
from refexplorer.views.preview.regions import Region, first_look, of_chunk, parse, slices, whole
from refexplorer.views.preview.values import Decoding
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.code import code_of_slices
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer_messages import (
    ExplainValue,
    Planned,
    PlanSlice,
    ReadChunk,
    ValueExplained,
    WasRead,
    WhyStepModel,
)
from refexplorer.views.wire.jobs import JobAnswer, Report
from refexplorer.views.wire.models import ReadingModel

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta


class PreviewReader:
    """Reads parts of the arrays of one set.

    Attributes
    ----------
    chunks
        What was decoded.
    last
        The last reading with its values, for a host that shows it without a front end.
    """

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
            ExplainValue: self._explain,
        }

    def _plan(self, request: PlanSlice) -> Planned:
        array = self._array(request.array)
        if request.index is None and request.slices is None:
            places = first_look(array)
        else:
            places = _places(array, request)
        return Planned(plan(self._refs, array, places, self.chunks))

    def _read(self, request: ReadChunk) -> None:
        array = self._array(request.array)
        named = slices(array, _places(array, request))
        self._did(code_of_slices(self._refs, array.path, named, self._targets.policy.granted))
        self._jobs.start(request, lambda report: self._reading(request, report))

    def _reading(self, request: ReadChunk, report: Report) -> JobAnswer:
        load_array_libraries()
        array = self._array(request.array)
        places, decoding = _places(array, request), Decoding(request.scale, request.times)
        reading, buffer = preview(self._refs, array, places, self.chunks, decoding, report)
        self.last = reading, buffer
        return WasRead(reading), [] if buffer is None else [buffer]

    def _explain(self, request: ExplainValue) -> None:
        self._jobs.start(request, lambda report: self._explaining(request))

    def _explaining(self, request: ExplainValue) -> JobAnswer:
        load_array_libraries()
        array = self._array(request.array)
        found = why(self._refs, array.path, request.index, self._targets)
        steps = tuple(WhyStepModel(step.name, step.text) for step in found.steps)
        return ValueExplained(found.sentence, steps), []

    def _array(self, path: str) -> ArrayMeta:
        try:
            return self._refs.array(path)
        except KeyError:
            raise RefexplorerError(f"There is no array at {path!r}.") from None


def _places(array: ArrayMeta, request: PlanSlice | ReadChunk) -> Region:
    if request.slices is not None:
        return parse(array, request.slices)
    return whole(array) if request.index is None else of_chunk(array, request.index)
