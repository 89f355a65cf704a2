"""Run what depends on versions on the newest Python found: ``python3 -m tests.newest [FOLDERS]``.

Makes ``.venv-newest`` with the newest of all packages, runs the tests of formats, of references and
of reading there, and writes the versions of both environments into ``docs/reference/versions.md``,
and those of the readers that were run into ``features.json``, from where `dialects` has them.
Needs the standard library only, a Python of 3.12 or newer, and pip's index; says so where it has
none, and is no failure.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE, NEWEST = ROOT / ".venv", ROOT / ".venv-newest"
VARIABLE = "REFEXPLORER_NEWEST_PYTHON"
"""Names a Python that is not on the path."""
NAMES = ("python3.14", "python3.13", "python3.12")
FOLDERS = ("spec", "formats", "refset", "io", "readers", "verbs", "notebooks")
PACKAGES = (
    "zarr", "numcodecs", "icechunk", "virtualizarr", "kerchunk", "xarray", "fsspec", "numpy",
    "pyarrow", "h5py", "imagecodecs", "cfgrib", "eccodes",
)  # fmt: skip
READERS = ROOT / "refexplorer" / "readers" / "features.json"
TABLE = ROOT / "docs" / "reference" / "versions.md"
ASKED = """
import json, platform, sys
from importlib.metadata import PackageNotFoundError, version
found = {"Python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        found[name] = None
print(json.dumps(found))
"""


def main(folders: list[str]) -> int:
    """Install, test, and write the table if all passed."""
    python = newest_python()
    if python is None:
        print(f"No Python of 3.12 or newer was found; {VARIABLE} names one.")
        return 0
    own = NEWEST / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    steps = [] if own.exists() else [[python, "-m", "venv", str(NEWEST)]]
    pip = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps.append([*pip, "--upgrade", "--upgrade-strategy", "eager", "-e", ".[dev]"])
    if any(subprocess.run(step, cwd=ROOT).returncode for step in steps):
        print("Not run: the newest packages could not be installed (no index of packages?).")
        return 0
    tests = folders or [f"tests/{each}" for each in FOLDERS]
    command = [str(own), "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "2", *tests]
    if status := subprocess.run(command, cwd=ROOT).returncode:
        return status
    if not folders:
        here, newest = HERE / own.relative_to(NEWEST), versions(str(own))
        TABLE.write_text(table(versions(str(here)), newest))
        date_readers(newest)
    return 0


def date_readers(newest: dict[str, str | None]) -> None:
    """Write the version and the day into the table of readers, of those that were run."""
    text = READERS.read_text()
    for name, label in (("fsspec", "fsspec"), ("virtualizarr", "VirtualiZarr"), ("icechunk",) * 2):
        version = ".".join((newest[name] or "").split(".")[:2])
        dated = (
            f'"version": "{label} {version}", "date": "{date.today().isoformat()}", "how": "seen"'
        )
        text = re.sub(rf'"version": "{label} [\d.]+", "date": "[\d-]+", "how": "seen"', dated, text)
    READERS.write_text(text)


def newest_python() -> str | None:
    """Return the newest Python that is not older than 3.12, and runs."""
    named = [os.environ[VARIABLE]] if VARIABLE in os.environ else []
    for name in [*named, *filter(None, map(shutil.which, NAMES))]:
        ran = subprocess.run([name, "-c", "import venv"], capture_output=True)
        if ran.returncode == 0:
            return name
    return None


def versions(python: str) -> dict[str, str | None]:
    """Return the versions of an environment."""
    ran = subprocess.run(
        [python, "-c", ASKED, *PACKAGES], capture_output=True, text=True, check=True
    )
    found: dict[str, str | None] = json.loads(ran.stdout)
    return found


def floors() -> dict[str, str]:
    """Return the lowest version of each package that ``pyproject.toml`` allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    matches = (re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", each) for some in lists for each in some)
    return {
        "Python": project["requires-python"].removeprefix(">="),
        **{match[1]: match[2] for match in matches if match},
    }


def table(here: dict[str, str | None], newest: dict[str, str | None]) -> str:
    """Write the versions that were run."""
    lowest = floors()
    lines = [
        "# Versions that were tested",
        "",
        "`python -m tests.newest` writes this page. It runs the tests that depend on the versions "
        "of packages, with the newest version of each package and of\nPython. All tests run with "
        "the versions in the column *whole suite*. `python -m tests.packaging.floors` runs them "
        "with the lowest versions.",
        "",
        "| package | lowest | whole suite | newest |",
        "|---|---|---|---|",
    ]
    for name in ("Python", *PACKAGES):
        row = (lowest.get(name), here[name], newest[name])
        lines.append(f"| {name} | {' | '.join(each or '' for each in row)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
