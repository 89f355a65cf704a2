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
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np

from tests.benchmarks import sets
from tests.benchmarks.measuring import Measured, Watch, Work, measure
from tests.benchmarks.sets import BUCKET, CELLS, COLUMNS, NAMES, ROWS, STEPS, WRITERS, made, url_of

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

_SPLIT = 2_500
"""Steps of a manifest, so 50,000 of its chunks."""
_FILE_BYTES = 2**32
"""More than the ranges of a file have."""
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


def diagnosed(watch: Watch, path: Path) -> object:
    """Find all diagnostics of an opened set."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        found = refs.diagnostics
    return len(found)


def listed(watch: Watch, path: Path) -> object:
    """List the files of an opened set, and what of each is referenced."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        found = refs.targets()
    return [len(found), sum(each.bytes for each in found)]


def mapped(watch: Watch, path: Path) -> object:
    """Draw all chunks of an array, for the first time."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        grid = refs.chunk_grid(NAMES[0])
        view = grid.view(None, None, 120)
    return [int(view.counts[1:].sum()), len(grid.urls)]


def targets_checked(watch: Watch, path: Path) -> object:
    """Check that all files exist and all byte ranges are inside them."""
    refs = _with_files(path)
    with watch.running():
        report = refs.check_targets()
    return str(report)


def audited(watch: Watch, path: Path) -> object:
    """Audit all references, and decode no chunk."""
    refs = _with_files(path)
    with watch.running():
        report = refs.audit(decode="none")
    return str(report).splitlines()[0]


def verified(watch: Watch, path: Path) -> object:
    """Compare with the files, which cannot be opened."""
    refs = _with_files(path)
    with watch.running():
        report = refs.verify()
    return str(report).splitlines()[0]


def converted(watch: Watch, path: Path) -> object:
    """Convert to another parquet store, which is compared with the source."""
    from refexplorer import convert

    with TemporaryDirectory(dir=path.parent) as folder, watch.running():
        report = convert(path, Path(folder) / "converted.parq")
    return str(report)


def _files_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-files")


def _with_files(path: Path) -> ReferenceSet:
    from refexplorer import open_references

    return open_references(path).allowing(str(_files_of(path)))


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


_LOCAL = (10**6, 3 * 10**6, 10**7)
_JSON, _STORED, _ICECHUNK = (10**4, 10**5, 10**6), (10**6, 10**7, 5 * 10**7), (10**5, 10**6, 10**7)
GROWTHS = (
    Growth("v0", "JSON: import, open, first level", opened, _JSON),
    Growth("v0", "JSON: import, open, print", printed, _JSON),
    Growth("gdal", "JSON: GDAL's driver opens an array", opened_by_gdal, _JSON, "rasterio"),
    Growth("parquet", "parquet: import, open, first level", opened, _STORED),
    Growth("parquet", "parquet: import, open, print with counts", printed, _STORED),
    Growth("parquet", "parquet: a page of keys", paged, _STORED),
    Growth("parquet", "parquet: all diagnostics", diagnosed, _STORED),
    Growth("parquet", "parquet: table of files (`targets`)", listed, _STORED),
    Growth("parquet", "parquet: first map of chunks, a tenth of the keys", mapped, _STORED),
    Growth("local", "parquet: `check --targets`, files of zeros", targets_checked, _LOCAL),
    Growth("local", "parquet: audit without decoding, files of zeros", audited, _LOCAL),
    Growth("local", "parquet: verify, files that are not NetCDF", verified, _LOCAL),
    Growth("parquet", "parquet: convert to parquet", converted, _LOCAL),
    Growth("icechunk", "Icechunk: import, open, first level", opened, _ICECHUNK, "icechunk"),
    Growth("icechunk", "Icechunk: a page of keys", paged, _ICECHUNK, "icechunk"),
    Growth("icechunk", "Icechunk: count kinds, bytes, targets", counted, _ICECHUNK, "icechunk"),
    Growth("icechunk", "Icechunk: all diagnostics", diagnosed, _ICECHUNK, "icechunk"),
    Growth("icechunk", "Icechunk: table of files (`targets`)", listed, _ICECHUNK, "icechunk"),
    Growth(
        "icechunk",
        "Icechunk: first map of chunks, a tenth of the keys",
        mapped,
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
    files = _files_of(path)
    with patch.object(sets, "BUCKET", str(files)):
        WRITERS["parquet"](path, steps)
        for number in range(-(-steps // STEPS)):
            file = Path(sets.url_of(number))
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                stream.truncate(_FILE_BYTES)


WRITERS |= {"icechunk": _icechunk, "local": _local}
