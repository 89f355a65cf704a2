"""Verifying a whole set: the same plan and parts as those of an audit, compared with the files."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.audit.auditing import (
    AuditWatch,
    Work,
    check_count,
    crew_of,
    rejected_count,
)
from refexplorer.data.audit.plan.audit_parts import DECODING_COST
from refexplorer.data.audit.plan.audited_references import AuditedBlock
from refexplorer.data.audit.plan.plan_sizes import PlanSizes
from refexplorer.data.audit.plan.sampling import Sample, wanted_of
from refexplorer.data.audit.plan.sorting import Sorter
from refexplorer.data.audit.report.result_store import ResultStore
from refexplorer.data.audit.work.running import ClusterTerms
from refexplorer.data.fetch.background import Stopped
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.data.verify.compare.held_values import HELD_ELEMENTS, HeldValues
from refexplorer.data.verify.compare.set_array import SetArray
from refexplorer.data.verify.report.tally import VerifyTally
from refexplorer.data.verify.report.verification import (
    PARQUET,
    ArrayVerification,
    Counts,
    Verification,
)
from refexplorer.data.verify.results import DIFFERS, FAILED, FORBIDDEN, SAME, UNCOMPARED
from refexplorer.data.verify.verifier import Verifier
from refexplorer.errors import RefexplorerError
from refexplorer.formats.icechunk.recorded import Recorded
from refexplorer.limits import Limits
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.diagnostics import Findings

FILE_COST = 10 * DECODING_COST
"""What reading the metadata of a file takes, in references: a part has about a hundred files."""
VERIFY_SIZES = PlanSizes(
    asking_cost=FILE_COST, sorted_rows=2**17, batch_rows=2**10, interval_batches=2**6
)
"""Reading files takes far longer than sorting, so a seventh of what an audit holds is enough."""
LENT_CHUNKS = 16
"""A coordinate of more chunks than this is not read from the file that the set refers to."""
# another number here makes results of older versions start anew, since they hold other columns
_FORM = 3


@dataclass(frozen=True)
class VerifyManner:
    """How a set is verified.

    Attributes
    ----------
    values
        Chunks of each array whose values are compared: ``"none"``, ``"sample"`` (ten), ``"all"``.
    remake
        Say of what is wrong how it should be, which `repair` asks for.
    scheduler, workers, results, resume, watch, sizes
        As `refexplorer.data.audit.auditing.Manner` has them.
    """

    values: str = "none"
    scheduler: object = None
    workers: int | None = None
    results: str | os.PathLike[str] | None = None
    resume: bool = False
    watch: AuditWatch = lambda progress: True
    sizes: PlanSizes = field(default_factory=lambda: VERIFY_SIZES)
    remake: bool = False


@dataclass(frozen=True)
class VerifyTerms:
    """What may be read, and how.

    Attributes
    ----------
    location, allow, limits, storage_options
        As `refexplorer.data.verify.verifier.Verifier` has them.
    base
        What pointers of keys start with.
    served
        As `AccessPolicy` has it.
    recorded
        The versions that targets had when their references were written.
    unlisted
        What the URLs of chunks begin with that may never have been written.
    """

    location: str | None
    allow: Collection[str]
    limits: Limits
    storage_options: Mapping[str, Any] = field(repr=False)
    base: str
    served: bool = False
    recorded: Recorded = field(default_factory=dict)
    unlisted: str | None = None


def verify(
    source: str, opened: OpenedSet, findings: Findings, terms: VerifyTerms, manner: VerifyManner
) -> Verification:
    """Compare a set with its files.

    Parameters
    ----------
    source
        The name of the set.
    opened
        Its references.
    findings
        What opening it found.
    terms
        What may be read.
    manner
        How it is done.

    Returns
    -------
    Verification
        Of what was compared; if `VerifyManner.watch` stopped it, that is not all.

    Raises
    ------
    RefexplorerError
        If it cannot begin, or the cluster goes away.
    LimitError
        If the set has more references than `Limits.audited_references`.
    """
    if manner.values not in ("none", "sample", "all"):
        raise RefexplorerError(f"values must be 'none', 'sample' or 'all', not {manner.values!r}.")
    check_count(opened, terms.limits)
    metas = [array for path in opened.arrays.paths if (array := opened.arrays.get(path))]
    ours = [SetArray(meta) for meta in metas]
    held = HeldValues(terms.limits)
    arrays = {each.meta.path: each for each in ours}
    store = ResultStore(manner.results, manner.resume, encoding=PARQUET)
    sorter = Sorter(store.sorting(), Sample(metas, wanted_of(manner.values)), manner.sizes)
    work = Work(store, sorter, manner.watch, manner.sizes)
    stopped = False
    try:
        lent = _Lent(ours)

        def look(block: AuditedBlock) -> None:
            held.take(block, ours)
            lent.look(block)

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
        )
        with crew_of(verifier.verify, manner.scheduler, manner.workers, ClusterTerms()) as crew:
            work.do(crew, metas)
    except Stopped:
        stopped = True
    finally:
        store.clear()
    tally = VerifyTally(arrays, held, opened.holds, lambda each: opened.arrays.present(each.meta),
                  sorter.urls, terms.base)  # fmt: skip
    for results in store.tables():
        tally.add(results)
    found = tally.finish()
    left = rejected_count(opened, findings) + sorter.rejected
    counts = _counts(tally, work, sorter.count, left, stopped)
    return Verification(source, found, counts, store, tally.held_different)


class _Lent:
    """Coordinates that the set refers to in one file, and that all others should have, too.

    Parameters
    ----------
    arrays
        All arrays, as blocks number them.
    """

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

    def read(self, opened: OpenedSet, terms: VerifyTerms, held: HeldValues) -> None:
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
                or meta.shape[0] > HELD_ELEMENTS
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


def _fingerprint(
    arrays: list[SetArray], held: HeldValues, manner: VerifyManner, recorded: Recorded
) -> str:
    """Return what results depend on besides their part."""
    said = [[a.meta.path, dict(a.meta.metadata), dict(a.meta.attributes)] for a in arrays]
    digest = blake2b(
        json.dumps([_FORM, manner.values, manner.remake, said], default=str).encode(),
        digest_size=16,
    )
    for url in sorted(recorded):
        digest.update(repr((url, sorted(map(repr, recorded[url])))).encode())
    for path, each in held.arrays.items():
        digest.update(path.encode())
        digest.update(repr(each.values.tolist()).encode())
    return digest.hexdigest()


def _counts(tally: VerifyTally, work: Work, count: int, left: int, stopped: bool) -> Counts:
    states = tally.states()
    arrays = tuple(
        ArrayVerification(path, 0 if path is None else tally.file_count(path), found)
        for path, found in states.items()
    )
    order = (SAME, DIFFERS, UNCOMPARED, FAILED, FORBIDDEN)
    reasons = sorted(tally.reasons.items(), key=lambda item: -item[1])
    return Counts(
        references=count,
        left_out=left,
        targets={state: tally.targets[state] for state in order if tally.targets[state]},
        forms=dict(tally.forms),
        arrays=arrays,
        reasons=tuple((path, why, n) for (path, why), n in reasons),
        unchecked=tuple((path, what, n) for (path, what), n in tally.unchecked.items()),
        failures=tally.failures,
        grants=tuple(tally.grants),
        unfinished=tuple(work.given_up),
        stopped=stopped,
        lost=work.lost,
        values=tally.values,
        largest=None if tally.largest is None else tally.largest[0],
        largest_at=None if tally.largest is None else tally.largest[1],
        false_nan=tally.false_nan,
    )
