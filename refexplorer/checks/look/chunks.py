"""Decode chunks of a part: compute checksums of their values, or compare them with a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.checks.compare.inline import compared, marked
from refexplorer.checks.compare.metadata import said as text_of
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.records import NAMED_KEYS, FileDifference, Record
from refexplorer.checks.states import CHUNK_TERMS, FileState, LedgerState, Rank
from refexplorer.core.errors import AccessError, DecodeError, LimitError, RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.references import BASE64, INLINE, URL
from refexplorer.formats.datafiles.data_file import DataFile, FileArray, Unread
from refexplorer.io.decode.codecs import missing_codec
from refexplorer.io.decode.steps import Step, error_text, steps
from refexplorer.io.decode.steps import decoded as decoded_values
from refexplorer.io.fetch.background import Stopped
from refexplorer.io.fetch.failures import ChangedError, ShortFileError, is_denied
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Base64, Inline, Range, Reference, Url
from refexplorer.spec.zarr_metadata import ArrayMeta

if TYPE_CHECKING:
    from refexplorer.checks.compare.files import FileComparison
    from refexplorer.checks.compare.messages import MessageComparison

BATCH_BYTES = 2**26
"""Encoded bytes in memory at a time; a whole file, of unknown size, is read alone."""
BATCH_CHUNKS = 256  # so that small chunks are reported and stopped in time, too
_STEPS = 256  # arrays, or chunks of varying lengths, whose steps are kept
# 128 bits, so that no two of millions of chunks meet by chance
_DIGEST = 16


class DecodedChunk(NamedTuple):
    """The result of decoding a chunk."""

    state: LedgerState
    size: int | None = None  # Of its values in bytes; None if there are none
    checksum: str | None = None  # BLAKE2b with 16 bytes of its values in C order, hexadecimal
    message: str | None = None  # Why there are none, in a sentence


def decoded(
    rows: pa.Table,
    arrays: dict[str, ArrayMeta],
    targets: Targets,
    limits: Limits,
    keep_on: Callable[[], bool],
) -> Iterator[DecodedChunk]:
    """Yield decoded chunks, in order."""
    steps_of = lru_cache(_STEPS)(lambda path, at: steps(arrays[path].chunk_array(at), limits))
    most = min(BATCH_BYTES, limits.fetch_bytes)
    for batch in _batches(map(_chunk, rows.to_pylist()), most):
        found = _fetched(targets, {chunk.key: chunk.reference for chunk in batch}, keep_on)
        for chunk in batch:
            if not keep_on():
                raise Stopped
            data = found.pop(chunk.key)
            if isinstance(data, bytes):
                array = arrays[chunk.path]
                index = array.varying and array.chunk_index(chunk.key)
                yield _of_bytes(data, array, partial(steps_of, chunk.path, index))
            else:
                yield DecodedChunk(_state(data), message=str(data))


def checksum(values: np.ndarray) -> str:
    """Return a checksum of values, independent of their memory layout."""
    digest = blake2b(digest_size=_DIGEST)
    if values.dtype.hasobject:
        for value in values.ravel().tolist():
            text = repr(value).encode("utf-8", "backslashreplace")
            digest.update(len(text).to_bytes(8, "little") + text)
    else:
        digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _of_bytes(data: bytes, array: ArrayMeta, steps_of: Callable[[], list[Step]]) -> DecodedChunk:
    values: object = data
    label = ""
    try:
        for step in steps_of():
            label = f"{step.stage.label}: "
            values = step.run(values)
    except Exception as error:  # a codec raises what it likes
        if (reason := missing_codec(array)) is not None:
            return DecodedChunk(LedgerState.NO_CODEC, message=reason)
        return DecodedChunk(LedgerState.UNDECODABLE, message=f"{label}{error_text(error)}")
    assert isinstance(values, np.ndarray)
    return DecodedChunk(LedgerState.DECODED, values.nbytes, checksum(values))


class _Chunk(NamedTuple):
    """A chunk to decode, and its encoded size; None for a whole file of unknown size."""

    key: str
    path: str
    reference: Reference
    size: int | None


def _chunk(row: dict[str, Any]) -> _Chunk:
    size = None if row["kind"] == URL else row["length"]
    return _Chunk(row["key"], row["array"], _reference(row), size)


def _reference(row: dict[str, Any]) -> Reference:
    kind = row["kind"]
    if kind in (INLINE, BASE64):
        return (Inline if kind == INLINE else Base64)(row["text"])
    if kind == URL:
        return Url(row["target"])
    return Range(row["target"], row["offset"], row["length"])


def _batches(chunks: Iterable[_Chunk], most: int) -> Iterator[list[_Chunk]]:
    batch: list[_Chunk] = []
    held = 0
    for chunk in chunks:
        size = most if chunk.size is None else chunk.size
        if batch and (held + size > most or len(batch) == BATCH_CHUNKS):
            yield batch
            batch, held = [], 0
        batch.append(chunk)
        held += size
    if batch:
        yield batch


def _state(error: RefexplorerError) -> LedgerState:
    """Return the state of a chunk without bytes, whose target existed when checked."""
    if isinstance(error, AccessError):
        return LedgerState.NOT_ALLOWED
    if is_denied(error) or isinstance(error, LimitError):
        return LedgerState.UNREAD_FILE
    is_of_set = isinstance(error, DecodeError | ShortFileError)
    return LedgerState.UNDECODABLE if is_of_set else LedgerState.UNREACHABLE


def _fetched(
    targets: Targets, references: dict[str, Reference], keep_on: Callable[[], bool] = lambda: True
) -> dict[str, bytes | RefexplorerError]:
    try:
        found = fetch_many(targets, references, lambda progress: keep_on())
    except LimitError as error:  # of a single file that is larger than it may be
        return dict.fromkeys(references, error)
    if len(found) < len(references):
        raise Stopped
    return found


FETCHED_CHUNKS = 64  # Chunks that are fetched together


def compare_values(
    comparison: FileComparison | MessageComparison,
    file: DataFile,
    targets: Targets,
    ours: SetArray,
    limits: Limits,
    rows: pa.Table,
    record: Record,
    states: np.ndarray,
    places: np.ndarray,
) -> Iterator[tuple[int, bool]]:
    """Compare the values of the given chunks; yield the places of those that decode.

    The second item says whether the values were compared.
    """
    if (reason := missing_codec(ours.meta)) is not None:
        record.unchecked.append(f"values ({reason.rstrip('.')})")
        states[places] = np.maximum(states[places], LedgerState.NO_CODEC)
        return
    work = _ValueTally(ours, record)
    for start in range(0, rows.num_rows, FETCHED_CHUNKS):
        some = rows.slice(start, FETCHED_CHUNKS).to_pylist()
        fetched = _fetched(targets, {row["key"]: _reference(row) for row in some})
        for at, row in enumerate(some):
            place = int(places[start + at])
            data = fetched[row["key"]]
            if not isinstance(data, bytes):
                states[place] = work.lose(row["key"], data, LedgerState(int(states[place])))
                continue
            try:
                chunk = ours.meta.chunk_array(ours.meta.index_at(row["chunk"]))
                values = decoded_values(chunk, data, limits)
            except Exception as error:  # codecs raise what they like
                work.fail(row["key"], error_text(error), "unreadable")
                states[place] = max(states[place], LedgerState.UNDECODABLE)
                continue
            where = comparison.region(ours.meta.path, row["chunk"])
            if where is None:
                yield place, False
                record.unchecked.append("values of chunks at unknown positions in the file")
                continue
            native, region = where
            inside = tuple(slice(0, part.stop - part.start) for part in region)
            extra = (0,) * (values.ndim - len(inside))
            try:
                filed = np.asarray(file.values(native.name, region))
                differs = work.add(row["key"], values[extra + inside], native, filed)
                found = LedgerState.WRONG_VALUES if differs else LedgerState.EQUAL
                states[place] = max(states[place], found)
                yield place, True
            except Unread as reason:
                yield place, False
                record.unchecked.append(f"values ({str(reason).rstrip('.')})")
    work.finish()


class _ValueTally:
    """The results of comparing the values of one array and file."""

    def __init__(self, ours: SetArray, record: Record) -> None:
        self._ours, self._record = ours, record
        self._bad: list[str] = []
        self._failed: dict[str, tuple[str, list[str]]] = {}  # The first reason and keys, by cause
        self._is_refused = False  # Whether the reason why bytes were not read is recorded
        self._masked = 0
        self._masked_keys: list[str] = []
        self._lost = self._gained = 0

    def fail(self, key: str, reason: str, cause: str) -> None:
        """Record a chunk without values."""
        self._failed.setdefault(cause, (reason, []))[1].append(key)

    def lose(self, key: str, error: RefexplorerError, known: LedgerState) -> LedgerState:
        """Record a chunk without bytes; return its state, which was known without them."""
        state, reason = _state(error), error_text(error)
        if CHUNK_TERMS[state].rank is Rank.UNKNOWN:  # not a fault of the set or the file
            if not self._is_refused:
                self._record.unchecked.append(f"values ({reason.rstrip('.')})")
            self._is_refused = True
            return known if CHUNK_TERMS[known].rank is Rank.BAD else state
        cause = "unreadable" if state is LedgerState.UNDECODABLE else "unreachable"
        if isinstance(error, ChangedError):
            cause, self._record.file = "changed", FileState.CHANGED
        self.fail(key, reason, cause)
        return max(known, state)

    def add(self, key: str, mine: np.ndarray, native: FileArray, filed: np.ndarray) -> bool:
        """Add the values of a chunk; return whether they differ."""
        found = compared(self._ours, mine, native, filed, marked(self._ours, native))
        record = self._record
        record.values += found.differs.size
        self._note_masked(key, mine, native)
        if not found.differs.any():
            return False
        self._bad.append(key)
        if found.ours.dtype.kind == "f":
            self._lost += int(np.count_nonzero(np.isnan(found.ours) & ~np.isnan(found.theirs)))
            self._gained += int(np.count_nonzero(~np.isnan(found.ours) & np.isnan(found.theirs)))
            away = np.abs(found.ours - found.theirs)
            if not np.isnan(away).all():
                most = float(np.nanmax(away))
                if record.largest is None or most > record.largest:
                    record.largest, record.largest_at = most, key
        return True

    def _note_masked(self, key: str, mine: np.ndarray, native: FileArray) -> None:
        """Count values that xarray masks as Zarr v2's fill value, without a marker in the file."""
        ours = self._ours
        fill = ours.missing
        is_number = isinstance(fill, int | float) and mine.dtype.kind in "iuf"
        if not is_number or fill != fill or marked(ours, native) is not None:
            return
        if masked := int(np.count_nonzero(mine == fill)):
            self._masked += masked
            self._masked_keys.append(key)

    def finish(self) -> None:
        """Enter the results into the record."""
        record = self._record
        record.false_nan += self._lost + self._masked
        masked = f"equal to {text_of(self._ours.missing)}"
        differ: dict[str, Any] = {
            "largest": record.largest, "largest_at": record.largest_at,
            "lost": self._lost, "gained": self._gained,
        }  # fmt: skip
        record.findings += [
            FileDifference(cause, None, None, message, len(keys), keys[:NAMED_KEYS], **numbers)
            for cause, message, keys, numbers in (
                ("values", None, self._bad, differ),
                ("masked", masked, self._masked_keys, {"lost": self._masked}),
                *((cause, *lost, {}) for cause, lost in self._failed.items()),
            )
            if keys
        ]
