"""What other readers make of a document, as notes; of a long one a key of each kind is judged."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from refexplorer.errors import RefexplorerError
from refexplorer.formats.buffers.arrow import number_column
from refexplorer.formats.buffers.entries import Entries
from refexplorer.formats.documents import read_long, read_whole
from refexplorer.formats.json.block_reader import DocumentEntries
from refexplorer.formats.source import Source
from refexplorer.limits import Limits
from refexplorer.spec.core.diagnostics import Diagnostic, Findings
from refexplorer.spec.dialects import READERS
from refexplorer.spec.dialects.differences import note_differences, note_forms
from refexplorer.spec.dialects.survey import Survey
from refexplorer.spec.document.model import Document

COMPARED_KEYS = 3_000_000
"""Explicit references up to which a set is read once more: 10^7 of them take 480 MB."""
_HEAD = 4
"""Bytes that tell the encoding."""


def reader_notes(
    source: Source,
    templates: Mapping[str, str],
    limits: Limits,
    trusted: bool,
    noted: Collection[Diagnostic],
) -> Findings:
    """Return notes on what readers make otherwise of a set, which is read once more.

    Parameters
    ----------
    source
        Where the set comes from; one that is no document has no notes, and neither has one that
        is gone.
    templates
        What replaced templates of the set.
    limits, trusted
        As it was opened.
    noted
        What was found in it before.
    """
    if not source.is_document or (source.content is None and source.value is None):
        return Findings()
    try:
        written, document = _document(source, templates, limits, trusted)
    except (OSError, RefexplorerError):
        return Findings()
    findings = document_notes(written, document, noted)
    note_encoding(source, findings)
    return findings


def too_many_to_compare(count: int) -> Findings:
    """Return the note that readers were not compared, for a set of so many references."""
    findings = Findings()
    findings.add(
        "readers-not-compared",
        "",
        f"Of {count:,} references it was not checked what other readers make of them.",
        "`refexplorer dialects` tells it.",
    )
    return findings


def note_encoding(source: Source, findings: Findings) -> None:
    """Note a document that is not UTF-8 without a mark; the source can be read."""
    if source.content is None:
        return
    with source.content() as stream:
        head = stream.read(_HEAD)
    encoding = json.detect_encoding(head)
    if encoding != "utf-8":
        said = (
            "begins with a byte order mark" if encoding == "utf-8-sig" else f"is {encoding.upper()}"
        )
        hint = "Write it as UTF-8 without a mark, as RFC 8259 requires."
        findings.add("odd-encoding", "", f"The document {said}; not every reader takes it.", hint)


def document_notes(
    written: Mapping[str, Any], document: Document, noted: Collection[Diagnostic]
) -> Findings:
    """Return such notes of a document that is at hand."""
    survey = Survey(document, written)
    findings = Findings()
    note_forms(survey, findings)
    known = [*noted, *findings]
    verdicts = (reader.judge(survey) for reader in READERS)
    findings.extend(note_differences(verdicts, document, known))
    return findings


def _document(
    source: Source, templates: Mapping[str, str], limits: Limits, trusted: bool
) -> tuple[Mapping[str, Any], Document]:
    long = read_long(source, templates, limits, Findings(), trusted, None)
    if long is None:
        return read_whole(source, templates, limits, Findings(), trusted)
    document, entries = long
    assert isinstance(entries, DocumentEntries)
    refs = _one_of_each(entries)
    written = {**entries.outer, "refs": refs} if entries.is_v1 else refs
    return written, replace(document, refs=refs)


def _one_of_each(entries: Entries) -> dict[str, Any]:
    """Return the references that are no byte ranges, the first range of each URL, and the last."""
    rows = np.fromiter(entries.values, np.int64, len(entries.values))
    codes, firsts = np.unique(entries.codes, return_index=True)
    chosen = [rows, firsts[codes >= 0]]
    if len(entries.codes):
        odd = [entries.offsets.argmax(), entries.lengths.argmax()]
        empty = np.flatnonzero((entries.codes >= 0) & (entries.lengths == 0))[:1]
        chosen += [np.array(odd), empty]
    places = np.unique(np.concatenate(chosen)).astype(np.int64)
    urls = entries.urls.to_pylist()
    refs: dict[str, Any] = {}
    for key, row in zip(
        entries.keys.take(number_column(places)).to_pylist(), places.tolist(), strict=True
    ):
        code = int(entries.codes[row])
        numbers = int(entries.offsets[row]), int(entries.lengths[row])
        refs[key] = entries.values[row] if code < 0 else [urls[code], *numbers]
    return refs
