"""Record files of a parquet store that are missing or cannot be read, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

from refexplorer.formats.parquet.footer import BadRecords
from refexplorer.formats.parquet.store import ParquetStore
from refexplorer.markup import counted, escape
from refexplorer.masking import masks_repr
from refexplorer.spec.zarr_metadata import ArrayMeta

KEPT_FILES = 1000
MISSING, UNREADABLE = "missing", "unreadable"
_CHARS = 200


@masks_repr
@dataclass(frozen=True, slots=True)
class LostFile:
    """A record file that gives no references."""

    file: str  # Its path inside the store
    array: str  # The array whose references it has
    # ``"missing"`` or ``"unreadable"``; a file is also missing where a writer had no reference to
    # put into it
    state: str
    # first, chunks: The number of the first chunk in the grid, C order, and how many chunks it is
    # for; readers take them as the fill value
    first: int
    chunks: int
    message: str = ""  # Why it cannot be read; empty for one that is missing

    @property
    def why(self) -> str:
        """Why there are no references, in a sentence."""
        return self.message or f"The record file `{self.file}` is missing."

    @property
    def places(self) -> str:
        """Which chunks it is for."""
        last = self.first + self.chunks - 1
        numbers = f"{self.first:,} to {last:,}" if self.chunks > 1 else f"{self.first:,}"
        return f"{counted(self.chunks, 'chunk')} of {self.array or 'the root array'} ({numbers})"

    def __str__(self) -> str:
        why, places = escape(self.why, 2 * _CHARS), escape(self.places, _CHARS)
        return f"{why.removesuffix('.')}: {places} read as the fill value."


@dataclass
class LostFiles:
    """Counts them; the first ones are kept."""

    files: list[LostFile] = field(default_factory=list)  # At most `KEPT_FILES`, by array
    # missing, unreadable: How many there are
    missing: int = 0
    unreadable: int = 0
    chunks: int = 0  # How many chunks all of them are for

    def note_missing(self, store: ParquetStore, array: ArrayMeta) -> None:
        """Note the record files of an array that are not there."""
        numbers = store.record_numbers(array)
        self.missing += store.record_count(array) - len(numbers)
        self.chunks += array.chunk_count - sum(_rows(store, array, n) for n in numbers)
        for number in islice(_gaps(numbers, store.record_count(array)), self._room):
            self.files.append(_lost(store, array, number, MISSING))

    def note_unreadable(
        self, store: ParquetStore, array: ArrayMeta, number: int, bad: BadRecords
    ) -> None:
        """Note a record file that cannot be used."""
        self.unreadable += 1
        self.chunks += _rows(store, array, number)
        if self._room:
            self.files.append(_lost(store, array, number, UNREADABLE, str(bad)))

    @property
    def count(self) -> int:
        """How many record files give no references."""
        return self.missing + self.unreadable

    def sentences(self) -> Iterator[str]:
        """Yield the counts as a sentence, if there is anything to say."""
        if self.count:
            files = counted(self.count, "record file")
            chunks = counted(self.chunks, "chunk")
            yield (
                f"{files} without references, {self.missing:,} missing and {self.unreadable:,} "
                f"unreadable: {chunks} read as the fill value."
            )

    @property
    def _room(self) -> int:
        return KEPT_FILES - len(self.files)


def _gaps(numbers: list[int], end: int) -> Iterator[int]:
    """Yield the numbers from 0 to an end that are not among some, ascending."""
    for before, after in pairwise([-1, *numbers, end]):
        yield from range(before + 1, after)


def _rows(store: ParquetStore, array: ArrayMeta, number: int) -> int:
    """Return for how many chunks a record file is."""
    return min(store.record_size, array.chunk_count - number * store.record_size)


def _lost(
    store: ParquetStore, array: ArrayMeta, number: int, state: str, message: str = ""
) -> LostFile:
    name, first = store.record_file(array, number), number * store.record_size
    return LostFile(name, array.path, state, first, _rows(store, array, number), message)
