"""Streams of deflate with stored blocks, which are inflated by copying (RFC 1950 to 1952)."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from refexplorer.data.decode.inflating import ZLIB

_BLOCK = 2**16 - 1
"""The most bytes of a block."""


@dataclass(frozen=True, slots=True)
class _Wrapping:
    """What is around the blocks: the bytes before them, and how many with the checksum follow."""

    window: int
    head: bytes
    tail: int


_WRAPPINGS = {
    ZLIB: _Wrapping(zlib.MAX_WBITS, b"\x78\x01", 4),
    "gzip": _Wrapping(zlib.MAX_WBITS + 16, b"\x1f\x8b\x08" + bytes(6) + b"\xff", 8),
}


@dataclass(frozen=True, slots=True)
class PackedAgain:
    """Bytes that were inflated, and a stream that holds them as they are."""

    inside: bytes
    packed: bytes


def packed_again(name: str, data: bytes, limit: int) -> PackedAgain | None:
    """Inflate a stream once, for somebody who then only copies it.

    Its checksum, which has just been compared, is taken over: to compute it again would take as
    long as the copy.

    Parameters
    ----------
    name
        Of a codec.
    data
        The stream.
    limit
        Bytes that it may inflate to.

    Returns
    -------
    PackedAgain or None
        None if the codec is another, or the stream is broken, inflates to more, or is followed by
        a second one.
    """
    wrapping = _WRAPPINGS.get(name)
    if wrapping is None:
        return None
    stream = zlib.decompressobj(wrapping.window)
    try:
        inside = stream.decompress(data, limit + 1)
    except zlib.error:
        return None
    if not stream.eof or len(inside) > limit or stream.unused_data:
        return None
    view = memoryview(inside)
    parts: list[bytes | memoryview] = [wrapping.head]
    for start in range(0, len(inside) or 1, _BLOCK):
        block = view[start : start + _BLOCK]
        is_last = start + _BLOCK >= len(inside)
        parts += (struct.pack("<BHH", is_last, len(block), len(block) ^ _BLOCK), block)
    parts.append(data[-wrapping.tail :])
    return PackedAgain(inside, b"".join(parts))
