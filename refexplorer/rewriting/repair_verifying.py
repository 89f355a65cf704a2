"""How the sets are verified that a repair makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refexplorer.checks.engine import AuditWatch
from refexplorer.checks.report import Report
from refexplorer.checks.verifying import VerifyManner, VerifyTerms, verify
from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.errors import RefexplorerError
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.queries.internals import internals
from refexplorer.rewriting.repair.law import RepairLaw


@dataclass(frozen=True)
class RepairVerifying:
    """How sets that come of another one are verified.

    Attributes
    ----------
    original
        The other one; what may be read of it may be read of all.
    values, allow, storage_options
        As `repair` takes them.
    """

    original: ReferenceSet
    values: str
    allow: tuple[str, ...]
    storage_options: Mapping[str, Any] = field(repr=False)

    def law(self, refs: ReferenceSet) -> RepairLaw:
        """Return the law of what may become of a set."""
        policy = AccessPolicy(refs.source.location, self.allow)
        limits = self.original.limits
        targets = Targets(policy, self.storage_options, limits)
        return RepairLaw(internals(refs).opened, targets, limits)

    def verified(self, refs: ReferenceSet, watch: AuditWatch) -> Report:
        """Verify one of them.

        Raises
        ------
        RefexplorerError
            Also if it was stopped.
        """
        manner = VerifyManner(self.values, watch=watch, remake=True)
        allow, beside = self.allow, self.original.source.location
        if beside is not None and refs.source.location != beside:
            allow = (*allow, beside)
        base = "/refs" if refs.source.form == "V1" else ""
        terms = VerifyTerms(
            refs.source.location,
            allow,
            self.original.limits,
            self.storage_options,
            base,
            unlisted=self.original.source.unlisted,
            left_out=self.original.source.left_out,
        )
        inside = internals(refs)
        name = self.original.source.name
        found = verify(name, inside.opened, inside.findings, terms, manner)
        if found.counts.stopped:
            raise RefexplorerError("Verifying was stopped, so nothing was repaired.")
        return found
