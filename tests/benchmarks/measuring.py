"""Pieces of work, each in an interpreter of its own and all in turn: time and memory."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_STATM_PAGES = 1


class Watch:
    """Adds up the time of what runs inside `running`.

    Attributes
    ----------
    seconds
        CPU seconds of this process, all threads.
    wall
        Seconds by the clock.
    added
        Bytes by which the resident memory grew at its highest.
    stages
        Seconds by the clock from the begin of the last run to what was reached then, by name.
    requests
        Requests that a server got, if one counts them.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.wall = 0.0
        self.added = 0
        self.stages: dict[str, float] = {}
        self.requests = 0
        self._begun = 0.0

    @contextmanager
    def running(self, turns: int = 1) -> Iterator[range]:
        """Time the block, which does its work `turns` times."""
        before, started, begun = _resident(), time.process_time(), time.perf_counter()
        self._begun = begun
        yield range(turns)
        self.seconds += (time.process_time() - started) / turns
        self.wall += (time.perf_counter() - begun) / turns
        self.added = max(self.added, _peak() - before)

    def reach(self, stage: str) -> None:
        """Keep when a stage was reached; the first time counts."""
        self.stages.setdefault(stage, time.perf_counter() - self._begun)

    def scale(self, factor: float) -> None:
        """Take the work that was measured for a part of the whole, or for many times it."""
        self.seconds *= factor
        self.wall *= factor


Work = Callable[[Watch, Path], object]


@dataclass(frozen=True)
class Case:
    """A line of the table.

    Attributes
    ----------
    work
        What is done, in words.
    goal
        The least factor by which we are faster, or the most seconds that it takes.
    ours, peers
        Functions at the top of a module. Each prepares, works under the watch, and returns what
        must be equal among them (JSON), or None.
    kind, keys
        The set to work on, for `tests.benchmarks.sets.made`.
    memory_goal
        The largest part of the first peer's added memory that we may add.
    needs
        A package without which the peers are not measured.
    """

    work: str
    goal: str
    ours: Work
    peers: tuple[Work, ...]
    kind: str
    keys: int
    memory_goal: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Measured:
    """Several runs: CPU seconds, seconds by the clock, the result, and medians of all else."""

    cpu: tuple[float, ...]
    wall: tuple[float, ...]
    added: int
    result: object
    stages: dict[str, float]
    requests: int = 0


def measure(works: Sequence[Work], path: Path, runs: int) -> list[Measured]:
    """Run functions in turn, several times, each in a fresh interpreter.

    In turn, so that what else the machine has to do slows all of them alike.
    """
    for work in works:
        _compile(work, path)
    rounds = [[_run(work, path) for work in works] for _ in range(runs)]
    return [
        _measured(work, found) for work, found in zip(works, zip(*rounds, strict=True), strict=True)
    ]


@cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of compiled modules, of all runs of this process."""
    return tempfile.TemporaryDirectory()


_HAS_RUN: set[str] = set()
"""Works whose modules are compiled."""


def _compile(work: Work, path: Path) -> None:
    """Run once before it counts: no run that counts compiles modules, nor do users of a wheel."""
    if _name(work) not in _HAS_RUN:
        _HAS_RUN.add(_name(work))
        _run(work, path)


def _measured(work: Work, found: Sequence[dict[str, Any]]) -> Measured:
    results = {json.dumps(one["result"]) for one in found}
    assert len(results) == 1, f"{_name(work)} gave different results: {results}"
    cpu, wall = (tuple(one[name] for one in found) for name in ("seconds", "wall"))
    added = int(statistics.median(one["added"] for one in found))
    names = dict.fromkeys(name for one in found for name in one["stages"])
    stages = {
        name: statistics.median(one["stages"][name] for one in found if name in one["stages"])
        for name in names
    }
    requests = int(statistics.median(one["requests"] for one in found))
    return Measured(cpu, wall, added, found[0]["result"], stages, requests)


def checksum(lines: Iterable[str]) -> str:
    """Return the same short text for the same lines in any order."""
    total = 0
    for line in lines:
        total ^= int.from_bytes(hashlib.blake2b(line.encode(), digest_size=8).digest(), "little")
    return f"{total:016x}"


def _name(work: Work) -> str:
    return f"{work.__module__}:{work.__qualname__}"


def _run(work: Work, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", __name__, _name(work), str(path)]
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _compiled().name}
    environment = {**os.environ, **compiled}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[_STATM_PAGES])
    return pages * resource.getpagesize()


def _peak() -> int:
    """Return the most that was resident; `getrusage` would count the parent's memory too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _main(name: str, path: str) -> None:
    module, _, function = name.partition(":")
    watch = Watch()
    result = getattr(importlib.import_module(module), function)(watch, Path(path))
    found = {
        "seconds": watch.seconds, "wall": watch.wall, "added": watch.added, "stages": watch.stages,
        "result": result, "requests": watch.requests,
    }  # fmt: skip
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    from tests.benchmarks.measuring import _main as main  # the Watch that the cases know

    main(*sys.argv[1:])
