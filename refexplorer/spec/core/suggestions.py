"""Suggestions of known names for a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

COMPARED = 100
"""Names that are compared at most: a file may hold any number of them."""
_LONGEST = 40


def meant(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest of the first known names; ``""`` if none is near."""
    if len(name) > _LONGEST:
        return ""
    compared = [other for other in islice(known, COMPARED) if len(other) <= _LONGEST]
    near = difflib.get_close_matches(name, compared, 1)
    return f"Did you mean `{near[0]}`?" if near else ""
