"""What a preview asks: what a part of an array takes to read, and its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.data.fetch.target_reader import Targets
from refexplorer.errors import RefexplorerError
from refexplorer.views.preview.preview import plan, preview
from refexplorer.views.preview.region_reader import DecodedChunks
from refexplorer.views.preview.regions import Region, first_look, of_chunk, parse, slices, whole
from refexplorer.views.preview.values import Decoding
from refexplorer.views.wire.answering import Buffers, Message
from refexplorer.views.wire.failure_log import Outcomes
from refexplorer.views.wire.jobs import Jobs, Report
from refexplorer.views.wire.libraries import load_array_libraries
from refexplorer.views.wire.models import Reading

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
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

    def __init__(
        self, refs: ReferenceSet, targets: Targets, jobs: Jobs, outcomes: Outcomes
    ) -> None:
        self._refs = refs
        self._jobs = jobs
        self.chunks = DecodedChunks(refs, targets, outcomes)
        self.last: tuple[Reading, bytes | None] | None = None

    def plan(self, message: Message) -> Message:
        """Answer ``slice.plan``."""
        array = self._array(message)
        index, texts = message.get("index"), message.get("slices")
        if index is None and texts is None:
            places = first_look(array)
        else:
            places = self._places(array, message)
        return {"plan": plan(self._refs, array, places, self.chunks)}

    def named(self, message: Message) -> tuple[str, tuple[str, ...]]:
        """Return the array and the slices that a request to read names."""
        array = self._array(message)
        return array.path, slices(array, self._places(array, message))

    def read(self, message: Message) -> None:
        """Answer ``chunk.read`` later."""
        self._jobs.start(message, lambda report: self._reading(message, report))

    def _reading(self, message: Message, report: Report) -> tuple[Message, Buffers]:
        load_array_libraries()
        array = self._array(message)
        places, decoding = self._places(array, message), _decoding(message)
        reading, buffer = preview(self._refs, array, places, self.chunks, decoding, report)
        self.last = reading, buffer
        return {"reading": reading}, [] if buffer is None else [buffer]

    def _array(self, message: Message) -> ArrayMeta:
        path = str(message["array"])
        try:
            return self._refs.array(path)
        except KeyError:
            raise RefexplorerError(f"There is no array at {path!r}.") from None

    def _places(self, array: ArrayMeta, message: Message) -> Region:
        if (texts := message.get("slices")) is not None:
            return parse(array, [str(text) for text in texts])
        index = message.get("index")
        return whole(array) if index is None else of_chunk(array, tuple(map(int, index)))


def _decoding(message: Message) -> Decoding:
    return Decoding(bool(message.get("scale", True)), bool(message.get("times", True)))
