"""Repositories for tests, as the installed icechunk writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import zarr

BODY = bytes(range(200))


def targets_of(folder: Path) -> Path:
    """Return a folder with one target."""
    folder.mkdir()
    (folder / "f.bin").write_bytes(BODY)
    return folder


def write(storage: Any, targets: Path, checksums: tuple[Any, Any] = (None, None)) -> Any:
    """Make a repository of two versions: all kinds of chunks; then a shifted virtual chunk."""
    import icechunk

    made: Any = icechunk
    prefix = f"file://{targets}/"
    config = made.RepositoryConfig.default()
    store = made.local_filesystem_store(str(targets))
    config.set_virtual_chunk_container(made.VirtualChunkContainer(prefix, store))
    repository = made.Repository.create(storage, config)
    session = repository.writable_session("main")
    root = zarr.group(store=session.store, attributes={"title": "made here"})
    array = root.create_array("g/x", shape=(4, 3), chunks=(2, 3), dtype="i2", compressors=None)
    where = "g/x/c/0/0", f"{prefix}f.bin"
    session.store.set_virtual_ref(*where, offset=10, length=12, checksum=checksums[0])
    array[2:] = np.arange(6).reshape(2, 3)
    root.create_array("big", shape=(2000,), chunks=(1000,), dtype="i4", compressors=None)[:] = 7
    root.create_array("s", shape=(), dtype="i4", compressors=None)[...] = 7
    repository.create_tag("v1", session.commit("first"))
    session = repository.writable_session("main")
    session.store.set_virtual_ref(*where, offset=12, length=12, checksum=checksums[1])
    session.commit("second")
    return repository


def moment(hours: float) -> datetime:
    """Return the time so many hours from now."""
    return datetime.now(UTC) + timedelta(hours=hours)
