"""Run all notebooks where readers run them: ``python -m tests.notebooks.environments [NAME…]``.

Clones the last commit, installs what the README names for the notebooks into one environment and
``binder/requirements.txt`` into another, and executes each notebook in both, with no other package.
Takes pip's registry and ten minutes, so it is not part of the tests of every day.
"""

# ruff: noqa: T201

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.notebooks.running import NOTEBOOKS, execute

ROOT = Path(__file__).parents[2]
INSTALLS = {"README": ["-e", ".[notebooks]"], "Binder": ["-r", "binder/requirements.txt"]}


def main(names: list[str]) -> None:
    """Install both environments and run the notebooks; the first that fails ends it."""
    paths = [path for path in NOTEBOOKS if not names or path.stem in names]
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        for place, what in INSTALLS.items():
            environment = Path(folder) / place
            venv.create(environment, with_pip=True)
            python = environment / "bin" / "python"
            plain = {**os.environ, "PATH": f"{python.parent}:/usr/bin:/bin"}
            plain.pop("PYTHONPATH", None)
            print(place, "installs", *what, flush=True)
            command = [str(python), "-m", "pip", "install", "--quiet", *what]
            subprocess.run(command, cwd=clone, env=plain, check=True)
            for path in paths:
                with tempfile.TemporaryDirectory() as outputs:
                    execute(clone / "notebooks" / path.name, Path(outputs), str(python))
                print(f"{place}: {path.name} runs", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
