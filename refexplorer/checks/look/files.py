"""Checking files: the set compared with the metadata of each, and with its values."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.compare.files import FileComparison
from refexplorer.checks.compare.inline import INLINE_ELEMENTS, InlineValues
from refexplorer.checks.compare.messages import FORM as GRIB
from refexplorer.checks.compare.messages import MessageComparison
from refexplorer.checks.compare.placing import FileReferences
from refexplorer.checks.compare.set_array import SetArray, set_arrays
from refexplorer.checks.engine import CheckRun
from refexplorer.checks.gathering import ReportBuilder
from refexplorer.checks.ledger import DEPTHS, Counts
from refexplorer.checks.look.chunks import compare_values
from refexplorer.checks.look.targets import ask, past_end, versions_asked
from refexplorer.checks.parts import DECODING_COST, Doing, Part, coded
from refexplorer.checks.records import (
    BY_LENGTH,
    DIFFERS,
    FAILED,
    FORBIDDEN,
    HELD,
    NAMED_FILES,
    SAME,
    STATES,
    UNCOMPARED,
    WHOLE,
    FileDifference,
    Record,
    numbers_bytes,
    table,
)
from refexplorer.checks.references import AuditedBlock
from refexplorer.checks.results import ResultStore, as_metadata
from refexplorer.checks.sorting import PlanSizes, wanted_of
from refexplorer.checks.states import CHUNK_TERMS, FileState, LedgerState, Rank
from refexplorer.checks.terms import RECORDED_UNREAD, CheckTerms, ReadTerms
from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.core.text import counted, file_text
from refexplorer.formats.columns.references import RANGE
from refexplorer.formats.datafiles.data_file import SizedDataFile, Unread
from refexplorer.formats.icechunk.history import Recorded
from refexplorer.io.access import protocol_of
from refexplorer.io.fetch.background import Stopped, wait_for
from refexplorer.io.fetch.changes import difference, seconds_of
from refexplorer.io.fetch.failures import is_denied
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.opening import installed_packages, open_native
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding
from refexplorer.spec.zarr_metadata import ArrayMeta

FILE_COST = 10 * DECODING_COST
"""The cost of reading the metadata of a file, in references: a part has about a hundred files."""
VERIFY_SIZES = PlanSizes(
    asking_cost=FILE_COST, sorted_rows=2**17, batch_rows=2**10, interval_batches=2**6
)  # Reading files takes far longer than sorting, so a seventh of the rows of an audit is enough
LENT_CHUNKS = 16
"""A variable of more chunks than this is not read from the file that the set refers to."""
LENT_ELEMENTS = 2**17
"""Nor is one of more elements, unless it is a dimension coordinate: it is read from each file."""
# another number here makes results of older versions start again, since they hold other columns
_NATIVE = (
    "Icechunk stores these chunks in the repository itself, so there is no source file to compare "
    "them with."
)
_FORM = 9


_COUNTED = {Rank.GOOD: SAME, Rank.UNKNOWN: UNCOMPARED, Rank.BAD: DIFFERS}
_OF_STATE = np.array(
    [
        STATES.index(FAILED if state is LedgerState.UNDECODABLE else _COUNTED.get(term.rank, SAME))
        for state, term in CHUNK_TERMS.items()
    ]
)  # How a reference in a state of the ledger is counted
_FILE_STATES = {
    "damaged": FileState.DAMAGED,
    "format": FileState.FORMAT_UNKNOWN,
    "library": FileState.LIBRARY_MISSING,
    "cost": FileState.TOO_COSTLY,
    "expression": FileState.FORMAT_UNKNOWN,
}  # By why a file is not read
_CHUNK_STATES = {
    FileState.DAMAGED: LedgerState.DAMAGED_FILE,
    FileState.UNREACHABLE: LedgerState.UNREACHABLE,
    FileState.NOT_ALLOWED: LedgerState.NOT_ALLOWED,
    FileState.DENIED: LedgerState.UNREAD_FILE,
    FileState.FORMAT_UNKNOWN: LedgerState.UNREAD_FILE,
    FileState.LIBRARY_MISSING: LedgerState.UNREAD_FILE,
    FileState.TOO_COSTLY: LedgerState.UNREAD_FILE,
}  # Of the chunks of a file that is in such a state
_RECORD_STATES = {
    FileState.DAMAGED: FAILED,
    FileState.UNREACHABLE: FAILED,
    FileState.NOT_ALLOWED: FORBIDDEN,
}


class FilesLook:
    """Compares the references to each file with its contents."""

    sizes = VERIFY_SIZES
    has_keys = True
    has_unlisted = False
    encoding: Mapping[str, Any] = MappingProxyType({"compression": "zstd"})

    def __init__(
        self,
        opened: OpenedSet,
        reading: ReadTerms,
        terms: CheckTerms,
        values: str = "none",
        remake: bool = False,
    ) -> None:
        if values not in ("none", "sample", "all"):
            raise RefexplorerError(f"values must be 'none', 'sample' or 'all', not {values!r}.")
        self.wanted = wanted_of(values)
        metas = [meta for path in opened.arrays.paths if (meta := opened.arrays.get(path))]
        self._ours = set_arrays(metas)
        self._arrays = {each.meta.path: each for each in self._ours}
        self._held = InlineValues(reading.limits)
        self._lent = SharedVariables(self._ours)
        self._joined = None if terms.share is None else _FilesOfArrays(metas)
        self._reading, self._values, self._remake = reading, values, remake
        self._bare: frozenset[str] = frozenset()  # The arrays that have no reference at all
        self._keeps = False  # Whether results are kept, with the versions that targets had

    def see(self, block: AuditedBlock) -> None:
        """Record inline values, and which files arrays are in."""
        self._held.take(block, self._ours)
        self._lent.look(block)
        if self._joined is not None:
            self._joined.look(block)

    def begin(self, opened: OpenedSet, store: ResultStore) -> Doing:
        """Return the function that compares a part with its files."""
        self._lent.read(opened, self._reading, self._held)
        how = (_FORM, self._values, self._remake)
        store.manner = _fingerprint(self._ours, self._held, how, self._reading.recorded)
        self._bare, self._keeps = self._lent.bare, store.keeps_versions
        return self.verify

    def gather(self, run: CheckRun) -> tuple[Sequence[Finding], Counts]:
        """Bring the results of all parts into the ledger."""
        builder = ReportBuilder(self._arrays, self._held, run.ledger, run.sorter.urls, run.base)
        for results in run.store.tables():
            builder.add(results)
        is_whole = self._joined is None or run.terms.share is None
        is_joined = None if is_whole or self._joined is None else self._joined.has
        found = builder.finish(run.is_complete, is_joined)
        if run.is_complete and is_joined is None:
            run.ledger.followed = builder.followed
        return (*self._rewritten(found, builder.away, run.base), *found), builder.counts

    def _rewritten(
        self, found: Sequence[Finding], away: Collection[str], base: str
    ) -> Iterator[Finding]:
        """Yield a finding on the files that were probably rewritten after the set was."""
        errors = [each for each in found if each.severity is Severity.ERROR]
        wrong = {url for each in errors for url in each.files}
        wrong -= {url for each in errors if each.code == "changed" for url in each.files}
        newer: dict[str, str] = {}
        for url in sorted(wrong)[:NAMED_FILES]:
            facts = wait_for(ask(self._reading.targets(), url)).facts
            when = seconds_of(facts.modified) if facts else None
            written = self._reading.written
            if when is not None and written is not None and when > written + 1:
                newer[url] = "modified after the set was written"
            elif url in away:
                newer[url] = "none of its chunks is where the references point"
        if newer:
            (first, why), *others = newer.items()
            more = f", and {counted(len(others), 'other file')}" if others else ""
            message = f"{file_text(first)} was probably rewritten ({why}){more}"
            yield Finding(
                "rewritten", CODES["rewritten"].severity, base, message,
                files=tuple(newer), file_count=len(newer),
            )  # fmt: skip

    def verify(self, part: Part, keep_on: Callable[[], bool] = lambda: True) -> pa.Table:
        """Compare the references of a part with the files they point to."""
        targets = self._reading.targets()
        rows = _PartRows(part.rows)
        numbers = rows.columns["number"]
        # before they are read, so that a file that changes meanwhile has another version later
        urls = [url for url in rows.urls if url is not None] if self._keeps else []
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

    def _note_version(self, targets: Targets, records: Sequence[Record]) -> None:
        """Compare a target's version in the store with the recorded one."""
        read = [each for each in records if each.state not in (FAILED, FORBIDDEN)]
        url = read[0].target if read else None
        if url is not None and self._reading.lacks_recorded(url):
            for each in read:
                each.unchecked.append(RECORDED_UNREAD)
        versions = self._reading.recorded.get(url or "")
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
                # if a file has several versions, it is unknown which references have which
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
                    yield from _uncompared(rows, UNCOMPARED, BY_LENGTH, LedgerState.INSIDE)
                else:
                    found = list(_unopened(rows, error))
                    if is_raw:
                        if self._reading.is_native(url):
                            for each in found:  # their bytes may look like those of a zstd file
                                each.message = _NATIVE
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
        """Return whether a file is exactly as long as the one uncompressed chunk it is used for."""
        ((path, places), *others) = rows.arrays
        if others or path is None or len(places) != 1:
            return False
        answer = wait_for(ask(targets, rows.url))
        size = None if answer.facts is None else answer.facts.size
        found = rows.references(places)
        whole = int(found.lengths[0]) in (WHOLE, size) and int(found.offsets[0]) == 0
        return whole and size is not None and size == self._arrays[path].meta.encoded_size

    def _note_past_end(self, targets: Targets, rows: _OfTarget, found: list[Record]) -> None:
        """Record ranges beyond the end of a file, whatever its format."""
        facts = wait_for(ask(targets, rows.url)).facts
        if facts is None or facts.size is None:
            return
        for record, (path, places) in zip(found, rows.arrays, strict=True):
            ranges = rows.references(places)
            array = None if path is None else self._arrays.get(path)
            whole = (None if array is None else array.meta.encoded_size) or 0
            lengths = np.where(ranges.lengths == WHOLE, whole, ranges.lengths)
            past = past_end(ranges.offsets, lengths, facts.size)
            if not past.any():
                continue
            record.failed = int(past.sum())
            record.uncompared = len(places) - record.failed
            record.state = FAILED
            reach = counted(record.failed, "chunk reaches", "chunks reach")
            ends = f"{reach} past the end of the file, which has {facts.size:,} bytes."
            record.message = f"{record.message} {ends}"
            if path is not None and array is not None:
                record.findings.append(
                    _past_end_difference(array, ranges.numbers[past], facts.size)
                )
                states = np.where(past, LedgerState.PAST_END, LedgerState.UNREAD_FILE)
                record.states = states[ranges.numbers >= 0].astype(np.uint8).tobytes()

    def _of_file(
        self, targets: Targets, file: SizedDataFile, rows: _OfTarget, base: Record
    ) -> list[Record]:
        """Return the rows of an open file; all or none."""
        of_array = {path: places for path, places in rows.arrays if path is not None}
        references = {path: rows.references(places) for path, places in of_array.items()}
        comparison: FileComparison | MessageComparison
        given = file, self._arrays, self._held, base, references, self._remake
        comparison = (
            MessageComparison(*given) if file.form == GRIB else FileComparison(*given, self._bare)
        )
        chosen = rows.column("chosen")
        found = []
        for record, states in comparison.compare():
            assert record.array is not None
            places = of_array.get(record.array)
            if record.native is None or not len(states):
                places = None  # the second row of an array that is also inline
            # placed, decoded, valued: What was checked, even if the state does not show it
            placed, decoded, valued = np.zeros((3, len(states)), np.bool_)
            if not any(each.cause == "chunk-shape" for each in record.findings):
                placed = np.isin(states, (LedgerState.PLACED, LedgerState.WRONG_METADATA))
            if places is not None and chosen[places].any():
                for place, is_compared in compare_values(
                    comparison, file, targets, self._arrays[record.array], self._reading.limits,
                    rows.taken(places[chosen[places]]), record,
                    states, np.flatnonzero(chosen[places]),
                ):  # fmt: skip
                    decoded[place], valued[place] = True, is_compared
            if places is not None:
                ranges = references[record.array]
                is_past = past_end(ranges.offsets, np.maximum(ranges.lengths, 0), file.size)
                states[is_past] = LedgerState.PAST_END
                placed &= ~is_past
                if is_past.any():
                    found_past = ranges.numbers[is_past]
                    ours = self._arrays[record.array]
                    record.findings.append(_past_end_difference(ours, found_past, file.size))
            _count(record, states)
            if len(states):
                numbers = references[record.array].numbers
                more = zip((placed, decoded, valued), (2, 3, 4), strict=True)
                record.seen = [
                    int(np.count_nonzero(each & (numbers >= 0) & (DEPTHS[states] < depth)))
                    for each, depth in more
                ]
                record.chunks = numbers_bytes(numbers[numbers >= 0])
                record.states = states[numbers >= 0].tobytes()
            found.append(record)
        if found:
            found[0].objects = comparison.objects(found).text()
        text = "These keys belong to no array."
        others = _uncompared(rows, UNCOMPARED, text, LedgerState.UNTOUCHED)
        found += (each for each in others if each.array is None)
        return found


class _PartRows:
    """The references of a part as numpy arrays; most targets have only a few references."""

    def __init__(self, rows: pa.Table) -> None:
        names = ("number", "chunk", "kind", "offset", "length", "chosen")
        self.table = rows
        self.columns: dict[str, np.ndarray] = {name: rows[name].to_numpy() for name in names}
        self.paths, self.of_array = coded(rows["array"])
        self.urls, self.of_url = coded(rows["target"])


class _OfTarget:
    """The references to one target, as rows of a part."""

    def __init__(self, rows: _PartRows, start: int, stop: int) -> None:
        self._rows, self._place = rows, slice(start, stop)
        self.number = int(rows.columns["number"][start])
        self.url = rows.urls[rows.of_url[start]]
        codes = rows.of_array[start:stop]
        self.arrays = [
            (rows.paths[code], np.flatnonzero(codes == code)) for code in np.unique(codes)
        ]

    def column(self, name: str) -> np.ndarray:
        """Return a numeric column."""
        return self._rows.columns[name][self._place]

    def references(self, places: np.ndarray) -> FileReferences:
        """Return the given references as columns."""
        whole = self.column("kind")[places] != RANGE
        return FileReferences(
            self.column("chunk")[places],
            np.where(whole, 0, self.column("offset")[places]),
            np.where(whole, WHOLE, self.column("length")[places]),
        )

    def taken(self, places: np.ndarray) -> pa.Table:
        """Return the given rows, in the format of `Part.rows`."""
        return self._rows.table.take(pa.array(places + self._place.start))


def _past_end_difference(ours: SetArray, numbers: np.ndarray, size: int) -> FileDifference:
    """Return a difference for ranges past the end of a file."""
    text = f"which has {size:,} bytes"
    return FileDifference.of_chunks("range-past-end", ours.meta, numbers, text)


def _count(record: Record, states: np.ndarray) -> None:
    """Count the states of references; the row gets the worst."""
    counts = np.bincount(_OF_STATE[states], minlength=len(STATES)).tolist()
    record.same, record.differs, record.uncompared, record.failed = counts
    causes = {each.cause for each in record.findings}
    errors = {cause for cause in causes if CODES[cause].severity is Severity.ERROR}
    if errors - {"unreachable"}:
        record.state = DIFFERS
    elif errors or record.failed:
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
    elif is_denied(error):
        yield from _unread(rows, FileState.DENIED, str(error))
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


class SharedVariables:
    """Variables that the set takes from one file and that should be the same in all others."""

    def __init__(self, arrays: list[SetArray]) -> None:
        self._arrays = arrays
        self._counts = np.zeros(len(arrays) + 1, np.int64)
        self._files: set[str | None] = set()  # Two at most

    def look(self, block: AuditedBlock) -> None:
        """Count the references of each array."""
        self._counts += np.bincount(block.arrays + 1, minlength=len(self._counts))[
            : len(self._counts)
        ]
        if len(self._files) < 2:
            columns = block.table.columns
            numbers = np.unique(columns.targets[columns.targets >= 0])
            self._files |= set(columns.urls.at(numbers[:2]))

    @property
    def bare(self) -> frozenset[str]:
        """The arrays without references."""
        counts = self._counts[1:].tolist()
        pairs = zip(self._arrays, counts, strict=True)
        return frozenset(ours.meta.path for ours, count in pairs if not count)

    def read(self, opened: OpenedSet, reading: ReadTerms, held: InlineValues) -> None:
        """Read them through the set, if they are small."""
        if len(self._files) < 2:
            return
        targets = reading.targets()
        for place, ours in enumerate(self._arrays):
            meta, count = ours.meta, int(self._counts[place + 1])
            if meta.path in held.arrays or not 0 < count == meta.chunk_count <= LENT_CHUNKS:
                continue
            if prod(meta.shape) > (INLINE_ELEMENTS if meta.is_dimension else LENT_ELEMENTS):
                continue
            found = {key: opened.lookup(key) for key in map(meta.key_at, range(count))}
            references = {key: each[1] for key, each in found.items() if each is not None}
            if len({getattr(each, "url", None) for each in references.values()}) != 1:
                continue  # each file has its part of it
            with suppress(RefexplorerError):  # more bytes than one read may have
                chunks = fetch_many(targets, references)
                data = [
                    each for each in map(chunks.__getitem__, references) if isinstance(each, bytes)
                ]
                if len(data) < count:
                    continue  # its file is reported
                for number, chunk in enumerate(data):
                    held.put(ours, number, chunk, is_lent=True)
                held.reasons.pop(meta.path, None)
                if held.broken.pop(meta.path, None):  # reported where the file is read
                    held.arrays.pop(meta.path, None)


class _FilesOfArrays:
    """Which arrays have chunks in several files, of which a share is compared."""

    def __init__(self, arrays: list[ArrayMeta]) -> None:
        self._arrays = arrays
        self._files: dict[str, set[str | None]] = {}

    def has(self, path: str) -> bool:
        """Return whether the chunks of an array are in several files."""
        return len(self._files.get(path, ())) > 1

    def look(self, block: AuditedBlock) -> None:
        """Record the files of each array, two at most."""
        columns = block.table.columns
        leads = (block.arrays >= 0) & (columns.targets >= 0)
        for place in np.unique(block.arrays[leads]).tolist():
            found = self._files.setdefault(self._arrays[place].path, set())
            if len(found) < 2:
                targets = np.unique(columns.targets[leads & (block.arrays == place)])
                found |= set(columns.urls.at(targets[:2]))


def _fingerprint(
    arrays: list[SetArray], held: InlineValues, how: Iterable[object], recorded: Recorded
) -> str:
    """Return a digest of everything that results depend on, except their part."""
    described = [[a.meta.path, dict(a.meta.metadata), dict(a.meta.attributes)] for a in arrays]
    text = json.dumps([*how, described, installed_packages()], default=str)
    digest = blake2b(text.encode(), digest_size=16)
    for url in sorted(recorded):
        digest.update(repr((url, sorted(map(repr, recorded[url])))).encode())
    for path, each in held.arrays.items():
        digest.update(path.encode())
        digest.update(repr(each.values.tolist()).encode())
    return digest.hexdigest()
