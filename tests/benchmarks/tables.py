"""The tables of the documentation that benchmarks write: ``python -m tests.benchmarks --write``."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import NamedTuple

from refexplorer.core.text import size_text
from tests.benchmarks import fetch, growth, opening, parquet, pictures
from tests.benchmarks.measuring import Case, Measured, Work, measure
from tests.benchmarks.sets import made

Lines = Callable[[Path, int], Iterator[str]]
"""Measures in a folder for sets, so many runs of each, and returns a table."""


class Table(NamedTuple):
    """A table of a page, between two comments that have its name."""

    page: Path
    lines: Lines


_NAMES: Mapping[str, str] = {
    "virtualizarr_": "VirtualiZarr, 128 at a time", "virtualizarr": "VirtualiZarr",
    "_tuned": "fsspec, 128 at a time", "_six": "fsspec, 128 at a time", "obstore": "obstore",
    "alone": "codecs alone", "fsspec": "fsspec",
}  # fmt: skip
"""What tables call the peers, by a word of their functions' names."""
_CPU = (
    "open V0, first level", "open V1 with templates, first level", "parquet: open, summary",
    "fetch random ranges of a file", "fetch random ranges over HTTP",
    "a slice through Zarr, of a file",
)  # fmt: skip
"""Cases that are told in CPU seconds; those with a latency are told by the clock."""
_WALL = (
    "read a slice at 50 ms latency, peers tuned",
    "read a slice at 50 ms latency, six connections, peers tuned",
)


def _cases(names: tuple[str, ...]) -> Iterator[Case]:
    cases = [each for module in (opening, parquet, fetch, pictures) for each in module.CASES]
    for name in names:
        yield next(each for each in cases if each.work == name)


_FORMS = {
    "v0": "V0", "many-urls": "V0, one URL per key", "long-keys": "V0, keys of 160 characters",
    "gen": "V1, `gen`", "parquet": "parquet",
}  # fmt: skip
_OPENED: Mapping[str, tuple[int, ...]] = {
    "v0": (10**4, 10**5, 10**6, 10**7), "many-urls": (10**6,), "long-keys": (10**6,),
    "gen": (10**6, 10**9), "parquet": (10**6, 10**7),
}  # fmt: skip
"""Sets of the table of opening."""


def opened(folder: Path, runs: int) -> Iterator[str]:
    """Open sets of several forms and sizes, with all modules loaded."""
    yield "| set | size | time to show the first level | memory |\n|---|---|---|---|"
    for kind, sizes in _OPENED.items():
        for keys in sizes:
            path = made(folder, kind, keys)
            (found,) = measure([opening.open_ours], path, runs)
            files = [each for each in (path, *path.rglob("*")) if each.is_file()]
            size = size_text(sum(each.stat().st_size for each in files))
            name = f"{_FORMS[kind]}, {growth.power(keys)} keys"
            cells = f"{median(found.cpu):.2g} s | {found.added / 1e6:,.0f} MB"
            yield f"| {name} | {size} | {cells} |"


def compared(folder: Path, runs: int) -> Iterator[str]:
    """Compare with peers, each called as its users would tune it."""
    yield "| work | | refexplorer | peer | | factor |\n|---|---|---|---|---|---|"
    for case in (*_cases(_CPU), *_cases(_WALL)):
        ours, *others = measure([case.ours, *case.peers], made(folder, case.kind, case.keys), runs)
        is_wall = case.work in _WALL
        for peer, found in zip(case.peers, others, strict=True):
            assert None in (ours.result, found.result) or ours.result == found.result, case.work
            own, theirs = (one.wall if is_wall else one.cpu for one in (ours, found))
            factor = median(b / a for a, b in zip(own, theirs, strict=True))
            cells = [case.work, "clock" if is_wall else "CPU", _cell(own, ours), _named(peer)]
            yield f"| {' | '.join(cells)} | {_cell(theirs, found)} | {factor:,.1f} times |"


def headline(folder: Path, runs: int) -> Iterator[str]:
    """What people feel: from the start of Python to the values of a slice that is far away."""
    (case,) = _cases(("first picture",))
    works = [case.ours, *case.peers]
    found = measure(works, made(folder, case.kind, case.keys), runs)
    assert len({str(one.result) for one in found}) == 1
    yield "| | seconds | CPU seconds | requests | memory |"
    yield "|---|---|---|---|---|"
    for work, one in zip(works, found, strict=True):
        name = "refexplorer" if work is case.ours else _named(work)
        seconds = f"{median(one.wall):.1f} | {median(one.cpu):.1f}"
        yield f"| {name} | {seconds} | {one.requests:,} | {one.added / 1e6:,.0f} MB |"


def _named(work: Work) -> str:
    return next(name for word, name in _NAMES.items() if word in work.__name__)


def _cell(seconds: tuple[float, ...], found: Measured) -> str:
    low, high = min(seconds), max(seconds)
    return f"{median(seconds):.2g} s ({low:.2g} to {high:.2g}), {found.added / 1e6:,.0f} MB"


TABLES: Mapping[str, Table] = {
    "headline": Table(Path("README.md"), headline),
    "compared": Table(Path("docs/reference/speed.md"), compared),
    "opened": Table(Path("docs/reference/costs.md"), opened),
    "growth": Table(Path("docs/reference/costs.md"), growth.lines),
}


def write(name: str, folder: Path, runs: int) -> None:
    """Measure a table and write it into its page."""
    page, lines = TABLES[name]
    load = os.getloadavg()[0]
    table = "\n".join(lines(folder, runs))
    page.write_text(put(page.read_text(), name, f"{table}\n\n{_where(load, runs)}"))


def put(text: str, name: str, table: str) -> str:
    """Put a table between the comments with its name."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    found, times = re.subn(
        pattern, lambda match: f"{match[1]}{table}\n{match[2]}", text, flags=re.DOTALL
    )
    assert times == 1, f"the page has {times} places for {name}"
    return found


_VERSIONS = (
    "refexplorer", "fsspec", "ujson", "virtualizarr", "obstore", "zarr", "icechunk", "pyarrow",
    "numpy", "rasterio",
)  # fmt: skip


def _where(load: float, runs: int) -> str:
    versions = ", ".join(f"{name} {found}" for name in _VERSIONS if (found := _version(name)))
    many = f"each figure is the median of {runs} runs, each in a new process"
    how = "each figure is from one run in a new process" if runs == 1 else many
    return (
        f"Measured on {date.today()} on a {os.cpu_count()}-core machine "
        f"(load average {load:.1f}); {how}.\n"
        f"Python {platform.python_version()}, {versions}."
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
