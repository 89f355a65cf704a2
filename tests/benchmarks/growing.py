"""The works that `growth` measures.

Some include their imports, so this module imports only the standard library.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.benchmarks.measuring import Watch

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

ARRAY = "t2m"
"""The first array of the sets."""


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
    middle = refs.children(ARRAY, 0, 0).total // 2
    with watch.running():
        rows = refs.children(ARRAY, middle, middle + 50).rows
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
        grid = refs.chunk_grid(ARRAY)
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


def first_hits(watch: Watch, path: Path) -> object:
    """Search for part of a chunk index, until the first keys are found."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        return next(refs.find("9.1.2", mode="substring"))


def searched(watch: Watch, path: Path) -> object:
    """Search for part of the name of a file, which one file has, through all references."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        return sum(1 for _ in refs.find("surface_000007", mode="substring", targets=True))


def advised(watch: Watch, path: Path) -> object:
    """Compute what reading costs."""
    from refexplorer import open_references

    refs = open_references(path)
    with watch.running():
        advice = refs.advise()
    return str(advice).splitlines()[0]


def differing(watch: Watch, path: Path) -> object:
    """Compare a store with one that has other offsets in one record file."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from refexplorer import diff

    with TemporaryDirectory(dir=path.parent) as folder:
        other = Path(folder) / "other"
        shutil.copytree(path, other, copy_function=os.link)
        record = other / ARRAY / "refs.0.parq"
        table = pq.read_table(record)
        record.unlink()  # linked: written in place, it would change in both
        place = table.schema.get_field_index("offset")
        pq.write_table(table.set_column(place, "offset", pc.add(table["offset"], 1)), record)
        with watch.running():
            found = diff(path, other)
    return str(found).splitlines()[0].replace(str(other), "")


def to_parquet(watch: Watch, path: Path) -> object:
    """Convert to a parquet store, which is compared with the source."""
    return _converted(watch, path, "converted.parq")


def to_json(watch: Watch, path: Path) -> object:
    """Convert to a V0 document, which is compared with the source."""
    return _converted(watch, path, "converted.json")


def _converted(watch: Watch, path: Path, name: str) -> object:
    from refexplorer import convert

    with TemporaryDirectory(dir=path.parent) as folder, watch.running():
        written = convert(path, Path(folder) / name)
    return str(written)


def files_of(path: Path) -> Path:
    """Return the folder of the files that a local set refers to."""
    return path.with_name(f"{path.name}-files")


def _with_files(path: Path) -> ReferenceSet:
    from refexplorer import open_references

    return open_references(path).allowing(str(files_of(path)))


def opened_by_gdal(watch: Watch, path: Path) -> object:
    """Import rasterio and open the same document by GDAL's driver for Zarr."""
    with watch.running():
        import rasterio

        with rasterio.open(f'ZARR:"{path}":/{ARRAY}') as dataset:
            shape = dataset.shape
    return len(shape)
