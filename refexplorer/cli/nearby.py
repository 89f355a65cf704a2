"""Suggestions for a key or a folder that is not there."""

from __future__ import annotations

from difflib import get_close_matches

from refexplorer.errors import SourceError
from refexplorer.referenceset import ReferenceSet

_SHOWN = 3
_COMPARED = 1000
"""Rows of a level; a long one has its first rows compared."""


def no_key(refs: ReferenceSet, key: str) -> SourceError:
    """Return the error for a key that is not there: what it is instead, or what is near it."""
    if is_folder(refs, key):
        return SourceError(
            f"{key!r} of {refs.source.name} is a folder of keys; `refexplorer ls` lists them."
        )
    if error := refs.left_out(key):
        return SourceError(f"{key!r} of {refs.source.name} is rejected: {error}")
    return SourceError(f"{refs.source.name} has no key {key!r}{_near(refs, key)}.")


def no_folder(refs: ReferenceSet, path: str) -> SourceError:
    """Return the error for a path at which nothing is."""
    return SourceError(f"{refs.source.name} has nothing at {path!r}{_near(refs, path)}.")


def no_array(refs: ReferenceSet, path: str) -> SourceError:
    """Return the error for a path at which no array is."""
    if is_folder(refs, path):
        return SourceError(
            f"{path!r} of {refs.source.name} is no array; `refexplorer info` lists the arrays."
        )
    return no_folder(refs, path)


def is_folder(refs: ReferenceSet, path: str) -> bool:
    """Tell whether there are keys below a path."""
    try:
        return refs.children(path, 0, 0).total > 0
    except KeyError:
        return False


def _near(refs: ReferenceSet, path: str) -> str:
    """Name what is alike in the deepest folder of the path that is there."""
    folder, _, name = path.strip("/").rpartition("/")
    while not is_folder(refs, folder) and folder:
        folder, _, name = folder.rpartition("/")
    rows = refs.children(folder, 0, _COMPARED).rows
    paths = {row.name.lower(): row.path for row in rows}
    alike = get_close_matches(name.lower(), paths, _SHOWN)
    return f"; similar: {', '.join(repr(paths[name]) for name in alike)}" if alike else ""
