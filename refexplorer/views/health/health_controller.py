"""The controller of the health table: the arrays of a set, those with problems first."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from refexplorer.checks.engine import AuditProgress, AuditWatch, Manner, PartsLook, run
from refexplorer.checks.look.files import FilesLook
from refexplorer.checks.terms import CheckTerms, ReadTerms
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted
from refexplorer.io.decode.steps import shard_layout
from refexplorer.refset.opened_set import internals
from refexplorer.spec.codes import Severity
from refexplorer.spec.zarr_metadata import type_name
from refexplorer.views.code.cells import code_of_verify
from refexplorer.views.health.health import ChunkHealth, HealthColumns, HealthCounts
from refexplorer.views.health.time_axes import TimeRange, TimeRanges
from refexplorer.views.wire.context import ExplorerPart, ViewContext
from refexplorer.views.wire.jobs import STOPPED, JobReport, go_on
from refexplorer.views.wire.requests import Count, Real, filled, job, request, within

if TYPE_CHECKING:
    from refexplorer.checks.report import Report
    from refexplorer.io.fetch.targets import Targets
    from refexplorer.spec.findings import Finding
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet

SHOWN = 200  # Findings that one answer carries
_FILES = 5  # files that a finding names
GRANTS = 8  # places to allow that an answer names
WORKERS = 2  # Threads, each with a process that reads files; the page answers others meanwhile
_ORDER = list(Severity)


def reading_of(refs: ReferenceSet, targets: Targets) -> ReadTerms:
    """Return what the page may read of the targets, and how."""
    policy, options = targets.policy, targets.storage_options
    reading = ReadTerms(policy.location, policy.names, refs.limits, options, served=policy.served)
    return reading.of(refs.source)


def watched(report: JobReport) -> AuditWatch:
    """Return a callback that reports the progress of a run to a job."""

    def watch(progress: AuditProgress) -> bool:
        done, of = progress.audited, progress.total
        if of is None:
            return report(None, None, f"Listing references: {progress.listed:,}")
        return report(done, of, f"{done:,} of {of:,} references")

    return watch


def checked_by(
    look: PartsLook, refs: ReferenceSet, reading: ReadTerms, terms: CheckTerms, report: JobReport
) -> Report:
    """Run a check of a set for a job."""
    inside, manner = internals(refs), Manner(workers=WORKERS, watch=watched(report))
    return run(refs.source.name, inside.opened, inside.findings, reading, terms, look, manner)


class VerifiedFinding(Struct, frozen=True):
    """One cause of differences between a set and some of its files."""

    severity: Severity
    code: str
    message: str
    array: str
    key: str | None  # The metadata, or the first chunk; null if the set has no such key
    # files, file_count: The first files, and how many there are
    files: tuple[str, ...]
    file_count: Count
    remedy: str  # What to do about it


class SetVerified(Struct, frozen=True):
    """The results of comparing a set with its files."""

    verdict: str
    at: Real  # When, in milliseconds since 1970
    good: bool  # Whether references were compared and none differs
    summary: tuple[str, ...]  # The counts, and what was not compared, as sentences
    # findings, finding_count: The first findings, errors first, and how many there are
    findings: tuple[VerifiedFinding, ...]
    finding_count: Count
    grants: tuple[str, ...]  # What `allow` needs for the files that were not read
    is_repairable: bool | None  # Whether a repair would change something; null if not known


class FilesCompared:
    """Handles requests of the overview about the files."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._did = context.did
        self._repairable: tuple[Report, bool] | None = None

    @request("verify.last", sends="found")
    def last(self) -> SetVerified | None:
        """Return the last comparison with the files, also one made from Python."""
        found = self._refs.verified
        return None if found is None else self._told(found)

    @job("verify")
    def verify(
        self,
        report: JobReport,
        values: bool,  # Whether ten chunks of each array are decoded and compared, too
    ) -> SetVerified:
        """Compare the set with its files; `health.rows` then includes the differences."""
        self._did(code_of_verify(values, self._targets.policy.granted))
        refs, opened = self._refs, internals(self._refs).opened
        reading = replace(reading_of(refs, self._targets), left_out=())
        terms = CheckTerms.of_verb("verify --values" if values else "verify")
        look = FilesLook(opened, reading, terms, "sample" if values else "none", remake=True)
        found = checked_by(look, refs, reading, terms, report)
        if found.counts.stopped:
            raise RefexplorerError(STOPPED)
        refs.verified = found
        if found.has_errors:
            from refexplorer.verbs.repair.repairing import has_plan  # what it needs is slow to load

            go_on(report, None, None, "Looking for what can be repaired")
            self._repairable = found, has_plan(reading, refs, found)
        return self._told(found)

    def _told(self, found: Report) -> SetVerified:
        ordered = sorted(found.findings, key=lambda each: _ORDER.index(each.severity))
        return SetVerified(
            found.headline.text,
            1000 * found.counts.at,
            found.good,
            found.summary,
            tuple(map(self._finding, ordered[:SHOWN])),
            len(ordered),
            found.counts.grants[:GRANTS],
            self._repairable[1] if self._repairable and self._repairable[0] is found else None,
        )

    def _finding(self, found: Finding) -> VerifiedFinding:
        has_key = internals(self._refs).opened.holds(found.key or "")
        own = {"key": found.key or "" if has_key else None, "files": found.files[:_FILES]}
        return filled(VerifiedFinding, found, **own)


_REPORTED = 100  # rows between two reports of progress


HealthSort = Literal[
    "trouble", "path", "bytes", "chunks", "referenced", "absent", "rejected", "failed", "unread",
    "differing", "overlapping", "times",
]  # fmt: skip
"""What the health table is sorted by: all that is wrong together, or one of its columns."""


class HealthRow(Struct, frozen=True):
    """An array in the health table."""

    path: str
    shape: tuple[Count, ...]
    chunks: tuple[Count, ...]  # The shape of a chunk
    dtype: str
    bytes: Count | None  # Of all its references; null where it is not known
    counts: HealthCounts
    # errors, warnings: Notes that name it or a key of it; null until those of the whole set are
    # known
    errors: Count | None
    warnings: Count | None
    times: TimeRange
    # inner_chunks, inner_count: Shape and number of the inner chunks of shards; else null
    inner_chunks: tuple[Count, ...] | None = None
    inner_count: Count | None = None
    varying: bool = False  # Whether chunks have different lengths; `chunks` are then the longest


class HealthPage(Struct, frozen=True):
    """Some of the arrays, their number, and the sums over all of them."""

    start: Count
    total: Count
    rows: tuple[HealthRow, ...]
    sums: HealthCounts


class HealthTable:
    """Handles the requests of the table of arrays."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._health = ChunkHealth(context.references, context.failure_log)
        self._times = TimeRanges(context.references)

    @request("health.arrays")
    def arrays(self, n: int) -> HealthPage:
        """List the first arrays by their metadata alone, before their chunks are counted."""
        arrays, unknown = internals(self._refs).opened.arrays, (None,) * 7
        rows = tuple(
            _row(array, None, HealthCounts(array.chunk_count, *unknown), (None, None), _UNTIMED)
            for array in itertools.islice(arrays, within(0, n)[1])
        )
        return HealthPage(0, len(arrays.paths), rows, HealthCounts(0, *unknown))

    @job("health.rows", in_turn=True, background=True)
    def rows(
        self, report: JobReport, start: int, n: int, sort: HealthSort, descending: bool
    ) -> HealthPage:
        """List the arrays with their chunks by state; unknown values come last."""
        if not internals(self._refs).is_counted:
            arrays = counted(len(self._refs.arrays()), "array")
            go_on(report, None, None, f"Counting the chunks of {arrays}")
        columns = self._health.columns()
        order = self._sorted(columns, sort, descending, report)
        start, n = within(start, n)
        rows = tuple(self._row(columns, place) for place in order[start : start + n])
        return HealthPage(start, len(order), rows, columns.sums)

    def _sorted(
        self, columns: HealthColumns, sort: HealthSort, descending: bool, report: JobReport
    ) -> list[int]:
        """Return the indices of the arrays in sorted order; unknown values come last."""
        arrays = columns.states.arrays
        places = list(range(len(arrays)))
        if sort == "path":
            return places[::-1] if descending else places
        if sort == "trouble":
            return sorted(places, key=lambda place: _trouble(columns, place), reverse=descending)
        values: list[int | None] = []
        if sort == "bytes":
            values += columns.states.sizes
        elif sort != "times":
            values += (getattr(columns.counts(place), sort) for place in places)
        for done, array in enumerate(arrays if sort == "times" else ()):
            if done % _REPORTED == 0:
                go_on(report, done, len(arrays), "Reading inline time coordinates")
            values.append(self._times.of(array)[0])
        known = [place for place in places if values[place] is not None]
        known.sort(key=lambda place: values[place] or 0, reverse=descending)
        return [*known, *(place for place in places if values[place] is None)]

    def _row(self, columns: HealthColumns, place: int) -> HealthRow:
        array, size = columns.states.arrays[place], columns.states.sizes[place]
        times = self._times.of(array)[1]
        return _row(array, size, columns.counts(place), columns.notes(place), times)


_UNTIMED = TimeRange(None, None, None, "Not known yet.")


def _row(
    array: ArrayMeta,
    size: int | None,
    counts: HealthCounts,
    notes: tuple[int | None, int | None],
    times: TimeRange,
) -> HealthRow:
    shards = shard_layout(array)
    return HealthRow(
        array.path,
        array.shape,
        array.chunks,
        type_name(array.dtype),
        size,
        counts,
        *notes,
        times,
        None if shards is None else shards.inner.chunks,
        None if shards is None else shards.inner.chunk_count,
        array.varying is not None,
    )


def _trouble(columns: HealthColumns, place: int) -> tuple[int, ...]:
    """Return how much is wrong with an array: certain faults before possible ones."""
    counts, notes = columns.counts(place), columns.notes(place)
    lost = columns.failed[place] + (counts.rejected or 0) + (counts.differing or 0)
    shared, absent = counts.overlapping or 0, counts.absent or 0
    return lost, *(each or 0 for each in notes), shared, absent


PART = ExplorerPart(
    "health", "Arrays", "Arrays", (HealthTable, FilesCompared), look=False, alone=False,
    recorded=("verify.last",),
)  # fmt: skip
