"""The details of one key for the inspector: derivation, bytes, decoding, code."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from refexplorer.data.fetch.background import wait_for
from refexplorer.data.fetch.failures import said_of
from refexplorer.data.fetch.fetch_many import Advance, FetchProgress, fetch_many
from refexplorer.data.fetch.target_reader import held
from refexplorer.data.read.chunk_reader import ChunkState
from refexplorer.data.read.ladder import ladder
from refexplorer.errors import AccessError, RefexplorerError
from refexplorer.spec.core.references import Base64, Inline, Range, Url
from refexplorer.views.editor.derivation import steps_of
from refexplorer.views.preview.libraries import load_array_libraries
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer_messages import (
    BytesReply,
    Climbed,
    ClimbLadder,
    Code,
    ExplainKey,
    KeyExplained,
    ReadBytes,
    WriteCode,
)
from refexplorer.views.wire.jobs import JobAnswer, Report
from refexplorer.views.wire.messages import Request
from refexplorer.views.wire.models import BytesPage, LadderReply, RungModel

PAGE = 2**16
"""Most bytes of a page."""
_VALUES_SHOWN = 8
_VALUE_CHARS = 40

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
            ClimbLadder: self._ladder,
            WriteCode: self._code,
        }
        return {kind: partial(self._start, ask) for kind, ask in asks.items()}

    def _start(self, ask: Ask, request: Request) -> None:
        def answered(report: Report) -> JobAnswer:
            def advance(now: FetchProgress) -> bool:
                return report(now.bytes, now.byte_count, str(now))

            return ask(request, advance)

        self._jobs.start(request, answered)

    def _explain(self, request: ExplainKey, advance: Advance) -> JobAnswer:
        explanation = self._refs.explain(self._key(request.path))
        return KeyExplained(explanation.origin, steps_of(explanation)), []

    def _code(self, request: WriteCode, advance: Advance) -> JobAnswer:
        policy, location = self._targets.policy, self._refs.source.location
        text = self._refs.code(request.path, allow=policy.granted)
        if policy.served and location is not None and "://" not in location:
            folder = repr(location)[1:-1]  # where the server keeps it is nobody else's business
            text = text.replace(folder + os.sep, "").replace(folder, ".")
        return Code(text), []

    def _bytes(self, request: ReadBytes, advance: Advance) -> JobAnswer:
        key = self._key(request.path)
        start, n = max(request.start, 0), min(max(request.n, 1), PAGE)
        try:
            total, data = self._page(key, start, n, advance)
        except AccessError as error:
            state = "ask" if error.grant else "failed"
            return BytesReply(BytesPage(state, start, None, str(error), error.grant or None)), []
        except RefexplorerError as error:
            return BytesReply(BytesPage("failed", start, None, str(error))), []
        return BytesReply(BytesPage("fetched", start, total)), [data]

    def _page(self, key: str, start: int, n: int, advance: Advance) -> tuple[int, bytes]:
        """Return how many bytes a key has, and those of a page."""
        reference = self._refs[key]
        if isinstance(reference, Inline | Base64):
            data = held(key, reference)
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

    def _ladder(self, request: ClimbLadder, advance: Advance) -> JobAnswer:
        load_array_libraries()
        key = request.path
        try:
            found = ladder(self._refs, key, self._targets, advance)
        except KeyError:
            raise RefexplorerError(f"The set has nothing at {key!r}.") from None
        except AccessError as error:
            state = "ask" if error.grant else ChunkState.FAILED
            return Climbed(LadderReply(state, (), str(error), error.grant or None)), []
        rungs = tuple(
            RungModel(each.name, each.size, each.seconds, each.head.hex(), each.form, each.message)
            for each in found.rungs
        )
        flat = [] if found.values is None else found.values.reshape(-1)[:_VALUES_SHOWN].tolist()
        values = tuple(str(value)[:_VALUE_CHARS] for value in flat)
        return Climbed(LadderReply(found.state, rungs, found.message, None, values)), []

    def _key(self, key: str) -> str:
        try:
            self._refs[key]
        except KeyError:
            error = self._refs.left_out(key)
            what = f"The set has no key at {key!r}." if error is None else said_of(error)
            raise RefexplorerError(what) from None
        return key
