"""The check of encoded chunks before Zarr decodes them, which does not bound their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refexplorer.data.decode.decoding import Step, steps
from refexplorer.data.decode.inflating import may_inflate
from refexplorer.data.decode.pipelines import VALUES
from refexplorer.data.decode.sharding import SHARDING, ShardCodec, shard_layout
from refexplorer.errors import RefexplorerError

if TYPE_CHECKING:
    from refexplorer.limits import Limits
    from refexplorer.spec.core.zarr_metadata import ArrayMeta


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
        self._shards: dict[str, ShardCodec | None] = {}

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
            shard = self._shard_of(array) if step.stage.name == SHARDING else None
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

    def _shard_of(self, array: ArrayMeta) -> ShardCodec | None:
        if array.path not in self._shards:
            self._shards[array.path] = shard_layout(array)
        return self._shards[array.path]


def _is_risky(step: Step) -> bool:
    return step.stage.name != VALUES and may_inflate(step.stage.name)
