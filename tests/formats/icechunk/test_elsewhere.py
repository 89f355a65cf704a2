"""Where this Python has no icechunk 2, another one that has it runs its tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import refexplorer
from tests.helpers.newer_python import VARIABLE, has_two, other

pytestmark = pytest.mark.server
MODULES = ("test_two.py", "test_two_remote.py", "test_writer.py")


@pytest.mark.skipif(has_two(), reason="icechunk 2 is here, and its tests run by themselves")
@pytest.mark.parametrize("module", MODULES)
def test_another_python_passes_the_tests_of_icechunk_2(module: str) -> None:
    found = other()
    if found is None:
        pytest.skip(f"no Python with icechunk 2 was found; {VARIABLE} names one")
    root = Path(refexplorer.__file__).parent.parent
    command = [found[0], "-m", "pytest", "--noconftest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, str(Path(__file__).with_name(module))],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    assert " passed" in ran.stdout
    assert "skipped" not in ran.stdout
