"""The number of missing values of an array, its minimum and maximum: bounded by a contract."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from refexplorer.checks.axes import IN_FILES
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted, escape
from refexplorer.io.decode.sizes import region
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.cf import decode_as_xarray, decode_plainly
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.refset.chunk_grid import ChunkReferences
from refexplorer.refset.opened_set import SetLike, internals
from refexplorer.spec.references import Base64, Inline
from refexplorer.spec.zarr_metadata import ArrayMeta

_AT_ONCE = 2048  # Chunks whose references are looked up before the first is read


@dataclass
class ValueRange:
    """The values of an array as decoded by CF; a chunk without a reference is missing."""

    size: int
    missing: int = 0
    least: float | None = None
    largest: float | None = None
    least_at: tuple[int, ...] = ()
    largest_at: tuple[int, ...] = ()
    unread: int = 0  # Chunks that could not be read
    why: str = ""  # of the first of these, or of all

    @property
    def unknown(self) -> str:
        """Why some values are unknown; empty if all are known."""
        if not self.unread:
            return self.why
        return f"{counted(self.unread, 'chunk')} could not be read: {self.why}"

    def add(self, array: ArrayMeta, found: Reading) -> None:
        """Add a chunk."""
        if found.state is ChunkState.FAILED or found.values is None or found.index is None:
            self.leave(1, found.message or "")
            return
        values = _decoded(array, found.values, found.fill)
        is_there = ~np.isnan(values)
        self.missing += values.size - int(np.count_nonzero(is_there))
        if not is_there.any():
            return
        at = int(np.argmin(np.where(is_there, values, np.inf)))
        if self.least is None or values.flat[at] < self.least:
            self.least, self.least_at = float(values.flat[at]), _place(array, found, at)
        at = int(np.argmax(np.where(is_there, values, -np.inf)))
        if self.largest is None or values.flat[at] > self.largest:
            self.largest, self.largest_at = float(values.flat[at]), _place(array, found, at)

    def leave(self, chunks: int, why: str) -> None:
        """Record chunks that could not be read."""
        self.unread += chunks
        self.why = self.why or escape(why, 300).rstrip(".")


def value_range(
    refs: SetLike, path: str, targets: Targets, *, has_files: bool = True
) -> ValueRange:
    """Read the chunks of an array that are allowed; chunks in files only if `has_files`."""
    from refexplorer.io.reading.chunks import ArrayDecoder, read_chunks  # which load Zarr

    array = refs.array(path)
    found = ValueRange(prod(array.shape))
    if not _is_number(array):
        found.why = "its values are not numbers"
        return found
    grid = ChunkReferences(internals(refs).opened, array)
    if not grid.complete:
        found.why = "its `gen` items generate too many chunks to read them all"
        return found
    there = 0
    try:
        decoder = ArrayDecoder(refs, array, targets)
        for some in _referenced(grid):
            there += sum(_value_count(array, index) for index in some)
            if not has_files:
                n_all = len(some)
                held = Inline | Base64 | None  # None fails when it is read
                some = [
                    index for index in some if isinstance(refs.get(array.chunk_key(index)), held)
                ]
                if len(some) < n_all:
                    found.leave(n_all - len(some), IN_FILES)
            for reading in read_chunks(decoder, some):
                found.add(array, reading)
    except RefexplorerError as error:  # it may not be read, or Zarr refuses it
        found.leave(array.chunk_count, str(error))
        return found
    for index in map(tuple, grid.left_out.indices.tolist()):
        there += _value_count(array, index)
        found.leave(1, "the reference is rejected")
    found.missing += found.size - there
    return found


def _value_count(array: ArrayMeta, index: tuple[int, ...]) -> int:
    return prod(part.stop - part.start for part in region(array, index))


def _referenced(grid: ChunkReferences) -> Iterator[list[tuple[int, ...]]]:
    for block in grid.blocks():
        indices = map(tuple, block.indices.tolist())
        while some := list(itertools.islice(indices, _AT_ONCE)):
            yield some


def _decoded(array: ArrayMeta, values: np.ndarray, fill: object) -> np.ndarray:
    with np.errstate(all="ignore"):  # a file may hold any number
        plain = decode_plainly(array, values, fill)
        if plain is None:
            plain = decode_as_xarray(array, values, fill, times=False)
    return plain


def _is_number(array: ArrayMeta) -> bool:
    try:
        return np.dtype(array.dtype).kind in "iufb"
    except TypeError:
        return False


def _place(array: ArrayMeta, found: Reading, at: int) -> tuple[int, ...]:
    assert found.index is not None
    assert found.values is not None
    inside = np.unravel_index(at, found.values.shape)
    parts = region(array, found.index)
    return tuple(part.start + int(offset) for part, offset in zip(parts, inside, strict=True))
