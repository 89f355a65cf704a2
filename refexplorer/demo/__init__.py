"""Small real files and reference sets to them, so that everything runs without a network.

`python -m tests.demo.make` of the repository writes them; `serving` serves them slowly.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent
_SETS = {
    "Summer in the North Atlantic, V0": "sst.v0.json",
    "The same with templates and gen, V1": "sst.v1.json",
    "The same as parquet": "sst.parq",
    "The UGRID example of the specification, V0": "spec.v0.json",
    "The specification's own example, V1": "spec.v1.json",
    "Ten mistakes to find": "broken.json",
}


def sets() -> dict[str, Path]:
    """Return every example set: its title → its path."""
    return {title: _FOLDER / name for title, name in _SETS.items()}


def path(name: str) -> Path:
    """Return the path of one example set or target, such as ``"sst.v1.json"``."""
    found = _FOLDER / name
    if not found.exists():
        raise KeyError(f"No demo file {name!r}; the sets are {', '.join(_SETS.values())}.")
    return found


def exercises() -> list[Path]:
    """Return the files of the exercises, in order."""
    return sorted((_FOLDER / "exercises").glob("*.toml"))
