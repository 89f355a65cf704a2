"""The rules of `refexplorer.spec.lint`, asked of columns: only odd rows reach Python."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from refexplorer.formats.arrow import flags_of
from refexplorer.refset.columns import Columns
from refexplorer.refset.linting_grids import lint_arrays
from refexplorer.refset.linting_ranges import lint_ranges
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.segments import Generated, Segment
from refexplorer.refset.table import Table
from refexplorer.spec.diagnostics import Findings, pointer
from refexplorer.spec.expansion import note_all
from refexplorer.spec.lint import (
    ODD_KEY,
    remark_on_protocols,
    remarks_on_key,
    remarks_on_metadata,
    remarks_on_url,
)
from refexplorer.spec.references import Inline, Range, Url


def lint(opened: OpenedSet, version: int, base: str, findings: Findings) -> None:
    """Note what is odd about a set as a whole.

    Parameters
    ----------
    version
        0 or 1; templates mean nothing in V0.
    base
        What the pointer of a key starts with.
    """
    _lint_keys(opened.table, version, base, findings)
    _lint_folders(opened, base, findings)
    _lint_metadata(opened.table, base, findings)
    _lint_urls(opened, version, base, findings)
    lint_arrays(opened, base, findings)
    lint_ranges(opened, base, findings)


def _matching(table: Table, pattern: str) -> list[int]:
    rows: list[int] = np.flatnonzero(
        flags_of(pc.match_substring_regex(table.keys, pattern))
    ).tolist()
    return rows


def _lint_keys(table: Table, version: int, base: str, findings: Findings) -> None:
    for row in _matching(table, ODD_KEY):
        key = table.key_at(row)
        note_all(remarks_on_key(key, version), findings, base + pointer(key), key)


def _lint_folders(opened: OpenedSet, base: str, findings: Findings) -> None:
    for folder in opened.tree.folders[1:]:
        if opened.table.find(folder.path) is not None:
            findings.add(
                "key-is-also-directory",
                base + pointer(folder.path),
                f"`{folder.path}` is a key and the folder of other keys.",
                key=folder.path,
            )


def _lint_metadata(table: Table, base: str, findings: Findings) -> None:
    for key, row in table.metadata.items():
        reference = table.reference_at(row)
        if isinstance(reference, Inline):
            remarks = remarks_on_metadata(key, reference.text)
            note_all(remarks, findings, base + pointer(key), key)


def _lint_urls(opened: OpenedSet, version: int, base: str, findings: Findings) -> None:
    seen: list[str | None] = []
    for part, columns in opened.columns():
        seen += _lint_column(part, columns, version, base, findings)
    for segment in opened.segments:
        if isinstance(segment, Generated):
            seen += _lint_first_url(segment, version, findings)
    remark = remark_on_protocols(seen)
    if remark is not None:
        findings.add(remark.code, "", remark.message, remark.hint)


def _lint_first_url(part: Generated, version: int, findings: Findings) -> list[str | None]:
    reference = part.reference_at(0)
    if not isinstance(reference, Url | Range):
        return []
    at = pointer("gen", part.item.number, "url")
    odd = remarks_on_url(reference.url, version)
    note_all(odd, findings, at, part.key_at(0), together=True)
    return [reference.url]


def _lint_column(
    part: Segment, columns: Columns, version: int, base: str, findings: Findings
) -> list[str | None]:
    """Note what is odd about each distinct URL, at its first key; return the URLs."""
    found = np.unique(columns.targets, return_index=True, return_counts=True)
    urls = []
    for code, row, count in zip(*(column.tolist() for column in found), strict=True):
        if code < 0:
            continue
        urls.append(columns.urls[code])
        for remark in remarks_on_url(columns.urls[code], version):
            key = part.key_at(row)
            at = base + pointer(key)
            findings.add(
                remark.code,
                at,
                remark.message,
                remark.hint,
                key=key,
                count=count,
                together=True,
            )
    return urls
