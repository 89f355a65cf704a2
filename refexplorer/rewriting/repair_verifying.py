"""How the sets are verified that a repair makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refexplorer.data.audit.auditing import AuditWatch
from refexplorer.data.verify.report.verification import Verification
from refexplorer.data.verify.verifying import VerifyManner, VerifyTerms, verify
from refexplorer.errors import RefexplorerError
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.queries.internals import internals


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

    def verified(self, refs: ReferenceSet, watch: AuditWatch) -> Verification:
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
        )
        inside = internals(refs)
        name = self.original.source.name
        found = verify(name, inside.opened, inside.findings, terms, manner)
        if found.counts.stopped:
            raise RefexplorerError("Verifying was stopped, so nothing was repaired.")
        return found
