"""Streams from which packages for data files read: counted, and cancellable."""

from __future__ import annotations

import io
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.files import Progress

BLOCK = 2**17  # Least bytes of a request: metadata are in many small pieces close together

Fetch = Callable[[int, int], bytes]  # Returns the bytes from the first number to the second


@dataclass
class ReadAmount:
    """The amount read from a data file to generate references to it."""

    # requests, bytes: Byte ranges requested from servers, and bytes received; 0 for files on this
    # machine
    requests: int = 0
    bytes: int = 0
    size: int = 0  # Bytes of the file, or of all of them

    def add(self, other: ReadAmount) -> None:
        self.requests += other.requests
        self.bytes += other.bytes
        self.size += other.size


class SeekableBytes(io.RawIOBase):
    """A file of known size, read with `read_at`."""

    size: int
    _position = 0

    def read_at(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`, or those that exist."""
        raise NotImplementedError

    def begin_values(self) -> None:
        """Lift the limits on reading metadata, if there are any."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise ValueError(f"The position would be {start + offset}.")
        self._position = start + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return bytes; never allocates more memory than the size of the file."""
        data = self.read_at(self._position, self.size if size < 0 else self._position + size)
        self._position += len(data)
        return data

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


class RangeStream(SeekableBytes):
    """A file whose bytes are fetched elsewhere, read in blocks."""

    kept, longest = 128, 2**24  # Blocks in memory, and bytes of a request

    def __init__(
        self, fetch: Fetch, size: int, name: str, most: int = sys.maxsize, block: int = BLOCK
    ) -> None:
        super().__init__()
        self.fetched = ReadAmount(size=size)
        self.size = size
        self._fetch, self._name, self._most, self._block = fetch, name, most, block
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def read_at(self, start: int, end: int) -> bytes:
        end, parts = min(end, self.size), list[bytes]()
        while start < end:
            number = start // self._block
            if number not in self._blocks:
                self._load(number, end)
            first = start - number * self._block
            parts.append(self._blocks[number][first : first + end - start])
            start += len(parts[-1])
        return b"".join(parts)

    def _load(self, first: int, stop: int) -> None:
        """Fetch missing blocks, with one request for adjacent ones."""
        last, size = first + 1, self._block
        most = min(-(-min(stop, self.size) // size), first + self.longest // size)
        while last < most and last not in self._blocks:
            last += 1
        start, end = first * size, min(last * size, self.size)
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
                f"{self._name} cannot be read: {len(data):,} bytes were received instead of "
                f"{end - start:,} from {start:,}."
            )
        self._keep(first, data)
        while len(self._blocks) > max(self.kept, last - first):
            self._blocks.popitem(last=False)

    def _keep(self, first: int, data: bytes) -> None:
        for place in range(0, len(data), self._block):
            self._blocks[first + place // self._block] = data[place : place + self._block]


class WatchedStream(SeekableBytes):
    """A file that reports reading progress, and keeps errors that C libraries would replace."""

    # C libraries replace errors raised during a read with their own: `reraise` raises the first
    # original one.

    def __init__(self, inner: BinaryIO, size: int, progress: Progress | None) -> None:
        super().__init__()
        self.size = size
        self._inner, self._progress = inner, progress
        self._read = 0
        self._raised: BaseException | None = None

    def read_at(self, start: int, end: int) -> bytes:
        self.reraise()
        try:
            self._inner.seek(start)
            data = self._inner.read(max(min(end, self.size) - start, 0))
            self._read += len(data)
            if self._progress is not None:
                self._progress(min(self._read, self.size), self.size)
        except BaseException as error:
            self._raised = error
            raise
        return data

    def reraise(self) -> None:
        """Raise the error that a read raised."""
        if self._raised is not None:
            raise self._raised

    def forget(self) -> None:
        """Release the error, whose traceback keeps HDF5's file open until shutdown."""
        # HDF5 would free it after Python has shut down, and crash.
        self._raised = None
