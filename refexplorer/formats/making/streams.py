"""What the packages that know data files read from: any file, counted, and told to stop."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from refexplorer.errors import LimitError, SourceError
from refexplorer.formats.datafiles.data_file import UnreadReason
from refexplorer.formats.files.compression import Progress

BLOCK = 2**17
"""Bytes of one request at least: metadata of a file lies in many small pieces, often near."""
_KEPT = 128
"""Blocks in memory; packages come back to those that they have read."""
_LONGEST = 2**24
"""Bytes of one request at most."""

Fetch = Callable[[int, int], bytes]
"""Returns the bytes from the first number to the second."""


@dataclass
class ReadAmount:
    """What was read of a data file to make references to it.

    Attributes
    ----------
    requests, bytes
        Byte ranges that were asked of a server, and what came; 0 for files of this machine.
    size
        Bytes of the file, or of all of them.
    """

    requests: int = 0
    bytes: int = 0
    size: int = 0

    def add(self, other: ReadAmount) -> None:
        """Count what was read of another file, too."""
        self.requests += other.requests
        self.bytes += other.bytes
        self.size += other.size


class PlainReferences(NamedTuple):
    """References that can come from a process that a file damaged: texts, numbers and bytes.

    Attributes
    ----------
    refs
        By key, as V0 has them.
    beyond
        Of each array with byte ranges that end after the file: the first key, and how many.
    chunks
        More byte ranges of the file, in columns: name of the array, rank, and as int64 little
        endian the indices, offsets and lengths.
    left_out
        What has no references: its name, and `why` and `sentence` of `Unread`.
    is_own
        Whether they are of a reader of this package, with `chunks` in columns.
    """

    refs: dict[str, Any]
    beyond: list[tuple[str, int]]
    chunks: Sequence[tuple[str, int, bytes, bytes, bytes]] = ()
    left_out: Sequence[tuple[str, UnreadReason, str]] = ()
    is_own: bool = False


class RangeStream(io.RawIOBase):
    """A file of a server, read in blocks.

    Parameters
    ----------
    fetch
        Reads a byte range.
    size
        Bytes of the file.
    name
        For messages.
    most
        Bytes that may be fetched; more is a `LimitError`.
    """

    def __init__(self, fetch: Fetch, size: int, name: str, most: int) -> None:
        super().__init__()
        self.fetched = ReadAmount(size=size)
        self._fetch = fetch
        self._size = size
        self._name = name
        self._most = most
        self._at = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def readable(self) -> bool:  # noqa: D102
        return True

    def seekable(self) -> bool:  # noqa: D102
        return True

    def tell(self) -> int:  # noqa: D102
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:  # noqa: D102
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError("a place before the start of the file")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: object) -> int:  # noqa: D102
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        stop, done = min(self._at + len(view), self._size), 0
        while self._at < stop:
            block = self._at // BLOCK
            if block not in self._blocks:
                self._load(block, stop)
            start = self._at - block * BLOCK
            piece = self._blocks[block][start : start + stop - self._at]
            view[done : done + len(piece)] = piece
            done += len(piece)
            self._at += len(piece)
        return done

    def _load(self, first: int, stop: int) -> None:
        """Fetch blocks that are not held, as many as are asked for in one request."""
        last = first + 1
        most = min(-(-stop // BLOCK), first + _LONGEST // BLOCK)
        while last < most and last not in self._blocks:
            last += 1
        start, end = first * BLOCK, min(last * BLOCK, self._size)
        self.fetched.requests += 1
        self.fetched.bytes += end - start
        if self.fetched.bytes > self._most:
            raise LimitError(
                f"More than {self._most:,} bytes of {self._name} would be read to make references "
                "to it; `Limits.document_bytes` raises the limit."
            )
        data = self._fetch(start, end)
        if len(data) != end - start:
            raise SourceError(
                f"{self._name} cannot be read: {len(data):,} bytes came for the {end - start:,} "
                f"from {start:,}."
            )
        for number in range(first, last):
            place = (number - first) * BLOCK
            self._blocks[number] = data[place : place + BLOCK]
        while len(self._blocks) > max(_KEPT, last - first):
            self._blocks.popitem(last=False)


class WatchedStream(io.RawIOBase):
    """A file that tells how far it was read, and keeps what ended the reading.

    Libraries of C turn what is raised in a read into errors of their own: `raise_again` raises
    the first of them as it was.
    """

    def __init__(self, inner: BinaryIO, size: int, progress: Progress | None) -> None:
        super().__init__()
        self.size = size
        self._inner = inner
        self._progress = progress
        self._read = 0
        self._raised: BaseException | None = None

    def readable(self) -> bool:  # noqa: D102
        return True

    def seekable(self) -> bool:  # noqa: D102
        return True

    def tell(self) -> int:  # noqa: D102
        return self._inner.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:  # noqa: D102
        return self._inner.seek(offset, whence)

    def read(self, size: int = -1) -> bytes | None:
        """Return bytes; no more memory is taken than the file has."""
        left = max(self.size - self.tell(), 0)
        return super().read(left if size < 0 else min(size, left))

    def readinto(self, buffer: object) -> int:  # noqa: D102
        view, done = memoryview(buffer).cast("B"), 0  # type: ignore[arg-type]
        self.raise_again()
        try:
            while done < len(view) and (count := self._inner.readinto(view[done:])):  # type: ignore[attr-defined]
                done += count
            self._read += done
            if self._progress is not None:
                self._progress(min(self._read, self.size), self.size)
        except BaseException as error:
            self._raised = error
            raise
        return done

    def raise_again(self) -> None:
        """Raise what a read raised."""
        if self._raised is not None:
            raise self._raised

    def forget(self) -> None:
        """Let go of it: its traceback holds what HDF5 has of the file, which holds this stream.

        HDF5 would free that when Python has ended, and crash.
        """
        self._raised = None
