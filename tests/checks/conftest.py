"""Sound sets, made once, and copies of them to be spoiled."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.planted import Case
from tests.helpers.planted_sets import build


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the path of a sound set by its name."""

    @cache
    def made(name: str) -> Path:
        return build(name, tmp_path_factory.mktemp("sound"))

    return made


@pytest.fixture
def case(sound: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Case]:
    """Return a copy of a sound set, with its files."""

    def copied(name: str) -> Case:
        source = sound(name)
        shutil.copytree(source.parent, tmp_path / "case")
        return Case(tmp_path / "case" / source.name)

    return copied
