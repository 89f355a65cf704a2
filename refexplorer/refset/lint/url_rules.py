"""The URLs of a set: those that are odd, and whether they need more than one file system."""

from __future__ import annotations

import numpy as np

from refexplorer.refset.columns.reference_columns import Columns, UrlColumn
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.segment import Generated, Segment
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.core.references import Range, Url
from refexplorer.spec.document.expansion import note_all
from refexplorer.spec.document.lint_rules import (
    ODD_URL,
    URL_START,
    remark_on_protocols,
    remarks_on_url,
)


def lint_urls(opened: OpenedSet, version: int, base: str, findings: Findings) -> None:
    """Note what is odd about each distinct URL, and of how many protocols they are."""
    starts: list[str | None] = []
    for part, columns in opened.columns():
        starts += _lint_column(part, columns, version, base, findings)
    for segment in opened.segments:
        if isinstance(segment, Generated):
            starts += _lint_first_url(segment, version, findings)
    remark = remark_on_protocols(starts)
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
    """Note what is odd about each distinct URL, at its first key; return how the URLs start."""
    used = np.flatnonzero(np.bincount(columns.targets + 1)[1:])  # -1 stands for no URL
    odd, starts = _at_a_glance(columns, used)
    rows = np.flatnonzero(np.isin(columns.targets, odd))
    _, first, counts = np.unique(columns.targets[rows], return_index=True, return_counts=True)
    for url, row, count in zip(
        columns.urls_at(odd), rows[first].tolist(), counts.tolist(), strict=True
    ):
        key = part.key_at(row)
        for remark in remarks_on_url(url, version):
            findings.add(
                remark.code,
                base + pointer(key),
                remark.message,
                remark.hint,
                key=key,
                count=count,
                together=True,
            )
    return starts


_PLAIN_STARTS = frozenset({"s3:", "gs:", "http:", "https:", "az:", "abfs:"})


def _at_a_glance(columns: Columns, used: np.ndarray) -> tuple[np.ndarray, list[str | None]]:
    """Return which of the `used` positions may have odd URLs, and how all of those start."""
    urls = columns.urls
    if isinstance(urls, UrlColumn) and (start := urls.plain_start(URL_START)) in _PLAIN_STARTS:
        behind = np.intersect1d(used, urls.behind(), assume_unique=True)
        return behind, [start, *urls.at(behind)]
    odd = np.intersect1d(used, columns.urls_matching(ODD_URL), assume_unique=True)
    return odd, columns.starts_of_urls(used, URL_START)
