"""Verifying one part: a pure function of the part, the targets and what may be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refexplorer.checks.compare.files import FileComparison
from refexplorer.checks.compare.inline import InlineValues
from refexplorer.checks.compare.messages import FORM as GRIB
from refexplorer.checks.compare.messages import MessageComparison
from refexplorer.checks.compare.placing import FileReferences
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.look.chunks import compare_values
from refexplorer.checks.look.targets import ask, past_end, versions_asked
from refexplorer.checks.parts import Part, coded
from refexplorer.checks.records import (
    DIFFERS,
    FAILED,
    FORBIDDEN,
    HELD,
    SAME,
    STATES,
    UNCOMPARED,
    WHOLE,
    FileDifference,
    Record,
    numbers_bytes,
    table,
)
from refexplorer.checks.results import TargetVersion, as_metadata, difference
from refexplorer.checks.states import CHUNK_TERMS, FileState, LedgerState, Rank
from refexplorer.checks.terms import ReadTerms
from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.core.text import counted
from refexplorer.formats.columns.references import RANGE
from refexplorer.formats.datafiles.data_file import SizedDataFile, Unread
from refexplorer.io.access import protocol_of
from refexplorer.io.fetch.background import Stopped, wait_for
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.opening import open_native
from refexplorer.spec.codes import CODES, Severity

RAW = "The file is one chunk of plain values, and has no metadata to compare."
_COUNTED = {Rank.GOOD: SAME, Rank.UNKNOWN: UNCOMPARED, Rank.BAD: DIFFERS}
_OF_STATE = np.array(
    [
        STATES.index(FAILED if state is LedgerState.UNDECODABLE else _COUNTED.get(term.rank, SAME))
        for state, term in CHUNK_TERMS.items()
    ]
)
"""How a reference in a state of the ledger is counted."""
_FILE_STATES = {
    "damaged": FileState.DAMAGED,
    "format": FileState.FORMAT_UNKNOWN,
    "library": FileState.LIBRARY_MISSING,
    "cost": FileState.TOO_COSTLY,
    "expression": FileState.FORMAT_UNKNOWN,
}
"""By why a file is not read."""
_CHUNK_STATES = {
    FileState.DAMAGED: LedgerState.DAMAGED_FILE,
    FileState.UNREACHABLE: LedgerState.UNREACHABLE,
    FileState.NOT_ALLOWED: LedgerState.NOT_ALLOWED,
    FileState.FORMAT_UNKNOWN: LedgerState.UNREAD_FILE,
    FileState.LIBRARY_MISSING: LedgerState.UNREAD_FILE,
    FileState.TOO_COSTLY: LedgerState.UNREAD_FILE,
}
"""Of the chunks of a file that is in such a state."""
_RECORD_STATES = {
    FileState.DAMAGED: FAILED,
    FileState.UNREACHABLE: FAILED,
    FileState.NOT_ALLOWED: FORBIDDEN,
}


@dataclass(frozen=True)
class Verifier:
    """What verifying a part needs besides the part."""

    reading: ReadTerms  # What may be read, and how
    arrays: Mapping[str, SetArray]  # All arrays of the set, by path
    held: InlineValues  # The values that the set holds itself
    bare: frozenset[str] = frozenset()  # The arrays that have no reference at all
    remake: bool = False  # Say of what is wrong how it should be
    keeps: bool = False  # Whether results are kept, with the versions that their targets had

    def verify(self, part: Part, keep_on: Callable[[], bool] = lambda: True) -> pa.Table:
        """Compare the references of a part with the files that they lead to."""
        targets = self.reading.targets()
        rows = _PartRows(part.rows)
        numbers = rows.columns["number"]
        # before they are read, so that a file that changes meanwhile has another version later
        urls = [url for url in rows.urls if url is not None] if self.keeps else []
        versions = versions_asked(targets, urls, keep_on)
        bounds = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])).tolist()
        records: list[Record] = []
        for start, stop in zip(bounds, [*bounds[1:], len(numbers)], strict=True):
            if not keep_on():
                raise Stopped
            found = list(self._of_target(targets, _OfTarget(rows, start, stop)))
            self._note_version(targets, found)
            records += found
        return table(records).replace_schema_metadata(as_metadata(versions))

    def versions(
        self, urls: Sequence[str], keep_on: Callable[[], bool]
    ) -> dict[str, TargetVersion | None]:
        """Ask for the versions that targets have now."""
        return versions_asked(self.reading.targets(), urls, keep_on)

    def _note_version(self, targets: Targets, records: Sequence[Record]) -> None:
        """Compare what the store says of a target with what was recorded of it."""
        read = [each for each in records if each.state not in (FAILED, FORBIDDEN)]
        url = read[0].target if read else None
        versions = self.reading.recorded.get(url or "")
        if url is None or not versions:
            return
        answer = wait_for(ask(targets, url))
        same, said = None, None
        if answer.facts is not None:
            same, said = difference(versions, answer.facts, protocol_of(url) == "gs")
        for each in read:
            if same is None:
                each.unchecked.append("the versions that Icechunk recorded")
            elif said is not None and each.references and each.array is not None:
                what = f"{url.rpartition('/')[2]}: {said.partition(': ')[2].rstrip('.')}"
                # of several versions of one file it is not known which references have which
                count = each.references if len(versions) == 1 else 0
                each.findings.append(FileDifference("changed", message=what, count=count))
                each.state = DIFFERS

    def _of_target(self, targets: Targets, rows: _OfTarget) -> Iterator[Record]:
        number, url = rows.number, rows.url
        if number < 0:
            yield from _uncompared(rows, HELD, None, LedgerState.HELD)
        elif url is None:
            text = "The references name no target: pass it when you open the set."
            yield from _unread(rows, FileState.UNREACHABLE, text)
        else:
            try:
                file = open_native(targets, url)
            except Exception as error:  # the libraries of the formats raise what they like
                is_raw = isinstance(error, Unread) and error.why == "format"
                if is_raw and self._is_one_chunk(targets, rows):
                    yield from _uncompared(rows, UNCOMPARED, RAW, LedgerState.PLACED)
                else:
                    found = list(_unopened(rows, error))
                    if is_raw:
                        self._note_past_end(targets, rows, found)
                    yield from found
                return
            try:
                yield from self._of_file(targets, file, rows, Record(number, url, None))
            except Exception as error:
                yield from _unopened(rows, error)
            finally:
                file.close()

    def _is_one_chunk(self, targets: Targets, rows: _OfTarget) -> bool:
        """Say whether a file is as long as the one chunk, without codecs, that it is used for."""
        ((path, places), *others) = rows.arrays
        if others or path is None or len(places) != 1:
            return False
        answer = wait_for(ask(targets, rows.url))
        size = None if answer.facts is None else answer.facts.size
        found = rows.references(places)
        whole = int(found.lengths[0]) in (WHOLE, size) and int(found.offsets[0]) == 0
        return whole and size is not None and size == self.arrays[path].meta.encoded_size

    def _note_past_end(self, targets: Targets, rows: _OfTarget, found: list[Record]) -> None:
        """Note the ranges beyond the end of a file, whatever its format is."""
        facts = wait_for(ask(targets, rows.url)).facts
        if facts is None or facts.size is None:
            return
        for record, (path, places) in zip(found, rows.arrays, strict=True):
            ranges = rows.references(places)
            array = None if path is None else self.arrays.get(path)
            whole = (None if array is None else array.meta.encoded_size) or 0
            lengths = np.where(ranges.lengths == WHOLE, whole, ranges.lengths)
            past = past_end(ranges.offsets, lengths, facts.size)
            if not past.any():
                continue
            record.failed = int(past.sum())
            record.uncompared = len(places) - record.failed
            record.state = FAILED
            record.message = (
                f"{counted(record.failed, 'chunk')} {'reaches' if record.failed == 1 else 'reach'} "
                f"past the end of the file, which has {facts.size:,} bytes."
            )
            if path is not None and array is not None:
                record.findings.append(
                    _past_end_difference(array, ranges.numbers[past], facts.size)
                )
                states = np.where(past, LedgerState.PAST_END, LedgerState.UNREAD_FILE)
                record.states = states[ranges.numbers >= 0].astype(np.uint8).tobytes()

    def _of_file(
        self, targets: Targets, file: SizedDataFile, rows: _OfTarget, base: Record
    ) -> list[Record]:
        """Return the rows of a file that is open; all or none."""
        of_array = {path: places for path, places in rows.arrays if path is not None}
        references = {path: rows.references(places) for path, places in of_array.items()}
        comparison: FileComparison | MessageComparison
        given = file, self.arrays, self.held, base, references, self.remake
        comparison = (
            MessageComparison(*given) if file.form == GRIB else FileComparison(*given, self.bare)
        )
        chosen = rows.column("chosen")
        found = []
        for record, states in comparison.compare():
            assert record.array is not None
            places = of_array.get(record.array)
            if record.native is None or not len(states):
                places = None  # the second row of an array that the set also holds
            if places is not None and chosen[places].any():
                compare_values(
                    comparison, file, targets, self.arrays[record.array], self.reading.limits,
                    rows.taken(places[chosen[places]]), record,
                    states, np.flatnonzero(chosen[places]),
                )  # fmt: skip
            if places is not None:
                ranges = references[record.array]
                is_past = past_end(ranges.offsets, np.maximum(ranges.lengths, 0), file.size)
                states[is_past] = LedgerState.PAST_END
                if is_past.any():
                    found_past = ranges.numbers[is_past]
                    ours = self.arrays[record.array]
                    record.findings.append(_past_end_difference(ours, found_past, file.size))
            _count(record, states)
            if len(states):
                numbers = references[record.array].numbers
                record.chunks = numbers_bytes(numbers[numbers >= 0])
                record.states = states[numbers >= 0].tobytes()
            found.append(record)
        if found:
            found[0].objects = comparison.objects(found).text()
        text = "These keys are chunks of no array."
        others = _uncompared(rows, UNCOMPARED, text, LedgerState.UNTOUCHED)
        found += (each for each in others if each.array is None)
        return found


class _PartRows:
    """The references of a part, as numpy has them: there are few of most targets."""

    def __init__(self, rows: pa.Table) -> None:
        names = ("number", "chunk", "kind", "offset", "length", "chosen")
        self.table = rows
        self.columns: dict[str, np.ndarray] = {name: rows[name].to_numpy() for name in names}
        self.paths, self.of_array = coded(rows["array"])
        self.urls, self.of_url = coded(rows["target"])


class _OfTarget:
    """The references of one target, which are rows of a part."""

    def __init__(self, rows: _PartRows, start: int, stop: int) -> None:
        self._rows, self._place = rows, slice(start, stop)
        self.number = int(rows.columns["number"][start])
        self.url = rows.urls[rows.of_url[start]]
        codes = rows.of_array[start:stop]
        self.arrays = [
            (rows.paths[code], np.flatnonzero(codes == code)) for code in np.unique(codes)
        ]

    def column(self, name: str) -> np.ndarray:
        """Return a column of numbers."""
        return self._rows.columns[name][self._place]

    def references(self, places: np.ndarray) -> FileReferences:
        """Return some references as columns."""
        whole = self.column("kind")[places] != RANGE
        return FileReferences(
            self.column("chunk")[places],
            np.where(whole, 0, self.column("offset")[places]),
            np.where(whole, WHOLE, self.column("length")[places]),
        )

    def taken(self, places: np.ndarray) -> pa.Table:
        """Return some rows as `Part.rows` has them."""
        return self._rows.table.take(pa.array(places + self._place.start))


def _past_end_difference(ours: SetArray, numbers: np.ndarray, size: int) -> FileDifference:
    """Return that ranges reach past the end of a file."""
    text = f"which has {size:,} bytes"
    return FileDifference.of_chunks("range-past-end", ours.meta, numbers, text)


def _count(record: Record, states: np.ndarray) -> None:
    """Count the states of references, and take the worst for the row."""
    counts = np.bincount(_OF_STATE[states], minlength=len(STATES)).tolist()
    record.same, record.differs, record.uncompared, record.failed = counts
    if any(CODES[each.cause].severity is Severity.ERROR for each in record.findings):
        record.state = DIFFERS
    elif record.failed:
        record.state = FAILED
    elif record.uncompared or record.state == UNCOMPARED:
        record.state = UNCOMPARED


def _unopened(rows: _OfTarget, error: Exception) -> Iterator[Record]:
    """Yield rows for a file that could not be read."""
    if isinstance(error, Stopped):
        raise error
    if isinstance(error, Unread):
        yield from _unread(rows, _FILE_STATES[error.why], str(error))
    elif isinstance(error, AccessError):
        yield from _unread(rows, FileState.NOT_ALLOWED, str(error), error.grant)
    elif isinstance(error, RefexplorerError):
        yield from _unread(rows, FileState.UNREACHABLE, str(error))
    else:
        text = f"The file could not be compared: {type(error).__name__}: {str(error).rstrip('.')}."
        yield from _unread(rows, FileState.DAMAGED, text)


def _unread(
    rows: _OfTarget, state: FileState, message: str, grant: str | None = None
) -> Iterator[Record]:
    word = _RECORD_STATES.get(state, UNCOMPARED)
    for each in _uncompared(rows, word, message, _CHUNK_STATES[state], grant):
        each.file = state
        yield each


def _uncompared(
    rows: _OfTarget,
    state: str,
    message: str | None,
    chunk_state: LedgerState,
    grant: str | None = None,
) -> Iterator[Record]:
    for path, places in rows.arrays:
        found = Record(rows.number, rows.url, path, state=state, message=message, grant=grant)
        found.references = len(places)
        if state == FAILED:
            found.failed = len(places)
        elif state in (UNCOMPARED, FORBIDDEN):
            found.uncompared = len(places)
        if path is not None:
            chunks = rows.column("chunk")[places]
            chunks = chunks[chunks >= 0]
            found.chunks = numbers_bytes(chunks)
            found.states = bytes([chunk_state]) * len(chunks)
        yield found
