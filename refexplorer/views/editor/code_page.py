"""The page of a diagnostic code, as the editor shows it."""

from __future__ import annotations

from refexplorer.explaining import explain_code
from refexplorer.spec.core.catalogue import PARQUET
from refexplorer.spec.core.explanations import EXPLANATIONS
from refexplorer.views.editor.specification import cited
from refexplorer.views.wire.models import CodePage


def code_page(code: str) -> CodePage:
    """Return what there is to know about a code.

    Raises
    ------
    RefexplorerError
        If there is no such code.
    """
    found, more = explain_code(code), EXPLANATIONS[code]
    rule = more.rule
    is_set = found.example.startswith(("{", "["))
    return CodePage(
        found.code,
        found.meaning,
        found.readers,
        found.cause,
        more.mend,
        # who uses a page cannot open a set in Python
        found.example if is_set or code in PARQUET else "",
        is_set and code not in PARQUET,
        cited(rule) if rule else None,
    )
