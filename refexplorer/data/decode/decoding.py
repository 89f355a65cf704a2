"""The steps that decode a chunk, none of which may make more bytes than the chunk has room for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refexplorer import memory
from refexplorer.data.decode.chunk_arithmetic import POINTER, check_size
from refexplorer.data.decode.confined import check_confined, decode_confined
from refexplorer.data.decode.inflating import (
    ZLIB,
    check_inflation,
    inflated,
    is_bounded,
    keeps_size,
)
from refexplorer.data.decode.pipelines import VALUES, Stage, as_bytes, stages
from refexplorer.errors import RefexplorerError

if TYPE_CHECKING:
    from refexplorer.limits import Limits
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

_SLACK = 2**20
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

    @property
    def label(self) -> str:
        """The codec with its settings."""
        return self.stage.label

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
        """Refuse what would decode to too many bytes; nothing is kept of what it decodes to.

        Raises
        ------
        LimitError
            If it would.
        DecodeError
            If the bytes cannot be decoded, as far as that had to be tried.
        """
        if not is_bounded(self.stage.name):
            check_confined(self.array, self.number, data, self.limit)
        else:
            check_inflation(self.stage.name, self.stage.settings, as_bytes(data), self.limit)


def steps(array: ArrayMeta, limits: Limits) -> list[Step]:
    """Return how a chunk of an array is decoded.

    Raises
    ------
    LimitError
        If a chunk or an element is larger than the limits.
    DecodeError
        If the data type is not known.
    """
    check_size(array, limits)
    found = stages(array)
    return [
        Step(array, number, stage, _room(array, found[number + 1 :], limits))
        for number, stage in enumerate(found)
    ]


def said(error: Exception) -> str:
    """Say an error of a codec in one sentence."""
    text = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else ""
    if isinstance(error, RefexplorerError):
        return f"{text}."
    if memory.is_lacking(error):
        return memory.too_little()
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
