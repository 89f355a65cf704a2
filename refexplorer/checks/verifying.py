"""Verifying a whole set: the same plan and parts as those of an audit, compared with the files."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from refexplorer.checks.compare.inline import INLINE_ELEMENTS, InlineValues
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.counts import Counts
from refexplorer.checks.engine import (
    AuditWatch,
    Work,
    check_count,
    executor_of,
    until,
)
from refexplorer.checks.executors import ClusterTerms
from refexplorer.checks.gathering import ReportBuilder
from refexplorer.checks.ledger import Ledger
from refexplorer.checks.look.files import Verifier
from refexplorer.checks.look.sets import (
    left_out_findings,
    note_references,
    note_rejected,
    note_unreadable,
    orphan_findings,
    set_findings,
)
from refexplorer.checks.parts import DECODING_COST
from refexplorer.checks.references import AuditedBlock
from refexplorer.checks.report import PARQUET, Report
from refexplorer.checks.results import ResultStore
from refexplorer.checks.sorting import PlanSizes, Sample, Sorter, wanted_of
from refexplorer.checks.terms import CheckTerms, Share, seconds_of
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.formats.icechunk.history import Recorded
from refexplorer.formats.source import LeftOut
from refexplorer.io.access.policy import AccessPolicy
from refexplorer.io.fetch.background import Stopped
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.opening import installed_packages
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Findings
from refexplorer.spec.zarr_metadata import ArrayMeta

FILE_COST = 10 * DECODING_COST
"""What reading the metadata of a file takes, in references: a part has about a hundred files."""
VERIFY_SIZES = PlanSizes(
    asking_cost=FILE_COST, sorted_rows=2**17, batch_rows=2**10, interval_batches=2**6
)
"""Reading files takes far longer than sorting, so a seventh of what an audit holds is enough."""
LENT_CHUNKS = 16
"""A coordinate of more chunks than this is not read from the file that the set refers to."""
# another number here makes results of older versions start anew, since they hold other columns
_FORM = 5


@dataclass(frozen=True)
class VerifyManner:
    """How a set is verified."""

    # Chunks of each array whose values are compared: ``"none"``, ``"sample"`` (ten), ``"all"``
    values: str = "none"
    # scheduler, workers, results, resume, watch, sizes: As `refexplorer.checks.engine.Manner` has
    # them
    scheduler: object = None
    workers: int | None = None
    results: str | os.PathLike[str] | None = None
    resume: bool = False
    watch: AuditWatch = lambda progress: True
    sizes: PlanSizes = field(default_factory=lambda: VERIFY_SIZES)
    remake: bool = False  # Say of what is wrong how it should be, which `repair` asks for
    only: str | None = None  # A share of the files, such as ``"3/30"``
    within: float | str | None = None  # Seconds after which no further part is begun


@dataclass(frozen=True)
class VerifyTerms:
    """What may be read, and how."""

    # location, allow, limits, storage_options: As `refexplorer.checks.look.files.Verifier` has them
    location: str | None
    allow: Collection[str]
    limits: Limits
    storage_options: Mapping[str, Any] = field(repr=False)
    base: str  # What pointers of keys start with
    served: bool = False  # As `AccessPolicy` has it
    # The versions that targets had when their references were written
    recorded: Recorded = field(default_factory=dict)
    # What the URLs of chunks begin with that may never have been written
    unlisted: str | None = None
    # The objects of data files that opening could not make references to
    left_out: tuple[LeftOut, ...] = ()


def verify(
    source: str, opened: OpenedSet, findings: Findings, terms: VerifyTerms, manner: VerifyManner
) -> Report:
    """Compare a set with its files."""
    if manner.values not in ("none", "sample", "all"):
        raise RefexplorerError(f"values must be 'none', 'sample' or 'all', not {manner.values!r}.")
    looks = _terms_of(manner)
    if looks.share is None and looks.seconds is None:
        check_count(opened, terms.limits)
    metas = [array for path in opened.arrays.paths if (array := opened.arrays.get(path))]
    ours = [SetArray(meta) for meta in metas]
    held = InlineValues(terms.limits)
    arrays = {each.meta.path: each for each in ours}
    store = ResultStore(manner.results, manner.resume, encoding=PARQUET)
    sorter = Sorter(store.sorting(), Sample(metas, wanted_of(manner.values)), manner.sizes,
                    looks.share)  # fmt: skip
    work = Work(store, sorter, until(manner.watch, looks.seconds), manner.sizes)
    ledger = Ledger({meta.path: meta.grid for meta in metas})
    joined = None if looks.share is None else _FilesOfArrays(metas)
    is_complete = False
    try:
        lent = SharedCoordinates(ours)

        def look(block: AuditedBlock) -> None:
            held.take(block, ours)
            lent.look(block)
            if joined is not None:
                joined.look(block)
            note_references(ledger, block, metas)

        work.gather(opened, look)
        lent.read(opened, terms, held)
        store.manner = _fingerprint(ours, held, manner, terms.recorded)
        verifier = Verifier(
            terms.location,
            tuple(terms.allow),
            terms.limits,
            terms.storage_options,
            arrays,
            held,
            lent.bare,
            manner.remake,
            terms.served,
            terms.recorded,
            terms.unlisted,
            manner.results is not None,
        )
        with executor_of(
            verifier.verify, manner.scheduler, manner.workers, ClusterTerms()
        ) as executor:
            work.do(executor, metas, verifier.versions)
        is_complete = not work.given_up
    except Stopped:
        pass
    finally:
        store.clear()
    note_rejected(ledger, opened, findings, sorter.rejected)
    errors = [each for each in findings if each.severity is Severity.ERROR]
    errors = note_unreadable(ledger, work.lost, errors)
    gathering = ReportBuilder(arrays, held, ledger, sorter.urls, terms.base)
    for results in store.tables():
        gathering.add(results)
    found = (
        *gathering.finish(is_complete, None if joined is None else joined.has),
        *set_findings(opened, errors, terms.base),
        *left_out_findings(terms.left_out, terms.base),
        *orphan_findings(opened, ledger, terms.base),
    )
    for each in terms.left_out:
        ledger.objects.leave_out(each.name, each.reason)
    ledger.files.total = sum(sorter.chosen) if is_complete else None
    if is_complete and looks.share is None:
        ledger.followed = gathering.followed
    counts = _counts(gathering, work, sorter.count, is_complete)
    return Report(source, found, ledger, looks, counts, store)


def _terms_of(manner: VerifyManner) -> CheckTerms:
    terms = CheckTerms.of_verb("verify" if manner.values == "none" else "verify --values")
    share = None if manner.only is None else Share.parse(manner.only)
    seconds = None if manner.within is None else seconds_of(manner.within)
    return replace(terms, share=share, seconds=seconds)


class SharedCoordinates:
    """Coordinates that the set refers to in one file, and that all others should have, too."""

    def __init__(self, arrays: list[SetArray]) -> None:
        self._arrays = arrays
        self._counts = np.zeros(len(arrays) + 1, np.int64)

    def look(self, block: AuditedBlock) -> None:
        """Count the references of each array."""
        self._counts += np.bincount(block.arrays + 1, minlength=len(self._counts))[
            : len(self._counts)
        ]

    @property
    def bare(self) -> frozenset[str]:
        """The arrays without a reference."""
        counts = self._counts[1:].tolist()
        pairs = zip(self._arrays, counts, strict=True)
        return frozenset(ours.meta.path for ours, count in pairs if not count)

    def read(self, opened: OpenedSet, terms: VerifyTerms, held: InlineValues) -> None:
        """Read them through the set, where they are few chunks of several files' coordinates."""
        targets = Targets(
            AccessPolicy(terms.location, tuple(terms.allow), served=terms.served),
            terms.storage_options,
            terms.limits,
        )
        for place, ours in enumerate(self._arrays):
            meta, count = ours.meta, int(self._counts[place + 1])
            if (
                meta.path in held.arrays
                or meta.dimensions != (ours.name,)
                or not 0 < count <= LENT_CHUNKS
                or count != meta.chunk_count
                or meta.shape[0] > INLINE_ELEMENTS
            ):
                continue
            keys = [meta.chunk_key((number,)) for number in range(count)]
            found = [opened.lookup(key) for key in keys]
            urls = {getattr(each[1], "url", None) for each in found if each is not None}
            if len(urls) != 1:
                continue  # each file has its part of it
            with suppress(RefexplorerError):  # what cannot be read is said of its file
                data = [targets.fetch(key, each[1]) for key, each in zip(keys, found, strict=True)
                        if each is not None]  # fmt: skip
                for number, chunk in enumerate(data):
                    held.put(ours, number, chunk, is_lent=True)
                held.reasons.pop(meta.path, None)


class _FilesOfArrays:
    """Which arrays have chunks in several files, of which a share of the files is compared."""

    def __init__(self, arrays: list[ArrayMeta]) -> None:
        self._arrays = arrays
        self._files: dict[str, set[str | None]] = {}

    def has(self, path: str) -> bool:
        """Say whether the chunks of an array are in several files."""
        return len(self._files.get(path, ())) > 1

    def look(self, block: AuditedBlock) -> None:
        """Take in the files of each array, two of them at most."""
        columns = block.table.columns
        leads = (block.arrays >= 0) & (columns.targets >= 0)
        for place in np.unique(block.arrays[leads]).tolist():
            found = self._files.setdefault(self._arrays[place].path, set())
            if len(found) < 2:
                targets = np.unique(columns.targets[leads & (block.arrays == place)])
                found |= set(columns.urls.at(targets[:2]))


def _fingerprint(
    arrays: list[SetArray], held: InlineValues, manner: VerifyManner, recorded: Recorded
) -> str:
    """Return what results depend on besides their part."""
    said = [[a.meta.path, dict(a.meta.metadata), dict(a.meta.attributes)] for a in arrays]
    digest = blake2b(
        json.dumps(
            [_FORM, manner.values, manner.remake, said, installed_packages()], default=str
        ).encode(),
        digest_size=16,
    )
    for url in sorted(recorded):
        digest.update(repr((url, sorted(map(repr, recorded[url])))).encode())
    for path, each in held.arrays.items():
        digest.update(path.encode())
        digest.update(repr(each.values.tolist()).encode())
    return digest.hexdigest()


def _counts(gathering: ReportBuilder, work: Work, count: int, is_complete: bool) -> Counts:
    reasons = sorted(gathering.reasons.items(), key=lambda item: -item[1])
    return Counts(
        references=count,
        forms=dict(gathering.forms),
        files={path: gathering.file_count(path) for path in gathering.paths},
        reasons=tuple((path, why, n) for (path, why), n in reasons),
        unchecked=tuple((path, what, n) for (path, what), n in gathering.unchecked.items()),
        failures=gathering.failures,
        grants=tuple(gathering.grants),
        unfinished=tuple(work.given_up),
        stopped=not is_complete and not work.given_up,
        lost=work.lost,
        values=gathering.values,
        largest=None if gathering.largest is None else gathering.largest[0],
        largest_at=None if gathering.largest is None else gathering.largest[1],
        false_nan=gathering.false_nan,
    )
