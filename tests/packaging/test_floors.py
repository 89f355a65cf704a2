"""The lowest versions that may be installed have no vulnerability that is known."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests import newest

ROOT = Path(__file__).parents[2]
FIXED = {
    "aiohttp": ("3.14.4", "CVE-2026-128131"),
    "bokeh": ("3.8.2", "CVE-2026-21883"),
    "distributed": ("2026.1.0", "CVE-2026-23528"),
    "fsspec": ("2026.6.0", "CVE-2026-104851"),
    "jinja2": ("3.1.6", "CVE-2025-27516"),
    "jupyter-server-proxy": ("4.2.0", "CVE-2024-35225"),
    "jupyterlab": ("4.6.2", "GHSA-whvh-wf3x-g77j"),
    "pillow": ("13.0.0", "CVE-2026-112403"),
    "pyarrow": ("23.0.1", "CVE-2026-25087"),
    "pytest": ("9.0.3", "CVE-2025-71176"),
    "tornado": ("6.6.0", "CVE-2026-115927"),
}
"""Package → the first version without what the advisory tells of, the latest that is known."""


def requirements() -> list[Requirement]:
    """Everything that is named in ``pyproject.toml`` and for Binder, once for each place."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = document["project"]
    lists = [document["build-system"]["requires"], project["dependencies"]]
    lists += project["optional-dependencies"].values()
    lists.append((ROOT / "binder" / "requirements.txt").read_text().splitlines()[1:])
    return [Requirement(text) for each in lists for text in each]


@pytest.mark.parametrize("name", FIXED)
def test_the_floor_is_above_what_is_known_to_be_vulnerable(name: str) -> None:
    fixed, advisory = FIXED[name]
    named = [each for each in requirements() if each.name.lower() == name]
    assert named, f"{name} is not required any more"
    for requirement in named:
        floors = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
        assert floors, f"{requirement} has no floor"
        assert max(floors) >= Version(fixed), f"{requirement} allows {advisory}"


@pytest.mark.parametrize(
    "requirement", {str(each): each for each in requirements()}.values(), ids=str
)
def test_what_is_installed_is_allowed(requirement: Requirement) -> None:
    assert requirement.specifier.contains(version(requirement.name), prereleases=True)


def test_the_table_of_versions_names_the_floors_of_today() -> None:
    rows = [line.split(" | ") for line in newest.TABLE.read_text().splitlines() if " | " in line]
    lowest = {row[0].removeprefix("| "): row[1] for row in rows[1:]}
    floors = newest.floors()
    assert lowest == {name: floors.get(name, "") for name in ("Python", *newest.PACKAGES)}
