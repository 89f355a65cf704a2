"""Sizes that encoded bytes declare themselves.

The codecs are taken at their word, since they allocate just that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from refexplorer.errors import DecodeError

Settings = Mapping[str, Any]
# four bytes of versions and flags, then decoded size, block size and encoded size, four each
_BLOSC_HEADER = 16
_MSGPACK_RATIO = 64
"""The most that a byte of msgpack makes of Python objects: an empty list and its place."""
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
    """Read how many items of varying length follow; each takes four bytes or more."""
    declared, most = int.from_bytes(data[:4], "little"), max(len(data) - 4, 0) // 4
    if declared > most:
        raise DecodeError(
            f"{declared:,} items are declared, but at most {most:,} fit into the data"
        )
    return len(data)


def json_items(data: bytes, settings: Settings, limit: int) -> int:
    """Read dtype and shape, the last two items of the list that json2 writes."""
    try:
        document = json.loads(data)
        dtype, shape = np.dtype(document[-2]), document[-1]
        return math.prod(map(int, shape)) * int(dtype.itemsize)
    except (ValueError, TypeError, LookupError, RecursionError):
        return 0  # the codec itself says what is wrong with them


def msgpack_items(data: bytes, settings: Settings, limit: int) -> int:
    """Read dtype and shape, the last two items of the list that msgpack2 writes."""
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
