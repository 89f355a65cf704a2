"""One run over a whole set: list and sort its references, process the parts, count the results."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from refexplorer.checks.ledger import Counts, Ledger
from refexplorer.checks.locks import Lock, SinceLock
from refexplorer.checks.look.coordinates import AxesLook, look_at_coordinates
from refexplorer.checks.look.targets import versions_asked
from refexplorer.checks.parts import Doing, Part, do_parts, parts
from refexplorer.checks.references import AuditedBlock, LostFiles, Unlisted, blocks
from refexplorer.checks.report import Report
from refexplorer.checks.results import ResultStore
from refexplorer.checks.set_findings import (
    note_references,
    note_rejected,
    note_unreadable,
    orphan_findings,
    set_findings,
)
from refexplorer.checks.set_lint import left_out_findings, refused_findings
from refexplorer.checks.sorting import PlanSizes, Sample, Sorter
from refexplorer.checks.states import FileState, KeyState
from refexplorer.checks.terms import CheckTerms, ReadTerms
from refexplorer.core.errors import LimitError
from refexplorer.core.text import counted
from refexplorer.formats.source import DATA_FILE, Source
from refexplorer.io.fetch.background import Stopped
from refexplorer.io.fetch.changes import TargetVersion
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.refset.targets import urls
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, Findings


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """The progress of a run.

    Attributes
    ----------
    listed
        References listed and sorted so far.
    audited
        References of finished parts, including those of an earlier run.
    total
        All references; None while they are listed.
    """

    listed: int
    audited: int = 0
    total: int | None = None


AuditWatch = Callable[[AuditProgress], bool]  # Called about ten times a second; False stops


@dataclass(frozen=True)
class Manner:
    """How a set is checked."""

    workers: int | None = None  # How many threads
    # A folder for the results; None: a temporary one, deleted with the report
    results: str | os.PathLike[str] | None = None
    resume: bool = False  # Go on with the results in the folder
    watch: AuditWatch = lambda progress: True  # Called with the progress
    sizes: PlanSizes | None = None  # How much is done at once; None: as is best for the look
    against: Lock | None = None  # What the answers of stores are compared with


class PartsLook(Protocol):
    """What is done with the parts of a run."""

    sizes: PlanSizes
    wanted: int | None  # Chunks of each array that are decoded; None: all
    has_keys: bool  # Whether its results have the keys of chunks, which follow from their numbers
    has_unlisted: bool  # Whether generated keys that are too many may stay unlisted
    encoding: Mapping[str, Any]  # How its results are written

    def see(self, block: AuditedBlock) -> None:
        """Process references as they are listed."""

    def begin(self, opened: OpenedSet, store: ResultStore) -> Doing:
        """Return the function that processes parts, after all references have been listed."""

    def gather(self, run: CheckRun) -> tuple[Sequence[Finding], Counts]:
        """Bring the results into the ledger; return the findings and the counts."""


class CheckRun:
    """One run and its working state."""

    def __init__(
        self,
        opened: OpenedSet,
        reading: ReadTerms,
        terms: CheckTerms,
        look: PartsLook,
        manner: Manner,
    ) -> None:
        sizes = manner.sizes or look.sizes
        self.terms, self.base = terms, reading.base
        self.metas = [a for path in opened.arrays.paths if (a := opened.arrays.get(path))]
        self.ledger = Ledger({meta.path: meta.grid for meta in self.metas})
        n_shares = 0 if terms.share is None else terms.share.of
        self.store = ResultStore(manner.results, manner.resume, look.encoding, n_shares)
        self.store.keeps_versions |= manner.against is not None
        sample = Sample(self.metas, look.wanted)
        folder = self.store.sorting()
        has_others = self.store.is_kept
        self.sorter = Sorter(folder, sample, sizes, terms.share, look.has_keys, has_others)
        # Other shares that earlier runs finished, each with the time of its oldest part
        self.earlier: dict[int, datetime] = {}
        self.given_up: list[str] = []
        self.lost = LostFiles()
        self.is_listed = self.is_complete = False
        self._opened, self._look, self._manner, self._sizes = opened, look, manner, sizes
        self._reading = reading
        self._watch = until(manner.watch, terms.seconds)
        self._audited = 0

    def work(self) -> None:
        """List the references and process the parts."""
        try:
            self._list()
            self.is_listed = True
            self._do(self._look.begin(self._opened, self.store))
            self.is_complete = not self.given_up
        except Stopped:
            pass
        finally:
            self.store.clear()

    @property
    def n_files(self) -> int:
        """The number of files to check, with those of earlier runs."""
        shares, share = self.sorter.shares, self.terms.share
        if share is None:
            return len(shares)
        return int(np.isin(shares, [0, share.number, *self.earlier]).sum())

    def note(self, counts: Counts) -> None:
        """Add to the counts what all checks have in common."""
        counts.references, counts.lost = self.sorter.count, self.lost
        counts.unfinished = tuple(self.given_up)
        counts.stopped = not self.is_complete and not self.given_up
        counts.shares = {n: when.isoformat() for n, when in sorted(self.earlier.items())}

    def _list(self) -> None:
        """Sort all references by target."""
        unlisted = Unlisted(
            self._reading.limits.audited_references if self._look.has_unlisted else None
        )
        for block in blocks(self._opened, self.lost, unlisted, self._look.has_keys):
            self._look.see(block)
            note_references(self.ledger, block, self.metas)
            self._put(block)
        for block in unlisted.target_blocks(self.sorter.urls):
            self._put(block)
        if unlisted.count:
            self.ledger.keys.counts[KeyState.UNLISTED] = unlisted.count
            self.given_up += unlisted.sentences()

    def _put(self, block: AuditedBlock) -> None:
        self.sorter.put(block.used())
        if not self._watch(AuditProgress(self.sorter.count)):
            raise Stopped

    def _do(self, doing: Doing) -> None:
        """Process parts that are unfinished, or whose targets had other versions."""
        intervals = self.sorter.intervals()
        planned = parts(intervals, self.sorter.urls, self.metas, self._sizes)
        threads = max(1, self._manner.workers or os.cpu_count() or 1)
        with closing(do_parts(doing, threads, self._left(planned), self._goes_on)) as done:
            for part, results in done:
                self._take(part, results)
        self.store.drop_others()

    def _left(self, planned: Iterator[Part]) -> Iterator[Part]:
        def versions(urls: Sequence[str]) -> dict[str, TargetVersion | None]:
            return versions_asked(self._reading.targets(), urls, self._goes_on)

        share = self.terms.share
        earlier: dict[int, dict[int, tuple[Path, datetime] | None]] = {}
        for part in planned:
            if share is not None and part.share not in (0, share.number):
                earlier.setdefault(part.share, {})[part.number] = self.store.earlier(part)
            elif self.store.has(part, versions):
                self._audited += part.count
                if not self._goes_on():
                    raise Stopped
            else:
                yield part
        for number, found in earlier.items():
            known = {place: each for place, each in found.items() if each is not None}
            if len(known) == len(found):
                self.store.finished |= {place: path for place, (path, _) in known.items()}
                self.earlier[number] = min(written for _, written in known.values())
        if share is not None and self.store.is_kept:
            is_whole = earlier.keys() == self.earlier.keys()
            more = None if is_whole else replace(share, n_more=len(self.earlier))
            self.terms = replace(self.terms, share=more)

    def _take(self, part: Part, results: pa.Table | Exception) -> None:
        if isinstance(results, Exception):
            said = str(results).strip().splitlines() or [type(results).__name__]
            self.given_up.append(
                f"Part {part.number} with {counted(part.count, 'reference')} could not be "
                f"done: {said[0].rstrip('.')}."
            )
        else:
            self.store.write(part, results)
            self._audited += part.count

    def _goes_on(self) -> bool:
        total = self.sorter.count
        return self._watch(AuditProgress(total, self._audited, total))


def run(
    source: str,
    opened: OpenedSet,
    findings: Findings,
    reading: ReadTerms,
    terms: CheckTerms,
    look: PartsLook,
    manner: Manner,
) -> Report:
    """Check a set and report the findings."""
    is_bounded = terms.share is not None or terms.seconds is not None or look.has_unlisted
    if not is_bounded and opened.count > (most := reading.limits.audited_references):
        raise LimitError(
            f"The set has {opened.count:,} references, more than the {most:,} that one run checks "
            '(`Limits.audited_references`); check it in parts (--only 1/10; in Python only="1/10").'
        )
    mine = CheckRun(opened, reading, terms, look, manner)
    mine.work()
    ledger = mine.ledger
    note_rejected(ledger, opened, findings, mine.sorter.rejected)
    errors = [each for each in findings if each.severity is Severity.ERROR]
    errors = note_unreadable(ledger, mine.lost, errors)
    ledger.note_listed()
    is_full = all(ledger.listed[path] == ledger.total(path) for path in ledger.paths)
    of_look, counts = look.gather(mine)
    mine.note(counts)
    against = manner.against
    found = (
        *of_look,
        *(() if against is None else _since(against, mine, opened, reading, counts)),
        *set_findings(opened, errors, reading.base, is_full, counts),
        *left_out_findings(reading.left_out, reading.base),
        *refused_findings(reading.repository, reading.base),
        *orphan_findings(opened, ledger, reading.base),
    )
    for each in reading.left_out:
        ledger.objects.leave_out(each.name, each.reason)
    if mine.is_listed:
        ledger.files.total = mine.n_files
        if not mine.is_complete:
            left = ledger.files.total - sum(ledger.files.counts.values())
            ledger.files.counts[FileState.UNTOUCHED] += left
    return Report(source, found, ledger, mine.terms, counts, mine.store)


def _since(
    lock: Lock, run: CheckRun, opened: OpenedSet, reading: ReadTerms, counts: Counts
) -> list[Finding]:
    """Return what changed since a lock was written; record changed files."""
    since = SinceLock(lock)
    since.take(run.store)
    found: list[Finding] = []
    if run.is_listed:
        axes = look_at_coordinates(opened, reading.limits, reading.base, None).axes
        found += since.findings(reading.base, run.sorter.urls, run.metas, run.ledger.listed, axes)
    files = run.ledger.files.counts
    for url, (state, _) in since.changed.items():
        if url not in counts.changed and state in (FileState.ASKED, FileState.READ):
            files[FileState(state)] -= 1
            files[FileState.CHANGED] += 1
    counts.since, counts.unknown = since.text(), (*counts.unknown, *since.unknown())
    counts.changed = {url: said for url, (_, said) in since.changed.items()} | counts.changed
    return found


def check(
    source: Source,
    opened: OpenedSet,
    findings: Findings,
    diagnostics: tuple[Finding, ...],
    look: AxesLook,
) -> Report:
    """Return what is known of a set on its own, without listing references."""
    # `findings` are those from opening the set, `diagnostics` are all.
    metas = [meta for path in opened.arrays.paths if (meta := opened.arrays.get(path))]
    ledger = Ledger({meta.path: meta.grid for meta in metas})
    note_rejected(ledger, opened, findings, 0)
    counts = Counts(opened.count)
    is_of_file = source.form == DATA_FILE
    is_comparable = not is_of_file and any(True for _ in urls(opened))
    terms = replace(CheckTerms.of_verb("check"), is_of_file=is_of_file, is_comparable=is_comparable)
    return Report(source.name, diagnostics, ledger, terms, counts, None).with_look(look)


def until(watch: AuditWatch, seconds: float | None) -> AuditWatch:
    """Return a cancel check that also stops after some seconds."""
    if seconds is None:
        return watch
    end = time.monotonic() + seconds
    return lambda progress: watch(progress) and time.monotonic() < end
