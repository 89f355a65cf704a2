"""The trace of a key or value: document, reference, bytes, codecs, value; and where it fails."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.core.errors import AccessError, DecodeError, FetchError, RefexplorerError
from refexplorer.core.text import (
    code,
    counted,
    escape,
    items,
    masks_repr,
    secrets_of,
    shown,
    size_text,
)
from refexplorer.io.decode.sizes import Index
from refexplorer.io.decode.steps import (
    ABSENT,
    VALUES,
    ShardCodec,
    Step,
    error_text,
    shard_layout,
    steps,
)
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.changes import changed_since_recorded
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.readings import ChunkState
from refexplorer.refset.opened_set import SetLike, internals
from refexplorer.spec.derivation import SHOWN, TraceStep
from refexplorer.spec.references import Base64, Range, Reference, Url

if TYPE_CHECKING:
    from refexplorer.io.fetch.many import Advance
    from refexplorer.io.reading.trace_value import ValueOrigin
    from refexplorer.spec.zarr_metadata import ArrayMeta

_SHOWN = 20  # inner chunks that the text lists


@masks_repr
@dataclass(frozen=True)
class Shard:
    """A shard, as its index describes it.

    Attributes
    ----------
    key
        The key of the shard.
    state
        ``fetched`` if the index was read, ``fill`` for a shard without a reference, all of whose
        inner chunks read as the fill value.
    grid
        Inner chunks along each dimension of the shard.
    chunks
        The shape of an inner chunk.
    reference
        The reference of the whole shard; None if it has none.
    size
        Bytes of the whole shard; None if unknown.
    offsets, lengths
        Byte ranges in the shard, int64 of the shape of `grid`; -1 if the shard has no such inner
        chunk. None if the index was not read.
    message
        Why the index could not be read; None if it was.
    """

    key: str
    state: ChunkState
    grid: tuple[int, ...]
    chunks: tuple[int, ...]
    reference: Reference | None = None
    size: int | None = None
    offsets: np.ndarray | None = None
    lengths: np.ndarray | None = None
    message: str | None = None

    @property
    def count(self) -> int:
        """The number of inner chunks, including empty ones."""
        return prod(self.grid)

    @property
    def empty(self) -> int | None:
        """The number of empty inner chunks, which read as the fill value; None if unknown."""
        if self.state is ChunkState.FILL:
            return self.count
        return None if self.offsets is None else int(np.count_nonzero(self.offsets < 0))

    @property
    def beyond(self) -> tuple[Index, ...]:
        """The inner chunks that extend past the end of the shard, so that the index is wrong."""
        if self.offsets is None or self.lengths is None or self.size is None:
            return ()
        past = (self.offsets >= 0) & (self.lengths > self.size - self.offsets)
        return tuple(tuple(place) for place in np.argwhere(past).tolist())

    def inner(self, index: Sequence[int]) -> Reference | None:
        """Return the reference of an inner chunk: a byte range of the target, or its bytes.

        None for an empty one, which reads as the fill value.

        Raises
        ------
        DecodeError
            If there is no such inner chunk, or the index was not read.
        """
        place = tuple(index)
        check_inner(self.key, place, self.grid)
        if self.state is ChunkState.FILL:
            return None
        if self.offsets is None or self.lengths is None:
            raise DecodeError(str(self.message))
        start, size = int(self.offsets[place]), int(self.lengths[place])
        if start < 0:
            return None
        return _part(self.key, self.reference, start, size)

    def __str__(self) -> str:
        head = f"{escape(self.key)}: {counted(self.count, 'inner chunk')} of {list(self.chunks)}"
        if self.state is ChunkState.FILL:
            return f"{head}; there is no reference, so all read as the fill value"
        if self.offsets is None or self.lengths is None:
            return f"{head}; the index was not read: {self.message}"
        places = np.argwhere(self.offsets >= 0).tolist()
        lines = [f"{head}, {self.empty:,} of them empty"]
        for place in places[:_SHOWN]:
            start, size = int(self.offsets[tuple(place)]), int(self.lengths[tuple(place)])
            lines.append(f"  {place}  {start:,} to {start + size:,}  {size_text(size)}")
        if len(places) > _SHOWN:
            lines.append(f"  … {len(places) - _SHOWN:,} more")
        if beyond := self.beyond:
            lines.append(
                f"  {counted(len(beyond), 'inner chunk')} reach past the end of the shard, which "
                f"has {self.size:,} bytes; the index is wrong, or the reference too short."
            )
        return "\n".join(lines)


def check_inner(key: str, inner: Sequence[int], grid: tuple[int, ...]) -> None:
    """Raise an error for an inner chunk that a shard does not have."""
    if len(inner) != len(grid) or not all(
        0 <= at < size for at, size in zip(inner, grid, strict=True)
    ):
        raise DecodeError(f"{key} has no inner chunk {list(inner)}; its grid is {list(grid)}.")


def read_shard(key: str, reference: Reference, layout: ShardCodec, targets: Targets) -> Shard:
    """Read the index of a shard, with one request for a byte range."""
    grid, chunks = layout.grid, layout.inner.chunks
    size: int | None = None
    try:
        size, data = _index(key, reference, layout, targets)
        offsets, lengths = map(_signed, layout.read(data))
    except AccessError:
        raise
    except RefexplorerError as raised:
        failed = ChunkState.FAILED
        return Shard(key, failed, grid, chunks, reference, size, message=str(raised))
    return Shard(key, ChunkState.FETCHED, grid, chunks, reference, size, offsets, lengths)


def _index(
    key: str, reference: Reference, layout: ShardCodec, targets: Targets
) -> tuple[int | None, bytes]:
    """Return the size of a shard, if known, and the bytes of its index."""
    size = _size(reference)
    if layout.leads:
        return size, targets.fetch(key, reference, 0, layout.size)
    if size is None:
        place = targets.policy.place(getattr(reference, "url", None) or "")
        size = wait_for(targets.facts(place)).size
        if size is None:
            raise FetchError(f"{key} is a whole file whose store does not report its size.")
    if size < layout.size:
        raise DecodeError(
            f"{key} has {size:,} bytes, fewer than its shard index ({layout.size:,})."
        )
    return size, targets.fetch(key, reference, size - layout.size, size)


def _size(reference: Reference) -> int | None:
    if isinstance(reference, Range):
        return reference.length
    return None if isinstance(reference, Url) else len(reference.data)


def _signed(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as int64, -1 if absent or larger than any possible file."""
    if np.any((numbers > np.uint64(2**63 - 1)) & (numbers != np.uint64(ABSENT))):
        raise DecodeError("The shard index has an offset or length that is too large for any file.")
    return numbers.astype(np.int64)  # absent ones have all bits set


def _part(key: str, reference: Reference | None, start: int, size: int) -> Reference:
    """Return a slice of the bytes of a reference."""
    if isinstance(reference, Url):
        return Range(reference.url, start, size)
    assert reference is not None
    if start + size > (whole := _size(reference) or 0):
        raise DecodeError(
            f"{key} has {whole:,} bytes, but its index has an inner chunk at {start:,} to "
            f"{start + size:,}."
        )
    if isinstance(reference, Range):
        return Range(reference.url, reference.offset + start, size)
    part = reference.data[start : start + size]
    return Base64(f"base64:{base64.b64encode(part).decode()}")


HEAD = 64  # Bytes that a step keeps from the start of what it makes


@masks_repr
@dataclass(frozen=True, slots=True)
class Trace:
    """The steps that lead to a key, a chunk or one value.

    Attributes
    ----------
    key
        The key.
    steps
        The steps in order; a failed step is the last one.
    origin
        ``refs``, ``gen[0]`` or ``parquet``; None if it was not looked up, and for a key
        without a reference.
    reference
        The reference of the key as in V0; None if it has none.
    state
        ``fetched`` if all steps succeed, ``fill`` for a chunk without a reference, ``failed``; None
        if nothing was read.
    array, chunk
        The array, and the index of the chunk in its grid; None if the key is not a chunk.
    values
        The whole (inner) chunk, not clipped at the edge of the array; None if there are none.
    shard
        The index of the shard, if an inner chunk was requested.
    index
        The position of one value in the array; None if none was requested.
    cause
        The reason for the value, in one or two words.
    sentence
        The reason for the value in one sentence.
    raw
        The value as shown by Zarr alone; None if there is none.
    shown
        The value as shown by xarray by default: masked, scaled, times decoded. None if there is
        none, or if xarray cannot decode it.
    """

    key: str
    steps: tuple[TraceStep, ...]
    origin: str | None = None
    reference: Reference | None = None
    state: ChunkState | None = None
    array: str | None = None
    chunk: Index | None = None
    values: np.ndarray | None = field(default=None, compare=False)
    shard: Shard | None = field(default=None, compare=False)
    index: tuple[int, ...] | None = None
    cause: ValueOrigin | None = None
    sentence: str | None = None
    raw: Any = None
    shown: Any = None

    @property
    def message(self) -> str | None:
        """The reason why a step failed, in one sentence; None if none failed."""
        return next((step.message for step in self.steps if step.message is not None), None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The masked parts of the URL."""
        url = getattr(self.reference, "url", None)
        return secrets_of(url) if url else ()

    def seen(self) -> Trace:
        """Return the trace without secrets."""
        secrets = self.secrets
        return replace(self, steps=tuple(step.seen(secrets) for step in self.steps))

    def after(self, derivation: Trace) -> Trace:
        """Return the trace with the document steps in place of the reference."""
        at = [step.name for step in self.steps].index("reference")
        steps = (*self.steps[:at], *derivation.steps, *self.steps[at + 1 :])
        return replace(self, steps=steps, origin=derivation.origin)

    @property
    def _head(self) -> str:
        if self.index is not None:
            return f"{self.array}[{', '.join(map(str, self.index))}]: {self.sentence}"
        head = self.key if self.origin is None else f"{self.key} comes from {self.origin}"
        return head if self.state is None else f"{head}: {self.state}"

    def __repr__(self) -> str:
        return f"<Trace of {escape(self._head)} ({counted(len(self.steps), 'step')})>"

    def __str__(self) -> str:
        steps = (f"  {number}. {step}" for number, step in enumerate(self.seen().steps, 1))
        return "\n".join([escape(self._head), *steps])

    def _repr_html_(self) -> str:
        steps = items((step._repr_html_() for step in self.seen().steps), "ol")
        tail = shown(self._head[len(self.key) :]) if self._head.startswith(self.key) else None
        head = shown(self._head) if tail is None else code(self.key, SHOWN) + tail
        return f"<div>{head}{steps}</div>"


def trace_key(
    refs: SetLike,
    key: str,
    targets: Targets,
    inner: Sequence[int] | EllipsisType | None = None,
    advance: Advance = lambda progress: True,
) -> Trace:
    """Read a key, or an inner chunk of a shard, and decode it step by step, with size limits."""
    # No step may produce more bytes than the chunk has, plus some room for later codecs: such steps
    # are stopped, and codecs of unpredictable output size run in a separate process.
    owner = refs.array_of(key)
    array = None if owner is None else refs.array(owner[0])
    index = None if owner is None else owner[1]
    if array is not None and not array.contains(index or ()):
        array = index = None
    tracer = Tracer(refs, key, targets, array, index, advance)
    if array is None and refs.get(key) is None and refs.rejection(key) is None:
        raise internals(refs).opened.missing(key)
    return tracer.chunk() if inner is None else tracer.inner(inner)


class Tracer:
    """Runs steps until one fails."""

    def __init__(
        self,
        refs: SetLike,
        key: str,
        targets: Targets,
        array: ArrayMeta | None,
        index: Index | None,
        advance: Advance = lambda progress: True,
    ) -> None:
        self.refs, self.key, self.part, self.targets = refs, key, key, targets
        self.array, self.index = array, index
        self.steps: list[TraceStep] = []
        self.raw: bytes | None = None
        self.values: np.ndarray | None = None
        self.shard: Shard | None = None
        self.state, self._advance = ChunkState.FETCHED, advance
        self.reference = self._at = refs.get(key)
        self.rejection = refs.rejection(key) if self.reference is None else None

    def chunk(self) -> Trace:
        """Run every step up to the values of the chunk."""
        if self._has_reference():
            self._decode(self.array and self.array.chunk_array(self.index or ()))
        return self.trace()

    def inner(self, inner: Sequence[int] | EllipsisType) -> Trace:
        """Read the index of the shard, and run the steps of an inner chunk, except for ``...``."""
        if self.array is None:
            raise DecodeError(f"{self.key} is not a chunk of an array, so it is not a shard.")
        layout = shard_layout(self.array.chunk_array(self.index or ()))
        if layout is None:
            raise DecodeError(
                f"The chunks of {self.array.path} are not shards with a readable index: its "
                f"codecs are {', '.join(self.array.codecs) or 'none'}."
            )
        if not isinstance(inner, EllipsisType):
            check_inner(self.key, inner, layout.grid)
        if not self._has_reference() or self.reference is None:
            grid, chunks, message = layout.grid, layout.inner.chunks, self.steps[-1].message
            self.shard = Shard(self.key, self.state, grid, chunks, message=message)
            return self.trace()
        started = time.perf_counter()
        shard = self.shard = read_shard(self.key, self.reference, layout, self.targets)
        seconds, size = time.perf_counter() - started, layout.size
        self.state = shard.state
        if shard.state is not ChunkState.FETCHED:
            self._add("shard index", str(shard), seconds, message=shard.message)
            return self.trace()
        text = f"{counted(shard.count, 'inner chunk')}, {shard.empty:,} of them empty"
        self._add("shard index", text, seconds, size=size)
        if not isinstance(inner, EllipsisType):
            self._inner_chunk(shard, tuple(inner), layout.inner)
        return self.trace()

    def _inner_chunk(self, shard: Shard, inner: tuple[int, ...], array: ArrayMeta) -> None:
        try:
            self._at = shard.inner(inner)
        except DecodeError as error:
            self._add("inner chunk", message=str(error))
            return
        if self._at is None:
            self.state = ChunkState.FILL
            self._add("inner chunk", "not in the shard: it reads as the fill value")
            return
        self.part = f"{self.key} {list(inner)}"
        self._add("inner chunk", place_text(self._at))
        self._decode(array)

    def trace(self) -> Trace:
        """Return the trace."""
        return Trace(
            self.key,
            tuple(self.steps),
            reference=self.reference,
            state=self.state,
            array=None if self.array is None else self.array.path,
            chunk=self.index,
            values=self.values,
            shard=self.shard,
        )

    def _has_reference(self) -> bool:
        if self.reference is not None:
            self._add("reference", place_text(self.reference))
            return True
        if self.rejection is not None:
            from refexplorer.io.fetch.failures import rejection_text

            self._add("reference", message=rejection_text(self.rejection))
        else:
            self.state = ChunkState.FILL
            self._add("reference", "no reference: this chunk reads as the fill value")
        return False

    def _decode(self, array: ArrayMeta | None) -> None:
        """Read the bytes, and run the steps up to the values of an array."""
        self.raw = self._step("raw bytes", self._read, time.perf_counter)
        data: Any = self.raw
        self._compare_version()
        if data is None or array is None:
            return
        for step in self._decoding(array):
            data = self._step(step.stage.label, partial(step.run, data), time.process_time)
            if data is None:
                return
        self.values = data if isinstance(data, np.ndarray) else None

    def _compare_version(self) -> None:
        """Say if the file changed since Icechunk recorded its version."""
        url = getattr(self._at, "url", None)
        if self.raw is None or url is None or self.array is None:
            return
        said = changed_since_recorded(self.refs.source, self.array.path, url, self.targets)
        if said is not None:
            self._add("file version", said)

    def _decoding(self, array: ArrayMeta) -> list[Step]:
        try:
            return steps(array, self.refs.limits)
        except RefexplorerError as error:
            self._add(VALUES, message=str(error))
            return []

    def _step(self, name: str, run: Callable[[], Any], clock: Callable[[], float]) -> Any:
        started = clock()
        try:
            data = run()
        except AccessError:
            raise
        except Exception as error:  # a codec raises any error
            self._add(name, "", clock() - started, message=error_text(error))
            return None
        is_array = isinstance(data, np.ndarray)
        kind = "" if not is_array else data.dtype if data.dtype.names else data.dtype.str
        text, size = (f"{kind} {list(data.shape)}", data.nbytes) if is_array else ("", len(data))
        self._add(name, text, clock() - started, size, _head(data))
        return data

    def _add(
        self,
        name: str,
        text: str = "",
        seconds: float | None = None,
        size: int | None = None,
        head: bytes = b"",
        message: str | None = None,
    ) -> None:
        if message is not None:
            self.state = ChunkState.FAILED
        known: Any = {"reference": self._at, "size": size, "seconds": seconds, "head": head}
        self.steps.append(TraceStep(name, self.part, text, message=message, **known))

    def _read(self) -> bytes:
        from refexplorer.io.fetch.many import fetch_many

        assert self._at is not None
        found = fetch_many(self.targets, {self.part: self._at}, self._advance).get(self.part)
        if isinstance(found, bytes):
            return found
        if found is None:
            raise FetchError(f"{self.part} was not read: the read was stopped.")
        raise found


def place_text(reference: Reference) -> str:
    """Return the location of the bytes of a reference."""
    if isinstance(reference, Range):
        end = reference.offset + reference.length
        return f"Bytes {reference.offset:,} to {end:,} of {escape(reference.url or '', SHOWN)}."
    if isinstance(reference, Url):
        return f"All of {escape(reference.url or '', SHOWN)}."
    return f"Inline: {reference.size:,} bytes in the set itself."


def _head(data: Any) -> bytes:
    if isinstance(data, np.ndarray):
        return b"" if data.dtype.hasobject else data.reshape(-1)[:HEAD].tobytes()[:HEAD]
    return bytes(data[:HEAD])
