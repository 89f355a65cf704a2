"""Local files: opened, decompressed under a limit (gzip, zstd), written atomically."""

from __future__ import annotations

import atexit
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

import zstandard

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.limits import Limits

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from fsspec import AbstractFileSystem


Progress = Callable[[int, int], None]
"""Takes the bytes that were read so far, and those of the whole file, or two of `FileCount`."""
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
_PIECE = 2**20  # `BufferedReader.read(n)` reserves n bytes at once, whatever the file has


class FileCount(int):
    """A number of files, if progress is reported in files and not in bytes."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to that many bytes, none at the end."""


def read_within(stream: Readable, most: int) -> bytes:
    """Read to the end, or until there are `most` bytes."""
    found = stream.read(min(most, _PIECE))
    if len(found) in (0, most):
        return found
    whole = io.BytesIO()
    while found:
        whole.write(found)
        found = stream.read(min(most - whole.tell(), _PIECE))
    return whole.getvalue()


def plain(stream: BinaryIO, name: str, limits: Limits) -> PlainStream:
    """Return a stream of the decompressed bytes of a document that may be gzip or zstd."""
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
    """Return a stream of the decompressed bytes of a document in memory."""
    return plain(io.BytesIO(data), name, limits)


class PlainStream(io.RawIOBase):
    """A stream with a size limit: `SourceError` for damaged data, `LimitError` beyond the limit."""

    # Called after each read, if it is set; what it raises ends the reading
    progress: Progress | None = None

    def __init__(
        self, opened: BinaryIO, inner: BinaryIO, damaged: str, name: str, limits: Limits
    ) -> None:
        self._opened, self._inner, self._damaged, self._name = opened, inner, damaged, name
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

    guarded: bool  # Whether somebody else than the user of this process chose the source

    def place(self, name: str) -> Path:
        """Return the path for a name; AccessError if it may not be opened."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        ...

    def filesystem(self) -> AbstractFileSystem: ...

    def unchanging(self, folder: Path, limits: Limits) -> AbstractContextManager[Path]:
        """Yield a folder whose metadata an external reader may open in its own way."""
        ...


class OwnFiles:
    """The files of the user of this process: everything that the system lets them open."""

    guarded = False

    def place(self, name: str) -> Path:
        """Return the path, ``~`` expanded."""
        return own_path(name)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        return Path(path).open("rb")

    def filesystem(self) -> AbstractFileSystem:
        """Return fsspec's local file system."""
        from fsspec.implementations.local import LocalFileSystem

        return LocalFileSystem()

    @contextmanager
    def unchanging(self, folder: Path, limits: Limits) -> Iterator[Path]:
        """Yield the folder itself."""
        yield folder


def own_path(name: str) -> Path:
    """Return a path, ``~`` expanded; one that begins with ``~`` and no user's name is kept."""
    return Path(os.path.expanduser(name))  # noqa: PTH111  that of `Path` fails there


def open_plain(path: str, name: str, limits: Limits, files: Files) -> PlainStream:
    """Return a stream of the decompressed bytes of a file."""
    return plain(files.open(path), name, limits)


if sys.platform != "win32":  # Windows has no flock
    from fcntl import LOCK_EX, LOCK_NB, flock


@contextmanager
def writing_alone(path: Path) -> Iterator[None]:
    """Keep other processes and threads from writing to a name, by a lock file next to it."""
    # The lock is a file next to it, and not the partial output itself, which is renamed. A lock
    # file left by a killed process locks nothing and is reused.
    if sys.platform == "win32":
        yield
        return
    lock = path.with_name(path.name + ".lock")
    descriptors: list[int] = []  # known from the start: Ctrl-C comes between any two steps
    release = partial(_release, descriptors, lock)
    atexit.register(release)  # and between `__enter__` and the body, where nothing else releases it
    try:
        _lock(path, lock, descriptors)
        yield
    finally:
        try:
            release()
        except KeyboardInterrupt:
            release()
            raise
        finally:
            atexit.unregister(release)


def _lock(path: Path, lock: Path, descriptors: list[int]) -> None:
    while True:
        descriptors.append(os.open(lock, os.O_RDWR | os.O_CREAT, 0o666))
        try:
            flock(descriptors[-1], LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise SourceError(
                f"{str(path)!r} is being written by another process; wait for it to end, or "
                "choose another name."
            ) from None
        except OSError:  # some file systems know no locks
            return
        if _is_there(descriptors[-1], lock):
            return
        os.close(descriptors.pop())  # the previous owner has just removed it


def _release(descriptors: list[int], lock: Path) -> None:
    """Remove the file, unless it belongs to another process."""
    if not descriptors:  # Ctrl-C came between the file and its number
        with suppress(OSError):
            descriptors.append(os.open(lock, os.O_RDWR))
    for descriptor in descriptors:
        is_held = True
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)  # it may not have come to that
        except BlockingIOError:
            is_held = False
        except OSError:
            pass
        if is_held and _is_there(descriptor, lock):
            lock.unlink(missing_ok=True)
    while descriptors:
        os.close(descriptors.pop())


def _is_there(descriptor: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), lock.stat())
    except FileNotFoundError:
        return False


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
Check = Callable[[Path], object]  # Looks at what was written before it is renamed; may raise


def unchecked(path: Path) -> None:
    """Check nothing."""


@contextmanager
def writing(
    path: Path, check: Check = unchecked, *, as_it_is: bool = False, overwrite: bool = True
) -> Iterator[BinaryIO]:
    """Yield a file to write to, compressed if the name ends in ``.gz`` or ``.zst``."""
    partial = path.with_name(path.name + ".partial")
    suffix = "" if as_it_is else path.suffix
    with refused(path), writing_alone(path):
        if not overwrite:
            check_free(path)  # another process may have written it since it was looked at
        try:
            with partial.open("wb") as file, _compressed(file, suffix) as stream:
                yield stream
            check(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def check_free(path: Path) -> None:
    """Reject an existing name."""
    if path.exists():
        raise SourceError(
            f"{str(path)!r} exists; choose another name, or overwrite it (--overwrite; in Python "
            "overwrite=True)."
        )


def refuse_url(path: Path) -> None:
    """Reject a path made from a URL: ``s3://b/a`` is a file in a new folder ``s3:``."""
    first = path.parts[0] if path.parts else ""
    if _SCHEME.fullmatch(first) and len(path.parts) > 1 and not Path(first).exists():
        raise SourceError(
            f"{str(path)!r} cannot be written: it looks like a URL; write to this machine, and "
            "copy it."
        )


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Convert write errors to a `SourceError` that explains them."""
    refuse_url(path)
    try:
        yield
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise SourceError(f"{str(path)!r} cannot be written: {said}.") from None


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as stream:
            yield cast(BinaryIO, stream)
    elif suffix == ".zst":
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as stream:
            yield cast(BinaryIO, stream)
    else:
        yield file


def write_blocks(
    path: Path, blocks: Iterable[bytes], check: Check = unchecked, *, overwrite: bool = True
) -> None:
    """Write blocks one after the other; parameters and errors as for `writing`."""
    with writing(path, check, overwrite=overwrite) as stream:
        for block in blocks:
            stream.write(block)
