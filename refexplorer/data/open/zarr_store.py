"""The Zarr store of a reference set; apart from the rest, since Zarr takes long to import."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextvars import copy_context
from functools import cache, partial
from typing import Any

from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from zarr.storage import FsspecStore

from refexplorer.data.open.filesystem import NoReference, ReferenceView
from refexplorer.data.open.reader_threads import ReaderThreads
from refexplorer.errors import RefexplorerError

_THREADS = 64
"""More than Zarr's ``async.concurrency``, which is 10, and which people raise for far servers."""


class ReferenceStore(FsspecStore):
    """`FsspecStore` for references: its groups are listed, and its errors come as they are."""

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

    def __init__(self, view: ReferenceView) -> None:
        super().__init__(view, asynchronous=True)
        self._cat_file = self._cat_in_threads  # the wrapper sets its own on each instance

    async def _cat_in_threads(self, *arguments: Any, **options: Any) -> bytes:
        read = partial(copy_context().run, self.sync_fs.cat_file, *arguments, **options)
        return await asyncio.get_running_loop().run_in_executor(_readers(), read)


def reference_store(view: ReferenceView) -> FsspecStore:
    """Return the store of a set: of all errors one alone makes a fill value."""
    return ReferenceStore(
        _ThreadedView(view), read_only=True, path="", allowed_exceptions=(NoReference,)
    )


@cache
def _readers() -> ReaderThreads:
    return ReaderThreads(_THREADS, "refexplorer-read")


if hasattr(os, "register_at_fork"):  # a fork has no threads, and would wait for them for good
    os.register_at_fork(after_in_child=_readers.cache_clear)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
