"""gzip and zstd, told by their first bytes and opened under a limit."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Protocol

from refexplorer.errors import LimitError, SourceError
from refexplorer.limits import Limits

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def decompress(data: bytes, name: str, limits: Limits) -> bytes:
    """Return the plain bytes of a document that may be gzip or zstd.

    Raises
    ------
    SourceError
        If the compressed data is damaged.
    LimitError
        If there would be more than `Limits.document_bytes`.
    """
    if data.startswith(GZIP):
        plain = _read(gzip.GzipFile(fileobj=io.BytesIO(data)), name, "gzip", limits)
    elif data.startswith(ZSTD):
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(data), read_across_frames=True
        )
        plain = _read(reader, name, "zstd", limits)
    else:
        plain = data
    return _within(plain, name, limits)


def _read(stream: _Readable, name: str, form: str, limits: Limits) -> bytes:
    import zstandard

    try:
        return stream.read(limits.document_bytes + 1)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise SourceError(f"{name} is damaged {form} data: {error}.") from None


def _within(data: bytes, name: str, limits: Limits) -> bytes:
    if len(data) > limits.document_bytes:
        raise LimitError(
            f"{name} holds more than {limits.document_bytes:,} bytes; "
            "`Limits.document_bytes` raises the limit."
        )
    return data
