"""What other readers make of a document, as notes; of a long one a key of each kind is judged."""

from __future__ import annotations

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
from refexplorer.spec.dialects.differences import note_differences
from refexplorer.spec.dialects.survey import Survey
from refexplorer.spec.document.model import Document


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
    return document_notes(written, document, noted)


def document_notes(
    written: Mapping[str, Any], document: Document, noted: Collection[Diagnostic]
) -> Findings:
    """Return such notes of a document that is at hand."""
    survey = Survey(document, written)
    return note_differences((reader.judge(survey) for reader in READERS), document, noted)


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
        chosen.append(np.array([entries.offsets.argmax(), entries.lengths.argmax()]))
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
