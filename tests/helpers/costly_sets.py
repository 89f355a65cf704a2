"""Sets of three layouts with eight accesses each, and how other readers read them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

Selection = tuple[Any, ...]


@dataclass
class CostlySet:
    """A set with its files.

    Attributes
    ----------
    refs, files
        The references of version 0, and the files by path.
    shape, chunks
        Of the array ``x``.
    """

    refs: dict[str, Any]
    files: dict[str, bytes]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]

    def keys_of(self, selection: Selection) -> list[str]:
        """Return the keys with a reference to a target that a selection needs, by counting."""
        parts = [*selection, *[slice(None)] * (len(self.shape) - len(selection))]
        along = [
            np.unique(np.atleast_1d(np.arange(extent)[part]) // step).tolist()
            for part, extent, step in zip(parts, self.shape, self.chunks, strict=True)
        ]
        keys = ("x/" + ".".join(map(str, index)) for index in product(*along))
        return [key for key in keys if isinstance(self.refs.get(key), list)]


def costly_sets(url: str) -> dict[str, CostlySet]:
    """Return the sets; their files are at an address."""
    return {
        "file for each time": _file_for_each_time(url),
        "rows in one file": _rows_in_one_file(url),
        "large chunks": _large_chunks(url),
    }


ACCESSES: dict[str, Selection | None] = {
    "open": None,
    "one map": (0,),
    "one time series": (slice(None), 0),
    "all of it": (),
    "one value": (-1, -1),
    "a box": (slice(1, 4), slice(1, 3)),
    "every third": (slice(None, None, 3),),
    "nothing": (slice(2, 2),),
}
"""Selections of ``x``."""


def _array(refs: dict[str, Any], path: str, dimensions: Sequence[str], **metadata: Any) -> None:
    plain = {"zarr_format": 2, "compressor": None, "filters": None, "order": "C", "fill_value": 0}
    attributes = metadata.pop("attributes", {})
    refs[f"{path}/.zarray"] = json.dumps(plain | metadata)
    refs[f"{path}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": list(dimensions)} | attributes)


def _file_for_each_time(url: str) -> CostlySet:
    """Compressed chunks, four in a file with small gaps; the times of each file are in it."""
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}'}
    files: dict[str, bytes] = {}
    shape, chunks = (7, 6, 6), (1, 3, 3)
    metadata = {"shape": shape, "chunks": chunks, "dtype": "<i4"}
    _array(refs, "x", ("time", "y", "x_"), compressor={"id": "zlib", "level": 1}, **metadata)
    since = {"units": "days since 2000-01-01"}
    _array(refs, "time", ("time",), shape=[7], chunks=[1], dtype="<i4", attributes=since)
    _array(refs, "y", ("y",), shape=[6], chunks=[4], dtype="<i4")
    for time in range(7):
        body = bytearray(np.array([time], "<i4").tobytes())
        refs[f"time/{time}"] = [f"{url}/{time}.nc", 0, 4]
        for row, column in product(range(2), range(2)):
            data = zlib.compress(np.arange(9, dtype="<i4").tobytes())
            body += bytes(100)
            refs[f"x/{time}.{row}.{column}"] = [f"{url}/{time}.nc", len(body), len(data)]
            body += data
        files[f"/{time}.nc"] = bytes(body)
    refs |= {"y/0": "base64:AAAAAAEAAAACAAAAAwAAAA==", "y/1": [f"{url}/0.nc", 4, 16]}
    return CostlySet(refs, files, shape, chunks)


def _rows_in_one_file(url: str) -> CostlySet:
    """Chunks that touch along a row, with rows far apart, of which some have no reference."""
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}'}
    shape, chunks = (9, 8), (2, 2)
    _array(refs, "x", ("time", "y"), shape=shape, chunks=chunks, dtype="<i2")
    _array(refs, "time", ("time",), shape=[9], chunks=[3], dtype="<i2")
    apart = [0, 70_000, 70_100, 1_300_000, 1_364_100]
    for row, column in product(range(5), range(4)):
        if (row, column) != (1, 2):
            refs[f"x/{row}.{column}"] = [f"{url}/rows", apart[row] + 8 * column, 8]
    refs["x/3.3"] = "base64:AAAAAAAAAAA="
    refs |= {f"time/{n}": [f"{url}/rows", 500 + 6 * n, 6] for n in range(3)}
    return CostlySet(refs, {"/rows": bytes(1_400_000)}, shape, chunks)


def _large_chunks(url: str) -> CostlySet:
    """Chunks of 3 MB one after the other, so that no request has more than two; two overlap."""
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}'}
    shape, chunks = (6, 3_000_000), (1, 3_000_000)
    _array(refs, "x", ("time", "y"), shape=shape, chunks=chunks, dtype="|i1")
    for row in range(5):
        refs[f"x/{row}.0"] = [f"{url}/large", 3_000_000 * row, 3_000_000]
    refs["x/5.0"] = [f"{url}/large", 1_000_000, 3_000_000]
    return CostlySet(refs, {"/large": bytes(15_000_000)}, shape, chunks)


def prepared(
    reader: str, costly: CostlySet, url: str, access: Selection | None
) -> Callable[[], None]:
    """Return what reads as a reader does, or opens."""
    if access is None:
        return partial(_open, costly)
    if reader == "zarr":
        return partial(_by_zarr, costly, access)
    return partial(_by_refexplorer, costly, url, costly.keys_of(access))


@contextmanager
def _store(costly: CostlySet) -> Iterator[Any]:
    """Give fsspec's references as a store; the connections are closed on the loop of Zarr."""
    import fsspec
    from zarr.core.sync import sync
    from zarr.storage import FsspecStore

    options = {"asynchronous": True, "skip_instance_cache": True}
    filesystem = fsspec.filesystem(
        "reference", fo=costly.refs, remote_protocol="http", remote_options=options, **options
    )
    yield FsspecStore(filesystem, read_only=True, path="")
    if (session := filesystem.fss["http"]._session) is not None:
        sync(session.close())


def _open(costly: CostlySet) -> None:
    import xarray

    with _store(costly) as store:
        xarray.open_dataset(store, engine="zarr", consolidated=False).close()


def _by_zarr(costly: CostlySet, access: Selection) -> None:
    import zarr

    with _store(costly) as store:
        array = zarr.open_array(store, path="x", mode="r")
        array[access or Ellipsis]


def _by_refexplorer(costly: CostlySet, url: str, keys: list[str]) -> None:
    import refexplorer as rx

    rx.open_references(costly.refs).allowing(url).filesystem().cat(keys)
