"""Measure and print a table: ``python -m tests.benchmarks``, see ``--help``."""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import tests.benchmarks
from refexplorer import __version__
from tests.benchmarks.measuring import Case, Measured, measure
from tests.benchmarks.sets import made
from tests.benchmarks.tables import TABLES, write

PEERS = (
    "fsspec", "ujson", "s3fs", "kerchunk", "virtualizarr", "obstore", "zarr", "pyarrow", "numpy",
)  # fmt: skip
HEAD = (
    "| work | keys | goal | ours: CPU | wall | peer: CPU | wall | factor: CPU | wall "
    "| memory ours / peer | equal |"
)


def main() -> None:
    """Measure what was asked for and print a line of the table after each case."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help="cases whose words or module hold this text")
    parser.add_argument("--large", action="store_true", help="also those of 10^7 keys")
    parser.add_argument("--runs", type=int, default=5, help="of each, in turn")
    parser.add_argument("--keys", type=float, help="make every set of this size instead")
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    parser.add_argument(
        "--write", nargs="*", choices=TABLES, help="tables into README and docs; all if none named"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.sets or Path(scratch)
        if chosen.write is not None:
            for name in chosen.write or TABLES:
                write(name, folder, chosen.runs)
            return
        print(f"{_where()}\n\n{HEAD}\n{'|---' * HEAD.count(' | ')}|---|", flush=True)
        for case in collected(chosen.large, chosen.only):
            sized = case if chosen.keys is None else replace(case, keys=int(chosen.keys))
            for line in _lines(sized, made(folder, sized.kind, sized.keys), chosen.runs):
                print(line, flush=True)


def _where() -> str:
    versions = ", ".join(f"{name} {found}" for name in PEERS if (found := _version(name)))
    python = platform.python_version()
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    how = "medians and ranges of fresh processes, factors are the medians of pairs"
    return (
        f"{date.today()}, {machine}, refexplorer {__version__}, Python {python}, {versions}; {how}."
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def collected(large: bool, only: str) -> list[Case]:
    """Collect ``CASES`` (and ``LARGE``) of every module here."""
    found: list[Case] = []
    for module in pkgutil.iter_modules(tests.benchmarks.__path__):
        if module.name == "__main__":
            continue
        loaded = importlib.import_module(f"tests.benchmarks.{module.name}")
        cases = [*getattr(loaded, "CASES", ()), *(getattr(loaded, "LARGE", ()) if large else ())]
        found += [case for case in cases if only in module.name or only in case.work]
    return found


def _lines(case: Case, path: Path, runs: int) -> list[str]:
    """Return a line for each peer, or one if there is none."""
    missing = case.needs and _version(case.needs) is None
    peers = () if missing else case.peers
    ours, *others = measure([case.ours, *peers], path, runs)
    if not others:
        return [_line(case, ours, None, f"{case.needs} is not installed" if missing else "")]
    return [
        _line(case, ours, *pair) for pair in zip(others, (p.__name__ for p in peers), strict=True)
    ]


def _line(case: Case, ours: Measured, peer: Measured | None, name: str) -> str:
    reached = "".join(f", {name} {_seconds(at)}" for name, at in ours.stages.items())
    cells = [case.work + reached, f"{case.keys:,}", case.goal, _range(ours.cpu), _range(ours.wall)]
    if peer is None:
        cells += [name, "", "", "", _megabytes(ours.added), ""]
    else:
        share = f"{_megabytes(ours.added)} / {_megabytes(peer.added)} {case.memory_goal}"
        cells += [f"{name} {_range(peer.cpu)}", _range(peer.wall)]
        cells += [_factor(ours.cpu, peer.cpu), _factor(ours.wall, peer.wall)]
        cells += [share, _equal(ours, peer)]
    return f"| {' | '.join(cells)} |"


def _range(times: Sequence[float]) -> str:
    if len(times) == 1:
        return _seconds(times[0])
    return f"{_seconds(median(times))} ({_seconds(min(times))} to {_seconds(max(times))})"


def _factor(ours: Sequence[float], peer: Sequence[float]) -> str:
    """Return the median of the factors of runs that followed each other."""
    factors = [theirs / own for own, theirs in zip(ours, peer, strict=True)]
    return f"{median(factors):,.1f} times"


def _equal(ours: Measured, peer: Measured) -> str:
    if ours.result is None or peer.result is None:
        return ""
    return "yes" if ours.result == peer.result else f"NO: {ours.result} / {peer.result}"


def _seconds(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{float(f'{seconds * factor:.2g}'):g} {unit}"
    return f"{seconds * 1e9:.2g} ns"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


if __name__ == "__main__":
    main()
