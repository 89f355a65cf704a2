"""The Python that does what a click did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet


def code(refs: ReferenceSet, path: str, granted: Sequence[str] = ()) -> str:
    """Return one line of Python for a path.

    Parameters
    ----------
    refs
        The set, called ``refs`` in the code.
    path
        A key, a folder or an array.
    granted
        What reading it needed, as `AccessPolicy.granted`.
    """
    if path in refs.arrays():
        named = [grant for grant in granted if grant != refs.source.location]
        allow = f"allow={named!r}" if named else ""
        group = f"refs.to_zarr({allow})"
        return f"{group}[{path!r}]" if path else group
    if path and path in refs:
        return f"refs[{path!r}]"
    return f"refs.children({path!r})" if path else "refs"
