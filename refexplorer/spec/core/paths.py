"""Paths of folders, as Zarr means them: the parts of a key between slashes."""

from __future__ import annotations

from collections.abc import Iterator

MAX_DEPTH = 64
"""Folders above a key; below the last one its slashes are part of the name."""


def prefix(path: str) -> str:
    """Return the common start of the paths below a folder."""
    return path + "/" if path else ""


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders that a tree may have above a path, the nearest first, the root last.

    There are few of them, however many slashes the path has.
    """
    parts = path.split("/", MAX_DEPTH)
    for depth in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:depth])
    if path:
        yield ""
