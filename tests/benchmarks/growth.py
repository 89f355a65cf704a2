"""How opening and counting grow: ``python -m tests.benchmarks --write growth``.

Three sizes of each form, CPU seconds and memory of fresh processes, and the exponent that fits
them. The sizes of Icechunk take a Python with icechunk 2, that of GDAL's driver rasterio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from tests.benchmarks import growing, sets
from tests.benchmarks.measuring import Measured, Work, measure
from tests.benchmarks.sets import BUCKET, CELLS, COLUMNS, NAMES, ROWS, STEPS, WRITERS, made, url_of

_SPLIT = 2_500
"""Steps of a manifest, so 50,000 of its chunks."""
_FILE_BYTES = 2**32
"""More than the ranges of a file have."""
_AT_ONCE = 50_000
"""Steps that are written together."""


class Growth(NamedTuple):
    """A line of the table."""

    form: str
    work: str
    ours: Work
    keys: tuple[int, ...]
    needs: str = ""


_LOCAL = (10**6, 3 * 10**6, 10**7)
_JSON, _STORED, _ICECHUNK = (10**4, 10**5, 10**6), (10**6, 10**7, 5 * 10**7), (10**5, 10**6, 10**7)
GROWTHS = (
    Growth("v0", "JSON: import, open, first level", growing.opened, _JSON),
    Growth("v0", "JSON: import, open, print", growing.printed, _JSON),
    Growth("gdal", "JSON: GDAL's driver opens an array", growing.opened_by_gdal, _JSON, "rasterio"),
    Growth("parquet", "parquet: import, open, first level", growing.opened, _STORED),
    Growth("parquet", "parquet: import, open, print with counts", growing.printed, _STORED),
    Growth("parquet", "parquet: a page of keys", growing.paged, _STORED),
    Growth("parquet", "parquet: all diagnostics", growing.diagnosed, _STORED),
    Growth("parquet", "parquet: table of files (`targets`)", growing.listed, _STORED),
    Growth("parquet", "parquet: first map of chunks, a tenth of the keys", growing.mapped, _STORED),
    Growth("local", "parquet: `check --targets`, files of zeros", growing.targets_checked, _LOCAL),
    Growth("local", "parquet: audit without decoding, files of zeros", growing.audited, _LOCAL),
    Growth("local", "parquet: verify, files that are not NetCDF", growing.verified, _LOCAL),
    Growth(
        "parquet", "parquet: search for part of an index, first hits", growing.first_hits, _STORED
    ),
    Growth("parquet", "parquet: search for part of a file's name", growing.searched, _STORED),
    Growth("parquet", "parquet: compare, one record file differs", growing.differing, _STORED),
    Growth("parquet", "parquet: advice", growing.advised, _STORED),
    Growth("gen", "`gen`: advice", growing.advised, (10**7, 10**9, 10**12)),
    Growth("parquet", "parquet: convert to parquet", growing.to_parquet, _LOCAL),
    Growth("parquet", "parquet: convert to V0", growing.to_json, _LOCAL),
    Growth("v0", "V0: convert to parquet", growing.to_parquet, _LOCAL),
    Growth("gen", "`gen`: convert to parquet", growing.to_parquet, _LOCAL),
    Growth(
        "icechunk", "Icechunk: import, open, first level", growing.opened, _ICECHUNK, "icechunk"
    ),
    Growth("icechunk", "Icechunk: a page of keys", growing.paged, _ICECHUNK, "icechunk"),
    Growth(
        "icechunk", "Icechunk: count kinds, bytes, targets", growing.counted, _ICECHUNK, "icechunk"
    ),
    Growth("icechunk", "Icechunk: all diagnostics", growing.diagnosed, _ICECHUNK, "icechunk"),
    Growth(
        "icechunk", "Icechunk: table of files (`targets`)", growing.listed, _ICECHUNK, "icechunk"
    ),
    Growth(
        "icechunk",
        "Icechunk: first map of chunks, a tenth of the keys",
        growing.mapped,
        _ICECHUNK,
        "icechunk",
    ),
)


def lines(folder: Path, runs: int, only: str = "") -> Iterator[str]:
    """Measure and return the table."""
    yield "| work | keys | CPU s | memory MB | exponent |\n|---|---|---|---|---|"
    for growth in GROWTHS:
        if only not in growth.work or (growth.needs and _version(growth.needs) is None):
            continue
        if growth.needs == "icechunk" and int((_version("icechunk") or "0").split(".")[0]) < 2:
            continue
        sizes = [_measured(growth, folder, keys, runs) for keys in growth.keys]
        cells = [
            ", ".join(power(keys) for keys in growth.keys),
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
    """Return the power of the number of keys that fits best, by least squares of logarithms."""
    power = np.polyfit(np.log(keys), np.log(np.maximum(seconds, 1e-4)), 1)[0]
    return f"{max(float(power), 0):.1f}"


def power(keys: int) -> str:
    """Return a number of keys as a power of ten."""
    power = int(math.log10(keys))
    first = keys // 10**power
    digits = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{digits}" if first == 1 else f"{first}·10{digits}"


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


def _local(path: Path, steps: int) -> None:
    """Write a parquet store whose files are next to it: sparse, and all zeros."""
    files = growing.files_of(path)
    with patch.object(sets, "BUCKET", str(files)):
        WRITERS["parquet"](path, steps)
        for number in range(-(-steps // STEPS)):
            file = Path(sets.url_of(number))
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                stream.truncate(_FILE_BYTES)


WRITERS |= {"icechunk": _icechunk, "local": _local}
