"""Repositories that only Icechunk 2 writes: ``python -m tests.formats.icechunk.icechunk_two``.

It needs icechunk 2, so Python 3.12; what was made is kept, so that every Python tests it.
"""

from __future__ import annotations

import tempfile
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import zarr

ZIP = Path(__file__).with_name("icechunk_two.zip")
"""Written by icechunk 2.3.0: the folders ``compressed``, ``relative``, ``few``, and ``first``."""
COUNT = 12


def make(folder: Path, start: str = "s3://bucket/", compress: int = 1000, spec: int = 2) -> None:
    """Write a repository of one array, ``x``, of virtual chunks."""
    import icechunk

    made: Any = icechunk
    config = made.RepositoryConfig.default()
    store = made.s3_store(region="us-east-1")
    config.set_virtual_chunk_container(made.VirtualChunkContainer("s3://bucket/", store, "box"))
    locations = made.ManifestVirtualChunkLocationCompressionConfig(min_num_chunks=compress)
    config.manifest = made.ManifestConfig(virtual_chunk_location_compression=locations)
    storage = made.local_filesystem_storage(str(folder))
    session = made.Repository.create(storage, config, spec_version=spec).writable_session("main")
    root = zarr.group(store=session.store)
    root.create_array("x", shape=(COUNT,), chunks=(1,), dtype="i2", compressors=None)
    session.store.set_virtual_refs(
        "x",
        [
            made.VirtualChunkSpec([number], f"{start}some/file_{number:05}.nc", number * 100, 2)
            for number in range(COUNT)
        ],
    )
    session.commit("virtual chunks")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(ZIP, "w") as archive:
        parent = Path(name)
        make(parent / "compressed", compress=1)
        make(parent / "relative", start="vcc://box/")
        make(parent / "few")
        make(parent / "first", spec=1)
        for path in sorted(each for each in parent.rglob("*") if each.is_file()):
            archive.write(path, path.relative_to(parent), zipfile.ZIP_DEFLATED)


def _is_icechunk_2() -> bool:
    try:
        return int(version("icechunk").split(".")[0]) >= 2
    except PackageNotFoundError:
        return False


OF_ICECHUNK_1 = pytest.mark.skipif(
    _is_icechunk_2(), reason="icechunk 2 is asked itself, and reads this: see test_two"
)
