"""Shapes and sizes of chunks before decoding: a small one can expand to terabytes.

Streams that do not declare their size are decoded piece by piece and only counted.
"""

from __future__ import annotations

import bz2
import json
import lzma
import math
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard

from refexplorer.core.errors import DecodeError, LimitError
from refexplorer.core.limits import Limits
from refexplorer.core.text import size_text
from refexplorer.spec.zarr_metadata import STRUCTURES, ArrayMeta

WHOLE_CHUNKS = 256  # An array with more chunks is not read as a whole by a view
WHOLE_BYTES = 2**26  # An array with more decoded bytes is not read as a whole by a view
POINTER = 8  # Least bytes of an element of varying size

Index = tuple[int, ...]


def region(array: ArrayMeta, index: Index) -> tuple[slice, ...]:
    """Return the region of the array that a chunk covers, clipped at the array's edge."""
    return tuple(axis.part(number) for axis, number in zip(array.axes, index, strict=True))


def place_count(places: range) -> int:
    """Return the number of indices; `len` fails for 2^63 and more."""
    return max(0, -((places.start - places.stop) // places.step))


def inside(places: range, part: slice) -> tuple[slice, slice]:
    """Return which of the indices are in a chunk, and their positions in it."""
    first = max(0, -((places.start - part.start) // places.step))
    last = max(first, min(place_count(places), -((places.start - part.stop) // places.step)))
    begin = places.start + first * places.step - part.start
    end = begin + (last - first - 1) * places.step + 1
    return slice(first, last), slice(begin, max(end, begin), places.step)


def overlap(
    array: ArrayMeta, places: Sequence[range], index: Index
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return where a chunk's values go in a selection, and which of its values they are."""
    pairs = [inside(*each) for each in zip(places, region(array, index), strict=True)]
    return tuple(into for into, _ in pairs), tuple(of for _, of in pairs)


def is_small(array: ArrayMeta) -> bool:
    """Whether a view may read the whole array at once."""
    size = math.prod(array.shape) * (array.itemsize or POINTER)
    return array.chunk_count <= WHOLE_CHUNKS and size <= WHOLE_BYTES


def check_size(array: ArrayMeta, limits: Limits) -> None:
    """Reject chunks that would exhaust memory, before anything is allocated or read."""
    name = array.path or "the root array"
    if array.itemsize is None and array.dtype in STRUCTURES:
        raise DecodeError(f"{name} has a structured data type that is not supported.")
    itemsize = array.itemsize or POINTER
    if itemsize > limits.itemsize:
        raise LimitError(
            f"one element of {name} takes {size_text(itemsize)}, more than the limit of "
            f"{size_text(limits.itemsize)} (`Limits.itemsize`)."
        )
    size = math.prod(array.chunks) * itemsize
    if size > limits.chunk_bytes:
        raise LimitError(
            f"one chunk of {name} decodes to {size_text(size)}, more than the limit of "
            f"{size_text(limits.chunk_bytes)} (`Limits.chunk_bytes`)."
        )


Settings = Mapping[str, Any]
# four bytes of versions and flags, then decoded size, block size and encoded size, four each
_BLOSC_HEADER = 16
_MSGPACK_RATIO = 64  # Bytes of the largest Python object from one msgpack byte
_ZFP_HEADER, _ZFP_WIDTHS, _ZFP_ITEMSIZES = 12, (48, 24, 16, 12), (4, 8, 4, 8)
"""Bytes of it; bits of a length, by dimensions; bytes of an element, by type."""


def blosc(data: bytes, settings: Settings, limit: int) -> int:
    """Read the header: decoded size at byte 4, encoded size at byte 12."""
    encoded = int.from_bytes(data[12:16], "little")
    if len(data) < _BLOSC_HEADER or encoded > len(data):
        raise DecodeError(
            f"blosc declares {encoded:,} encoded bytes, but there are {len(data):,}; the data "
            "is truncated or is not blosc"
        )
    return int.from_bytes(data[4:8], "little")


def lz4(data: bytes, settings: Settings, limit: int) -> int:
    """Read the first four bytes."""
    return int.from_bytes(data[:4], "little")


def items(data: bytes, settings: Settings, limit: int) -> int:
    """Read the number of variable-length items; each takes four bytes or more."""
    declared, most = int.from_bytes(data[:4], "little"), max(len(data) - 4, 0) // 4
    if declared > most:
        raise DecodeError(
            f"{declared:,} items are declared, but at most {most:,} fit into the data"
        )
    return len(data)


def json_items(data: bytes, settings: Settings, limit: int) -> int:
    """Read dtype and shape, the last two items of json2's list."""
    try:
        document = json.loads(data)
        dtype, shape = np.dtype(document[-2]), document[-1]
        return math.prod(map(int, shape)) * int(dtype.itemsize)
    except (ValueError, TypeError, LookupError, RecursionError):
        return 0  # the codec itself says what is wrong with them


def msgpack_items(data: bytes, settings: Settings, limit: int) -> int:
    """Read dtype and shape, the last two items of msgpack2's list."""
    most = len(data) * _MSGPACK_RATIO
    if most > limit:
        return most
    import msgpack

    try:
        document = msgpack.unpackb(data, raw=bool(settings.get("raw", False)))
        size = math.prod(map(int, document[-1])) * int(np.dtype(document[-2]).itemsize)
        return max(most, size)
    except (ValueError, TypeError, LookupError, RecursionError):
        return most  # the codec itself says what is wrong with them


def zfp(data: bytes, settings: Settings, limit: int) -> int:
    """Read type and shape from the 52 bits after the magic number (zfp's `zfp_field_metadata`)."""
    if len(data) < _ZFP_HEADER or not data.startswith(b"zfp"):
        return 0  # the codec itself says what is wrong with them
    described = int.from_bytes(data[4:_ZFP_HEADER], "little")
    itemsize, dimensions = _ZFP_ITEMSIZES[described & 3], (described >> 2 & 3) + 1
    width = _ZFP_WIDTHS[dimensions - 1]
    lengths = [described >> (4 + width * at) & (2**width - 1) for at in range(dimensions)]
    return math.prod((itemsize, *(length + 1 for length in lengths)))


ZLIB = "zlib"
# zlib copies what it did not read at each call: fed whole, a chunk would be copied many times
_FED = 2**16
_PIECE = 2**20  # decoded bytes in memory while they are counted
# xz -9 needs 65 MB to decode; a header may ask for 4 GB
_LZMA_MEMORY = 2**28
_DEFLATE_RATIO = 1032  # The highest ratio of deflate (zlib's technical notes)
_DEFLATED = frozenset({ZLIB, "gzip"})
_DECLARING = frozenset({"zstd", "blosc", "lz4"})  # Their first bytes give the decoded size
# its strings become Python objects, with one pointer each
_POINTER = 8
_SAME_SIZE = frozenset({
    "shuffle", "fletcher32", "crc32", "crc32c", "adler32", "jenkins_lookup3", "bitround", "base64",
    "bytes", "endian", "transpose", "scale_offset",
})  # fmt: skip

_Measure = Callable[[bytes, Settings, int], int]


def is_bounded(name: str) -> bool:
    """Return whether `check_inflation` can predict the decoded size of a codec."""
    return name in _MEASURES or name in _SAME_SIZE or name in _RATIOS


def keeps_size(name: str) -> bool:
    """Return whether a codec's output has the size of its input, or a few bytes less."""
    return name in _SAME_SIZE


def most(name: str, settings: Settings, size: int, data: bytes | None) -> int | None:
    """Return an upper bound of a codec's output in bytes; None if it is not known."""
    if name in _DEFLATED:
        return size * _DEFLATE_RATIO
    if name not in _MEASURES:
        return math.ceil(size * _ratio_of(name, settings)) if is_bounded(name) else None
    if data is None or name not in _DECLARING:
        return None
    if name == "zstd":
        try:
            declared = zstandard.frame_content_size(data)
        except zstandard.ZstdError:
            return None
        return declared if declared >= 0 else None
    try:
        return _MEASURES[name](data, settings, 0)
    except (DecodeError, ValueError):  # the error is reported with the key
        return None


def check_inflation(name: str, settings: Settings, data: bytes, limit: int) -> None:
    """Reject encoded bytes that would decode to more than `limit` bytes."""
    if name in _MEASURES:
        try:
            size = _MEASURES[name](data, settings, limit)
        except (zlib.error, OSError, EOFError, lzma.LZMAError, zstandard.ZstdError, ValueError):
            return  # the codec itself says what is wrong with them
    else:
        size = math.ceil(len(data) * _ratio_of(name, settings))
    if size > limit:
        raise LimitError(
            f"{name} inflates {size_text(len(data))} to {size_text(size)} or more, above the "
            f"limit of {size_text(limit)} at this step; it was stopped"
        )


def inflated(data: bytes, limit: int) -> bytes | None:
    """Decompress a zlib stream to at most `limit` bytes, in one pass."""
    stream = zlib.decompressobj()
    try:
        # one byte more distinguishes a chunk that is too large from one that fits
        found = stream.decompress(data, limit + 1)
    except zlib.error:
        return None
    return found if stream.eof and len(found) <= limit else None


def _deflated(data: bytes, limit: int, window: int, many: bool) -> int:
    most = len(data) * _DEFLATE_RATIO
    if most <= limit:
        return most
    return _count(_deflate_pieces(data, window, many), limit)


def _deflate_pieces(data: bytes, window: int, many: bool) -> Iterator[int]:
    stream = zlib.decompressobj(window)
    place = 0
    while place < len(data):
        fed = data[place : place + _FED]
        place += len(fed)
        while fed and not stream.eof:
            yield len(stream.decompress(fed, _PIECE))
            fed = stream.unconsumed_tail
        if stream.eof:
            place -= len(stream.unused_data)
            if not many:
                return
            stream = zlib.decompressobj(window)


def _lzma(data: bytes, settings: Settings, limit: int) -> int:
    form, filters = settings.get("format", lzma.FORMAT_XZ), settings.get("filters")
    # liblzma takes no memory limit for raw streams
    memory = None if form == lzma.FORMAT_RAW else _LZMA_MEMORY

    def start() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(form, memory, filters)

    return _count(_stream_pieces(data, start), limit)


def _stream_pieces(
    data: bytes, start: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[int]:
    stream, place = start(), 0
    while place < len(data):
        fed = data[place : place + _FED]
        place += len(fed)
        while fed or not (stream.needs_input or stream.eof):
            yield len(stream.decompress(fed, _PIECE))
            fed = b""
        if stream.eof:
            place -= len(stream.unused_data)
            stream = start()


def _zstd(data: bytes, settings: Settings, limit: int) -> int:
    declared = zstandard.frame_content_size(data)
    if declared >= 0:
        return declared
    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    return _count(iter(lambda: len(reader.read(_PIECE)), 0), limit)


def _count(pieces: Iterator[int], limit: int) -> int:
    """Add up sizes until they exceed the limit."""
    size = 0
    for piece in pieces:
        size += piece
        if size > limit:
            break
    return size


_MEASURES: dict[str, _Measure] = {
    ZLIB: lambda data, _, limit: _deflated(data, limit, zlib.MAX_WBITS, many=False),
    "gzip": lambda data, _, limit: _deflated(data, limit, zlib.MAX_WBITS + 16, many=True),
    "bz2": lambda data, _, limit: _count(_stream_pieces(data, bz2.BZ2Decompressor), limit),
    "lzma": _lzma,
    "zstd": _zstd,
    "blosc": blosc,
    "lz4": lz4,
    "vlen-utf8": items,
    "vlen-bytes": items,
    "vlen-array": items,
    "json2": json_items,
    "msgpack2": msgpack_items,
    "zfpy": zfp,
}


def _ratio(decoded: str, encoded: str) -> Callable[[Settings], float]:
    """Return a function for the size ratio between two data types of a configuration."""

    def ratio(settings: Settings) -> float:
        before = settings.get(encoded) or ("u1" if decoded == "dtype" else settings.get(decoded))
        try:
            return np.dtype(settings[decoded]).itemsize / max(np.dtype(before).itemsize, 1)
        except (TypeError, ValueError, LookupError):
            return 1

    return ratio


def _records(settings: Settings) -> float:
    """Return the ratio of a decoded record to one of the table in text."""
    try:
        before, after = (
            np.dtype([tuple(field) for field in settings[name]])
            for name in ("indtypes", "outdtypes")
        )
        return after.itemsize / max(before.itemsize, 1)
    except (TypeError, ValueError, LookupError):
        return 1


def _ratio_of(name: str, settings: Settings) -> float:
    return _RATIOS[name](settings) if name in _RATIOS else 1


_WIDEST_CAST = 8  # How many bytes a byte may be cast to: int8 to float64
_RATIOS: dict[str, Callable[[Settings], float]] = {
    "packbits": lambda _: 8,
    "astype": _ratio("decode_dtype", "encode_dtype"),
    "categorize": _ratio("dtype", "astype"),
    "delta": _ratio("dtype", "astype"),
    "fixedscaleoffset": _ratio("dtype", "astype"),
    "quantize": _ratio("dtype", "astype"),
    "record_member": lambda _: 1,
    "cast_value": lambda _: _WIDEST_CAST,
    "fill_hdf_strings": lambda _: _POINTER,
    "FITSAscii": _records,
}


_BLOCK = 2**16 - 1  # The most bytes of a block


_WRAPPINGS = {
    ZLIB: (zlib.MAX_WBITS, b"\x78\x01", 4),
    "gzip": (zlib.MAX_WBITS + 16, b"\x1f\x8b\x08" + bytes(6) + b"\xff", 8),
}
"""The decoder's window, the bytes before the blocks, and how many bytes of checksum follow."""


@dataclass(frozen=True, slots=True)
class Recompressed:
    """Decompressed bytes, and a stream that contains them uncompressed."""

    inside: bytes
    packed: bytes


def recompressed(name: str, data: bytes, limit: int) -> Recompressed | None:
    """Decompress a stream once, for a decoder that then only copies it."""
    if name not in _WRAPPINGS:
        return None
    window, head, tail = _WRAPPINGS[name]
    stream = zlib.decompressobj(window)
    try:
        inside = stream.decompress(data, limit + 1)
    except zlib.error:
        return None
    if not stream.eof or len(inside) > limit or stream.unused_data:
        return None
    view = memoryview(inside)
    parts: list[bytes | memoryview] = [head]
    for start in range(0, len(inside) or 1, _BLOCK):
        block = view[start : start + _BLOCK]
        is_last = start + _BLOCK >= len(inside)
        parts += (struct.pack("<BHH", is_last, len(block), len(block) ^ _BLOCK), block)
    parts.append(data[-tail:])
    return Recompressed(inside, b"".join(parts))
