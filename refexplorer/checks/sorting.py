"""References sorted by target: in memory while there are few, then on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.references import AuditedBlock
from refexplorer.checks.terms import Share
from refexplorer.core.errors import RefexplorerError, SourceError
from refexplorer.formats.columns.references import (
    BASE64,
    INLINE,
    LARGEST,
    number_column,
    numbers_of,
    text_column,
)
from refexplorer.refset.segments import code_targets
from refexplorer.spec.zarr_metadata import ArrayMeta

SAMPLE = 10  # Chunks of each array that are decoded by default

Decode = int | Literal["all", "none", "sample"]  # How many chunks of each array are decoded

_NONE = np.uint64(2**64 - 1)


def wanted_of(decode: Decode | str) -> int | None:
    """Return how many chunks of each array to decode; None means all."""
    words = {"none": 0, "sample": SAMPLE, "all": None}
    if isinstance(decode, str) and decode in words:
        return words[decode]
    try:
        number = int(decode)
    except ValueError:
        number = -1
    if number < 0:
        raise RefexplorerError(
            f"decode must be a number of chunks, 'sample', 'all' or 'none', not {decode!r}."
        )
    return number


class Sample:
    """Chooses chunks by a hash of their number, so that no row or column of a grid is preferred."""

    def __init__(self, arrays: list[ArrayMeta], wanted: int | None) -> None:
        counts = [array.chunk_count for array in arrays]
        steps = [1 if wanted is None else _step(count, wanted) for count in counts]
        self._steps = np.array([*steps, 0], np.uint64)  # the last is for keys outside arrays

    def chosen(self, arrays: np.ndarray, chunks: np.ndarray) -> np.ndarray:
        """Return which chunks are to be decoded."""
        steps = self._steps[arrays]
        hashes = _mixed(chunks.astype(np.uint64))
        found: np.ndarray = (chunks >= 0) & (steps > 0) & (hashes % np.maximum(steps, 1) == 0)
        return found


def _step(count: int, wanted: int) -> int:
    return 0 if not wanted else min(max(count // wanted, 1), int(_NONE))


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Mix the bits of numbers, as SplitMix64 does, so that any divisor hits them evenly."""
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = numbers ^ (numbers >> np.uint64(31))
    return mixed


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSizes:
    """The sizes that bound a plan's memory and the length of its parts."""

    # How much a part has to do: each reference counts one, what is asked or decoded more
    part_cost: int = 100_000
    asking_cost: int = 100  # The cost of a target in addition to its references, in references
    sorted_rows: int = 1_000_000  # References that are sorted together
    kept_bytes: int = 2**26  # Bytes of sorted references that stay in memory; others are written
    # References that are read back at once; one batch of each sorted million may be in memory
    batch_rows: int = 2048
    interval_batches: int = 200  # Batches that are read together


END = np.full((3, 1), LARGEST)  # What comes after all ranges


class Interval(NamedTuple):
    """References that are consecutive in the order of `ranges_of`."""

    rows: pa.Table  # n references
    ranges: np.ndarray  # Where they are, as `ranges_of` says, shape ``(3, n)`` int64
    # The last of these again if others have it too, and the next one after it or `END`, shape
    # ``(3, 1)`` or ``(3, 2)``
    following: np.ndarray


class Batches:
    """The first ranges of each batch on disk: its first one, and the first different one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._begins: list[np.ndarray] = []
        self._changes: list[np.ndarray] = []

    def add(self, ranges: np.ndarray) -> None:
        """Add all ranges of a run, in order, shape ``(3, n)``."""
        begins = ranges[:, :: self.size]
        changes = np.tile(END, begins.shape[1])
        new = 1 + np.flatnonzero((ranges[:, 1:] != ranges[:, :-1]).any(axis=0))
        inside = new[new % self.size != 0]
        batches, first = np.unique(inside // self.size, return_index=True)
        changes[:, batches] = ranges[:, inside[first]]
        self._begins.append(begins.copy())
        self._changes.append(changes)

    def ordered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the batches in the order of their first ranges."""
        begins, changes = (np.concatenate(each, 1) for each in (self._begins, self._changes))
        order = np.lexsort(begins[::-1])
        return order, begins[:, order], changes[:, order]


def ranges_of(rows: pa.Table) -> np.ndarray:
    """Return the target, start and end of references, shape ``(3, n)`` int64."""
    # References without bytes that others could share, such as whole files, start and end at -1, so
    # that they sort before the byte ranges of their target.
    numbers, starts, lengths = (rows[name].to_numpy() for name in ("number", "offset", "length"))
    ranges = np.stack([numbers, starts, LARGEST - starts])
    np.minimum(lengths, ranges[2], out=ranges[2])
    ranges[2] += starts
    ranges[1:, (numbers < 0) | (lengths == 0)] = -1
    return ranges


def in_order(rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """Return references in the order of their ranges, and these ranges."""
    rows = rows.combine_chunks()
    ranges = ranges_of(rows)
    if _is_ordered(ranges):  # as most sets are; sorting takes ten times as long
        return rows, ranges
    order = np.lexsort(ranges[::-1])
    return rows.take(number_column(order)).combine_chunks(), ranges[:, order]


def _is_ordered(ranges: np.ndarray) -> bool:
    is_behind = np.zeros(ranges.shape[1] - 1 if ranges.shape[1] else 0, np.bool_)
    is_tied = ~is_behind
    for numbers in ranges:
        is_behind |= is_tied & (numbers[1:] < numbers[:-1])
        is_tied &= numbers[1:] == numbers[:-1]
    return not is_behind.any()


def merged(
    read: Callable[[int], pa.RecordBatch], batches: Batches, schema: pa.Schema, together: int
) -> Iterator[Interval]:
    """Yield all references in order."""
    numbers, begins, changes = batches.ordered()
    held = schema.empty_table()
    for start in range(0, len(numbers), together):
        stop = start + together
        loaded = pa.Table.from_batches([read(n) for n in numbers[start:stop].tolist()], schema)
        rows, ranges = in_order(pa.concat_tables([held, loaded]))
        end, following = rows.num_rows, END
        if stop < len(numbers):
            end = _count_until(ranges, begins[:, stop])
            last, held_ranges = ranges[:, end - 1], ranges[:, end:]
            following = _following(last, held_ranges, begins[:, stop:], changes[:, stop:])
        held = rows.slice(end)
        yield Interval(rows.slice(0, end), ranges[:, :end], following)


def _count_until(ranges: np.ndarray, bound: np.ndarray) -> int:
    """Return how many of the sorted ranges do not come after a bound."""
    start = 0
    stop: int = ranges.shape[1]
    for numbers, number in zip(ranges, bound, strict=True):
        among = numbers[start:stop]  # where all numbers before are equal
        first, end = among.searchsorted(number, "left"), among.searchsorted(number, "right")
        start, stop = start + int(first), start + int(end)
    return stop


def _following(
    last: np.ndarray, held: np.ndarray, begins: np.ndarray, changes: np.ndarray
) -> np.ndarray:
    """Return the range after `last` among those in memory and in unread batches."""
    ties = _count_until(begins, last)  # batches that begin with that very range
    if not ties:
        return begins[:, :1]
    found = np.concatenate([changes[:, :ties], begins[:, ties : ties + 1], held[:, :1]], axis=1)
    return np.stack([last, found[:, np.lexsort(found[::-1])[0]]], axis=1)


SHARE_BITS = 40  # The number of a target has so many bits; that of its share is above them

SORTED = pa.schema(
    {
        "key": pa.large_string(),
        "array": pa.int32(),
        "chunk": pa.int64(),
        "number": pa.int64(),
        "kind": pa.uint8(),
        "offset": pa.int64(),
        "length": pa.int64(),
        "chosen": pa.bool_(),
        "text": pa.large_string(),
    }
)
"""``key`` may be empty for a chunk; ``number`` is that of the target and its share, -1 for none;
``text`` is of inline chunks to be decoded."""


class Sorter:
    """Accepts references in any order, and returns them by target, offset and length."""

    def __init__(
        self,
        folder: Path,
        sample: Sample,
        sizes: PlanSizes,
        share: Share | None = None,
        has_keys: bool = True,
        has_others: bool = False,
    ) -> None:
        self.count = 0
        self.rejected = 0
        self._path = folder / "references.arrow"
        self._sample = sample
        self._sizes = sizes
        self._share = share
        # has_others: Whether the other shares are sorted, too, behind each other
        self._has_keys, self._has_others = has_keys, has_others
        self._shares: list[int] = []
        self._codes: dict[str | None, int] = {}
        self._held: list[pa.Table] = []
        self._held_rows = 0
        self._batches = Batches(sizes.batch_rows)
        self._room = sizes.kept_bytes
        self._kept: list[pa.RecordBatch] = []
        with self._writing():
            # as bytes: Arrow takes a name such as `s3:x` for a URL, and UTF-8 alone as text
            self._file = pa.OSFile(os.fsencode(self._path), "wb")
            self._writer = pa.ipc.new_file(self._file, SORTED)

    @property
    def shares(self) -> np.ndarray:
        """The share of each target, 0 for those in every share, shape ``(n,)`` int64."""
        if self._share is not None:
            new = islice(self._codes, len(self._shares), None)
            self._shares += map(self._share.number_of, new)
            return np.array(self._shares, np.int64)
        return np.zeros(len(self._codes), np.int64)

    @property
    def urls(self) -> list[str | None]:
        """The targets, in the order of first use in the set."""
        return list(self._codes)

    def put(self, block: AuditedBlock) -> None:
        """Add references."""
        self.count += len(block)
        self.rejected += block.rejected
        self._held.append(self._rows(block))
        self._held_rows += len(block)
        if self._held_rows >= self._sizes.sorted_rows:
            self._write()

    def intervals(self) -> Iterator[Interval]:
        """Yield all references in order, some 10^5 at a time, once; then none can be added."""
        self._write()
        with self._writing():
            self._writer.close()
            self._file.close()
        with pa.OSFile(os.fsencode(self._path)) as file:
            reader = pa.ipc.open_file(file)
            together, kept = self._sizes.interval_batches, dict(enumerate(self._kept))
            n_kept, self._kept = len(kept), []

            def read(number: int) -> pa.RecordBatch:
                return kept.pop(number) if number < n_kept else reader.get_batch(number - n_kept)

            yield from merged(read, self._batches, SORTED, together)

    def _write(self) -> None:
        """Keep the buffered references in order, or write them."""
        rows, ranges = in_order(pa.concat_tables([SORTED.empty_table(), *self._held]))
        self._held, self._held_rows = [], 0
        self._batches.add(ranges)
        self._room -= rows.nbytes
        if self._room >= 0:
            self._kept += rows.to_batches(max_chunksize=self._batches.size)
            return
        with self._writing():
            self._writer.write_table(rows, self._batches.size)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            said = (error.strerror or str(error)).lower()
            raise SourceError(f"{str(self._path)!r} cannot be written: {said}.") from None

    def _rows(self, block: AuditedBlock) -> pa.Table:
        columns = block.table.columns
        chosen = self._sample.chosen(block.arrays, block.chunks)
        held = (columns.kinds == INLINE) | (columns.kinds == BASE64)
        keys = block.table.keys
        if not self._has_keys:  # those of chunks follow from their numbers
            keys = pc.if_else(pa.array(block.chunks < 0), keys, "")
        arrays = [
            keys,
            pa.array(block.arrays),
            pa.array(block.chunks),
            pa.array(code_targets(columns, self._codes)),
            pa.array(columns.kinds),
            pa.array(np.where(held, 0, columns.offsets)),
            pa.array(columns.lengths),
            pa.array(chosen),
            _texts(block, held & chosen),
        ]
        rows = pa.Table.from_arrays(arrays, schema=SORTED)
        if self._share is None:
            return rows
        numbers = numbers_of(rows["number"].combine_chunks())
        shares = np.append(self.shares, 0)[numbers]  # -1, of no target, is the last
        if not self._has_others:
            return rows.filter(pa.array((shares == 0) | (shares == self._share.number)))
        at = rows.column_names.index("number")
        return rows.set_column(at, "number", pa.array(numbers + (shares << SHARE_BITS)))


def _texts(block: AuditedBlock, needed: np.ndarray) -> pa.Array:
    """Return the texts of the given rows, null for the others."""
    rows = np.flatnonzero(needed)
    if not len(rows):
        return pa.nulls(len(needed), pa.large_string())
    columns = block.table.columns
    texts = text_column([columns.texts[int(columns.offsets[row])] for row in rows.tolist()])
    places = np.full(len(needed), -1, np.int64)
    places[rows] = np.arange(len(rows))
    return texts.take(pa.array(places, mask=places < 0))
