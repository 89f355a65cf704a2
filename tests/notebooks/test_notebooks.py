"""Every notebook runs from top to bottom, and none is committed with outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture
def jupyter_of_its_own(tmp_path: Path) -> dict[str, str]:
    """Keep the kernel away from what the user has configured."""
    folders = {
        name: str(tmp_path / name)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    return {**os.environ, **folders}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(notebook: Path, tmp_path: Path, jupyter_of_its_own: dict[str, str]) -> None:
    command = [
        sys.executable, "-m", "nbconvert", "--execute", "--to", "notebook",
        "--output-dir", str(tmp_path), str(notebook),
    ]  # fmt: skip
    ran = subprocess.run(command, env=jupyter_of_its_own, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    executed = json.loads((tmp_path / notebook.name).read_text(encoding="utf-8"))
    outputs = [output for cell in executed["cells"] for output in cell.get("outputs", [])]
    assert outputs
    assert not [output for output in outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_committed_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
