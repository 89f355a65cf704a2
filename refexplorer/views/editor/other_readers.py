"""The verdicts of other readers on the text in the editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from refexplorer.opening import dialects
from refexplorer.views.wire.editor.rule_messages import ReaderVerdict

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

_EXAMPLES = 5


def readers(refs: ReferenceSet, templates: Mapping[str, str]) -> tuple[ReaderVerdict, ...]:
    """Judge the text of a set by the rules of each reader, the specification first."""
    text = (refs.source.text or "").encode()
    return tuple(
        ReaderVerdict(
            verdict.reader,
            verdict.outcome,
            verdict.summary,
            (*map(str, verdict.reasons), *verdict.notes),
            tuple(map(str, verdict.examples[:_EXAMPLES])),
        )
        for verdict in dialects(text, templates=templates)
    )
