"""Notes on what readers make of a document otherwise than the specification, without a word.

A reader that reads parts of the specification only, and refuses the rest with an error, is left to
`dialects`: who uses it is told. What is noted here shows nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from refexplorer.spec.core.diagnostics import Diagnostic, Findings, pointer
from refexplorer.spec.dialects.fsspec import FsspecDefault, FsspecJinja
from refexplorer.spec.dialects.javascript import JavaScript
from refexplorer.spec.dialects.verdicts import KeyDifference, Outcome, Verdict
from refexplorer.spec.document.model import Document

WHOLE = (FsspecDefault.name, FsspecJinja.name, JavaScript.name)
"""The readers of the whole specification: where they refuse a set, others may not."""
_QUOTED = re.compile(r"`([^`]*)`")
_ITEM = re.compile(r"gen\[(\d+)\]")
_MANY = 4
_SAID = {
    Outcome.REFUSED: "the set cannot be opened",
    Outcome.DROPPED: "keys are left out",
    Outcome.DIFFERENT: "keys are read differently",
}


def note_differences(
    verdicts: Iterable[Verdict], document: Document, noted: Collection[Diagnostic]
) -> Findings:
    """Return a note for each place at which readers differ and nothing else was noted.

    Parameters
    ----------
    verdicts
        Of the readers.
    document
        As the specification reads it.
    noted
        What was found in it before.
    """
    places = {found.pointer for found in noted}
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
            f"By {' and '.join(readers)} {what}",
            "`refexplorer dialects` tells what each reader makes of the set.",
            count=len(readers),
        )
    return findings


def _place(verdict: Verdict, document: Document, noted: Collection[str]) -> str | None:
    """Return the place of a difference that was not noted; None if there is none."""
    if verdict.outcome is Outcome.SAME:
        return None
    if verdict.outcome is Outcome.REFUSED:
        at = _place_of_refusal(str(verdict.reasons[0]), document)
        return at if verdict.reader in WHOLE and at not in noted else None
    if not verdict.examples:
        return _in_gen(str(verdict.reasons[0]))
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
