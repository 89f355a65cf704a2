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
        group = f"refs.to_zarr({allowing(granted)})"
        return f"{group}[{path!r}]" if path else group
    if path and path in refs:
        return f"refs[{path!r}]"
    return f"refs.children({path!r})" if path else "refs"


def allowing(granted: Sequence[str]) -> str:
    """Return the argument ``allow=[..]`` of what reads data; empty if it needs none."""
    return f"allow={list(granted)!r}" if granted else ""
