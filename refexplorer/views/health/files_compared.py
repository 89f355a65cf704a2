"""The comparison of a set with its files, started and stopped in the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.checks.verifying import VerifyManner, VerifyTerms, verify
from refexplorer.errors import RefexplorerError
from refexplorer.refset.contents import internals
from refexplorer.spec.codes import Severity
from refexplorer.views.code.statements import code_of_verify
from refexplorer.views.wire.answering import Buffers, Operations
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.health_messages import (
    LastVerified,
    SetVerified,
    ShowVerified,
    VerifiedFinding,
    VerifySet,
)
from refexplorer.views.wire.jobs import STOPPED, JobReport

if TYPE_CHECKING:
    from refexplorer.checks.engine import AuditProgress
    from refexplorer.checks.report import Report
    from refexplorer.spec.diagnostics import Diagnostic

SHOWN = 200
"""Findings that one answer carries."""
_FILES = 5
_GRANTS = 8
_WORKERS = 2
"""Threads, each with a process that reads files; the page answers others meanwhile."""
_ORDER = list(Severity)


class FilesCompared:
    """Answers what the overview asks about the files."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._jobs = context.jobs
        self._did = context.did
        self.operations: Operations = {VerifySet: self._verify, ShowVerified: self.last}

    def last(self, request: ShowVerified) -> LastVerified:
        """Answer ``verify.last``."""
        found = self._refs.verified
        return LastVerified(None if found is None else self._told(found))

    def _verify(self, request: VerifySet) -> None:
        self._did(code_of_verify(request.values, self._targets.policy.granted))
        self._jobs.start(request, lambda report: self._compare(request, report))

    def _compare(self, request: VerifySet, report: JobReport) -> tuple[SetVerified, Buffers]:
        """Compare the set with the files that may be read."""

        def watch(progress: AuditProgress) -> bool:
            done, of = progress.audited, progress.total
            if of is None:
                return report(None, None, f"Listing references: {progress.listed:,}")
            return report(done, of, f"{done:,} of {of:,} references")

        refs, policy, inside = self._refs, self._targets.policy, internals(self._refs)
        base = "/refs" if refs.source.form == "V1" else ""
        options = self._targets.storage_options
        recorded = {} if refs.source.recorded is None else refs.source.recorded()
        terms = VerifyTerms(
            policy.location,
            policy.names,
            refs.limits,
            options,
            base,
            policy.served,
            recorded,
            refs.source.unlisted,
        )
        values = "sample" if request.values else "none"
        manner = VerifyManner(values, workers=_WORKERS, watch=watch)
        found = verify(refs.source.name, inside.opened, inside.findings, terms, manner)
        if found.counts.stopped:
            raise RefexplorerError(STOPPED)
        refs.verified = found
        return self._told(found), []

    def _told(self, found: Report) -> SetVerified:
        ordered = sorted(found.findings, key=lambda each: _ORDER.index(each.severity))
        return SetVerified(
            found.headline.text,
            found.good,
            found.summary,
            tuple(map(self._finding, ordered[:SHOWN])),
            len(ordered),
            found.counts.grants[:_GRANTS],
        )

    def _finding(self, found: Diagnostic) -> VerifiedFinding:
        key = found.key or ""
        has_key = internals(self._refs).opened.holds(key)
        return VerifiedFinding(
            found.severity,
            found.code,
            found.message,
            found.array,
            key if has_key else None,
            found.files[:_FILES],
            found.file_count,
        )
