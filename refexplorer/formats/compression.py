"""gzip and zstd, told by their first bytes and opened under a limit."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import BinaryIO, cast

import zstandard

from refexplorer.errors import LimitError, SourceError
from refexplorer.limits import Limits

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"


def plain(stream: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    """Return a stream of the plain bytes of a document that may be gzip or zstd.

    Reading from it raises `SourceError` where the compressed data is damaged, and `LimitError`
    after `Limits.document_bytes`.
    """
    start = stream.read(len(ZSTD))
    stream.seek(0)
    opened, form = stream, "plain"
    if start.startswith(GZIP):
        opened, form = cast(BinaryIO, gzip.GzipFile(fileobj=stream)), "gzip"
    elif start == ZSTD:
        reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        opened, form = cast(BinaryIO, reader), "zstd"
    return cast(BinaryIO, _Plain(opened, stream, f"{name} is damaged {form} data", name, limits))


class _Plain(io.RawIOBase):
    """A stream under the limit, whose errors name the source."""

    def __init__(
        self, opened: BinaryIO, inner: BinaryIO, damaged: str, name: str, limits: Limits
    ) -> None:
        self._opened = opened
        self._inner = inner
        self._damaged = damaged
        self._name = name
        self._limit = limits.document_bytes
        self._given = 0

    def read(self, size: int = -1) -> bytes:
        rest = self._limit - self._given + 1
        try:
            data = self._opened.read(rest if size < 0 else min(size, rest))
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            raise SourceError(f"{self._damaged}: {error}.") from None
        self._given += len(data)
        if self._given > self._limit:
            raise LimitError(
                f"{self._name} holds more than {self._limit:,} bytes; "
                "`Limits.document_bytes` raises the limit."
            )
        return data

    def close(self) -> None:
        self._opened.close()
        self._inner.close()
        super().close()
