"""The details of one key for the inspector: derivation, bytes, decoding, code."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.core.text import without
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.failures import rejection_text
from refexplorer.io.fetch.many import Advance, fetch_many
from refexplorer.io.fetch.targets import inline_bytes
from refexplorer.io.reading.readings import ChunkState
from refexplorer.io.reading.trace import Trace, trace_key
from refexplorer.spec.references import Base64, Inline, Range, Url
from refexplorer.views.code.cells import PictureLook, cell
from refexplorer.views.editor.editor_rows import Derived, steps_of
from refexplorer.views.preview.regions import parse
from refexplorer.views.preview.values import load_array_libraries
from refexplorer.views.wire.context import ExplorerPart, ViewContext, array_at
from refexplorer.views.wire.jobs import JobReport
from refexplorer.views.wire.requests import (
    Buffers,
    Count,
    ReadOutcome,
    Real,
    filled,
    floats,
    job,
    request,
)

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

PAGE = 2**16  # Most bytes of a page
INNER_LISTED = 2**16  # Inner chunks of a shard whose byte ranges are sent; of more the counts alone
_VALUES_SHOWN = 8  # values of a chunk in a step
_VALUE_CHARS = 40  # characters of a value
_FORM_CHARS = 120  # Of the text of a step: that of an inline reference has no end


class KeyExplained(Struct, frozen=True):
    """The derivation of a key; positions in the text are null."""

    origin: str
    steps: tuple[Derived, ...]


class BytesPage(Struct, frozen=True):
    """A page of raw bytes, sent along as a buffer, or why there are none."""

    state: ReadOutcome
    start: int  # Where the page begins, in bytes
    total: Count | None  # All bytes of the key; null where that is not known
    message: str | None = None
    grant: str | None = None  # State ``ask``: what `allow` needs


class StepModel(Struct, frozen=True):
    """One step of reading and decoding a key."""

    name: str
    size: Count | None
    seconds: float  # Of processor time; of the raw bytes until they came
    head: str  # The first bytes, as hexadecimal digits
    form: str  # Dtype and shape, or the reference as JSON
    message: str | None  # Why it failed: then it is the last one


class TraceReply(Struct, frozen=True):
    """The steps of reading and decoding a key, or why it was not read."""

    state: ReadOutcome
    steps: tuple[StepModel, ...]
    message: str | None = None
    grant: str | None = None  # State ``ask``: what `allow` needs
    values: tuple[str, ...] = ()  # The first, as text


class ShardModel(Struct, frozen=True):
    """A shard as described by its index, or why that was not read."""

    state: ReadOutcome
    message: str | None = None
    grant: str | None = None  # State ``ask``: what `allow` needs
    grid: tuple[Count, ...] = ()  # Inner chunks along each dimension
    chunks: tuple[Count, ...] = ()  # The shape of an inner chunk
    count: Count = 0  # How many inner chunks there are, empty ones among them
    # How many read as the fill value since the shard has none; null if that is not known
    empty: Count | None = None
    size: Count | None = None  # Bytes of the shard; null if that is not known
    start: Count | None = None  # Where it begins in its target; null without a target
    beyond: Count = 0  # How many reach past its end: the index is wrong
    # Whether the response includes their byte ranges; false if there are too many
    listed: bool = False


class KeyDetails:
    """Handles requests about one key, each in its own thread."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._edit = context.edit
        # on a shared page the owner writes files, and knows where they are
        self._hides_folder = context.targets.policy.served and not context.can_write

    @request("key.edit")
    def edit(self, path: str) -> None:
        """Show the origin of a key in the editor."""
        if self._edit is None:
            raise RefexplorerError("This explorer has no editor.")
        self._edit(self._key(path))

    @job("key.explain")
    def explain(self, path: str) -> KeyExplained:
        """Explain a key."""
        trace = self._refs.explain(self._key(path))
        seen = partial(without, secrets=trace.secrets)
        return KeyExplained(str(trace.origin), steps_of(trace, seen=seen))

    @job("key.code", sends="code")
    def write_code(self, path: str) -> str:
        """Write Python for a key with only fsspec, Zarr and xarray, like ``refs.code(path)``."""
        return self._without_folder(self._allowed().code(path))

    @job("code.cell", sends="code")
    def write_cell(
        self,
        library: Literal["xarray", "zarr"],
        array: str,
        slices: tuple[str, ...],  # One for each dimension; an index for those that are not drawn
        # ``heatmap``, ``channel``, ``line``, ``lines``, ``table`` or ``statistics``
        mode: str = "heatmap",
        # scheme, low, high: The colours, and the numbers between which they are; null: the values'
        scheme: str = "viridis",
        low: Real | None = None,
        high: Real | None = None,
        # scale, times: What of the CF conventions is applied
        scale: bool = True,
        times: bool = True,
        bar: Literal["linear", "log", "symlog"] = "linear",
        upward: bool = False,  # Whether the first row is at the bottom, as where latitudes rise
    ) -> str:
        """Write a notebook cell that reproduces the picture of a selection of an array."""
        meta = array_at(self._refs, array)
        parts = tuple(
            place.start if ":" not in text else (place.start, place.stop, place.step)
            for text, place in zip(slices, parse(meta, slices), strict=True)
        )
        look = PictureLook(parts, mode, scheme, (low, high), scale, times, bar, upward)
        return self._without_folder(cell(self._allowed(), meta, look, library))

    def _allowed(self) -> ReferenceSet:
        """Return the set with the locations that code may name, on a shared page no folder."""
        found = self._refs.allowing()
        found.allowed = self._targets.policy.granted
        return found

    def _without_folder(self, text: str) -> str:
        """Remove the server's folder of the set from code for a visitor."""
        location = self._refs.source.location
        if self._hides_folder and location is not None and "://" not in location:
            folder = repr(location)[1:-1]  # not revealed to visitors
            text = text.replace(folder + os.sep, "").replace(folder, ".")
        return text

    @job(
        "key.bytes",
        unsaved="These bytes were not read when the page was saved",
        buffers="The bytes, if they were fetched.",
    )
    def read_bytes(
        self, report: JobReport, path: str, start: int, n: int
    ) -> tuple[BytesPage, Buffers]:
        """Read bytes of a key, at most 65,536; the size of a whole file is requested first."""
        key = self._key(path)
        start, n = max(start, 0), min(max(n, 1), PAGE)
        try:
            total, data = self._page(key, start, n, _advance(report))
        except AccessError as error:
            state = "ask" if error.grant else "failed"
            return BytesPage(state, start, None, error.fact, error.grant or None), []
        except RefexplorerError as error:
            return BytesPage("failed", start, None, str(error)), []
        return BytesPage("fetched", start, total), [data]

    def _page(self, key: str, start: int, n: int, advance: Advance) -> tuple[int, bytes]:
        """Return the size of a key in bytes, and the bytes of a page."""
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
        """Request the size of a whole file."""
        place = self._targets.range_of(key, reference).place
        size = wait_for(self._targets.facts(place)).size
        if size is None:
            raise RefexplorerError(
                f"{key} refers to a whole file, and its server does not report the size."
            )
        return size

    @job(
        "key.trace",
        unsaved="This chunk was not decoded when the page was saved",
    )
    def trace(
        self,
        report: JobReport,
        path: str,
        # The index of an inner chunk in the grid of the shard; null reads all of the key
        inner: tuple[int, ...] | None = None,
    ) -> TraceReply:
        """Read and decode a key step by step; without a reference, the first step is the last."""
        load_array_libraries()
        try:
            found = self._trace(path, inner, report)
        except AccessError as error:
            state = "ask" if error.grant else ChunkState.FAILED
            return TraceReply(state, (), error.fact, error.grant or None)
        return _traced(found)

    @job(
        "key.shard",
        buffers="If `listed`: offset and length in the shard of each inner chunk, in the order of "
        "the grid; -1 and 0 for empty ones.",
    )
    def read_shard(self, report: JobReport, path: str) -> tuple[ShardModel, Buffers]:
        """Read the index of a shard, with one request for a byte range."""
        try:
            found = self._trace(path, ..., report).shard
        except AccessError as error:
            state = "ask" if error.grant else "failed"
            return ShardModel(state, error.fact, error.grant or None), []
        assert found is not None
        listed = found.offsets is not None and found.count <= INNER_LISTED
        start = getattr(found.reference, "offset", None if found.reference is None else 0)
        is_in_file = getattr(found.reference, "url", None) is not None
        own = {"start": start if is_in_file else None, "beyond": len(found.beyond)}
        model = filled(ShardModel, found, **own, listed=listed)
        columns = (found.offsets, found.lengths) if listed else ()
        return model, [floats(each.reshape(-1)) for each in columns if each is not None]

    def _trace(self, path: str, inner: Any, report: JobReport) -> Trace:
        try:
            return trace_key(self._refs, path, self._targets, inner, _advance(report))
        except KeyError:
            raise RefexplorerError(f"The set has nothing at {path!r}.") from None

    def _key(self, key: str) -> str:
        try:
            self._refs[key]
        except KeyError:
            error = self._refs.rejection(key)
            what = f"The set has no key at {key!r}." if error is None else rejection_text(error)
            raise RefexplorerError(what) from None
        return key


def _advance(report: JobReport) -> Advance:
    """Return a callback that reports the bytes of a fetch."""
    return lambda now: report(now.bytes, now.byte_count, str(now))


def _traced(found: Trace) -> TraceReply:
    steps = tuple(
        filled(
            StepModel,
            each,
            seconds=each.seconds or 0.0,
            head=each.head.hex(),
            form=each.result[:_FORM_CHARS],
        )
        for each in found.seen().steps
    )
    flat = [] if found.values is None else found.values.reshape(-1)[:_VALUES_SHOWN].tolist()
    values = tuple(str(value)[:_VALUE_CHARS] for value in flat)
    return TraceReply(str(found.state), steps, found.message, None, values)


PART = ExplorerPart("key", "Key", "One key", (KeyDetails,), place=9, look=False)
