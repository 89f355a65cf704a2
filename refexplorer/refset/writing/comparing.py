"""A written set compared with its source, by key or by array and chunk, in any order."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import refused
from refexplorer.formats.columns.chunk_names import chunk_indices, chunk_keys
from refexplorer.formats.columns.references import (
    BASE64,
    INLINE,
    Columns,
    UrlColumn,
    flags_of,
    joined_columns,
)
from refexplorer.formats.columns.table import Table
from refexplorer.formats.source import ZMETADATA
from refexplorer.refset.moves import SAME, compare
from refexplorer.refset.segments import BLOCK
from refexplorer.spec.references import Reference, folders_above
from refexplorer.spec.zarr_metadata import ArrayMeta


def differs(what: str) -> RefexplorerError:
    """Return the error for a difference."""
    return RefexplorerError(
        f"The written set does not read back as the same references ({what}), so it was not kept."
    )


def check_in_order(wanted: Iterable[Table], found: Iterator[Table]) -> int:
    """Compare references block by block; return their number."""
    count = 0
    for block in wanted:
        if block.count:
            other = next(found, None)
            if other is None:
                raise _missing(block, 0)
            check_same(block, other)
            count += block.count
    if next(found, None) is not None:
        raise differs(f"there is more after the {count:,} keys")
    return count


def check_in_any_order(wanted: Table, found: Iterable[Table]) -> int:
    """Compare all references in any order; errors and result as for `check_in_order`."""
    seen = np.zeros(wanted.count, np.bool_)
    for block in found:
        rows = _rows_of(wanted, block)
        if rows.min(initial=0) < 0:
            raise differs(f"it has the additional key `{block.key_at(int(rows.argmin()))}`")
        _check_pairs(wanted, block, np.stack([rows, np.arange(block.count)]))
        if seen[rows].any() or len(np.unique(rows)) < len(rows):
            raise differs("a key occurs twice")
        seen[rows] = True
    if not seen.all():
        raise _missing(wanted, int(seen.argmin()))
    return wanted.count


def _rows_of(wanted: Table, block: Table) -> np.ndarray:
    """Return the row of each key, -1 if missing; usually both tables have the same order."""
    first = wanted.find(block.key_at(0)) if block.count else None
    if first is not None and wanted.keys.slice(first, block.count).equals(block.keys):
        return np.arange(first, first + block.count)
    return wanted.index.find_many(block.keys)


def check_same(wanted: Table, found: Table) -> None:
    """Compare two tables row by row; errors as for `check_in_order`."""
    count = min(wanted.count, found.count)
    keys = wanted.keys.slice(0, count), found.keys.slice(0, count)
    if not keys[0].equals(keys[1]):
        raise _missing(wanted, int(np.argmax(flags_of(pc.not_equal(*keys)))))
    if wanted.count > count:
        raise _missing(wanted, count)
    if found.count > count:
        raise differs(f"it has the additional key `{found.key_at(count)}`")
    rows = _odd_rows(wanted.columns, found.columns)
    if len(rows):
        _check_pairs(wanted, found, np.stack([rows, rows]))


def _odd_rows(wanted: Columns, found: Columns) -> np.ndarray:
    """Return the rows with different targets or bytes; texts still have to be compared."""
    positions = {url: position for position, url in enumerate(wanted.urls)}
    urls = found.urls.at(np.arange(len(found.urls)))
    codes = np.array([*(positions.get(url, -1) for url in urls), -1], np.int64)[found.targets]
    odd = (codes != wanted.targets) | (codes < 0) | (wanted.kinds != found.kinds)
    odd |= (wanted.offsets != found.offsets) | (wanted.lengths != found.lengths)
    return np.flatnonzero(odd)


def _check_pairs(wanted: Table, found: Table, pairs: np.ndarray) -> None:
    other = np.flatnonzero(compare(wanted, found, pairs).changes != SAME)
    if len(other):
        key = wanted.key_at(int(pairs[0, other[0]]))
        raise differs(f"`{key}` has a different reference")


def _missing(table: Table, row: int) -> RefexplorerError:
    return differs(f"`{table.key_at(row)}` is missing")


_ROW = np.dtype(
    [("number", "<i8"), ("offset", "<i8"), ("length", "<i8"), ("target", "<i4"), ("kind", "u1")]
)


class _Spooled(NamedTuple):
    """Which rows are in the file, and the number of text bytes after them."""

    offset: int
    rows: int
    size: int


class Spool:
    """Numbered references on disk, about 30 bytes each, with their URLs and inline texts."""

    def __init__(self, folder: Path) -> None:
        with refused(folder):
            # beside the output: /tmp is often memory, too small for the references of a large set
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115  closed with the spool
        self._end = 0
        self._pieces: dict[Hashable, list[_Spooled]] = {}

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def put(self, name: Hashable, numbers: np.ndarray, columns: Columns) -> None:
        """Append references and their numbers, int64, shape ``(n,)``."""
        used = np.unique(columns.targets[columns.targets >= 0])
        targets = np.where(columns.targets < 0, -1, np.searchsorted(used, columns.targets))
        is_text = (columns.kinds == INLINE) | (columns.kinds == BASE64)
        offsets = np.where(is_text, np.cumsum(is_text) - 1, columns.offsets)
        rows = np.empty(len(numbers), _ROW)
        for field, values in zip(
            _ROW.names or (),
            (numbers, offsets, columns.lengths, targets, columns.kinds),
            strict=True,
        ):
            rows[field] = values
        texts = [columns.texts[position] for position in columns.offsets[is_text].tolist()]
        tail = json.dumps([columns.urls.at(used), texts]).encode()
        self._file.seek(self._end)
        self._file.write(rows.tobytes())
        self._file.write(tail)
        self._pieces.setdefault(name, []).append(_Spooled(self._end, len(rows), len(tail)))
        self._end += rows.nbytes + len(tail)

    def take(self, name: Hashable) -> tuple[np.ndarray, Columns]:
        """Return all numbers and references of a name, in insertion order."""
        pieces = [self._read(piece) for piece in self._pieces.pop(name)]
        if len(pieces) == 1:
            return pieces[0]
        numbers = np.concatenate([numbers for numbers, _ in pieces])
        return numbers, joined_columns([columns for _, columns in pieces])

    def _read(self, piece: _Spooled) -> tuple[np.ndarray, Columns]:
        self._file.seek(piece.offset)
        rows = np.frombuffer(self._file.read(piece.rows * _ROW.itemsize), _ROW)
        urls, texts = json.loads(self._file.read(piece.size))
        targets = np.ascontiguousarray(rows["target"])
        kinds, offsets, lengths = (rows[field] for field in ("kind", "offset", "length"))
        return rows["number"], Columns(
            kinds, targets, UrlColumn(more=urls), offsets, lengths, texts
        )


ArraysByPath = Mapping[str, ArrayMeta]  # By their paths
_CHUNKS = 10**18  # Numbers of chunks are read up to 18 digits
_AHEAD = 64  # How many times as many rows as the last array had are looked at for the next one


class InOrder(NamedTuple):
    """n references of an array."""

    array: ArrayMeta  # The array
    numbers: np.ndarray  # Of their chunks, ascending, int64, shape ``(n,)``
    columns: Columns  # What they refer to


class ChunkOrder:
    """Sorts the references of a set by array and chunk."""

    def __init__(
        self,
        blocks: Iterable[Table],
        arrays: ArraysByPath,
        record_size: int,
        spool: Spool,
        proved: bool = False,
    ) -> None:
        self.metadata: dict[str, Reference] = {}  # Without copies: `.zmetadata` is one itself
        self.has_copies = False
        self._arrays = arrays
        self._together = record_size * -(-BLOCK // record_size)
        self._spool = spool
        self._proved = proved
        self._parts: dict[str, set[int]] = {}
        for block in blocks:
            self._add(block)

    def _add(self, block: Table) -> None:
        copies = [key for key in block.metadata if key.rpartition("/")[2] == ZMETADATA]
        self.has_copies = self.has_copies or bool(copies)
        own = ((key, row) for key, row in block.metadata.items() if key not in copies)
        self.metadata |= {key: block.reference_at(row) for key, row in own}
        rows = np.delete(np.arange(block.count), list(block.metadata.values()))
        for array, found, numbers in _by_array(block, rows, self._arrays):
            if self._proved and not chunk_keys(array, numbers).equals(block.keys_at(found)):
                raise differs(f"{array.path_text()} also has chunks of differently formed names")
            parts = numbers // self._together
            for part in np.unique(parts).tolist():
                chosen = np.flatnonzero(parts == part)
                columns = block.columns.select(found[chosen])
                self._spool.put((array.path, part), numbers[chosen], columns)
                self._parts.setdefault(array.path, set()).add(part)

    def __iter__(self) -> Iterator[InOrder]:
        """Yield the references of chunks, in whole record files."""
        for path, parts in self._parts.items():
            for part in sorted(parts):
                numbers, columns = self._spool.take((path, part))
                order = np.argsort(numbers)
                yield InOrder(self._arrays[path], numbers[order], columns.select(order))


def _by_array(
    block: Table, rows: np.ndarray, arrays: ArraysByPath
) -> Iterator[tuple[ArrayMeta, np.ndarray, np.ndarray]]:
    """Yield each array with chunks among some rows, these rows, and the chunk numbers."""
    # For small arrays, the rows are not scanned to the end for each of them.
    ahead = len(rows)
    while len(rows):
        array = _array_of(arrays, block.key_at(int(rows[0])))
        positions, numbers = _numbers(block, rows[:ahead], array)
        yield array, rows[positions], numbers
        is_run = int(positions[-1]) == len(positions) - 1
        rows = rows[len(positions) :] if is_run else np.delete(rows, positions)
        ahead = _AHEAD * len(positions)


def _array_of(arrays: ArraysByPath, key: str) -> ArrayMeta:
    for path in folders_above(key):
        if path in arrays:
            index = arrays[path].chunk_index(key)
            if index is not None and arrays[path].contains(index):
                return arrays[path]
            break
    raise _no_place(key)


def _numbers(block: Table, rows: np.ndarray, array: ArrayMeta) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are chunks of an array, and their numbers in its grid."""
    if not array.grid:
        return np.array([0]), np.array([0])
    if array.chunk_count >= _CHUNKS:
        raise RefexplorerError(
            f"{array.path_text(True)} has {array.chunk_count:,} chunks, too many to be written "
            "in order."
        )
    positions, indices = chunk_indices(array, block.keys, rows)
    outside = np.flatnonzero(~array.inside(indices))
    if len(outside):
        raise _no_place(block.key_at(int(rows[positions[outside[0]]])))
    numbers = np.zeros(len(indices), np.int64)
    for column, size in zip(indices.T, array.grid, strict=True):  # numpy's own takes 64 at most
        numbers = numbers * size + column
    return positions, numbers


def _no_place(key: str) -> RefexplorerError:
    return RefexplorerError(
        f"`{key}` is neither metadata nor a chunk of an array, and this format can store nothing "
        "else."
    )
