"""The land of Natural Earth as TopoJSON, which the build takes from npm's world-atlas."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from refexplorer.errors import RefexplorerError

Detail = Literal["110m", "50m"]
# beside the bundles, which are built and shipped the same way
_FOLDER = Path(__file__).parents[2] / "widgets" / "static"


def land(detail: Detail) -> bytes:
    """Return the outlines, drawn for a map of a scale of 1 to 110 or 50 million."""
    path = _FOLDER / f"land-{detail}.json"
    if not path.is_file():
        raise RefexplorerError(
            f"{path.name} is not there: the front end was not built; run `python hatch_build.py`."
        )
    return path.read_bytes()
