"""The summary of an audit as HTML: in a notebook, and as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from refexplorer.checks.look.audit_states import STATES
from refexplorer.checks.report_page import bar, number, report_page, titled
from refexplorer.core.text import code, items, shown

if TYPE_CHECKING:
    from refexplorer.checks.references import LostFiles
    from refexplorer.checks.render.audit_summary import ArrayAudit, AuditSummary

SHOWN = 50
"""Problems and record files that are listed."""
_CHARS = 200  # characters of a name: a file may hold any text


def page(summary: AuditSummary) -> str:
    """Return the page."""
    return report_page(f"Audit of {shown(summary.source, _CHARS)}", summary_html(summary))


def summary_html(summary: AuditSummary) -> str:
    """Return verdict, counts, and tables of arrays, lost record files and problems."""
    mark = '<b class="good">✓' if summary.good else '<b class="bad">✕'
    sentences = [*summary.sentences(), *summary.outdated, *summary.advice()]
    return (
        f'<div class="refexplorer"><p><b>{shown(summary.source, _CHARS)}</b>: '
        f"{mark} {summary.verdict}</b></p>{items(map(shown, sentences))}"
        f"{_arrays(summary.arrays)}{_lost_files(summary.lost)}{_problems(summary)}</div>"
    )


def _arrays(arrays: Sequence[ArrayAudit]) -> str:
    head = ("Array", number("Chunks"), number("References"), "States")
    rows = (
        (
            code(array.name, _CHARS),
            "" if array.chunks is None else number(f"{array.chunks:,}"),
            number(f"{array.references:,}"),
            f"{bar(array.states, STATES, _absent(array))}{shown(array.states_text)}",
        )
        for array in arrays
    )
    return titled("Arrays", head, rows)


def _absent(array: ArrayAudit) -> int:
    """Return how many chunks have no reference."""
    return max((array.chunks or 0) - array.references, 0)


def _lost_files(lost: LostFiles) -> str:
    rows = ((code(f.file, _CHARS), shown(f.places), shown(f.why)) for f in lost.files[:SHOWN])
    return titled("Record files", ("File", "Chunks without a reference", "Why"), rows, lost.count)


def _problems(summary: AuditSummary) -> str:
    rows = (
        (
            code(problem.target, _CHARS) if problem.target else "",
            shown(problem.what),
            shown(problem.message, 2 * _CHARS),
        )
        for problem in summary.problems[:SHOWN]
    )
    head = ("Target", "References", "Why")
    return titled("Problems", head, rows, summary.problem_count)
