"""What to do about findings that new references and metadata do not mend."""

from __future__ import annotations

from refexplorer.spec.codes import CODES


def remedy(cause: str) -> str:
    """Return what to do about a finding that is left, a sentence without a full stop."""
    return CODES[cause].mend.removesuffix(".")
