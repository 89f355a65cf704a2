"""The built front end: one ES module for each view, made by `hatch_build.py`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from refexplorer.core.errors import RefexplorerError

FOLDER = Path(__file__).parent / "static"


def bundle_path(view: str) -> Path:
    """Return where the module of a view lies."""
    path = FOLDER / f"{view}.js"
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
