"""`repair`: a better set, from what verifying one against its files finds."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refexplorer.checks.engine import AuditWatch
from refexplorer.checks.report import Report
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import check_expandable
from refexplorer.formats.columns.table import Table
from refexplorer.io.access.policy import AccessPolicy, allowed_names
from refexplorer.io.fetch.targets import Targets
from refexplorer.refset.contents import Contents, internals
from refexplorer.refset.opened_set import OpenedSet, table_of
from refexplorer.refset.writing.references import Renames, retargeted
from refexplorer.spec.diagnostics import Findings
from refexplorer.verbs.converting import Conversion, check_output
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.verbs.repair.law import RepairLaw
from refexplorer.verbs.repair.patched import patched
from refexplorer.verbs.repair.plan import plan
from refexplorer.verbs.repair.result import Repair, RepairTerms

ROUNDS = 4
"""Metadata that is right shows which references are wrong, and those which shape."""


def repair(
    source: object,
    output: str | os.PathLike[str] | None = None,
    *,
    renames: Sequence[tuple[str, str]] = (),
    values: str = "none",
    allow: Collection[str] = (),
    storage_options: Mapping[str, Any] | None = None,
    form: str | None = None,
    overwrite: bool = False,
    watch: AuditWatch = lambda progress: True,
) -> Repair:
    """Repair a set with what the metadata of its files say.

    The set is verified, what is wrong is planned as a patch, and the patched set is verified on the
    same terms. A reference is replaced where it is wrong and the place of the chunk in a file is
    certain; metadata where all files agree. No chunk may get worse: a change that would do so, and
    what nothing says is wrong, is left with the reason. The source is never changed.

    Parameters
    ----------
    source
        A `ReferenceSet`, or a source as `open_references` takes it.
    output
        Where to write the repaired set; None writes nothing, and `Repair.write` does it later.
    renames
        Starts of URLs and what they become, for files that were moved; the first rule that fits is
        applied.
    values, allow, storage_options, watch
        As `ReferenceSet.verify` has them; the files are read once for each round, of which there
        are at most five, and once more for what was written.
    form, overwrite
        As `refexplorer.Conversion` has them.

    Returns
    -------
    Repair
        ``difference``, ``repaired``, ``left`` with what to do about it, ``before``, ``after``.

    Raises
    ------
    RefexplorerError
        If a rule fits no URL, verifying was stopped, or the output cannot be written.
    LimitError
        If the set has more references than verifying takes.
    """
    refs = source if isinstance(source, ReferenceSet) else open_references(source)
    if output is not None:
        check_output(refs, Path(output), None, Conversion(form=form, overwrite=overwrite))
    check_expandable(refs.count, refs.limits)
    options = refs.storage_options if storage_options is None else storage_options
    terms = RepairTerms(refs, values, (*refs.allowed, *allowed_names(allow)), options)
    found = _repaired(_renamed(refs, renames), terms, watch)
    if output is not None:
        found.write(output, form=form, overwrite=overwrite)
    return found


def _repaired(refs: ReferenceSet, terms: RepairTerms, watch: AuditWatch) -> Repair:
    before = after = terms.verified(refs, watch)
    reasons: dict[tuple[str, str], None] = {}
    refused: dict[str, str] = {}
    for _ in range(ROUNDS):
        better = _better(refs, after, terms, watch, reasons, refused)
        if better is None:
            break
        refs, after = better
    return Repair(before, after, refs, tuple(reasons), refused, terms)


def _better(
    refs: ReferenceSet,
    found: Report,
    terms: RepairTerms,
    watch: AuditWatch,
    reasons: dict[tuple[str, str], None],
    refused: dict[str, str],
) -> tuple[ReferenceSet, Report] | None:
    """Return a set that the law allows, and what verifying it found; None if there is none.

    What the law forbids is noted in `refused`, and the rest is tried without it.
    """
    opened = internals(refs).opened
    table = table_of(opened.parts)
    arrays = {path: meta for path in opened.arrays.paths if (meta := opened.arrays.get(path))}
    policy = AccessPolicy(refs.source.location, terms.allow)
    targets = Targets(policy, terms.storage_options, refs.limits)
    law = RepairLaw(found, opened, targets, refs.limits)
    patch = plan(found, table, arrays).without(refused)
    reasons |= dict.fromkeys(patch.reasons)
    while True:
        made = patched(table, arrays, patch)
        reasons |= dict.fromkeys(made.reasons)
        if not made.has_changed:
            return None
        candidate = _set_of(refs, made.table)
        odd = law.refused(patch, internals(candidate).opened)
        if not odd:
            after = terms.verified(candidate, watch)
            odd = law.broken(patch, after)
            if not odd:
                return candidate, after
        refused |= odd
        if not odd.keys() & patch.arrays.keys():  # another array would fall: nothing is changed
            return None
        patch = patch.without(odd)


def _renamed(refs: ReferenceSet, rules: Sequence[tuple[str, str]]) -> ReferenceSet:
    if not rules:
        return refs
    renames = Renames(rules)
    table = retargeted(table_of(internals(refs).opened.parts), [renames.apply])
    if renames.unused:
        start = next(iter(renames.unused))[0]
        raise RefexplorerError(f"No URL of {refs.source.name} starts with {start!r}.")
    return _set_of(refs, table)


def _set_of(refs: ReferenceSet, table: Table) -> ReferenceSet:
    """Return a set of other references that has the name and the place of another."""
    source = replace(
        refs.source, content=None, value=None, store=None, entries=None, place=None, recorded=None
    )
    contents = Contents(OpenedSet(table), Findings())
    options = refs.storage_options
    return ReferenceSet(source, contents, refs.limits, False, options, refs.allowed)
