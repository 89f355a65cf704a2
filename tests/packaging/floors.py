"""Try the lowest versions that ``pyproject.toml`` allows: ``python -m tests.packaging.floors``.

Makes a throw-away environment with the lowest version of every direct dependency, installs the
wheel there, and runs the tests that need neither a browser nor the newest readers of others.
Needs uv, pip's registry and a few minutes; ``--newest`` takes the highest versions instead,
``--python 3.13`` another interpreter; files of tests may be named.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("spec", "formats", "refset", "io", "verbs", "views", "hosts")
NEEDED = (
    "pytest",
    "hypothesis",
    "fastjsonschema",
    "jsonschema",
    "pytest-playwright",
    "pytest-rerunfailures",
    "h5py",
    "h5netcdf",
    "imagecodecs",
    "scipy",
    "fastparquet",
    "moto[server]",
    "trustme",
    "nbconvert",
    "ipykernel",
    "packaging",
)
"""For the tests only: their newest versions that go with the others, which stay as they are."""
TIFFFILE = {"highest": "tifffile", "lowest-direct": "tifffile<2025.6"}
"""Its releases need a newer Zarr, or an older one, than they say."""
EXTRAS = ("--extra", "s3", "--extra", "gcs", "--extra", "dask")


def main(arguments: list[str]) -> int:
    """Install and test; the exit status is that of the first step that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=f"{sys.version_info.major}.{sys.version_info.minor}")
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("tests", nargs="*", default=[f"tests/{room}" for room in ROOMS])
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        uv = _uv(place)
        python = place / "env" / "bin" / "python"
        shutil.copytree(ROOT / "tests", place / "tests")
        for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "hatch_build.py"):
            shutil.copy(ROOT / name, place)
        resolution = "highest" if options.newest else "lowest-direct"
        needed = [*NEEDED, TIFFFILE[resolution]]
        install = [*uv, "pip", "install", "--quiet", "--python", str(python)]
        chosen = str(place / "chosen.txt")
        steps = [
            [*uv, "venv", "--quiet", "--python", options.python, str(place / "env")],
            [*uv, "build", "--quiet", "--wheel", "--out-dir", str(place), str(ROOT)],
            [*uv, "pip", "compile", "--quiet", "--python", str(python), "--resolution", resolution,
             "--output-file", chosen, str(ROOT / "pyproject.toml"), *EXTRAS],
            [*install, "-r", chosen],
            [*install, "--constraint", chosen, *needed],
            [*install, "--no-deps", "--find-links", folder, "--no-index", "refexplorer"],
            [*uv, "pip", "list", "--python", str(python)],
            [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *options.tests],
        ]  # fmt: skip
        return next((status for step in steps if (status := _run(step, place))), 0)


def _uv(place: Path) -> list[str]:
    """Return how uv is called: as it is installed, or as installed for this once."""
    if found := shutil.which("uv"):
        return [found]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--target", str(place / "uv"), "uv"],
        check=True,
    )
    return [str(place / "uv" / "bin" / "uv")]


def _run(command: list[str], folder: Path) -> int:
    print("$", *command, flush=True)
    return subprocess.run(command, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
