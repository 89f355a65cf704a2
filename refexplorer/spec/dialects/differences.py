"""Notes on what readers make of a document otherwise than the specification, without a word.

A reader that reads parts of the specification only, and refuses the rest with an error, is left to
`dialects`: who uses it is told. What is noted here shows nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from refexplorer.spec.codes import Severity
from refexplorer.spec.core.diagnostics import Diagnostic, Findings, pointer
from refexplorer.spec.dialects.fsspec import FsspecDefault, FsspecJinja
from refexplorer.spec.dialects.javascript import JavaScript
from refexplorer.spec.dialects.survey import Link, Shape, Survey
from refexplorer.spec.dialects.verdicts import KeyDifference, Outcome, Verdict
from refexplorer.spec.document.model import Document

WHOLE = (FsspecDefault.name, FsspecJinja.name, JavaScript.name)
"""The readers of the whole specification: where they refuse a set, others may not."""
_QUOTED = re.compile(r"`([^`]*)`")
_ITEM = re.compile(r"gen\[(\d+)\]")
_EXPLAINING = frozenset(
    {
        "almost-base64", "bad-dimension-name", "bad-template-name", "base64-whitespace",
        "duplicate-key", "empty-url", "float-offset", "gen-duplicate-key", "gen-empty",
        "gen-not-checked", "gen-number-not-string", "non-ascii-inline", "nonstandard-json-nan",
        "null-url", "odd-encoding", "readers-differ", "single-braces", "template-in-key",
        "template-in-v0", "unknown-field", "unknown-top-level-key", "vast-number",
        "version-missing",
    }
)  # fmt: skip
"""Warnings and notes that tell why readers differ at their place."""
_MANY = 4
_SAID = {
    Outcome.REFUSED: "the set cannot be opened",
    Outcome.DROPPED: "keys are left out",
    Outcome.DIFFERENT: "keys are read differently",
}


def note_differences(
    verdicts: Iterable[Verdict], document: Document, noted: Collection[Diagnostic]
) -> Findings:
    """Return a note for each place at which readers differ and nothing that was noted tells why.

    Parameters
    ----------
    verdicts
        Of the readers.
    document
        As the specification reads it.
    noted
        What was found in it before.
    """
    errors = [found for found in noted if found.severity is Severity.ERROR]
    telling = [*errors, *(found for found in noted if found.code in _EXPLAINING)]
    places = {above for found in telling for above in _above(found.pointer)}
    if errors:
        places.add("")  # an error is why a reader refuses the set, and was said
    found: dict[tuple[str, str], list[str]] = {}
    for verdict in verdicts:
        at = _place(verdict, document, places)
        if at is not None:
            found.setdefault((at, _what(verdict)), []).append(verdict.reader)
    findings = Findings()
    for (at, what), readers in found.items():
        findings.add(
            "readers-differ",
            at,
            f"{' and '.join(readers)} {'differ' if len(readers) > 1 else 'differs'}: {what}",
            "`refexplorer dialects` tells what each reader makes of the set.",
            count=len(readers),
        )
    return findings


_FORMS = {
    Shape.EMPTY_RANGE: "GDAL, and readers of a parquet store, take a range of 0 bytes for the "
    "whole file; VirtualiZarr refuses it since 2.8.",
    Shape.LONG_RANGE: "GDAL refuses a range of 4 GiB or more.",
    Shape.EMPTY_BASE64: "GDAL refuses base64 of nothing.",
}
_PROTOCOLS = frozenset(
    {
        "abfs", "abfss", "adl", "az", "data", "file", "ftp", "gcs", "gs", "hdfs", "hf", "http",
        "https", "local", "memory", "oci", "osdf", "oss", "s3", "s3a", "sftp", "ssh", "tos",
        "webdav", "webhdfs",
    }
)  # fmt: skip
"""What fsspec, or a package for it, reads."""


def note_forms(survey: Survey, findings: Findings) -> None:
    """Note forms of references that readers treat differently, at the first of each form."""
    base = survey.document.base
    for group in survey.groups:
        key, link = group.samples[0][0], group.form.link
        said = _FORMS.get(group.form.shape)
        if link is Link.ABSOLUTE and group.form.text not in _PROTOCOLS and len(group.form.text) > 1:
            said = f"No reader is known that reads {group.form.text}: URLs."
        if said is not None and group.form.good_key:
            at = base + pointer(key)
            findings.add("readers-differ", at, said, key=key, count=group.count, together=True)
    if not survey.document.refs and not survey.items:
        said = "The document has no references: readers give an empty set, or an error."
        findings.add("no-references", base, said)


def _above(place: str) -> list[str]:
    """Return a pointer and those to what holds it, less the whole document unless it is that."""
    parts = place.split("/")
    return ["/".join(parts[:end]) for end in range(2, len(parts) + 1)] or [place]


def _place(verdict: Verdict, document: Document, noted: set[str]) -> str | None:
    """Return the place of a difference that was not noted; None if there is none."""
    if verdict.outcome is Outcome.SAME:
        return None
    if verdict.outcome is Outcome.REFUSED:
        at = _place_of_refusal(str(verdict.reasons[0]), document)
        return at if verdict.reader in WHOLE and not {at, ""} & noted else None
    if not verdict.examples:
        at = _in_gen(str(verdict.reasons[0]))
        return None if at in noted else at
    places = (_place_of(example, verdict, document) for example in verdict.examples)
    return next((at for at in places if at not in noted), None)


def _place_of(example: KeyDifference, verdict: Verdict, document: Document) -> str:
    if example.key in document.refs:
        return document.base + pointer(example.key)
    return _in_gen(" ".join([example.key, *map(str, verdict.reasons)]))


def _place_of_refusal(sentence: str, document: Document) -> str:
    for name in _QUOTED.findall(sentence):
        if name in document.refs:
            return document.base + pointer(name)
        if name in document.templates:
            return pointer("templates", name)
    return _in_gen(sentence) if _ITEM.search(sentence) else ""


def _in_gen(sentence: str) -> str:
    item = _ITEM.search(sentence)
    return pointer("gen", int(item[1])) if item else pointer("gen")


def _what(verdict: Verdict) -> str:
    said = _SAID[verdict.outcome]
    examples = [f"`{example.key[:100]}`" for example in verdict.examples[:_MANY]]
    such = f", such as {', '.join(examples)}" if examples else ""
    return f"{said}{such}. {' '.join(reason.sentence for reason in verdict.reasons)}"
