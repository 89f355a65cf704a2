"""The summary of an audit as HTML: in a notebook, and as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from refexplorer.data.audit.plan.states import STATES
from refexplorer.markup import code, items, shown, table

if TYPE_CHECKING:
    from refexplorer.data.audit.plan.record_files import LostFiles
    from refexplorer.data.audit.report.audit_summary import ArrayAudit, AuditSummary

SHOWN = 50
"""Problems and record files that are listed."""
_CHARS = 200

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Audit of {title}</title>
<style>
:root {{
  color-scheme: light dark;
  --line: #d8dbe0; --quiet: #5b6270; --good: #00664a; --bad: #a63a00;
  --state-0: #56b4e9; --state-1: #009e73; --state-2: #f0e442; --state-3: #d55e00;
  --state-4: #cc79a7; --state-5: #e69f00; --state-6: #8a8f99;
}}
@media (prefers-color-scheme: dark) {{
  :root {{ --line: #3b3f47; --quiet: #a3a9b5; --good: #4fd1a5; --bad: #ff9a62; }}
}}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
  padding: 0 1rem; }}
p {{ margin: 1.5rem 0 .3rem; overflow-wrap: anywhere; }}
.good {{ color: var(--good); }}
.bad {{ color: var(--bad); }}
ul {{ margin: .3rem 0; padding-left: 1.2rem; }}
li {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ border-bottom: 1px solid var(--line); padding: .25rem 1rem .25rem 0; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }}
th {{ color: var(--quiet); overflow-wrap: normal; }}
td:first-child {{ min-width: 8rem; }}
td:last-child {{ width: 50%; }}
code {{ font: .87em ui-monospace, monospace; }}
:is(th, td):has(.number) {{ font-variant-numeric: tabular-nums; text-align: right;
  white-space: nowrap; }}
.bar {{ background: repeating-linear-gradient(45deg, var(--line) 0 1px, transparent 1px 5px);
  display: flex; height: .5rem; margin: .5rem 0 .2rem; outline: 1px solid var(--line); }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(summary: AuditSummary) -> str:
    """Return the page."""
    return _PAGE.format(title=shown(summary.source, _CHARS), body=summary_html(summary))


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
    head = ("Array", _number("Chunks"), _number("References"), "States")
    rows = (
        (
            code(array.name, _CHARS),
            "" if array.chunks is None else _number(f"{array.chunks:,}"),
            _number(f"{array.references:,}"),
            f"{_bar(array)}{shown(array.states_text)}",
        )
        for array in arrays
    )
    return _titled("Arrays", head, rows)


def _bar(array: ArrayAudit) -> str:
    """Return a bar of the states of the references; chunks without one stay empty."""
    parts = "".join(
        f'<i style="background: var(--state-{STATES.index(state)}); flex: {count}"></i>'
        for state, count in array.states.items()
    )
    absent = max((array.chunks or 0) - array.references, 0)
    return f'<span class="bar" aria-hidden="true">{parts}<i style="flex: {absent}"></i></span>'


def _lost_files(lost: LostFiles) -> str:
    rows = ((code(f.file, _CHARS), shown(f.places), shown(f.why)) for f in lost.files[:SHOWN])
    return _titled("Record files", ("File", "Chunks without a reference", "Why"), rows, lost.count)


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
    return _titled("Problems", head, rows, summary.problem_count)


def _titled(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], count: int = 0) -> str:
    """Return a table below its title, or nothing if it has no rows; `count` is that of all rows."""
    rows = list(rows)
    more = f"<p>… {count - len(rows):,} more.</p>" if count > len(rows) else ""
    return f"<p><b>{title}</b></p>{table(head, rows)}{more}" if rows else ""


def _number(text: str) -> str:
    return f'<span class="number">{text}</span>'
