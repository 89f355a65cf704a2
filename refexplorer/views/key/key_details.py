"""The details of one key for the inspector: derivation, bytes, decoding, code."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.core.masking import without
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.failures import rejection_text
from refexplorer.io.fetch.many import Advance, FetchProgress, fetch_many
from refexplorer.io.fetch.targets import inline_bytes
from refexplorer.io.reading.readings import ChunkState
from refexplorer.io.reading.trace import Trace, trace_key
from refexplorer.spec.references import Base64, Inline, Range, Url
from refexplorer.views.code.cells import PictureLook, cell
from refexplorer.views.editor.editor_rows import steps_of
from refexplorer.views.preview.regions import parse
from refexplorer.views.preview.values import load_array_libraries
from refexplorer.views.wire.answering import Operations, floats
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.key_messages import (
    BytesPage,
    BytesReply,
    Code,
    ExplainKey,
    KeyExplained,
    KeyTraced,
    ReadBytes,
    ReadShard,
    ShardModel,
    ShardShown,
    StepModel,
    TraceKey,
    TraceReply,
    WriteCell,
    WriteCode,
)
from refexplorer.views.wire.jobs import JobAnswer, JobReport
from refexplorer.views.wire.messages import Request

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

PAGE = 2**16
"""Most bytes of a page."""
INNER_LISTED = 2**16
"""Inner chunks of a shard whose byte ranges are sent; of more the counts alone."""
_VALUES_SHOWN = 8  # values of a chunk in a step
_VALUE_CHARS = 40  # characters of a value
_FORM_CHARS = 120
"""Of the text of a step: that of an inline reference has no end."""

Ask = Callable[[Any, Advance], JobAnswer]


class KeyDetails:
    """Answers questions about one key, each in a thread of its own."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._jobs = context.jobs

    @property
    def operations(self) -> Operations:
        """The method that answers each request."""
        asks: dict[type[Request], Ask] = {
            ExplainKey: self._explain,
            ReadBytes: self._bytes,
            TraceKey: self._trace,
            WriteCode: self._code,
            ReadShard: self._shard,
            WriteCell: self._cell,
        }
        return {kind: partial(self._start, ask) for kind, ask in asks.items()}

    def _start(self, ask: Ask, request: Request) -> None:
        def answered(report: JobReport) -> JobAnswer:
            def advance(now: FetchProgress) -> bool:
                return report(now.bytes, now.byte_count, str(now))

            return ask(request, advance)

        self._jobs.start(request.id, answered)

    def _explain(self, request: ExplainKey, advance: Advance) -> JobAnswer:
        trace = self._refs.explain(self._key(request.path))
        seen = partial(without, secrets=trace.secrets)
        return KeyExplained(str(trace.origin), steps_of(trace, seen=seen)), []

    def _code(self, request: WriteCode, advance: Advance) -> JobAnswer:
        text = self._allowed().code(request.path)
        return Code(self._without_folder(text)), []

    def _cell(self, request: WriteCell, advance: Advance) -> JobAnswer:
        try:
            array = self._refs.array(request.array)
        except KeyError:
            raise RefexplorerError(f"There is no array at {request.array!r}.") from None
        places = parse(array, request.slices)
        parts = tuple(
            place.start if ":" not in text else (place.start, place.stop, place.step)
            for text, place in zip(request.slices, places, strict=True)
        )
        limits = request.low, request.high
        look = PictureLook(
            parts,
            request.mode,
            request.scheme,
            limits,
            request.scale,
            request.times,
            request.bar,
            request.upward,
        )
        text = cell(self._allowed(), array, look, request.library)
        return Code(self._without_folder(text)), []

    def _allowed(self) -> ReferenceSet:
        """Return the set with what code may name: on a page for others no local folder."""
        found = self._refs.allowing()
        found.allowed = self._targets.policy.granted
        return found

    def _without_folder(self, text: str) -> str:
        """Take out of code for a visitor where the server keeps the set."""
        policy, location = self._targets.policy, self._refs.source.location
        if policy.served and location is not None and "://" not in location:
            folder = repr(location)[1:-1]  # where the server keeps it is nobody else's business
            text = text.replace(folder + os.sep, "").replace(folder, ".")
        return text

    def _bytes(self, request: ReadBytes, advance: Advance) -> JobAnswer:
        key = self._key(request.path)
        start, n = max(request.start, 0), min(max(request.n, 1), PAGE)
        try:
            total, data = self._page(key, start, n, advance)
        except AccessError as error:
            state = "ask" if error.grant else "failed"
            return BytesReply(BytesPage(state, start, None, error.fact, error.grant or None)), []
        except RefexplorerError as error:
            return BytesReply(BytesPage("failed", start, None, str(error))), []
        return BytesReply(BytesPage("fetched", start, total)), [data]

    def _page(self, key: str, start: int, n: int, advance: Advance) -> tuple[int, bytes]:
        """Return how many bytes a key has, and those of a page."""
        reference = self._refs[key]
        if isinstance(reference, Inline | Base64):
            data = inline_bytes(key, reference)
            return len(data), data[start : start + n]
        first = reference.offset if isinstance(reference, Range) else 0
        total = reference.length if isinstance(reference, Range) else self._size(key, reference)
        page = Range(reference.url, first + start, max(min(n, total - start), 0))
        found = fetch_many(self._targets, {key: page}, advance).get(key, b"")
        if isinstance(found, RefexplorerError):
            raise found
        return total, found

    def _size(self, key: str, reference: Url) -> int:
        """Ask how large a whole file is."""
        place = self._targets.wanted(key, reference).place
        size = wait_for(self._targets.facts(place)).size
        if size is None:
            raise RefexplorerError(
                f"{key} refers to a whole file, and its server does not report the size."
            )
        return size

    def _trace(self, request: TraceKey, advance: Advance) -> JobAnswer:
        load_array_libraries()
        key = request.path
        try:
            found = trace_key(self._refs, key, self._targets, request.inner, advance)
        except KeyError:
            raise RefexplorerError(f"The set has nothing at {key!r}.") from None
        except AccessError as error:
            state = "ask" if error.grant else ChunkState.FAILED
            return KeyTraced(TraceReply(state, (), error.fact, error.grant or None)), []
        return _traced(found), []

    def _shard(self, request: ReadShard, advance: Advance) -> JobAnswer:
        try:
            found = trace_key(self._refs, request.path, self._targets, ..., advance).shard
        except KeyError:
            raise RefexplorerError(f"The set has nothing at {request.path!r}.") from None
        except AccessError as error:
            state = "ask" if error.grant else "failed"
            return ShardShown(ShardModel(state, error.fact, error.grant or None)), []
        assert found is not None
        listed = found.offsets is not None and found.count <= INNER_LISTED
        start = getattr(found.reference, "offset", None if found.reference is None else 0)
        model = ShardModel(
            found.state,
            found.message,
            None,
            found.grid,
            found.chunks,
            found.count,
            found.empty,
            found.size,
            start if getattr(found.reference, "url", None) is not None else None,
            len(found.beyond),
            listed,
        )
        columns = (found.offsets, found.lengths) if listed else ()
        return ShardShown(model), [floats(each.reshape(-1)) for each in columns if each is not None]

    def _key(self, key: str) -> str:
        try:
            self._refs[key]
        except KeyError:
            error = self._refs.rejection(key)
            what = f"The set has no key at {key!r}." if error is None else rejection_text(error)
            raise RefexplorerError(what) from None
        return key


def _traced(found: Trace) -> KeyTraced:
    steps = tuple(
        StepModel(
            each.name,
            each.size,
            each.seconds or 0.0,
            each.head.hex(),
            each.result[:_FORM_CHARS],
            each.message,
        )
        for each in found.seen().steps
    )
    flat = [] if found.values is None else found.values.reshape(-1)[:_VALUES_SHOWN].tolist()
    values = tuple(str(value)[:_VALUE_CHARS] for value in flat)
    return KeyTraced(TraceReply(str(found.state), steps, found.message, None, values))
