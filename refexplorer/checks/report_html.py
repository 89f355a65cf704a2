"""A report as HTML: in a notebook, and as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.counts import CheckedArray, Counts
from refexplorer.checks.headlines import Headline
from refexplorer.checks.records import DIFFERS, FAILED, FORBIDDEN, UNCOMPARED
from refexplorer.checks.report_page import bar, explained_code, number, report_page, titled
from refexplorer.checks.states import CHUNK_TERMS, FileState
from refexplorer.core.text import code, counted, items, shown, size_text
from refexplorer.spec.findings import Finding

SHOWN = 50
"""Findings, files and reasons that are listed."""
_CHARS = 200  # characters of a name: a file may hold any text
_COLOURS = ("", "good", "", "bad", "", "alone", "unknown")
"""The state of each colour of a report's page."""
_ODD = {DIFFERS, FAILED, UNCOMPARED, FORBIDDEN}


@dataclass(frozen=True)
class ReportHtml:
    """What the HTML of a report is made of; fields as `Report` has them."""

    source: str
    headline: Headline
    sentences: Sequence[str]
    findings: Sequence[Finding]
    arrays: Sequence[CheckedArray]
    counts: Counts

    def document(self, tables: Iterable[pa.Table], targets: pa.Table | None) -> str:
        """Return a page for the data owner: what was looked at, what is wrong, in which files.

        The files are in `tables` if they were read, in `targets` if they were only asked.
        """
        title = f"Report on {shown(self.source, _CHARS)}"
        files = _files(tables) if targets is None else _targets(targets)
        return report_page(title, f"{self.summary()}{files}")

    def summary(self) -> str:
        """Return headline, coverage, and tables of arrays, findings and what was not compared."""
        mark = {0: '<b class="good">✓', 1: '<b class="bad">✕'}.get(self.headline.status, "<b>?")
        sentences = items(shown(each, 5 * _CHARS) for each in self.sentences)
        return (
            f'<div class="refexplorer"><p><b>{shown(self.source, _CHARS)}</b>: '
            f"{mark} {shown(self.headline.text)}</b></p>{sentences}{_findings(self.findings)}"
            f"{_arrays(self.arrays)}{_not_compared(self.counts)}</div>"
        )


def _findings(findings: Sequence[Finding]) -> str:
    rows = (
        (
            shown(str(each.severity)),
            explained_code(each.code),
            f"{code(each.place, _CHARS)} {shown(each.sentence, 3 * _CHARS)}{_details(each)}",
        )
        for each in findings[:SHOWN]
    )
    return titled("Findings", ("Severity", "Code", "What and where"), rows, len(findings))


def _details(finding: Finding) -> str:
    """Return files and keys, which open without a script."""
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
            f"{bar(_by_rank(array), _COLOURS)}{shown(array.states_text)}",
        )
        for array in arrays
    )
    return titled("Arrays", ("Array", number("Files"), "Chunks"), rows)


def _by_rank(array: CheckedArray) -> dict[str, int]:
    found = dict.fromkeys(filter(None, _COLOURS), 0)
    for state, count in array.states.items():
        found[CHUNK_TERMS[state].rank.name.lower()] += count
    return found


def _not_compared(counts: Counts) -> str:
    rows = [
        (code(path) if path is not None else "", counted(n, "reference"), shown(why, 2 * _CHARS))
        for path, why, n in counts.reasons
    ]
    rows += [
        (code(path), counted(n, "file"), shown(what.rstrip(","), 2 * _CHARS))
        for path, what, n in counts.unchecked
    ]
    return titled("Not looked at", ("Array", "How many", "What, or why"), rows[:SHOWN], len(rows))


def _files(tables: Iterable[pa.Table]) -> str:
    """Return the files that are not the same, with what was found of each array."""
    rows: list[tuple[str, str, str]] = []
    count = 0
    for table in tables:
        for row in table.to_pylist():
            if row["state"] in _ODD and row["target"] is not None:
                count += 1
                if len(rows) < SHOWN:
                    why = shown("; ".join(_whys(row)), 3 * _CHARS)
                    rows.append((code(row["target"], _CHARS), code(row["array"] or ""),
                                 f"{shown(row['state'])}{': ' if why else ''}{why}"))  # fmt: skip
    return titled("Files that are not the same", ("File", "Array", "State"), rows, count)


def _targets(table: pa.Table) -> str:
    """Return the first files, what is wrong with them before the others."""
    columns = [table[name].to_numpy() for name in ("past_end", "failed")]
    is_fine = np.array([state == FileState.ASKED for state in table["state"].to_pylist()], bool)
    order = np.argsort(is_fine & (sum(columns) == 0), kind="stable")[:SHOWN]
    rows = (
        (
            code(row["target"], _CHARS) if row["target"] else "(the reader names it)",
            shown(row["state"]),
            number("" if row["size"] is None else size_text(row["size"])),
            number("" if row["references"] is None else f"{row['references']:,}"),
            shown(row["modified"] or ""),
            shown(row["message"] or "", 2 * _CHARS),
        )
        for row in table.take(pa.array(order)).to_pylist()
    )
    numbers = number("Size"), number("References")
    head = ("File", "State", *numbers, "Modified", "What to know")
    return titled("Files", head, rows, table.num_rows)


def _whys(row: dict[str, Any]) -> Iterator[str]:
    for found in row["findings"] or ():
        said = found["message"]
        if found["theirs"] is not None:
            said = f"{found['theirs']}, the set says {found['ours']}"
        yield f"{found['cause']} {said}" if said else found["cause"]
    if row["message"]:
        yield row["message"].rstrip(".")
