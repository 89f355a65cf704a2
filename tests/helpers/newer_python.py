"""Another Python of this machine with icechunk 2, which Python 3.11 cannot have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

VARIABLE = "REFEXPLORER_NEWER_PYTHON"
"""Names one that is not on the path."""
NAMES = ("python3.14", "python3.13", "python3.12")
NEEDED = (
    "icechunk, zarr, moto.server, s3fs, boto3, pytest, msgspec, rich, typer, zstandard, aiohttp"
)


def own() -> str | None:
    """Return the version of icechunk in this Python."""
    try:
        return version("icechunk")
    except PackageNotFoundError:
        return None


def has_two() -> bool:
    """Say whether this Python has icechunk 2 or newer."""
    found = own()
    return found is not None and int(found.partition(".")[0]) >= 2


@cache
def other() -> tuple[str, str] | None:
    """Return another Python with all that the tests of icechunk 2 need, and what it has."""
    named = [os.environ[VARIABLE]] if VARIABLE in os.environ else []
    for name in [*named, *filter(None, map(shutil.which, NAMES))]:
        told = subprocess.run(
            [name, "-c", f"import {NEEDED}; print(icechunk.__version__)"],
            capture_output=True,
            text=True,
            check=False,
        )
        found = told.stdout.strip()
        if not told.returncode and int(found.partition(".")[0]) >= 2:
            return name, found
    return None


def header() -> str:
    """Say which icechunk the tests run with, for the first lines of a run."""
    here = (
        f"icechunk: {own() or 'none'} with Python {sys.version_info.major}.{sys.version_info.minor}"
    )
    if has_two():
        return here
    found = other()
    if found is None:
        return f"{here}; the tests of icechunk 2 are skipped ({VARIABLE} names a Python with it)"
    return f"{here}; the tests of icechunk 2 run with {found[1]} of {found[0]}"
