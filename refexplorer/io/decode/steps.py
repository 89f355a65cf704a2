"""The check of encoded chunks before Zarr decodes them, which does not bound their size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import is_out_of_memory, memory_message
from refexplorer.io.decode.chunk_shapes import POINTER, check_size
from refexplorer.io.decode.confined import check_confined, decode_confined
from refexplorer.io.decode.pipelines import (
    SHARDING,
    VALUES,
    ShardCodec,
    Stage,
    as_bytes,
    shard_layout,
    stages,
)
from refexplorer.io.decode.sizes import (
    ZLIB,
    check_inflation,
    inflated,
    is_bounded,
    keeps_size,
    most,
    recompressed,
)

if TYPE_CHECKING:
    from refexplorer.core.limits import Limits
    from refexplorer.spec.zarr_metadata import ArrayMeta

_SLACK = 2**20  # bytes that a codec may add to the size of a chunk, such as headers
_WIDEST = 16
"""How much a filter may shrink: one byte for a number of sixteen."""


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of decoding, under a limit of bytes.

    Codecs that do not say beforehand what they make are run in a process of their own.
    """

    array: ArrayMeta
    number: int
    stage: Stage
    limit: int

    def run(self, data: Any) -> Any:
        """Decode bytes or an array; raises what the codec raises, `LimitError` for too many."""
        if self.stage.name == VALUES:
            return self.stage.decode(data)
        if not is_bounded(self.stage.name):
            return decode_confined(self.array, self.number, data, self.limit)
        if self.stage.name == ZLIB:  # to count first would inflate twice
            found = inflated(as_bytes(data), self.limit)
            if found is not None:
                return found
        self.check(data)
        return self.stage.decode(data)

    def check(self, data: Any) -> None:
        """Refuse what would decode to too many bytes; nothing is kept of what it decodes to."""
        if not is_bounded(self.stage.name):
            check_confined(self.array, self.number, data, self.limit)
        else:
            check_inflation(self.stage.name, self.stage.settings, as_bytes(data), self.limit)


def steps(array: ArrayMeta, limits: Limits) -> list[Step]:
    """Return how a chunk of an array is decoded."""
    check_size(array, limits)
    found = stages(array)
    return [
        Step(array, number, stage, _room(array, found[number + 1 :], limits))
        for number, stage in enumerate(found)
    ]


def error_text(error: Exception) -> str:
    """Say an error of a codec in one sentence."""
    text = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else ""
    if isinstance(error, RefexplorerError):
        return f"{text}."
    if is_out_of_memory(error):
        return memory_message()
    if "checksum" in text:
        return f"The checksum does not match, so the bytes are not those that were written: {text}."
    return (
        f"The codec cannot decode the bytes: {type(error).__name__}{': ' + text if text else ''}."
    )


def _room(array: ArrayMeta, later: tuple[Stage, ...], limits: Limits) -> int:
    """Return how many bytes a stage may make, so that the codecs after it come to the chunk."""
    size = math.prod(array.chunks) * (array.itemsize or POINTER)
    varies = array.itemsize is None or "O" in array.dtype
    room = limits.chunk_bytes if varies else _SLACK
    widens = any(stage.name != VALUES and not keeps_size(stage.name) for stage in later)
    return size * (_WIDEST if widens else 2) + room


_UNCHECKED = 2**26
"""Bytes that a chunk may inflate to at most, so that nobody has to look: an array may have chunks
of `Limits.chunk_bytes`, far more, and Zarr refuses those that turn out too large for theirs."""


_KINDS = 1_000
"""Shapes of chunks whose steps are kept: where chunks have varying lengths there may be many."""
_ChunkKind = tuple[str, tuple[int, ...]]


class ChunkGuard:
    """Refuses encoded chunks that would decode to far more than a chunk of their array has."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._unchecked = min(_UNCHECKED, limits.chunk_bytes)
        self._steps: dict[_ChunkKind, list[Step]] = {}
        self._shards: dict[_ChunkKind, ShardCodec | None] = {}

    def is_free(self, array: ArrayMeta, data: bytes) -> bool:
        """Say whether a chunk may be decoded as it is, as far as that is known at once."""
        found = self._steps_of(array)
        return bool(found) and self._fits(found, data)

    def chunk(self, array: ArrayMeta, data: bytes) -> bytes:
        """Check all bytes of a chunk, which is decoded only as far as a later step needs it."""
        found = self._steps_of(array)
        if self._fits(found, data):
            return data
        first = found[0]
        again = recompressed(first.stage.name, data, first.limit)
        if again is not None and self._fits(found[1:], again.inside):
            return again.packed
        risky = [at for at, step in enumerate(found) if _is_risky(step)]
        decoded: Any = data
        for at, step in enumerate(found[: risky[-1] + 1 if risky else 0]):
            shard = self._shard_of(array) if step.stage.name == SHARDING else None
            if shard is not None:
                for part in shard.parts(data):
                    self.chunk(shard.inner, part)
                break
            step.check(decoded)
            if at == risky[-1]:
                break
            try:
                decoded = step.stage.decode(decoded)
            except Exception:  # Zarr meets the same and says it
                break
        return data

    def _fits(self, found: list[Step], data: bytes) -> bool:
        """Say whether no step can make too much, before any is taken."""
        size, given = len(data), data if data else None
        for step in found:
            if step.stage.name == VALUES:
                continue
            made = most(step.stage.name, step.stage.settings, size, given)
            if made is None or made > max(step.limit, self._unchecked):
                return False
            size, given = made, None
        return True

    def part(self, array: ArrayMeta, data: bytes, start: int) -> None:
        """Check a part of a shard, which is one of its chunks, or the index at its start."""
        shard = self._shard_of(array)
        if shard is not None and not shard.is_index(data, start):
            self.chunk(shard.inner, data)

    def _steps_of(self, array: ArrayMeta) -> list[Step]:
        kind = array.path, array.chunks
        if kind not in self._steps:
            if len(self._steps) > _KINDS:
                self._steps.clear()
            try:
                self._steps[kind] = steps(array, self._limits)
            except RefexplorerError:  # Zarr refuses the array in its own words
                self._steps[kind] = []
        return self._steps[kind]

    def _shard_of(self, array: ArrayMeta) -> ShardCodec | None:
        kind = array.path, array.chunks
        if kind not in self._shards:
            if len(self._shards) > _KINDS:
                self._shards.clear()
            self._shards[kind] = shard_layout(array)
        return self._shards[kind]


def _is_risky(step: Step) -> bool:
    return step.stage.name != VALUES and not keeps_size(step.stage.name)
