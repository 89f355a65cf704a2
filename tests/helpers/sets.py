"""Small reference sets, and their parts."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import refexplorer as rx

DEMO = Path(rx.__file__).parent / "demo"
ZARRAY = {
    "zarr_format": 2,
    "shape": [5],
    "chunks": [2],
    "dtype": "<i2",
    "compressor": None,
    "filters": None,
    "order": "C",
    "fill_value": -1,
}
GEN = {
    "key": "v/{{i}}.{{j}}",
    "url": "http://h",
    "dimensions": {"i": {"stop": 10**6}, "j": {"stop": 10**6}},
}
ARRAY = {
    "zarr_format": 2,
    "shape": [4, 30],
    "chunks": [1, 10],
    "dtype": "<i4",
    "compressor": {"id": "zlib", "level": 4},
    "filters": [{"id": "shuffle", "elementsize": 4}],
    "order": "C",
    "fill_value": 0,
}
GROUP = {".zgroup": {"zarr_format": 2}, "g/.zgroup": {"zarr_format": 2}}
SCALAR = {**ARRAY, "shape": [], "chunks": []}
V0: dict[str, Any] = {
    **GROUP,
    "g/t/.zarray": ARRAY,
    "g/t/.zattrs": {"units": "K"},
    "s/.zarray": SCALAR,
    "s/0": "base64:AAECAw==",
    "g/t/0.0": ["s3://b/f1", 10, 20],
    "g/t/0.2": ["s3://b/f2"],
    "g/t/3.1": ["s3://b/f1", 2**40, 7],
    "g/t/2.0": "some text",
}
HOSTILE = {
    "\x1b]0;pwned\x07\x1b[2J": "x",
    "<script>alert(1)</script>/a": ["javascript:alert(document.domain)"],
    '"><img src=x onerror=alert(1)>': ["http://\u202egro.elpmaxe//:ptth/f", 0, 4],
}


def raw_set(*chunks: Any, **metadata: Any) -> dict[str, Any]:
    keys = {f"x/{number}": chunk for number, chunk in enumerate(chunks) if chunk}
    return {
        ".zgroup": '{"zarr_format": 2}',
        "x/.zarray": json.dumps(ZARRAY | metadata),
        "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}',
        **keys,
    }


def bytes_at(*urls: str) -> dict[str, Any]:
    """An array of bytes, of which each URL has four, at their own place."""
    chunks = ([url, number * 4, 4] for number, url in enumerate(urls))
    return raw_set(*chunks, shape=[4 * len(urls)], chunks=[4], dtype="|u1", fill_value=0)


def x_of(refs: rx.ReferenceSet, *allow: str) -> Any:
    group: Any = refs.allowing(*allow).to_zarr()
    return group["x"]


def metadata(shape: Sequence[int], chunks: Sequence[int] | None = None, **fields: Any) -> str:
    """A ``.zarray``, by default with one element in each chunk."""
    usual = {"zarr_format": 2, "dtype": "<f4", "fill_value": 0, "order": "C"}
    sizes = {"shape": shape, "chunks": [1] * len(shape) if chunks is None else chunks}
    return json.dumps({**usual, **sizes, "compressor": None, "filters": None, **fields})


def held_array(
    values: np.ndarray, dtype: Any, names: list[str], chunks: list[int]
) -> dict[str, Any]:
    """Return a set with an inline array."""
    metadata = {
        "zarr_format": 2, "shape": values.shape, "chunks": chunks, "dtype": dtype,
        "compressor": None, "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    document: dict[str, Any] = {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": json.loads(json.dumps(metadata)),
        "x/.zattrs": {"_ARRAY_DIMENSIONS": names} if names else {},
    }
    grid = [-(-length // size) for length, size in zip(values.shape, chunks, strict=True)]
    for index in np.ndindex(*grid):
        sides = zip(index, chunks, strict=True)
        part = values[tuple(slice(at * size, (at + 1) * size) for at, size in sides)]
        text = base64.b64encode(part.tobytes()).decode()
        document[f"x/{'.'.join(map(str, index))}"] = f"base64:{text}"
    return document
