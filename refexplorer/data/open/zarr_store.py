"""The Zarr store of a reference set; apart from the rest, since Zarr takes long to import."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import copy_context
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from zarr.storage import FsspecStore, StorePath

from refexplorer.data.open.ahead import AskedTogether, asked_together
from refexplorer.data.open.filesystem import NoReference, naming_bugs
from refexplorer.data.open.loop_here import ensure_loop
from refexplorer.data.open.reader_threads import ReaderThreads
from refexplorer.data.open.zarr_pipeline import use_pipeline
from refexplorer.errors import RefexplorerError

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

    from refexplorer.data.open.filesystem import ReferenceView
    from refexplorer.data.open.stores import DecodedView

_THREADS = 64
"""More than Zarr's ``async.concurrency``, which is 10, and which people raise for far servers."""


class ReferenceStore(FsspecStore):
    """`FsspecStore` for references: its groups are listed, and its errors come as they are."""

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a key, those of a chunk together with others that are waited for."""
        with naming_bugs(key):
            together = self._together(key)
            if together is not None:
                together.begin(key)
                # half of the time that Zarr needs for a small chunk goes from thread to thread
                if byte_range is None and (data := self._view.at_once(key, together)) is not None:
                    return prototype.buffer.from_bytes(data)
        token = asked_together.set(together)
        try:
            return await super().get(key, prototype, byte_range)
        finally:
            asked_together.reset(token)

    @property
    def _view(self) -> DecodedView:
        view: DecodedView = self.fs.sync_fs
        return view

    def _together(self, key: str) -> AskedTogether | None:
        """Return what is read together with a chunk."""
        known: dict[str, AskedTogether] = self.__dict__.setdefault("_asked", {})
        asked = known.pop(key, None)
        if asked is not None and asked.is_here:
            return asked
        if self._view.references.array_of(key) is None:
            return None
        waiting = {key, *_waited_for(self)}
        found = AskedTogether(self._view, waiting)
        # of a selection that was given up nobody will ask any more
        for other in [other for other in known if other not in waiting]:
            del known[other]
        known.update(dict.fromkeys(waiting - {key} - known.keys(), found))
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: held for name, held in self.__dict__.items() if name != "_asked"}

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names right below a path; Zarr's own gives whole paths here."""
        try:
            names = await self.fs._ls(prefix.strip("/"), detail=False)
        except FileNotFoundError:
            return
        for name in names:
            yield name.rpartition("/")[2]

    async def get_ranges(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        """Yield parts of a shard; asked by those Zarrs that know the method.

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


class _ThreadedView(AsyncFileSystemWrapper):  # type: ignore[misc]
    """The files of a set for coroutines, which Zarr reads with.

    Its reads have threads of their own: those that fsspec would take are few, and share them with
    all else, so that far targets would be asked a handful at a time.
    """

    mirror_sync_methods = False  # it is asked by coroutines alone

    def __init__(self, view: ReferenceView) -> None:
        super().__init__(view, asynchronous=True)

    def _wrap_all_sync_methods(self) -> None:
        """Wrap nothing: the class has coroutines, since to make them takes longer than all else."""

    async def _cat_file(self, *arguments: Any, **options: Any) -> bytes:
        read = partial(copy_context().run, self.sync_fs.cat_file, *arguments, **options)
        return await asyncio.get_running_loop().run_in_executor(_readers(), read)


def _in_thread(name: str) -> Callable[..., Awaitable[Any]]:
    """Return a method that calls one of the files it wraps."""

    async def asked(self: _ThreadedView, *arguments: Any, **options: Any) -> Any:
        return await asyncio.to_thread(getattr(self.sync_fs, name), *arguments, **options)

    return asked


for _name, _method in inspect.getmembers(AbstractFileSystem, inspect.isfunction):
    if not (_name.startswith("_") or inspect.isgeneratorfunction(_method)) and (
        _name not in ("open", "cat_file")
    ):
        setattr(_ThreadedView, f"_{_name}", _in_thread(_name))


def _waited_for(store: FsspecStore) -> Iterator[str]:
    """Yield the keys of a store that Zarr will ask for when earlier ones are here.

    It asks for ten at a time, too few to merge ranges, and hands no list of the others to the
    store. Each of them has a task, though, that waits with the path of its chunk (3.1:
    ``zarr.core.common.concurrent_map``). Where a Zarr does otherwise, nothing is read ahead.
    """
    for task in asyncio.all_tasks():
        frame = getattr(task.get_coro(), "cr_frame", None)
        item = None if frame is None else frame.f_locals.get("item")
        for path in _paths(item[0]) if isinstance(item, tuple) and item else ():
            if path.store is store:
                yield path.path


def _paths(part: object) -> Iterator[StorePath]:
    """Yield the paths in what a task of Zarr was given: one, or a batch of descriptions."""
    if isinstance(part, StorePath):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            if isinstance(each, tuple) and each and isinstance(each[0], StorePath):
                yield each[0]


def reference_store(view: DecodedView) -> FsspecStore:
    """Return the store of a set: of all errors one alone makes a fill value."""
    ensure_loop()
    return ReferenceStore(
        _ThreadedView(view), read_only=True, path="", allowed_exceptions=(NoReference,)
    )


@cache
def _readers() -> ReaderThreads:
    return ReaderThreads(_THREADS, "refexplorer-read")


use_pipeline()  # here, so that it is done in a process that is given a store, too
if hasattr(os, "register_at_fork"):  # a fork has no threads, and would wait for them for good
    os.register_at_fork(after_in_child=_readers.cache_clear)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
