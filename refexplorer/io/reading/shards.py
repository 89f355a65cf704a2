"""The inside of a shard: its index, read when asked, and the references of its inner chunks."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from refexplorer.core.errors import AccessError, DecodeError, FetchError, RefexplorerError
from refexplorer.core.masking import masks_repr
from refexplorer.core.text import counted, escape, size_text
from refexplorer.io.decode.chunk_shapes import Index
from refexplorer.io.decode.pipelines import ABSENT, ShardCodec
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.filesystem import NoReference, missing_or_failed
from refexplorer.io.reading.readings import ChunkState
from refexplorer.refset.contents import SetLike
from refexplorer.spec.references import Base64, Range, Reference, Url

_SHOWN = 20  # inner chunks that the text lists


@masks_repr
@dataclass(frozen=True)
class Shard:
    """A shard, as its index describes it.

    Attributes
    ----------
    key
        Of the shard.
    state
        ``fetched`` if the index was read, ``fill`` for a shard without a reference, all of whose
        inner chunks read as the fill value.
    grid
        Inner chunks along each dimension of the shard.
    chunks
        The shape of an inner chunk.
    reference
        Of the whole shard; None without one.
    size
        Bytes of the whole shard; None if that is not known.
    offsets, lengths
        Byte ranges in the shard, int64 of the shape of `grid`; -1 where the shard has no such inner
        chunk. None where the index was not read.
    message
        Why the index could not be read; None if it was.
    """

    key: str
    state: ChunkState
    grid: tuple[int, ...]
    chunks: tuple[int, ...]
    reference: Reference | None = None
    size: int | None = None
    offsets: np.ndarray | None = None
    lengths: np.ndarray | None = None
    message: str | None = None

    @property
    def count(self) -> int:
        """How many inner chunks there are, empty ones among them."""
        return prod(self.grid)

    @property
    def empty(self) -> int | None:
        """How many of them are empty and read as the fill value; None if that is not known."""
        if self.state is ChunkState.FILL:
            return self.count
        return None if self.offsets is None else int(np.count_nonzero(self.offsets < 0))

    @property
    def beyond(self) -> tuple[Index, ...]:
        """The inner chunks that reach past the end of the shard: the index is wrong."""
        if self.offsets is None or self.lengths is None or self.size is None:
            return ()
        past = (self.offsets >= 0) & (self.lengths > self.size - self.offsets)
        return tuple(tuple(place) for place in np.argwhere(past).tolist())

    def inner(self, index: Sequence[int]) -> Reference | None:
        """Return the reference of an inner chunk: a byte range of the target, or its bytes.

        None for an empty one, which reads as the fill value.

        Raises
        ------
        DecodeError
            If there is no such inner chunk, or the index was not read.
        """
        place = tuple(index)
        check_inner(self.key, place, self.grid)
        if self.state is ChunkState.FILL:
            return None
        if self.offsets is None or self.lengths is None:
            raise DecodeError(str(self.message))
        start, size = int(self.offsets[place]), int(self.lengths[place])
        if start < 0:
            return None
        return _part(self.key, self.reference, start, size)

    def __str__(self) -> str:
        head = f"{escape(self.key)}: {counted(self.count, 'inner chunk')} of {list(self.chunks)}"
        if self.state is ChunkState.FILL:
            why = (
                "there is no reference" if self.reference is None else "it was never written (404)"
            )
            return f"{head}; {why}, so that all read as the fill value"
        if self.offsets is None or self.lengths is None:
            return f"{head}; the index was not read: {self.message}"
        places = np.argwhere(self.offsets >= 0).tolist()
        lines = [f"{head}, {self.empty:,} of them empty"]
        for place in places[:_SHOWN]:
            start, size = int(self.offsets[tuple(place)]), int(self.lengths[tuple(place)])
            lines.append(f"  {place}  {start:,} to {start + size:,}  {size_text(size)}")
        if len(places) > _SHOWN:
            lines.append(f"  … {len(places) - _SHOWN:,} more")
        if beyond := self.beyond:
            lines.append(
                f"  {counted(len(beyond), 'inner chunk')} reach past the end of the shard, which "
                f"has {self.size:,} bytes; the index is wrong, or the reference too short."
            )
        return "\n".join(lines)


def check_inner(key: str, inner: Sequence[int], grid: tuple[int, ...]) -> None:
    """Refuse an inner chunk that a shard does not have."""
    if len(inner) != len(grid) or not all(
        0 <= at < size for at, size in zip(inner, grid, strict=True)
    ):
        raise DecodeError(f"{key} has no inner chunk {list(inner)}; its grid is {list(grid)}.")


def read_shard(
    refs: SetLike, key: str, reference: Reference, layout: ShardCodec, targets: Targets
) -> Shard:
    """Read the index of a shard, with one request for a byte range.

    Of a whole file its size is asked first, where the index is at the end.
    """
    grid, chunks = layout.grid, layout.inner.chunks
    size: int | None = None
    try:
        size, data = _index(key, reference, layout, targets)
        offsets, lengths = map(_signed, layout.read(data))
    except AccessError:
        raise
    except RefexplorerError as raised:
        error = missing_or_failed(refs, key, reference, raised)
        if isinstance(error, NoReference):
            return Shard(key, ChunkState.FILL, grid, chunks, reference)
        failed = ChunkState.FAILED
        return Shard(key, failed, grid, chunks, reference, size, message=str(error))
    return Shard(key, ChunkState.FETCHED, grid, chunks, reference, size, offsets, lengths)


def _index(
    key: str, reference: Reference, layout: ShardCodec, targets: Targets
) -> tuple[int | None, bytes]:
    """Return the size of a shard, if it is known, and the bytes of its index."""
    size = _size(reference)
    if layout.leads:
        return size, targets.fetch(key, reference, 0, layout.size)
    if size is None:
        place = targets.policy.place(getattr(reference, "url", None) or "")
        size = wait_for(targets.facts(place)).size
        if size is None:
            raise FetchError(f"{key} is a whole file whose store does not report its size.")
    if size < layout.size:
        raise DecodeError(
            f"{key} has {size:,} bytes, fewer than the {layout.size:,} of the index of a shard."
        )
    return size, targets.fetch(key, reference, size - layout.size, size)


def _size(reference: Reference) -> int | None:
    if isinstance(reference, Range):
        return reference.length
    return None if isinstance(reference, Url) else len(reference.data)


def _signed(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as int64, -1 for what is absent and for what no file is long enough for."""
    largest = np.uint64(2**63 - 1)
    if np.any((numbers > largest) & (numbers != np.uint64(ABSENT))):
        raise DecodeError("The index of the shard has a number that no file is long enough for.")
    found = np.where(numbers == np.uint64(ABSENT), np.uint64(0), numbers).astype(np.int64)
    found[numbers == np.uint64(ABSENT)] = -1
    return found


def _part(key: str, reference: Reference | None, start: int, size: int) -> Reference:
    """Return a part of what a reference leads to."""
    if isinstance(reference, Url):
        return Range(reference.url, start, size)
    assert reference is not None
    if start + size > (whole := _size(reference) or 0):
        raise DecodeError(
            f"{key} has {whole:,} bytes, and its index puts an inner chunk at {start:,} to "
            f"{start + size:,}."
        )
    if isinstance(reference, Range):
        return Range(reference.url, reference.offset + start, size)
    part = reference.data[start : start + size]
    return Base64(f"base64:{base64.b64encode(part).decode()}")
