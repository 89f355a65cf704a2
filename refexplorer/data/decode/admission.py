"""The check of encoded chunks before Zarr decodes them, which does not bound their size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.decode.decoding import Step, steps
from refexplorer.data.decode.inflating import may_inflate
from refexplorer.data.decode.pipelines import VALUES
from refexplorer.errors import RefexplorerError
from refexplorer.spec.core.zarr_metadata import BadMetadata, read_array

if TYPE_CHECKING:
    from refexplorer.limits import Limits
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

_SHARD = "sharding_indexed"
_ABSENT = 2**64 - 1
"""The offset of a chunk that a shard does not have (Zarr's specification of sharding)."""


class Admission:
    """Refuses encoded chunks that would decode to far more than a chunk of their array has.

    Parameters
    ----------
    limits
        What a chunk may take.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._steps: dict[str, list[Step]] = {}
        self._shards: dict[str, _Shard | None] = {}

    def chunk(self, array: ArrayMeta, data: Any) -> None:
        """Check all bytes of a chunk, which is decoded only as far as the last step needs it.

        Raises
        ------
        LimitError
            If a step would make too much of them.
        DecodeError
            If the bytes cannot be decoded, as far as that had to be tried.
        """
        found = self._steps_of(array)
        risky = [at for at, step in enumerate(found) if _is_risky(step)]
        for at, step in enumerate(found[: risky[-1] + 1 if risky else 0]):
            shard = self._shard_of(array) if step.stage.name == _SHARD else None
            if shard is not None:
                for part in shard.parts(data):
                    self.chunk(shard.inner, part)
                return
            step.check(data)
            if at == risky[-1]:
                return
            try:
                data = step.stage.decode(data)
            except Exception:  # Zarr meets the same and says it
                return

    def part(self, array: ArrayMeta, data: bytes, start: int) -> None:
        """Check a part of a shard, which is one of its chunks, or the index at its start.

        Raises
        ------
        LimitError, DecodeError
            As `chunk`.
        """
        shard = self._shard_of(array)
        if shard is not None and not shard.is_index(data, start):
            self.chunk(shard.inner, data)

    def _steps_of(self, array: ArrayMeta) -> list[Step]:
        if array.path not in self._steps:
            try:
                self._steps[array.path] = steps(array, self._limits)
            except RefexplorerError:  # Zarr refuses the array in its own words
                self._steps[array.path] = []
        return self._steps[array.path]

    def _shard_of(self, array: ArrayMeta) -> _Shard | None:
        if array.path not in self._shards:
            try:
                self._shards[array.path] = _shard(array)
            except (BadMetadata, TypeError, ValueError, LookupError, AttributeError):
                self._shards[array.path] = None
        return self._shards[array.path]


@dataclass(frozen=True)
class _Shard:
    """How the chunks of an array are divided again.

    Attributes
    ----------
    inner
        The parts as chunks of an array.
    count
        Parts in a shard.
    order
        Of the bytes of a number of the index.
    size
        Of the index, in bytes.
    leads
        Whether the index comes first.
    """

    inner: ArrayMeta
    count: int
    order: str
    size: int
    leads: bool

    def parts(self, data: bytes) -> list[bytes]:
        """Return the encoded parts; none if the bytes are too few for an index."""
        start = 0 if self.leads else len(data) - self.size
        if not 0 <= start <= len(data) - self.size:
            return []
        index = np.frombuffer(data, f"{self.order}u8", 2 * self.count, start).reshape(-1, 2)
        present = index[index[:, 0] != _ABSENT].tolist()
        return [data[offset : offset + length] for offset, length in present]

    def is_index(self, data: bytes, start: int) -> bool:
        """Say whether a part that was read is the index."""
        return self.leads and start == 0 and len(data) == self.size


def _shard(array: ArrayMeta) -> _Shard | None:
    """Read the codec that divides chunks; None if there is none, or of an unknown kind of index."""
    codecs: Any = array.metadata.get("codecs")
    settings = next(
        (each["configuration"] for each in codecs or () if each["name"] == _SHARD), None
    )
    if settings is None:
        return None
    by_name = {each["name"]: each.get("configuration") or {} for each in settings["index_codecs"]}
    if not by_name.keys() <= {"bytes", "crc32c"}:
        return None
    shape = settings["chunk_shape"]
    grid = {"name": "regular", "configuration": {"chunk_shape": shape}}
    inner = dict(array.metadata) | {"chunk_grid": grid, "codecs": settings["codecs"]}
    count = math.prod(array.chunks) // math.prod(shape)
    return _Shard(
        read_array(f"{array.path}/{_SHARD}", inner),
        count,
        ">" if by_name.get("bytes", {}).get("endian") == "big" else "<",
        16 * count + (4 if "crc32c" in by_name else 0),
        settings.get("index_location") == "start",
    )


def _is_risky(step: Step) -> bool:
    return step.stage.name != VALUES and may_inflate(step.stage.name)
