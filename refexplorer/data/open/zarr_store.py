"""The Zarr store of a reference set, and the codec pipeline that Zarr reads its arrays with.

A pipeline is what Zarr lets other packages replace (``codec_pipeline.path``), for all arrays of a
process. Those of other stores get Zarr's own here, and where another pipeline is configured, it
stays; arrays of references are then read ten chunks at a time, and their errors name no chunk.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextvars import copy_context
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import zarr
from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.array import create_codec_pipeline
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.registry import register_pipeline

from refexplorer.data.fetch.background import Stopped
from refexplorer.data.open.ahead import SelectionPlan, current_plan
from refexplorer.data.open.filesystem import NoReference, ReferenceView, naming_bugs
from refexplorer.data.open.loop_here import ensure_loop
from refexplorer.data.open.reader_threads import ReaderThreads
from refexplorer.data.open.refusals import sentence_of, undecodable
from refexplorer.errors import RefexplorerError

if TYPE_CHECKING:
    from zarr.abc.codec import CodecPipeline
    from zarr.core.buffer import Buffer, BufferPrototype
    from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata

    from refexplorer.data.open.stores import DecodedView

_THREADS = 64
"""More than Zarr's ``async.concurrency``, which is 10, and which people raise for far servers."""
_KEYS = 10_000
"""Keys that are listed before others on Zarr's loop have their turn."""
_SETTING = "codec_pipeline.path"
_DEFAULT = f"{BatchedCodecPipeline.__module__}.{BatchedCodecPipeline.__qualname__}"


class ReferenceStore(Store):
    """The keys of a set as a read-only store: of all errors `NoReference` alone means no chunk."""

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, view: DecodedView) -> None:
        super().__init__(read_only=True)
        self.view = view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceStore) and self.view is other.view

    __hash__ = Store.__hash__

    def __repr__(self) -> str:
        return f"<ReferenceStore({self.view.references.source.name})>"

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a key, those of a chunk together with the rest of its selection."""
        if byte_range is None and (plan := current_plan.get()) is not None:
            with naming_bugs(key):
                plan.begin(key)
                # half of the time that Zarr needs for a small chunk goes from thread to thread
                if (data := self.view.at_once(key, plan)) is not None:
                    return prototype.buffer.from_bytes(data)
        # threads of its own: those of `asyncio.to_thread` are few, and all else shares them
        read = partial(copy_context().run, self.view.cat_file, key, *_bounds(byte_range))
        try:
            data = await asyncio.get_running_loop().run_in_executor(_readers(), read)
        except NoReference:
            return None
        return prototype.buffer.from_bytes(data)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return parts of keys; Zarr's arrays never ask for them."""
        return await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges))

    async def get_ranges(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        """Yield parts of a shard, which Zarr asks for from 3.4 on.

        Raises
        ------
        RefexplorerError
            The first error of those that Zarr gives as a group.
        """
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
        """Say whether the set has a key."""
        return key in self.view.references

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys."""
        for number, key in enumerate(self.view.references):
            if not number % _KEYS:
                await asyncio.sleep(0)
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that begin with a text."""
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names of one level."""
        try:
            names = await asyncio.to_thread(self.view.ls, prefix, detail=False)
        except FileNotFoundError:
            return
        for name in names:
            yield name.rpartition("/")[2]

    async def set(self, key: str, value: Buffer) -> None:
        """Refuse to write."""
        raise ValueError("A reference set is read-only.")

    async def delete(self, key: str) -> None:
        """Refuse to delete."""
        raise ValueError("A reference set is read-only.")


def _bounds(part: ByteRequest | None) -> tuple[int | None, int | None]:
    """Return start and end of a part, as `ReferenceView.cat_file` takes them."""
    match part:
        case None:
            return None, None
        case RangeByteRequest(start, end):
            return start, end
        case OffsetByteRequest(offset):
            return offset, None
        case SuffixByteRequest(suffix):
            return -suffix, None
    raise TypeError(f"A part of a key is asked for in an unknown way: {part!r}.")


class ChosenPipeline(BatchedCodecPipeline):
    """Makes Zarr's own pipeline, or for the arrays of references one that merges their reads."""

    @classmethod
    def from_array_metadata_and_store(  # type: ignore[override]
        cls, array_metadata: ArrayV2Metadata | ArrayV3Metadata, store: Store
    ) -> CodecPipeline:
        """Return the pipeline of an array."""
        found: Any = create_codec_pipeline(array_metadata)
        return found if _view_of(store) is None else MergingPipeline.from_codecs(found)

    @classmethod
    def from_codecs(cls, *arguments: Any, **options: Any) -> Any:
        """Return Zarr's own pipeline, such as that of the inner chunks of a shard."""
        return BatchedCodecPipeline.from_codecs(*arguments, **options)


class MergingPipeline(BatchedCodecPipeline):
    """Zarr's own pipeline, which lets the store see all chunks of a selection before the first.

    Zarr asks a store for ten chunks at a time, too few to merge their ranges into few requests.
    Errors are those of this package.
    """

    async def read(self, batch_info: Iterable[Any], *arguments: Any, **options: Any) -> Any:
        """Read the chunks of a selection."""
        batch = list(batch_info)
        token = current_plan.set(self._plan(batch))
        try:
            return await super().read(batch, *arguments, **options)
        finally:
            current_plan.reset(token)

    def _plan(self, batch: list[Any]) -> SelectionPlan | None:
        """Return what reads chunks together; Zarr reads a shard that is needed in part by parts."""
        store = getattr(batch[0][0], "store", None) if batch else None
        if not isinstance(store, ReferenceStore):
            return None
        is_read_in_parts = self.supports_partial_decode
        return SelectionPlan(
            store.view,
            [
                place.path
                for place, chunk, selection, *_ in batch
                if not is_read_in_parts or _is_whole(selection, chunk.shape)
            ],
        )

    async def read_batch(self, batch_info: Iterable[Any], *arguments: Any, **options: Any) -> Any:
        """Read some chunks.

        Raises
        ------
        RefexplorerError
            With the key of the first chunk that cannot be decoded, and its target.
        """
        batch = list(batch_info)
        try:
            return await super().read_batch(batch, *arguments, **options)
        except (RefexplorerError, Stopped):
            raise
        except Exception as error:  # a codec raises what it likes
            place = batch[0][0]  # of more than one, where Zarr is set so, the first that fails
            for each in batch if len(batch) > 1 else ():
                try:
                    await super().read_batch([each], *arguments, **options)
                except Exception:
                    place = each[0]
                    break
            view = _view_of(getattr(place, "store", None))
            if view is None:
                raise
            raise undecodable(view.references, place.path, sentence_of(error)) from error


def _is_whole(selection: Iterable[object], shape: Iterable[int]) -> bool:
    """Say whether a selection in a chunk is all of it."""
    return all(part == slice(0, size, 1) for part, size in zip(selection, shape, strict=False))


def _view_of(store: object) -> ReferenceView | None:
    """Return the files of a store: of ours, or of fsspec's wrapper over `refs.filesystem()`."""
    if isinstance(store, ReferenceStore):
        return store.view
    files = getattr(getattr(store, "fs", None), "sync_fs", None)
    return files if isinstance(files, ReferenceView) else None


def reference_store(view: DecodedView) -> ReferenceStore:
    """Return the store of a set."""
    ensure_loop()
    return ReferenceStore(view)


@cache
def _readers() -> ReaderThreads:
    return ReaderThreads(_THREADS, "refexplorer-read")


# here, so that it is done in a process that is given a store, too
register_pipeline(ChosenPipeline)
if zarr.config.get(_SETTING) == _DEFAULT:
    zarr.config.set({_SETTING: f"{ChosenPipeline.__module__}.{ChosenPipeline.__qualname__}"})
if hasattr(os, "register_at_fork"):  # a fork has no threads, and would wait for them for good
    os.register_at_fork(after_in_child=_readers.cache_clear)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
