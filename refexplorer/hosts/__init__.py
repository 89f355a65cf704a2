"""Environments that display the views: `notebook`, the served `page`, a `saved_page`, the `cli`.

`xarray` has the engine and the accessor for xarray users, `assistant` the server for programs that
use the Model Context Protocol.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from refexplorer.core.errors import RefexplorerError

BUNDLES = Path(__file__).parent / "static"  # One ES module for each view, made by `hatch_build.py`


def bundle_path(view: str) -> Path:
    """Return the path of a view's module."""
    path = BUNDLES / f"{view}.js"
    if not path.is_file():
        raise RefexplorerError(
            f"The front end is not built ({path} is missing): "
            "run `pip install -e .` in the clone, or install the wheel."
        )
    return path


@cache
def bundle_text(view: str) -> str:
    """Return the module of a view; read once, shared by all widgets of the process."""
    return bundle_path(view).read_text(encoding="utf-8")
