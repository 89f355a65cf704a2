"""The Python for what a person did besides choosing a key: searching, reading, checking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from refexplorer.spec.core.references import Kind
from refexplorer.views.wire.code import allowing, code

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


def code_of_search(pattern: str, mode: str, kinds: Sequence[Kind]) -> str:
    """Return the search of a pattern in the set, which is called ``refs``."""
    kind = f", kind={[str(each) for each in kinds]!r}" if kinds else ""
    return f"list(refs.find({pattern!r}, mode={mode!r}{kind}))"


def code_of_slices(
    refs: ReferenceSet, path: str, slices: Sequence[str], granted: Sequence[str] = ()
) -> str:
    """Return the reading of a part of an array, as `views.preview.regions` writes it."""
    return f"{code(refs, path, granted)}[{', '.join(slices) or '()'}]"


def code_of_check(granted: Sequence[str]) -> str:
    """Return the question to all targets whether they are what the references say."""
    return f"refs.check_targets({allowing(granted)})"
