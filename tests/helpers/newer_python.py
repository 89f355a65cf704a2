"""Whether this Python has icechunk 2, which 3.11 cannot have; `tests.newest` runs with it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def has_two() -> bool:
    """Say whether this Python has icechunk 2 or newer."""
    try:
        return int(version("icechunk").partition(".")[0]) >= 2
    except PackageNotFoundError:
        return False
