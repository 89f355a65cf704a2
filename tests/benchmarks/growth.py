"""How opening and counting grow: ``python -m tests.benchmarks.growth``, with ``--write`` into docs.

Three sizes of each form, CPU seconds and memory of fresh processes, and the exponent between the
two largest. The sizes of Icechunk take a Python with icechunk 2, that of GDAL's driver rasterio.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.measuring import Measured, Watch, Work, measure
from tests.benchmarks.sets import BUCKET, CELLS, COLUMNS, NAMES, ROWS, STEPS, WRITERS, made, url_of

PAGE = Path("docs/reference/costs.md")
_TABLE = re.compile(r"(<!-- growth -->\n).*?(<!-- end of growth -->)", re.DOTALL)
_SPLIT = 2_500
"""Steps of a manifest, so 50,000 of its chunks."""
_AT_ONCE = 50_000
"""Steps that are written together."""


def opened(watch: Watch, path: Path) -> object:
    """Import what it takes, open, and show the first level."""
    with watch.running():
        from refexplorer import open_references

        refs = open_references(path)
        rows = refs.children("", 0, 50).rows
    return len(rows)


def paged(watch: Watch, path: Path) -> object:
    """Show fifty keys from the middle of an array."""
    from refexplorer import open_references

    refs = open_references(path)
    middle = refs.children(NAMES[0], 0, 0).total // 2
    with watch.running():
        rows = refs.children(NAMES[0], middle, middle + 50).rows
    return [len(rows), rows[0].path]


def printed(watch: Watch, path: Path) -> object:
    """Import what it takes, open, and print."""
    with watch.running():
        from refexplorer import open_references

        refs = open_references(path)
        text = str(refs)
    return len(text) > 0


def counted(watch: Watch, path: Path) -> object:
    """Count kinds, bytes and targets of an opened set."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        summary = refs.summary()
    return [summary.keys, summary.bytes, summary.targets]


def opened_by_gdal(watch: Watch, path: Path) -> object:
    """Import rasterio and open the same document by GDAL's driver for Zarr."""
    with watch.running():
        import rasterio

        with rasterio.open(f'ZARR:"{path}":/{NAMES[0]}') as dataset:
            shape = dataset.shape
    return len(shape)


class Growth(NamedTuple):
    """A line of the table."""

    form: str
    work: str
    ours: Work
    keys: tuple[int, ...]
    needs: str = ""


_JSON, _STORED, _ICECHUNK = (10**4, 10**5, 10**6), (10**6, 10**7, 5 * 10**7), (10**5, 10**6, 10**7)
GROWTHS = (
    Growth("v0", "JSON: import, open, first level", opened, _JSON),
    Growth("v0", "JSON: import, open, print", printed, _JSON),
    Growth("gdal", "JSON: GDAL's driver opens an array", opened_by_gdal, _JSON, "rasterio"),
    Growth("parquet", "parquet: import, open, first level", opened, _STORED),
    Growth("parquet", "parquet: import, open, print with counts", printed, _STORED),
    Growth("parquet", "parquet: a page of keys", paged, _STORED),
    Growth("icechunk", "Icechunk: import, open, first level", opened, _ICECHUNK, "icechunk"),
    Growth("icechunk", "Icechunk: a page of keys", paged, _ICECHUNK, "icechunk"),
    Growth("icechunk", "Icechunk: count kinds, bytes, targets", counted, _ICECHUNK, "icechunk"),
)


def main() -> None:
    """Print the table, or write it into the page about costs."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.growth", description=__doc__)
    parser.add_argument("--only", default="", help="lines whose words hold this text")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE}")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        lines = list(_lines(chosen.sets or Path(scratch), chosen.runs, chosen.only))
    table = "\n".join(lines)
    print(table)
    if chosen.write:
        PAGE.write_text(
            _TABLE.sub(lambda found: f"{found[1]}{table}\n{found[2]}", PAGE.read_text())
        )


def _lines(folder: Path, runs: int, only: str) -> Iterator[str]:
    yield f"{_where()}\n"
    yield "| work | keys | CPU s | memory MB | exponent |\n|---|---|---|---|---|"
    for growth in GROWTHS:
        if only not in growth.work or (growth.needs and _version(growth.needs) is None):
            continue
        if growth.needs == "icechunk" and int((_version("icechunk") or "0").split(".")[0]) < 2:
            continue
        sizes = [_measured(growth, folder, keys, runs) for keys in growth.keys]
        cells = [
            ", ".join(_power(keys) for keys in growth.keys),
            ", ".join(f"{median(found.cpu):.2f}" for found in sizes),
            ", ".join(f"{found.added / 1e6:,.0f}" for found in sizes),
            _exponent(growth.keys, [median(found.cpu) for found in sizes]),
        ]
        yield f"| {growth.work} | {' | '.join(cells)} |"


def _measured(growth: Growth, folder: Path, keys: int, runs: int) -> Measured:
    form = "v0" if growth.form == "gdal" else growth.form
    path = made(folder, form, keys)
    if growth.form == "gdal":  # which tells a document by its name
        named = path.with_name(f"{path.name}.json")
        named.unlink(missing_ok=True)
        named.symlink_to(path)
        path = named
    return measure([growth.ours], path, runs)[0]


def _exponent(keys: Sequence[int], seconds: Sequence[float]) -> str:
    steps = math.log(seconds[-1] / seconds[-2]) / math.log(keys[-1] / keys[-2])
    return f"{max(steps, 0):.1f}"


def _power(keys: int) -> str:
    power = int(math.log10(keys))
    first = keys // 10**power
    digits = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{digits}" if first == 1 else f"{first}·10{digits}"


def _where() -> str:
    names = ("refexplorer", "pyarrow", "numpy", "icechunk", "zarr", "rasterio")
    versions = [f"{name} {found}" for name in names if (found := _version(name))]
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    python = f"Python {platform.python_version()}"
    return f"Measured {date.today()} on {machine}, {python}, {', '.join(versions)}."


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _icechunk(path: Path, steps: int) -> None:
    """Write a repository whose manifests hold 50,000 chunks each."""
    import icechunk
    import zarr

    package: Any = icechunk
    axis = {package.ManifestSplitDimCondition.Axis(0): _SPLIT}
    split = package.ManifestSplittingConfig.from_dict(
        {package.ManifestSplitCondition.AnyArray(): axis}
    )
    config = package.RepositoryConfig(manifest=package.ManifestConfig(splitting=split))
    store = package.s3_store(region="us-east-1", anonymous=True)
    place = "/".join(BUCKET.split("/")[:3]) + "/"
    config.set_virtual_chunk_container(package.VirtualChunkContainer(place, store))
    storage = package.local_filesystem_storage(str(path))
    repository = package.Repository.create(storage, config)
    session = repository.writable_session("main")
    root = zarr.open_group(session.store, mode="w")
    for name in NAMES:
        shape = (steps, ROWS * 180, COLUMNS * 288)
        root.create_array(name, shape=shape, chunks=(1, 180, 288), dtype="i2")
    session.commit("arrays")
    lengths = np.random.default_rng(0).integers(180_000, 900_000, _AT_ONCE * CELLS, np.uint64)
    for name in NAMES:
        for first in range(0, steps, _AT_ONCE):
            count = min(_AT_ONCE, steps - first)
            session = repository.writable_session("main")
            size = lengths[: count * CELLS]
            urls = [url_of((first + n) // STEPS) for n in range(count) for _ in range(CELLS)]
            session.store.set_virtual_refs_arr(
                name, (count, ROWS, COLUMNS), urls, np.cumsum(size) - size, size,
                arr_offset=(first, 0, 0),
            )  # fmt: skip
            session.commit(f"{name} from {first}")


WRITERS |= {"icechunk": _icechunk}

if __name__ == "__main__":
    from tests.benchmarks.growth import main as grown  # by the name that a fresh process imports

    grown()
