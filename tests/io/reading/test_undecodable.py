"""Every way to a chunk whose bytes a codec refuses names the key and the target."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.storage import FsspecStore

import refexplorer as rx
from tests.helpers.shards import opened, written

VALUES = np.arange(16, dtype="<i4")
CODECS: dict[str, dict[str, Any] | None] = {
    "none": None, "zlib": {"id": "zlib"}, "gzip": {"id": "gzip"}, "bz2": {"id": "bz2"},
    "lzma": {"id": "lzma"}, "blosc": {"id": "blosc"}, "zstd": {"id": "zstd"}, "lz4": {"id": "lz4"},
}  # fmt: skip


def damaged(folder: Path, codec: dict[str, Any] | None) -> rx.ReferenceSet:
    """A set of four chunks in one file, of which the third is damaged."""
    encode: Callable[..., Any] = bytes if codec is None else numcodecs.get_codec(codec).encode
    chunks = [bytes(encode(VALUES[at : at + 4].tobytes())) for at in range(0, 16, 4)]
    chunks[2] = chunks[2][: len(chunks[2]) // 2] + b"\0"
    metadata = {
        "zarr_format": 2, "shape": [16], "chunks": [4], "dtype": "<i4", "compressor": codec,
        "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    refs: dict[str, Any] = {".zgroup": {"zarr_format": 2}, "x/.zarray": metadata}
    refs["x/.zattrs"] = {"_ARRAY_DIMENSIONS": ["x"]}
    body = b""
    for number, chunk in enumerate(chunks):
        refs[f"x/{number}"] = ["f.bin", len(body), len(chunk)]
        body += chunk
    (folder / "f.bin").write_bytes(body)
    return opened(folder, refs)


async def _read(refs: rx.ReferenceSet) -> Any:
    group: Any = refs.to_zarr()
    return await group["x"]._async_array.getitem(slice(None))


def _by_files(refs: rx.ReferenceSet) -> Any:
    files = AsyncFileSystemWrapper(refs.filesystem(), asynchronous=True)
    refs.to_zarr()  # Zarr has been told
    group: Any = zarr.open_group(FsspecStore(files, read_only=True, path=""), mode="r")
    return group["x"][:]


def _zarr(refs: rx.ReferenceSet) -> Any:
    return refs.to_zarr()


WAYS: dict[str, Callable[[rx.ReferenceSet], Any]] = {
    "read": lambda refs: refs.read("x"),
    "to_zarr": lambda refs: _zarr(refs)["x"][:],
    "one chunk": lambda refs: _zarr(refs)["x"][9:10],
    "async": lambda refs: asyncio.run(_read(refs)),
    "to_xarray": lambda refs: refs.to_xarray(coordinates=False)["x"].values,
    "dask": lambda refs: refs.to_xarray(coordinates=False, chunks={})["x"].compute(),
    "coordinates": lambda refs: refs.to_xarray(coordinates=True),
    "filesystem": _by_files,
    "pickled": lambda refs: pickle.loads(pickle.dumps(_zarr(refs)["x"]))[:],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("codec", CODECS)
def test_a_damaged_chunk(tmp_path: Path, codec: str, way: str) -> None:
    if way == "dask":
        pytest.importorskip("dask", reason="dask is not installed")
    if (codec, way) == ("blosc", "filesystem"):
        pytest.skip("numcodecs does not look where a blosc chunk ends; other ways are checked")
    refs = damaged(tmp_path, CODECS[codec])
    with pytest.raises(rx.errors.DecodeError, match=r"x/2 could not be decoded: .*") as caught:
        WAYS[way](refs)
    assert str(caught.value).count("x/2") == 1
    assert str(caught.value).endswith(" of f.bin).")


@pytest.mark.parametrize("selection", [slice(None), slice(0, 1)], ids=["whole", "part"])
def test_a_damaged_shard(tmp_path: Path, selection: slice) -> None:
    refs = written(tmp_path)
    _, offset, length = refs["x/c/0/0"]
    body = bytearray((tmp_path / "all.bin").read_bytes())
    body[offset : offset + length // 2] = bytes(length // 2)
    (tmp_path / "all.bin").write_bytes(body)
    array: Any = opened(tmp_path, refs | {"zarr.json": '{"zarr_format": 3, "node_type": "group"}'})
    with pytest.raises(
        rx.errors.DecodeError, match=r"x/c/0/0 could not be decoded: .* of .*all\.bin\)"
    ):
        array.to_zarr()["x"][selection]


def test_the_arrays_of_others_are_read_by_zarr_itself(tmp_path: Path) -> None:
    refs = damaged(tmp_path, {"id": "zlib"})
    assert type(_zarr(refs)["x"]._async_array.codec_pipeline) is not BatchedCodecPipeline
    other: Any = zarr.create_array(tmp_path / "o.zarr", shape=(4,), dtype="i4", chunks=(2,))
    other[:] = VALUES[:4]
    assert type(other._async_array.codec_pipeline) is BatchedCodecPipeline
    assert other[:].tolist() == [0, 1, 2, 3]


def test_another_pipeline_that_is_set_stays(tmp_path: Path) -> None:
    code = (
        "import zarr; from zarr.core.codec_pipeline import BatchedCodecPipeline\n"
        "from zarr.registry import register_pipeline\n"
        "class Mine(BatchedCodecPipeline): pass\n"
        "register_pipeline(Mine); zarr.config.set({'codec_pipeline.path': '__main__.Mine'})\n"
        "import refexplorer as rx\n"
        "refs = rx.open_references({'zarr.json': {'zarr_format': 3, 'node_type': 'group'}})\n"
        "refs.to_zarr(); print(zarr.config.get('codec_pipeline.path'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "__main__.Mine\n"
