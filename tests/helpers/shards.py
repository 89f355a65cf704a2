"""Sets of shards written by zarr-python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import BytesCodec, GzipCodec, ShardingCodec

import refexplorer as rx

START = 37
"""Bytes of the target before the shard."""
VALUES = np.arange(64, dtype="<i4").reshape(8, 8)


def written(folder: Path, **more: Any) -> dict[str, Any]:
    """Write an array of four shards, one missing and one with empty inner chunks, and refer to it.

    All of it lies in one file, the shards behind each other.
    """
    sharding = {"codecs": [BytesCodec(), GzipCodec()], "chunk_shape": (2, 1)} | more
    array: Any = zarr.create_array(
        folder / "made.zarr",
        shape=(8, 8),
        chunks=(4, 4),
        dtype="<i4",
        fill_value=0,
        serializer=ShardingCodec(**sharding),
        compressors=None,
    )
    array[:4, :4] = VALUES[:4, :4]
    array[4:6, 4:6] = VALUES[4:6, 4:6]
    array[:4, 4:] = VALUES[:4, 4:]
    body, refs = bytes(START), dict[str, Any]()
    refs["x/zarr.json"] = (folder / "made.zarr/zarr.json").read_text()
    for name in ("0/0", "0/1", "1/1"):
        data = (folder / "made.zarr/c" / name).read_bytes()
        refs[f"x/c/{name}"] = ["all.bin", len(body), len(data)]
        body += data
    (folder / "all.bin").write_bytes(body)
    return refs


def opened(folder: Path, refs: dict[str, Any]) -> rx.ReferenceSet:
    path = folder / "set.json"
    path.write_text(json.dumps(refs))
    return rx.open_references(path)
