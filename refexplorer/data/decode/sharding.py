"""Shards: chunks that are divided again, and the index that tells where each part is.

Source: Zarr v3, "Sharding codec (version 1.0)".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from refexplorer.errors import DecodeError
from refexplorer.spec.core.zarr_metadata import ArrayMeta, BadMetadata, read_array

SHARDING = "sharding_indexed"
"""The codec."""
ABSENT = 2**64 - 1
"""The offset, and the length, of an inner chunk that a shard does not have."""
_ENTRY = 16
"""Bytes of an entry of the index: an offset and a length."""
# CRC-32C
_CHECKSUM = 4


@dataclass(frozen=True)
class ShardCodec:
    """How the chunks of an array are divided again.

    Attributes
    ----------
    inner
        The parts as chunks of an array.
    grid
        Inner chunks of a shard along each dimension.
    order
        Of the bytes of a number of the index.
    is_summed
        Whether a checksum follows the index.
    leads
        Whether the index comes first.
    """

    inner: ArrayMeta
    grid: tuple[int, ...]
    order: str
    is_summed: bool
    leads: bool

    @cached_property
    def size(self) -> int:
        """Bytes of the index."""
        return _ENTRY * prod(self.grid) + (_CHECKSUM if self.is_summed else 0)

    def parts(self, data: bytes) -> list[bytes]:
        """Return the encoded parts; none if the bytes are too few for an index."""
        start = 0 if self.leads else len(data) - self.size
        if not 0 <= start <= len(data) - self.size:
            return []
        index = self._numbers(data[start : start + self.size])
        present = index[index[:, 0] != ABSENT].tolist()
        return [data[offset : offset + length] for offset, length in present]

    def is_index(self, data: bytes, start: int) -> bool:
        """Say whether a part that was read is the index."""
        return self.leads and start == 0 and len(data) == self.size

    def read(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets and lengths of the inner chunks, uint64, of the shape of `grid`.

        Both are `ABSENT` for an inner chunk that the shard does not have.

        Raises
        ------
        DecodeError
            If these are not the bytes of an index.
        """
        if len(data) != self.size:
            raise DecodeError(
                f"The index of the shard has {len(data):,} bytes, and one of "
                f"{prod(self.grid):,} inner chunks has {self.size:,}."
            )
        if self.is_summed and not _is_sum(data[:-_CHECKSUM], data[-_CHECKSUM:]):
            raise DecodeError("The checksum of the index of the shard is wrong.")
        index = self._numbers(data)
        absent = index == ABSENT
        if np.any(absent[:, 0] != absent[:, 1]):
            raise DecodeError("The index of the shard has an inner chunk that is half absent.")
        return index[:, 0].reshape(self.grid), index[:, 1].reshape(self.grid)

    def _numbers(self, data: bytes) -> np.ndarray:
        found: np.ndarray = np.frombuffer(data, f"{self.order}u8", 2 * prod(self.grid))
        return found.astype(np.uint64).reshape(-1, 2)


def shard_layout(array: ArrayMeta) -> ShardCodec | None:
    """Read the codec that divides chunks.

    None if there is none, if it is not the only step, or if its index is of an unknown kind.
    """
    try:
        return _layout(array)
    except (BadMetadata, TypeError, ValueError, LookupError, AttributeError):
        return None


def _layout(array: ArrayMeta) -> ShardCodec | None:
    codecs: Any = array.metadata.get("codecs")
    settings = next(
        (each["configuration"] for each in codecs or () if each["name"] == SHARDING), None
    )
    if settings is None:
        return None
    by_name = {each["name"]: each.get("configuration") or {} for each in settings["index_codecs"]}
    if not by_name.keys() <= {"bytes", "crc32c"}:
        return None
    shape = tuple(settings["chunk_shape"])
    if len(shape) != len(array.chunks) or any(
        size < 1 or chunk % size for chunk, size in zip(array.chunks, shape, strict=True)
    ):
        return None
    chunk_grid = {"name": "regular", "configuration": {"chunk_shape": list(shape)}}
    inner = dict(array.metadata) | {"chunk_grid": chunk_grid, "codecs": settings["codecs"]}
    return ShardCodec(
        read_array(f"{array.path}/{SHARDING}", inner),
        tuple(chunk // size for chunk, size in zip(array.chunks, shape, strict=True)),
        ">" if by_name.get("bytes", {}).get("endian") == "big" else "<",
        "crc32c" in by_name,
        settings.get("index_location") == "start",
    )


def _is_sum(data: bytes, checksum: bytes) -> bool:
    import google_crc32c

    return int(google_crc32c.value(data)) == int.from_bytes(checksum, "little")
