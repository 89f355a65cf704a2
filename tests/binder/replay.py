"""Do what repo2docker does with ``binder/``: ``python -m tests.binder.replay``.

Clones the last commit, installs ``binder/requirements.txt`` into an environment of its own with
no node on the path, runs ``binder/postBuild``, starts JupyterLab, and asks for the tour and for the
page. Needs pip's registry and two minutes, so that it is no test of every day.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

from tests.helpers.hosts import running_lab

ROOT = Path(__file__).parents[2]
TOUR = "lab/tree/notebooks/tour.ipynb"


def main() -> None:
    """Replay the build and the first visit; a step that fails ends it with its own words."""
    with tempfile.TemporaryDirectory() as folder:
        clone, environment = Path(folder) / "clone", Path(folder) / "env"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        wanted = (clone / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
        print(f"runtime.txt asks for Python {wanted}, this is {sys.version.split()[0]}")
        venv.create(environment, with_pip=True)
        programs = environment / "bin"
        variables = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin"}
        steps = (
            [str(programs / "pip"), "install", "--quiet", "-r", "binder/requirements.txt"],
            ["bash", "binder/postBuild"],
        )
        for step in steps:
            print("$", *step, flush=True)
            subprocess.run(step, cwd=clone, env=variables, check=True)
        _visit(Path(folder) / "lab", clone, programs / "python")


def _visit(settings: Path, clone: Path, python: Path) -> None:
    settings.mkdir()
    with running_lab(settings, python=python, root=clone) as lab:
        assert "jupyter-config-data" in _get(f"{lab.url}/{TOUR}")
        with urllib.request.urlopen(lab.url, timeout=90) as first:
            assert first.url == f"{lab.url}/{TOUR}", first.url
        notebook = json.loads(_get(f"{lab.url}/api/contents/notebooks/tour.ipynb"))
        page = _get(f"{lab.url}/refexplorer/")
        assert "<title>refexplorer</title>" in page
        print(f"{notebook['path']} and /refexplorer/ answer")


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=90) as answer:
        return str(answer.read().decode())


if __name__ == "__main__":
    main()
