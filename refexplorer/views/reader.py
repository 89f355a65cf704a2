"""What a preview asks: what a part of an array takes, its values, and to stop reading them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from refexplorer.data.targets import Targets
from refexplorer.errors import RefexplorerError
from refexplorer.views.models import Reading, to_wire
from refexplorer.views.parts import Chunks
from refexplorer.views.preview import plan, preview
from refexplorer.views.regions import Region, first_look, of_chunk, parse, slices, whole
from refexplorer.views.values import Decoding
from refexplorer.views.wire import Message, Post, failure

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.arrays import ArrayMeta


class Reader:
    """Reads parts of the arrays of one set, each in a thread of its own.

    Attributes
    ----------
    chunks
        What was decoded, and what failed.
    last
        The last reading with its values, for a host that shows it without a front end.
    """

    def __init__(self, refs: ReferenceSet, targets: Targets, post: Post) -> None:
        self._refs = refs
        self._post = post
        self._jobs: dict[str, threading.Event] = {}
        self.chunks = Chunks(refs, targets)
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
        """Answer ``chunk.read`` later, from a thread of its own."""
        self._jobs[str(message["id"])] = threading.Event()
        name = f"refexplorer-read-{message['id']}"
        threading.Thread(target=self._run, args=[message], name=name, daemon=True).start()

    def cancel(self, message: Message) -> Message:
        """Answer ``cancel``."""
        if job := self._jobs.get(str(message["job"])):
            job.set()
        return {}

    def _run(self, message: Message) -> None:
        job = self._jobs[str(message["id"])]

        def report(done: int, of: int, label: str) -> bool:
            event = {"ev": "progress", "id": message["id"], "done": done, "of": of, "label": label}
            if not job.is_set():
                self._post(event, [])
            return not job.is_set()

        try:
            array = self._array(message)
            places, decoding = self._places(array, message), _decoding(message)
            reading, buffer = preview(self._refs, array, places, self.chunks, decoding, report)
            if job.is_set():
                raise RefexplorerError("The reading was stopped.")
            self.last = reading, buffer
            reply = {"id": message["id"], "reading": to_wire(reading)}
            self._post(reply, [] if buffer is None else [buffer])
        except Exception as error:
            self._post(failure(message, error), [])
        finally:
            self._jobs.pop(str(message["id"]), None)

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
