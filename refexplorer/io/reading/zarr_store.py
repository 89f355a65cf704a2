"""The Zarr store of a reference set, and the codec pipeline for reading its arrays.

Zarr lets packages replace its pipeline (``codec_pipeline.path``), for all arrays of a process.
Arrays of other stores keep Zarr's own, and a differently configured pipeline is kept; arrays of
references are then read ten chunks at a time, and their errors name no chunk. Zarr's option for
variable-sized chunks (``array.rectilinear_chunks``) is enabled, too.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from functools import cache, partial
from typing import Any
from weakref import WeakSet

import zarr
from zarr.abc.codec import CodecPipeline
from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.array import create_codec_pipeline
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from zarr.registry import register_pipeline

from refexplorer.core.errors import DecodeError, LimitError, RefexplorerError
from refexplorer.io.decode.codecs import METADATA_NAMES, require_codecs
from refexplorer.io.decode.sizes import check_size
from refexplorer.io.decode.steps import ChunkGuard
from refexplorer.io.fetch.background import ReaderThreads, Stopped, is_wanted, start_thread
from refexplorer.io.fetch.failures import NoReference, as_internal_error
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.filesystem import ReferenceFileSystem, read_key
from refexplorer.io.reading.zarr_refusals import (
    RECTILINEAR,
    check_metadata,
    ensure_loop,
    sentence_of,
    undecodable,
)
from refexplorer.refset.opened_set import SetLike
from refexplorer.spec.references import Range, Reference
from refexplorer.spec.zarr_metadata import ArrayMeta, is_metadata

AHEAD_BYTES = 2**24  # Encoded bytes of a window that is read ahead; two windows may be on their way
_AHEAD_KEYS = 4096  # keys of a window, whose chunks may be tiny
_FEW = 2  # Up to so many chunks are read without a thread


class SelectionPlan:
    """The chunks of one selection, in the order of Zarr's requests, read in windows."""

    def __init__(self, store: ReferenceStore, keys: Sequence[str]) -> None:
        self._store = store
        self._window_of: dict[str, int] = {}
        self._coming: dict[str, Future[bytes | RefexplorerError]] = {}
        self._started = 0
        self._left = deque(keys if len(keys) > _FEW else ())

    def begin(self, asked: str) -> None:
        """Start reading the window of a key, and the next one."""
        while self._left and self._window_of.get(asked, self._started) + 2 > self._started:
            self._start(self._next_window())
            self._started += 1

    def peek(self, key: str) -> bytes | None:
        """Return the bytes of a key if they have arrived, without removing them."""
        future = self._coming.get(key)
        if future is None or not future.done() or future.exception() is not None:
            return None
        found = future.result()
        return found if isinstance(found, bytes) else None

    def take(self, key: str) -> bytes | RefexplorerError | None:
        """Wait for the bytes or the error of a key; None if it is not read ahead."""
        future = self._coming.pop(key, None)
        return None if future is None else future.result()

    def _next_window(self) -> dict[str, Reference]:
        window: dict[str, Reference] = {}
        size = 0
        while self._left and size < AHEAD_BYTES and len(window) < _AHEAD_KEYS:
            key = self._left.popleft()
            self._window_of[key] = self._started
            reference = self._store.references.get(key)
            if isinstance(reference, Range):  # others are inline, or of unknown size
                window[key] = reference
                size += reference.length
        return window

    def _start(self, references: dict[str, Reference]) -> None:
        self._coming.update((key, Future()) for key in references)
        waiting = {key: self._coming[key] for key in references}

        def arrived(key: str, found: bytes | RefexplorerError) -> None:
            waiting.pop(key).set_result(found)

        def read() -> None:
            error: BaseException = Stopped()
            try:
                fetch_many(self._store.targets, references, lambda progress: is_wanted(), arrived)
            except BaseException as raised:  # passed to the waiting caller
                error = raised
            for future in waiting.values():
                future.set_exception(error)

        start_thread(read, "refexplorer-ahead")


current_plan: ContextVar[SelectionPlan | None] = ContextVar("current_plan", default=None)
"""The plan of the selection to which the current key belongs."""


_THREADS = 64  # More than Zarr's ``async.concurrency``, even if users raise it
_KEYS = 10_000  # Keys that are listed before other tasks on Zarr's loop run
_SETTING = "codec_pipeline.path"
_DEFAULT = f"{BatchedCodecPipeline.__module__}.{BatchedCodecPipeline.__qualname__}"


class ReferenceStore(Store):
    """The keys of a set as a read-only store: only `NoReference` means that there is no chunk."""

    # Zarr decodes its input without checks. Chunks that would decompress to more than
    # `Limits.chunk_bytes` are rejected beforehand, and so are arrays with a codec that is not
    # installed.

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(
        self, refs: SetLike, targets: Targets, given: Mapping[str, bytes] | None = None
    ) -> None:
        ensure_loop()
        super().__init__(read_only=True)
        self.references, self.targets = refs, targets
        self._given = {} if given is None else given  # Bytes already in memory, by key
        self._guard = ChunkGuard(refs.limits)

    def __reduce__(self) -> tuple[Any, ...]:
        return ReferenceStore, (self.references, self.targets)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = Store.__hash__

    def __repr__(self) -> str:
        return f"<ReferenceStore({self.references.source.name})>"

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        _be_quiet(asyncio.get_running_loop())
        if byte_range is None and (plan := current_plan.get()) is not None:
            with as_internal_error(key):
                plan.begin(key)
                # Zarr spends half of the time for a small chunk on switching threads
                if (data := self._at_once(key, plan)) is not None:
                    return prototype.buffer.from_bytes(data)
        # separate threads: those of `asyncio.to_thread` are few and shared
        read = partial(copy_context().run, self._checked, key, *_bounds(byte_range))
        try:
            data = await asyncio.get_running_loop().run_in_executor(_readers(), read)
        except NoReference:
            return None
        return prototype.buffer.from_bytes(data)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        return await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges))

    async def get_ranges(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        try:
            parts = super().get_ranges(*arguments, **options)  # type: ignore[misc, unused-ignore]
            async for part in parts:
                yield part
        except BaseExceptionGroup as errors:
            ours = errors.subgroup(RefexplorerError)
            if ours is None:
                raise
            raise _first(ours) from None

    async def exists(self, key: str) -> bool:
        return key in self.references

    async def list(self) -> AsyncIterator[str]:
        for number, key in enumerate(self.references):
            if not number % _KEYS:
                await asyncio.sleep(0)
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        try:
            page = await asyncio.to_thread(self.references.children, prefix.strip("/"))
        except KeyError:
            return
        for node in page.rows:
            if (name := node.path.rpartition("/")[2]) not in ("", ".", ".."):  # Zarr rejects these
                yield name

    async def set(self, key: str, value: Buffer) -> None:
        raise ValueError("A reference set is read-only.")

    async def delete(self, key: str) -> None:
        raise ValueError("A reference set is read-only.")

    def _at_once(self, key: str, plan: SelectionPlan) -> bytes | None:
        data = plan.peek(key)
        owner = None if data is None else self.references.array_of(key)
        if data is None or owner is None:
            return None
        array = self.references.array(owner[0]).chunk_array(owner[1])
        if not self._guard.is_free(array, data):
            return None
        plan.take(key)
        return data

    def _checked(self, key: str, start: int | None, end: int | None) -> bytes:
        """Return the bytes of a key, or a slice of them, if they may be decoded."""
        with as_internal_error(key):
            return self._given_or_read(key, start, end)

    def _given_or_read(self, key: str, start: int | None, end: int | None) -> bytes:
        plan = current_plan.get()
        data: bytes | RefexplorerError | None = None
        if (given := self._given.get(key)) is not None:
            data = given[start:end]
        elif plan is not None and start is None and end is None:
            data = plan.take(key)
        if isinstance(data, RefexplorerError):
            raise data
        if data is None:
            data = read_key(self.references, self.targets, key, start, end)
        if is_metadata(key):
            if key.rpartition("/")[2] in METADATA_NAMES:
                require_codecs(key, data)
            check_metadata(key, data)
        elif (owner := self.references.array_of(key)) is not None:
            array = self.references.array(owner[0]).chunk_array(owner[1])
            return self._admitted(key, array, data, start, end)
        return data

    def _admitted(
        self, key: str, array: ArrayMeta, data: bytes, start: int | None, end: int | None
    ) -> bytes:
        check_size(array, self.references.limits)
        try:
            if start is None and end is None:
                return self._guard.chunk(array, data)
            if start is not None and start >= 0:
                self._guard.part(array, data, start)
        except (LimitError, DecodeError) as error:
            raise undecodable(self.references, key, str(error), type(error)) from None
        return data


def _be_quiet(loop: asyncio.AbstractEventLoop) -> None:
    """Keep asyncio from printing our errors from tasks that Zarr abandons after a failure."""
    if loop in _quiet:
        return
    before = loop.get_exception_handler() or type(loop).default_exception_handler

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), RefexplorerError):
            before(loop, context)

    loop.set_exception_handler(handle)
    _quiet.add(loop)


_quiet: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def _bounds(part: ByteRequest | None) -> tuple[int | None, int | None]:
    """Return start and end of a part, as accepted by `ReferenceFileSystem.cat_file`."""
    match part:
        case None:
            return None, None
        case RangeByteRequest(start, end):
            return start, end
        case OffsetByteRequest(offset):
            return offset, None
        case SuffixByteRequest(suffix):
            return -suffix, None
    raise TypeError(f"Zarr requested bytes in an unsupported way: {part!r}.")


class ChosenPipeline(BatchedCodecPipeline):
    """Creates Zarr's own pipeline, or a merging one for the arrays of references."""

    @classmethod
    def from_array_metadata_and_store(  # type: ignore[override]
        cls, array_metadata: ArrayV2Metadata | ArrayV3Metadata, store: Store
    ) -> CodecPipeline:
        found: Any = create_codec_pipeline(array_metadata)
        return found if _set_of(store) is None else MergingPipeline.from_codecs(found)

    @classmethod
    def from_codecs(cls, *arguments: Any, **options: Any) -> Any:
        return BatchedCodecPipeline.from_codecs(*arguments, **options)


class MergingPipeline(BatchedCodecPipeline):
    """Zarr's own pipeline, which shows the store all chunks of a selection in advance."""

    async def read(self, batch_info: Iterable[Any], *arguments: Any, **options: Any) -> Any:
        batch = list(batch_info)
        token = current_plan.set(self._plan(batch))
        try:
            return await super().read(batch, *arguments, **options)
        finally:
            current_plan.reset(token)

    def _plan(self, batch: list[Any]) -> SelectionPlan | None:
        store = getattr(batch[0][0], "store", None) if batch else None
        if not isinstance(store, ReferenceStore):
            return None
        keys = []
        for place, chunk, selection, *_ in batch:
            parts = zip(selection, chunk.shape, strict=False)
            is_whole = all(part == slice(0, size, 1) for part, size in parts)
            if is_whole or not self.supports_partial_decode:
                keys.append(place.path)
        return SelectionPlan(store, keys)

    async def read_batch(self, batch_info: Iterable[Any], *arguments: Any, **options: Any) -> Any:
        batch = list(batch_info)
        try:
            return await super().read_batch(batch, *arguments, **options)
        except (RefexplorerError, Stopped):
            raise
        except Exception as error:  # a codec raises any error
            place = batch[0][0]  # of more than one, where Zarr is set so, the first that fails
            for each in batch if len(batch) > 1 else ():
                try:
                    await super().read_batch([each], *arguments, **options)
                except Exception:
                    place = each[0]
                    break
            refs = _set_of(getattr(place, "store", None))
            if refs is None:
                raise
            raise undecodable(refs, place.path, sentence_of(error)) from error


def _set_of(store: object) -> SetLike | None:
    """Return the set of a store: of ours, or of fsspec's wrapper of `refs.filesystem()`."""
    files = getattr(getattr(store, "fs", None), "sync_fs", store)
    return files.references if isinstance(files, ReferenceFileSystem | ReferenceStore) else None


@cache
def _readers() -> ReaderThreads:
    return ReaderThreads(_THREADS, "refexplorer-read")


# at import, so it also happens in a process that unpickles a store
register_pipeline(ChosenPipeline)
if zarr.config.get(_SETTING) == _DEFAULT:
    zarr.config.set({_SETTING: f"{ChosenPipeline.__module__}.{ChosenPipeline.__qualname__}"})
if zarr.config.get(RECTILINEAR, None) is False:
    zarr.config.set({RECTILINEAR: True})
if hasattr(os, "register_at_fork"):  # a fork has no threads, and would wait for them forever
    os.register_at_fork(after_in_child=_readers.cache_clear)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
