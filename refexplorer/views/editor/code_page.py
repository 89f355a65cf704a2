"""The page of a diagnostic code, as the editor shows it."""

from __future__ import annotations

from refexplorer.explaining import explain_code
from refexplorer.spec.core.catalogue import PARQUET
from refexplorer.views.wire.editor_models import CitedRule, CodePage


def code_page(code: str) -> CodePage:
    """Return what there is to know about a code.

    Raises
    ------
    RefexplorerError
        If there is no such code.
    """
    found = explain_code(code)
    rule = found.rule
    return CodePage(
        found.code,
        found.meaning,
        found.readers,
        found.cause,
        found.mend,
        found.example,
        found.example.startswith(("{", "[")) and code not in PARQUET,
        None if rule is None else CitedRule(rule.section, rule.sentence, rule.link),
    )
