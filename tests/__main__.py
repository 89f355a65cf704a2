"""Run every check on a machine that has Python and pip: ``python3 -m tests [--quick] [ARGUMENTS]``.

Makes ``.venv``, installs the project and what its tests need, finds a browser or installs one,
then runs ruff, mypy and pytest with the ARGUMENTS, and without any what depends on versions once
more on the newest Python found (`tests.newest`); ``--quick`` runs pytest alone, without
browsers, servers and hostile children, and with fewer examples of hypothesis. Needs the standard
library only.
"""

# ruff: noqa: T201

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
INSTALLED = VENV / "installed-pyproject.toml"
"""What was installed there; as long as it is the same, only the front end may have changed."""
NO_BROWSER = (
    "No Chromium was found or could be installed: install Chromium or Chrome, "
    "or name one in REFEXPLORER_BROWSER."
)
AT_ONCE = (
    "-n", "logical", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder",
)  # fmt: skip
"""A process for each processor, with a JupyterLab of its own; ``-n 0`` among the arguments: one.

The order of the files stays: after playwright a process has a running loop, which notebooks' code
that is run in the tests before cannot have.
"""
QUICK = (
    "-m", "not browser and not server and not child", "--hypothesis-profile", "quick",
    "-p", "no:logging", "-o", "faulthandler_timeout=0",
)  # fmt: skip
"""Without what pytest does around each test for logs and stacks: 4 % of the quick tests."""
NOT_RUN = """
Not run: tests that need a browser, a server or a child process, most examples of hypothesis, ruff,
mypy, and the newest versions. To run all of them: python3 -m tests"""
KEEPING_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Else every process compiles tests and package again: 4 of the 16 s until a worker begins."""


def main(arguments: list[str]) -> int:
    """Run everything; the exit status is that of the first step that failed."""
    _heading("environment (the first time takes a few minutes)")
    if status := _make_environment():
        return status
    if "--quick" in arguments:
        rest = [argument for argument in arguments if argument != "--quick"]
        status = _check("quick tests", ["pytest", *AT_ONCE, *QUICK, *rest])
        print(NOT_RUN)
        return status
    _heading("browser")
    if not _have_browser():
        print(NO_BROWSER, file=sys.stderr)
        return 1
    checks = {
        "ruff": ["ruff", "check", "."],
        "format": ["ruff", "format", "--check", "."],
        "types": ["mypy"],
        "tests": ["pytest", *AT_ONCE, *arguments],
    }
    if not arguments:
        checks["newest Python and packages"] = ["tests.newest"]
    statuses = [_check(title, command) for title, command in checks.items()]
    return next((status for status in statuses if status), 0)


def _make_environment() -> int:
    """Make `VENV` if there is none, and install the project with its dev extra.

    Installing what is installed takes pip 20 s, a quarter of the quick tests.
    """
    wanted = (ROOT / "pyproject.toml").read_bytes()
    if PYTHON.exists() and INSTALLED.exists() and INSTALLED.read_bytes() == wanted:
        return _run([str(PYTHON), "hatch_build.py"])
    has_ensurepip = importlib.util.find_spec("ensurepip") is not None
    if not PYTHON.exists():
        venv.create(VENV, with_pip=has_ensurepip)
    pip = [str(PYTHON), "-m", "pip"]
    if not has_ensurepip:  # Debian without python3-venv: this Python's pip installs for the other
        pip = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    status = _run([*pip, "install", "--quiet", "--disable-pip-version-check", "-e", ".[dev]"])
    if not status:
        INSTALLED.write_bytes(wanted)
    return status


def _have_browser() -> bool:
    """Tell whether a browser starts, after each remedy in turn."""
    if _browser_starts():
        return True
    download = [str(PYTHON), "-m", "playwright", "install", "chromium"]
    remedies = [[download]]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        remedies += [
            # Without windows: a third less of a processor than the whole browser takes.
            [["apt-get", "update"], ["apt-get", "install", "--yes", "chromium-headless-shell"]],
            [["apt-get", "install", "--yes", "chromium"]],
            [[*download, "--with-deps"]],
        ]
    return any(all(_run(step) == 0 for step in steps) and _browser_starts() for steps in remedies)


def _browser_starts() -> bool:
    return _run([str(PYTHON), "-m", "tests.helpers.browser"]) == 0


def _check(title: str, command: list[str]) -> int:
    _heading(title)
    return _run([str(PYTHON), "-m", *command])


def _run(command: list[str]) -> int:
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **KEEPING_BYTECODE}).returncode


def _heading(title: str) -> None:
    print(f"\n== {title}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
