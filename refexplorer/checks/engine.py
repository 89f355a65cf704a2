"""Auditing a whole set: list and sort its references, do the parts, count what came of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import pyarrow as pa

from refexplorer.checks.executors import (
    ClusterTerms,
    Doing,
    Executor,
    dask_executor,
    do_parts,
    thread_executor,
)
from refexplorer.checks.look.targets import Auditor, TargetVersion
from refexplorer.checks.parts import Part, parts
from refexplorer.checks.references import AuditedBlock, LostFiles, blocks
from refexplorer.checks.render.audit_report import Audit, report
from refexplorer.checks.results import ResultStore
from refexplorer.checks.sorting import Decode, PlanSizes, Sample, Sorter, wanted_of
from refexplorer.core.errors import LimitError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.io.fetch.background import Stopped
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.parquet_segment import Records
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Findings
from refexplorer.spec.zarr_metadata import ArrayMeta


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """The progress of an audit.

    Attributes
    ----------
    listed
        References that were listed and sorted.
    audited
        References of finished parts, those of an earlier run among them.
    total
        All references; None while they are listed.
    """

    listed: int
    audited: int = 0
    total: int | None = None


VersionsNow = Callable[[Sequence[str], Callable[[], bool]], Mapping[str, TargetVersion | None]]
"""Asks for the versions that targets have now, as long as the second says to go on."""
AuditWatch = Callable[[AuditProgress], bool]
"""Called about ten times a second; False stops."""


@dataclass(frozen=True)
class Manner:
    """How a set is audited."""

    # Chunks of each array that are decoded: a number, ``"sample"`` (ten), ``"all"``, ``"none"``
    decode: Decode | str = "sample"
    # The address of a Dask scheduler, or a client; None does it in threads of this process
    scheduler: object = None
    workers: int | None = None  # How many threads
    # A folder for the results; None takes one that goes away with the report
    results: str | os.PathLike[str] | None = None
    resume: bool = False  # Go on with the results in the folder
    watch: AuditWatch = lambda progress: True  # Is told how far it is
    # sizes, terms: How much is done at once, and how long a cluster is waited for
    sizes: PlanSizes = field(default_factory=PlanSizes)
    terms: ClusterTerms = field(default_factory=ClusterTerms)


def audit(
    source: str, opened: OpenedSet, findings: Findings, auditor: Auditor, manner: Manner
) -> Audit:
    """Audit a set."""
    wanted = wanted_of(manner.decode)
    check_count(opened, auditor.limits)
    store = ResultStore(manner.results, manner.resume)
    arrays = [array for path in opened.arrays.paths if (array := opened.arrays.get(path))]
    grids = {array.path: array.grid for array in arrays}
    sorter = Sorter(store.sorting(), Sample(arrays, wanted), manner.sizes)
    work = Work(store, sorter, manner.watch, manner.sizes)
    try:
        with executor_of(auditor.audit, manner.scheduler, manner.workers, manner.terms) as executor:
            work.gather(opened)
            work.do(executor, arrays, auditor.versions)
    except Stopped:
        pass
    finally:
        store.clear()
    rejected = rejected_count(opened, findings) + sorter.rejected
    return report(source, store, sorter.count, rejected, grids, tuple(work.given_up), work.lost)


def check_count(opened: OpenedSet, limits: Limits) -> None:
    """Refuse a set of more references than `Limits.audited_references`."""
    if opened.count > limits.audited_references:
        raise LimitError(
            f"The set has {opened.count:,} references, more than the "
            f"{limits.audited_references:,} that one audit checks (limits: audited_references)."
        )


def until(watch: AuditWatch, seconds: float | None) -> AuditWatch:
    """Return what stops after some seconds, too."""
    if seconds is None:
        return watch
    end = time.monotonic() + seconds
    return lambda progress: watch(progress) and time.monotonic() < end


def rejected_count(opened: OpenedSet, findings: Findings) -> int:
    """Count keys that opening rejected; record files are read anew, and counted then."""
    stores = [part.store for part in opened.parts if isinstance(part, Records)]
    later = frozenset[str]().union(*(store.files for store in stores))
    errors = (found for found in findings if found.severity is Severity.ERROR)
    return sum(found.count for found in errors if found.pointer not in later)


def executor_of(
    doing: Doing, scheduler: object, workers: int | None, terms: ClusterTerms
) -> AbstractContextManager[Executor]:
    """Return who does the parts: the workers of a cluster, or threads of this process."""
    if scheduler is not None:
        return dask_executor(doing, scheduler, terms)
    return thread_executor(doing, max(1, workers or os.cpu_count() or 1))


class Work:
    """One audit or verification: what is finished or given up, which record files are lost."""

    def __init__(
        self, store: ResultStore, sorter: Sorter, watch: AuditWatch, sizes: PlanSizes
    ) -> None:
        self.given_up: list[str] = []
        self.lost = LostFiles()
        self._store = store
        self._sorter = sorter
        self._watch = watch
        self._sizes = sizes
        self._audited = 0
        self._parts = 0

    def gather(
        self, opened: OpenedSet, look: Callable[[AuditedBlock], None] = lambda block: None
    ) -> None:
        """Put all references in the order of their targets; `look` is shown them before."""
        for block in blocks(opened, self.lost):
            look(block)
            self._sorter.put(block.used())
            if not self._watch(AuditProgress(self._sorter.count)):
                raise Stopped

    def do(self, executor: Executor, arrays: list[ArrayMeta], versions: VersionsNow) -> None:
        """Do what is not finished, and what was finished with other versions of its targets."""
        intervals = self._sorter.intervals()
        planned = parts(intervals, self._sorter.urls, arrays, self._sizes)
        do_parts(executor, self._left(planned, versions), self._take, self._goes_on)
        self._store.drop_others(self._parts)

    def _left(self, planned: Iterator[Part], versions: VersionsNow) -> Iterator[Part]:
        for part in planned:
            self._parts += 1
            if self._store.has(part, lambda urls: versions(urls, self._goes_on)):
                self._audited += part.count
                if not self._goes_on():
                    raise Stopped
            else:
                yield part

    def _take(self, part: Part, results: pa.Table | Exception) -> None:
        if isinstance(results, Exception):
            said = str(results).strip().splitlines() or [type(results).__name__]
            self.given_up.append(
                f"Part {part.number} with {counted(part.count, 'reference')} could not be "
                f"done: {said[0].rstrip('.')}."
            )
        else:
            self._store.write(part, results)
            self._audited += part.count

    def _goes_on(self) -> bool:
        total = self._sorter.count
        return self._watch(AuditProgress(total, self._audited, total))
