"""`repair`: a better set, from what verifying one against its files finds."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refexplorer.checks.engine import AuditWatch
from refexplorer.checks.report import Report
from refexplorer.data.access.policy import allowed_names
from refexplorer.errors import RefexplorerError
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.batches import table_of
from refexplorer.refset.opened.contents import Contents
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.queries.internals import internals
from refexplorer.refset.write.retargeting import Renames, retargeted
from refexplorer.rewriting.repair.applied import applied
from refexplorer.rewriting.repair.plan import Planner, RepairPlan
from refexplorer.rewriting.repair_result import Repair, check_output, is_worse
from refexplorer.rewriting.repair_verifying import RepairVerifying
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.document.expansion import check_expandable

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
    """Make a better set from what the files say of themselves.

    References that are stale, shifted or lead to another array are made anew from the metadata of
    the file, where the place of the file in the set is certain; chunks without a reference get
    one. Metadata becomes that of the files where all of them agree. The result is verified before
    anything is written, and the source is never changed.

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
        check_output(refs, Path(output), overwrite)
    check_expandable(refs.count, refs.limits)
    options = refs.storage_options if storage_options is None else storage_options
    verifying = RepairVerifying(refs, values, (*refs.allowed, *allowed_names(allow)), options)
    found = _repaired(_renamed(refs, renames), verifying, watch)
    if output is not None:
        found.write(output, form=form, overwrite=overwrite)
    return found


def _repaired(refs: ReferenceSet, verifying: RepairVerifying, watch: AuditWatch) -> Repair:
    before = after = verifying.verified(refs, watch)
    reasons: dict[tuple[str, str], None] = {}
    refused: dict[str, str] = {}
    law, keys = verifying.law(refs), dict[str, None]()
    for _ in range(ROUNDS):
        law.note(after)
        plan = _plan(refs, after).without(refused)
        table = table_of(internals(refs).opened.parts)
        arrays = {path: refs.array(path) for path in plan.paths}
        made = applied(table, arrays, plan)
        candidate = _set_of(refs, made.table)
        while made.keys:
            new = law.refused(internals(candidate).opened, [*keys, *made.keys])
            if not new:
                break
            if new.keys() <= refused.keys():  # what was allowed before no longer is
                made = replace(made, keys=())
                break
            refused |= new
            plan = plan.without(refused)
            made = applied(table, arrays, plan)
            candidate = _set_of(refs, made.table)
        reasons = dict.fromkeys([*plan.reasons, *made.reasons])
        if not made.keys:
            break
        keys |= dict.fromkeys(made.keys)
        found = verifying.verified(candidate, watch)
        if is_worse(found, after):
            reasons |= dict.fromkeys([("", "what was made anew differed more from the files")])
            break
        refs, after = candidate, found
    return Repair(before, after, refs, tuple(reasons), refused, verifying.original, verifying)


def _plan(refs: ReferenceSet, found: Report) -> RepairPlan:
    opened = internals(refs).opened
    metas = [array for path in opened.arrays.paths if (array := opened.arrays.get(path))]
    odd = {each.array for each in found.findings if each.code == "shape"}
    return Planner({each.path: each for each in metas}, odd).plan(found.tables_as_read())


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
    return ReferenceSet(source, contents, refs.limits, storage_options=refs.storage_options)
