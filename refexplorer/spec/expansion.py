"""The expansion of a document to V0."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from refexplorer.core.errors import LimitError
from refexplorer.core.limits import Limits
from refexplorer.core.masking import masks_repr
from refexplorer.core.text import counted
from refexplorer.spec.diagnostics import Diagnostic, Findings, Locator, pointer
from refexplorer.spec.document import Document
from refexplorer.spec.gen.item import GenItem, runs
from refexplorer.spec.lint import (
    ALIKE,
    ELSEWHERE,
    Remark,
    is_metadata,
    remarks_on_key,
    remarks_on_nodes,
    remarks_on_url,
)
from refexplorer.spec.lint_metadata import remarks_on_metadata
from refexplorer.spec.references import Inline, Range, Reference, Url, V0Value


@masks_repr
@dataclass(frozen=True, slots=True)
class Expansion:
    """A document as V0.

    Attributes
    ----------
    v0
        Each key and its value: text, ``[url]`` or ``[url, offset, length]``; an object of the
        document is here as its JSON text.
    diagnostics
        What was noted on the way, errors first.
    """

    v0: dict[str, V0Value]
    diagnostics: tuple[Diagnostic, ...]

    def __str__(self) -> str:
        head = counted(len(self.v0), "key")
        return "\n".join([head, *map(str, self.diagnostics)])


def check_expandable(count: int, limits: Limits) -> None:
    """Refuse to write out more keys than the limits allow."""
    if count > limits.expanded_keys:
        raise LimitError(
            f"The set has {count:,} keys, and at most {limits.expanded_keys:,} are written out. "
            "Look up single keys instead, or raise `Limits.expanded_keys`."
        )


def expand_document(document: Document, locate: Locator | None = None) -> Expansion:
    """Write out a document as V0."""
    total = len(document.refs) + sum(item.count for item in document.gen)
    check_expandable(total, document.limits)
    found = dict(document.entries())
    lint_entries(found, document)
    v0 = {key: reference.to_v0() for key, reference in found.items()}
    for item in document.gen:
        for run in runs(item):
            _note_remade(run.keys, v0, item, document.findings)
            v0.update(run.v0())
    return Expansion(v0, document.findings.freeze(locate))


def _note_remade(
    keys: list[str], before: Mapping[str, V0Value], item: GenItem, findings: Findings
) -> None:
    """Note the keys that were made before, or further up in their run."""
    if before.keys().isdisjoint(keys) and len(set(keys)) == len(keys):
        return
    at = pointer("gen", item.number)
    made: set[str] = set()
    for key in keys:
        if key in before or key in made:
            findings.add(
                "gen-duplicate-key",
                at,
                f"`{key}` is generated more than once; the last reference is used.",
            )
        made.add(key)


def lint_entries(entries: Mapping[str, Reference], document: Document) -> None:
    """Note what is odd about explicit references."""
    ordered = sorted(entries)
    for key, remark in remarks_on_nodes(filter(is_metadata, entries)):
        note_all([remark], document.findings, document.base + pointer(key), key)
    for key, reference in entries.items():
        remarks = list(remarks_on_key(key, document.version))
        if _is_folder(key, ordered):
            remarks.append(
                Remark(
                    "key-is-also-directory",
                    f"`{key}` is both a key and the parent folder of other keys.",
                )
            )
        if isinstance(reference, Inline) and is_metadata(key):
            remarks += remarks_on_metadata(key, reference.text)
        elif isinstance(reference, Url | Range) and is_metadata(key):
            remarks.append(Remark("metadata-elsewhere", ELSEWHERE))
        for remark in remarks:
            at, alike = document.base + pointer(key), remark.code in ALIKE
            note_all([remark], document.findings, at, key, together=alike)
        if isinstance(reference, Url | Range):
            odd = remarks_on_url(reference.url, document.version)
            note_all(odd, document.findings, document.base + pointer(key), key, together=True)


def note_all(
    remarks: Iterable[Remark], findings: Findings, at: str, key: str, *, together: bool = False
) -> None:
    """Put remarks on one key into the findings, as `Findings.add` does."""
    for remark in remarks:
        findings.add(remark.code, at, remark.message, remark.hint, key=key, together=together)


def _is_folder(key: str, ordered: list[str]) -> bool:
    position = bisect_left(ordered, key + "/")
    return bool(key) and position < len(ordered) and ordered[position].startswith(key + "/")
