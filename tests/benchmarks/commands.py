"""Commands on a large set: what each costs beyond opening it, in processes of their own."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.measuring import Case, Watch

MILLION = 10**6
OPENING = "import sys, refexplorer; refexplorer.open_references(sys.argv[1])"
"""The process that all others are measured against: it imports and opens, and asks nothing."""


def ls(watch: Watch, path: Path) -> object:
    """List the root."""
    return _command(watch, path, "ls")


def ls_page(watch: Watch, path: Path) -> object:
    """List fifty keys of an array of a hundred thousand."""
    return _command(watch, path, "ls", "t2m", "--start", "50000", "--limit", "50")


def ls_all(watch: Watch, path: Path) -> object:
    """List all hundred thousand keys of an array: no answer at a glance, so it has no goal."""
    return _command(watch, path, "ls", "t2m")


def find(watch: Watch, path: Path) -> object:
    """Find five thousand keys."""
    return _command(watch, path, "find", "t2m/*.1.2")


def explain(watch: Watch, path: Path) -> object:
    """Explain a key."""
    return _command(watch, path, "explain", "t2m/17.1.2")


def info(watch: Watch, path: Path) -> object:
    """Count everything."""
    return _command(watch, path, "info")


def check(watch: Watch, path: Path) -> object:
    """Look for what is wrong or odd."""
    return _command(watch, path, "check")


def _command(watch: Watch, path: Path, name: str, *arguments: str) -> object:
    """Run a command and take off what opening costs; return how many lines it printed."""
    with _children(watch):
        ran = _run("-m", "refexplorer", name, str(path), *arguments)
    with _children(watch, sign=-1):
        _run("-c", OPENING, str(path))
    return ran.count("\n")


def _run(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def _children(watch: Watch, sign: int = 1) -> Iterator[None]:
    """Add the time of the processes that are run inside, or take it off."""
    before, begun = _spent(), time.perf_counter()
    yield
    watch.seconds += sign * (_spent() - before)
    watch.wall += sign * (time.perf_counter() - begun)


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


ASKED = (ls, ls_page, find, explain, info, check)
CASES = tuple(
    Case(f"{kind}: {work.__name__} beyond opening", goal, work, (), kind, MILLION)
    for kind in ("v0", "shuffled", "many-urls", "gen", "parquet")
    for work, goal in (*((work, "≤ 0.5 s") for work in ASKED), (ls_all, ""))
)
