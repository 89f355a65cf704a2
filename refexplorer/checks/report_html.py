"""A report as HTML: in a notebook, and as a self-contained page without scripts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.ledger import CheckedArray, Counts
from refexplorer.checks.records import DIFFERS, FAILED, FORBIDDEN, UNCOMPARED
from refexplorer.checks.states import CHUNK_TERMS, FileState, Rank
from refexplorer.core.errors import SecretsWarning, warn
from refexplorer.core.files import write_blocks
from refexplorer.core.text import code, counted, has_mask, items, prose, shown, size_text, table
from refexplorer.spec.codes import CODES
from refexplorer.spec.findings import Finding

if TYPE_CHECKING:
    from refexplorer.checks.report import Report

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{
  color-scheme: light dark;
  --line: #d8dbe0; --quiet: #5b6270; --good: #00664a; --bad: #a63a00;
  --state-1: #009e73; --state-3: #d55e00; --state-5: #e69f00; --state-6: #8a8f99;
}}
@media (prefers-color-scheme: dark) {{
  :root {{ --line: #3b3f47; --quiet: #a3a9b5; --good: #4fd1a5; --bad: #ff9a62; }}
}}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
  padding: 0 1rem; }}
.refexplorer {{ overflow-x: auto; }}
p {{ margin: 1.5rem 0 .3rem; overflow-wrap: anywhere; }}
.good {{ color: var(--good); }}
.bad {{ color: var(--bad); }}
ul {{ margin: .3rem 0; padding-left: 1.2rem; }}
li {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ border-bottom: 1px solid var(--line); padding: .25rem 1rem .25rem 0; text-align: left;
  vertical-align: top; }}
th {{ color: var(--quiet); }}
td:last-child {{ overflow-wrap: anywhere; width: 50%; }}
td:has(> code:only-child) {{ min-width: 7.5rem; }}
@media (max-width: 45rem) {{
  th, td {{ padding-right: .5rem; }}
  td:last-child {{ width: auto; }}
}}
code {{ font: .87em ui-monospace, monospace; overflow-wrap: anywhere; }}
:is(th, td):has(.number) {{ font-variant-numeric: tabular-nums; text-align: right;
  white-space: nowrap; }}
summary {{ color: var(--quiet); cursor: pointer; }}
details ul {{ list-style: none; padding-left: 0; }}
.bar {{ background: repeating-linear-gradient(45deg, var(--line) 0 1px, transparent 1px 5px);
  display: flex; height: .5rem; margin: .5rem 0 .2rem; outline: 1px solid var(--line); }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
SHOWN = 50  # Findings, files and reasons that are listed
_CHARS = 200  # characters of a name: a file may hold any text
_COLOURS = {Rank.GOOD: 1, Rank.BAD: 3, Rank.ALONE: 5, Rank.UNKNOWN: 6}  # `--state-…` of the page
_ODD = {DIFFERS, FAILED, UNCOMPARED, FORBIDDEN}


def document(report: Report, tables: Iterable[pa.Table], targets: pa.Table | None) -> str:
    """Return a page; `tables` list files that were read, `targets` those that were only found."""
    title = f"Report on {shown(report.source, _CHARS)}"
    files = _files(tables) if targets is None else _targets(targets)
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    body = f"{summary(report)}{files}<p>Written {moment}.</p>"
    return _PAGE.format(title=title, body=body)


def summary(report: Report) -> str:
    """Return headline, coverage, and tables of arrays, findings and what was not compared."""
    mark = {0: '<b class="good">✓', 1: '<b class="bad">✕'}.get(report.status, "<b>?")
    sentences = items(prose(each, 5 * _CHARS) for each in report.summary)
    return (
        f'<div class="refexplorer"><p><b>{shown(report.source, _CHARS)}</b>: '
        f"{mark} {prose(report.headline.text)}</b></p>{sentences}"
        f"{_findings(report.findings)}{_arrays(report.arrays)}{_not_compared(report.counts)}</div>"
    )


def _findings(findings: Sequence[Finding]) -> str:
    rows = (
        (
            shown(str(each.severity)),
            explained_code(each.code),
            f"{code(each.place, _CHARS)} {prose(each.sentence, 3 * _CHARS)}{_details(each)}",
            prose(each.remedy),
        )
        for each in findings[:SHOWN]
    )
    return titled(
        "Findings", ("Severity", "Code", "What and where", "What to do"), rows, len(findings)
    )


def _details(finding: Finding) -> str:
    """Return files and keys, in elements that expand without a script."""
    parts = [(counted(finding.file_count, "file"), finding.files)] if finding.files else []
    if finding.keys and finding.reference_count:
        parts.append((counted(finding.reference_count, "reference"), finding.keys))
    elif finding.key:
        parts.append(("Metadata", (finding.key,)))
    return "".join(
        f"<details><summary>{title}</summary>{items(_listed(names, title))}</details>"
        for title, names in parts
    )


def _listed(names: Sequence[str], title: str) -> Iterator[str]:
    yield from (code(name, _CHARS) for name in names)
    if title.partition(" ")[0].replace(",", "") not in (str(len(names)), "Metadata"):
        yield "…"


def _arrays(arrays: Iterable[CheckedArray]) -> str:
    rows = (
        (
            code(array.name, _CHARS),
            number(f"{array.files:,}"),
            f"{_bar(array)}{shown(array.states_text)}",
        )
        for array in arrays
    )
    return titled("Arrays", ("Array", number("Files"), "Chunks"), rows)


def _bar(array: CheckedArray) -> str:
    """Return a bar of chunks by rank; its colours are those of the explorer."""
    counts = dict.fromkeys(_COLOURS, 0)
    for state, count in array.states.items():
        counts[CHUNK_TERMS[state].rank] += count
    parts = (
        f'<i style="background: var(--state-{_COLOURS[rank]}); flex: {count}"></i>'
        for rank, count in counts.items()
    )
    return f'<span class="bar" aria-hidden="true">{"".join(parts)}</span>'


def _not_compared(counts: Counts) -> str:
    rows = [
        (code(path) if path is not None else "", counted(n, "reference"), prose(why, 2 * _CHARS))
        for path, why, n in counts.reasons
    ]
    rows += [
        (code(path), counted(n, "file"), prose(what.rstrip(","), 2 * _CHARS))
        for path, what, n in counts.unchecked
    ]
    return titled("Not looked at", ("Array", "How many", "What, or why"), rows[:SHOWN], len(rows))


def _files(tables: Iterable[pa.Table]) -> str:
    """Return the files that differ, with the findings for each array."""
    rows: list[tuple[str, str, str]] = []
    count = 0
    for part in tables:
        for row in part.to_pylist():
            if row["state"] in _ODD and row["target"] is not None:
                count += 1
                if len(rows) < SHOWN:
                    why = prose("; ".join(_whys(row)), 3 * _CHARS)
                    rows.append((code(row["target"], _CHARS), code(row["array"] or ""),
                                 f"{shown(row['state'])}{': ' if why else ''}{why}"))  # fmt: skip
    return titled("Files that are not the same", ("File", "Array", "State"), rows, count)


def _targets(targets: pa.Table) -> str:
    """Return the first files, those with faults first."""
    columns = [targets[name].to_numpy() for name in ("past_end", "failed")]
    is_fine = np.array([state == FileState.ASKED for state in targets["state"].to_pylist()], bool)
    order = np.argsort(is_fine & (sum(columns) == 0), kind="stable")[:SHOWN]
    rows = (
        (
            code(row["target"], _CHARS) if row["target"] else "(the reader names it)",
            shown(row["state"]),
            number("" if row["size"] is None else size_text(row["size"])),
            number("" if row["references"] is None else f"{row['references']:,}"),
            shown(row["modified"] or ""),
            prose(row["message"] or "", 2 * _CHARS),
        )
        for row in targets.take(pa.array(order)).to_pylist()
    )
    numbers = number("Size"), number("References")
    head = ("File", "State", *numbers, "Modified", "What to know")
    return titled("Files", head, rows, targets.num_rows)


def _whys(row: dict[str, Any]) -> Iterator[str]:
    for found in row["findings"] or ():
        said = found["message"]
        if found["theirs"] is not None:
            said = f"{found['theirs']}, the set says {found['ours']}"
        yield f"{found['cause']} {said}" if said else found["cause"]
    if row["message"]:
        yield row["message"].rstrip(".")


def write_report(path: str | os.PathLike[str], page: str) -> None:
    """Write a page to a file; warn first if URLs in it are masked."""
    if has_mask(page):
        warn(shown_without(path), SecretsWarning)
    write_blocks(Path(path), [page.encode()])


def shown_without(path: str | os.PathLike[str]) -> str:
    """Return the warning that a file has URLs without their secrets."""
    return (
        f"{os.fspath(path)} shows addresses without their signatures, tokens and passwords (***). "
        "Everybody with the set can use them until they expire: do not share it."
    )


def titled(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], count: int = 0) -> str:
    """Return a titled table, or nothing if it has no rows; `count` is the total number of rows."""
    rows = list(rows)
    more = f"<p>… {count - len(rows):,} more.</p>" if count > len(rows) else ""
    return f"<p><b>{title}</b></p>{table(head, rows)}{more}" if rows else ""


def explained_code(name: str) -> str:
    """Return a code that expands, without a script, to its meaning and remedy."""
    found = CODES[name]
    known = (found.meaning, found.cause, found.readers, f"{found.mend} {found.command}".rstrip())
    parts = items(prose(sentence) for sentence in known if sentence)
    return f"<details><summary>{code(name)}</summary>{parts}</details>"


def number(text: str) -> str:
    """Return a cell of a numeric column."""
    return f'<span class="number">{text}</span>'
