"""Files of this machine, their opening, and their plain bytes: gzip and zstd under a limit."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

import zstandard

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.limits import Limits

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from fsspec import AbstractFileSystem

    from refexplorer.core.limits import Limits

Progress = Callable[[int, int], None]
"""Takes the bytes that were read so far, and those of the whole file, or two of `FileCount`."""
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
_PIECE = 2**20  # `BufferedReader.read(n)` reserves n bytes at once, whatever the file has


class FileCount(int):
    """A number of files, where progress is told in these and not in bytes."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most so many bytes, none at the end."""


def read_within(stream: Readable, most: int) -> bytes:
    """Read to the end, or until there are `most` bytes.

    A stream may reserve at once all that it is asked for, so a limit is never passed to it.
    """
    found = stream.read(min(most, _PIECE))
    if len(found) in (0, most):
        return found
    whole = io.BytesIO()
    while found:
        whole.write(found)
        found = stream.read(min(most - whole.tell(), _PIECE))
    return whole.getvalue()


def plain(stream: BinaryIO, name: str, limits: Limits) -> PlainStream:
    """Return a stream of the plain bytes of a document that may be gzip or zstd."""
    start = stream.read(len(ZSTD))
    stream.seek(0)
    opened, form = stream, "plain"
    if start.startswith(GZIP):
        opened, form = cast(BinaryIO, gzip.GzipFile(fileobj=stream)), "gzip"
    elif start == ZSTD:
        reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        opened, form = cast(BinaryIO, reader), "zstd"
    return PlainStream(opened, stream, f"{name} is damaged {form} data", name, limits)


def plain_bytes(data: bytes, name: str, limits: Limits) -> PlainStream:
    """Return a stream of the plain bytes of a document in memory."""
    return plain(io.BytesIO(data), name, limits)


class PlainStream(io.RawIOBase):
    """A stream under the limit, whose errors name the source.

    Reading raises `SourceError` where the compressed data is damaged, and `LimitError` after
    `Limits.document_bytes`.
    """

    # Called after each read, if it is set; what it raises ends the reading
    progress: Progress | None = None

    def __init__(
        self, opened: BinaryIO, inner: BinaryIO, damaged: str, name: str, limits: Limits
    ) -> None:
        self._opened = opened
        self._inner = inner
        self._damaged = damaged
        self._name = name
        self._limit = limits.document_bytes
        self._given = 0
        self._size = inner.seek(0, io.SEEK_END)
        inner.seek(0)

    def read(self, size: int = -1) -> bytes:
        rest = self._limit - self._given + 1
        try:
            data = read_within(self._opened, rest if size < 0 else min(size, rest))
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            raise SourceError(f"{self._damaged}: {error}.") from None
        self._given += len(data)
        if self._given > self._limit:
            raise LimitError(
                f"{self._name} has more than {self._limit:,} bytes once decompressed; "
                "`Limits.document_bytes` raises the limit."
            )
        if self.progress is not None:
            self.progress(self._inner.tell(), self._size)
        return data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._opened.close()
        self._inner.close()
        super().close()


class Files(Protocol):
    """How the files of a source are found and opened."""

    guarded: bool  # Whether somebody else than who runs this process chose the source

    def place(self, name: str) -> Path:
        """Return the path that a name means; AccessError if it may not be opened."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        ...

    def filesystem(self) -> AbstractFileSystem:
        """Return them for fsspec."""
        ...

    def unchanging(self, folder: Path, limits: Limits) -> AbstractContextManager[Path]:
        """Lend a folder whose metadata a reader of its own may open, however it does."""
        ...


class OwnFiles:
    """The files of who runs this process: whatever the system lets them open."""

    guarded = False

    def place(self, name: str) -> Path:
        """Return the path, ``~`` expanded."""
        return own_path(name)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        return Path(path).open("rb")

    def filesystem(self) -> AbstractFileSystem:
        """Return fsspec's own."""
        from fsspec.implementations.local import LocalFileSystem

        return LocalFileSystem()

    @contextmanager
    def unchanging(self, folder: Path, limits: Limits) -> Iterator[Path]:
        """Lend the folder itself."""
        yield folder


def own_path(name: str) -> Path:
    """Return a path, ``~`` expanded; one that begins with ``~`` and no user's name is kept."""
    return Path(os.path.expanduser(name))  # noqa: PTH111  that of `Path` fails there


def open_plain(path: str, name: str, limits: Limits, files: Files) -> PlainStream:
    """Return a stream of the plain bytes of a file."""
    return plain(files.open(path), name, limits)
