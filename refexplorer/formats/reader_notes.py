"""Notes on what other readers make of a document; of a long one a few keys of each kind tell it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.errors import RefexplorerError
from refexplorer.formats.buffers.arrow import number_column, numbers_of
from refexplorer.formats.buffers.entries import WHOLE, Entries
from refexplorer.formats.documents import read_long, read_whole
from refexplorer.formats.json.block_reader import DocumentEntries
from refexplorer.formats.source import Source
from refexplorer.limits import Limits
from refexplorer.markup import counted, escape
from refexplorer.spec.core.diagnostics import Diagnostic, Findings, pointer
from refexplorer.spec.dialects import READERS
from refexplorer.spec.dialects.differences import note_differences, note_forms
from refexplorer.spec.dialects.survey import EXACT, FORMS, LONGEST_UINT32, SAMPLES, Survey
from refexplorer.spec.document.model import Document

COMPARED_KEYS = 3_000_000
"""Explicit references up to which a set is read once more: 10^7 of them take 480 MB."""
_START_AND_REST = r"(?s)^([A-Za-z][A-Za-z0-9+.\-]*:|.?).*$"
_TEMPLATE_MARKS = r"[{\r\n]"
_SHAPE_BITS = 5
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
        survey = _survey(source, templates, limits, trusted)
    except (OSError, RefexplorerError):
        return Findings()
    findings = _notes(survey, noted)
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
    return _notes(Survey(document, written), noted)


def _notes(survey: Survey, noted: Collection[Diagnostic]) -> Findings:
    findings = Findings()
    note_forms(survey, findings)
    known = [*noted, *findings]
    verdicts = (reader.judge(survey) for reader in READERS)
    findings.extend(note_differences(verdicts, survey.document, known))
    return findings


def _survey(source: Source, templates: Mapping[str, str], limits: Limits, trusted: bool) -> Survey:
    long = read_long(source, templates, limits, Findings(), trusted, None)
    if long is None:
        written, document = read_whole(source, templates, limits, Findings(), trusted)
        return Survey(document, written)
    document, entries = long
    assert isinstance(entries, DocumentEntries)
    rows, counts = _some_of_each(entries)
    refs = entries.as_v0(rows)
    written = {**entries.outer, "refs": refs} if entries.is_v1 else refs
    keys = entries.keys.take(number_column(rows)).to_pylist()
    return Survey(replace(document, refs=refs), written, dict(zip(keys, counts, strict=True)))


def _some_of_each(entries: Entries) -> tuple[np.ndarray, list[int]]:
    """Return rows, and how many references each stands for, as finely as a reader tells them.

    All `values` are among them, and of byte ranges and whole files the first of each form: as many
    as a survey compares, since at some of them something else may have been noted.
    """
    lengths, rows = entries.lengths, np.flatnonzero(entries.codes >= 0)
    shapes = (entries.offsets > EXACT).astype(np.int64)
    for bound in (WHOLE, 0, LONGEST_UINT32, EXACT):
        shapes = 2 * shapes + (lengths > bound)
    forms = (_forms(entries.urls)[entries.codes[rows]] << _SHAPE_BITS) + shapes[rows]
    order = np.argsort(forms, kind="stable")
    starts = np.flatnonzero(np.diff(forms[order], prepend=-1))
    counts = np.diff(starts, append=len(order))
    taken = np.minimum(counts, np.where(np.arange(len(starts)) < FORMS, SAMPLES, 1))
    stands_for = np.ones(taken.sum(), np.int64)
    firsts = np.cumsum(taken) - taken
    stands_for[firsts] += counts - taken
    places = np.repeat(starts - firsts, taken) + np.arange(len(stands_for))
    others = np.fromiter(entries.values, np.int64, len(entries.values))
    chosen = np.append(rows[order[places]], others)
    in_order = np.argsort(chosen)
    return chosen[in_order], np.append(stands_for, np.ones_like(others))[in_order].tolist()


def _forms(urls: pa.LargeStringArray) -> np.ndarray:
    """Return a number for each URL: equal for one scheme, another for each template."""
    starts = pc.replace_substring_regex(urls, _START_AND_REST, r"\1")
    forms = pc.if_else(pc.match_substring_regex(urls, _TEMPLATE_MARKS), urls, starts)
    return numbers_of(forms.dictionary_encode().indices).astype(np.int64)


def note_beyond(source: Source, findings: Findings) -> None:
    """Note the byte ranges of a data file that end after it."""
    for key, count in source.beyond:
        name = escape(key.rpartition("/")[0] or "/", 200)
        findings.add(
            "range-past-end",
            pointer(key),
            f"{counted(count, 'byte range')} of {name} {'ends' if count == 1 else 'end'} after the "
            "file.",
            "The file is damaged or was not copied whole: compare its size with the original.",
            key=key,
            count=count,
        )
