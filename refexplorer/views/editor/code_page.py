"""The page of a diagnostic code, as the editor shows it."""

from __future__ import annotations

from refexplorer.explaining import explain_code
from refexplorer.spec.codes import CODES, codes_of
from refexplorer.views.editor.specification import cited
from refexplorer.views.wire.models import CodePage


def code_page(code: str) -> CodePage:
    """Return what there is to know about a code."""
    found, more = explain_code(code), CODES[code]
    is_store = code in codes_of("parquet")
    return CodePage(
        found.code,
        found.meaning,
        found.readers,
        found.cause,
        more.mend,
        # who uses a page cannot open a set in Python
        found.example if more.has_set or is_store else "",
        more.has_set and not is_store,
        cited(more.rule) if more.rule else None,
    )
