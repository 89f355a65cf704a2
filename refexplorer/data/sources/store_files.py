"""The files of a store as fsspec reads them, with a time that no read exceeds."""

from __future__ import annotations

import io
from collections.abc import Awaitable
from typing import Any, cast

from fsspec import AbstractFileSystem
from fsspec.spec import AbstractBufferedFile

from refexplorer.data.access.urls import shown
from refexplorer.data.fetch import versioned
from refexplorer.data.fetch.background import wait_for
from refexplorer.data.fetch.failures import TooLate
from refexplorer.data.fetch.pieces import ReadTime
from refexplorer.errors import SlowSourceError

_BLOCK = 2**23


class StoreFiles(AbstractFileSystem):  # type: ignore[misc]
    """Reads with another filesystem; a read that takes too long ends, with its requests.

    Parameters
    ----------
    filesystem
        Any of fsspec's.
    seconds
        As `Limits.read_seconds`, for each call and for each block of an open file.
    """

    cachable = False

    def __init__(self, filesystem: AbstractFileSystem, seconds: float) -> None:
        super().__init__()
        self.protocol = filesystem.protocol
        self._filesystem = filesystem
        self._seconds = seconds

    def info(self, path: str, **named: Any) -> dict[str, Any]:
        """Describe a file."""
        return cast(dict[str, Any], self._ask("info", path, **named))

    def exists(self, path: str, **named: Any) -> bool:
        """Ask whether there is a file."""
        return bool(self._ask("exists", path, **named))

    def ls(self, path: str, detail: bool = True, **named: Any) -> list[Any]:
        """List a folder."""
        return cast(list[Any], self._ask("ls", path, detail=detail, **named))

    def find(self, path: str, **named: Any) -> Any:
        """List the files in a folder and all folders in it."""
        return self._ask("find", path, **named)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **named: Any
    ) -> bytes:
        """Return a byte range."""
        if versioned.is_s3(self._filesystem) and end is not None and not named:
            # which notes each piece, so that a slow line is no stalled one
            work = versioned.read(self._filesystem, path, start or 0, end)
            return cast(bytes, self._in_time(path, work)[0])
        return cast(bytes, self._ask("cat_file", path, start=start, end=end, **named))

    def _open(self, path: str, mode: str = "rb", **named: Any) -> Any:
        size = self.info(path).get("size")
        if size is None:
            return io.BytesIO(self.cat_file(path))
        return AbstractBufferedFile(self, path, mode, size=size, **{"block_size": _BLOCK} | named)

    def _ask(self, name: str, *given: Any, **named: Any) -> Any:
        filesystem = self._filesystem
        if filesystem.async_impl:
            work = getattr(filesystem, f"_{name}")(*given, **named)
        else:
            work = versioned.in_thread(getattr(filesystem, name), *given, **named)
        return self._in_time(given[0], work)

    def _in_time(self, path: str, work: Awaitable[Any]) -> Any:
        async def in_time() -> Any:
            async with ReadTime(self._seconds):
                return await work

        try:
            return wait_for(in_time())
        except TooLate as error:
            raise SlowSourceError(f"{shown(path)} cannot be read: {error}.") from None

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path
