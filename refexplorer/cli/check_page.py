"""``check --html``: the diagnostics of a set, and its targets, as a page."""

from __future__ import annotations

from pathlib import Path

from refexplorer.checks.render.check_results import TargetChecks
from refexplorer.checks.report_page import explained_code, report_page, titled, write_report
from refexplorer.markup import code, counted, shown
from refexplorer.referenceset import ReferenceSet

_SHOWN = 200
"""Diagnostics that are listed."""
_CHARS = 400


def write_check_page(path: Path, refs: ReferenceSet, checks: TargetChecks | None) -> None:
    """Write a page that needs nothing else."""
    found = refs.diagnostics
    name = shown(refs.source.name, _CHARS)
    said = f"{counted(refs.count, 'key')}, {counted(len(found), 'diagnostic')}"
    if checks is None:
        said += "; the targets were not checked (use --targets) and no data was read"
    rows = (
        (
            shown(str(each.severity)),
            explained_code(each.code),
            code(each.place, _CHARS),
            shown(each.sentence, 2 * _CHARS),
        )
        for each in found[:_SHOWN]
    )
    head = ("Severity", "Code", "Where", "What, and what to do")
    tables = titled("Diagnostics", head, rows, len(found))
    targets = "" if checks is None else checks._repr_html_()
    body = f'<div class="refexplorer"><p><b>{name}</b>: {shown(said)}.</p>{tables}</div>{targets}'
    write_report(path, report_page(f"Check of {name}", body))
