"""What to do about findings that a repair leaves."""

from __future__ import annotations

from refexplorer.spec.codes import CODES


def remedy(code: str) -> str:
    """Return what to do about a finding that is left, a sentence without a full stop."""
    return CODES[code].mend.removesuffix(".")
