"""Data types of Zarr v3 that are objects: their values, and what they may not take."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.core.limits import Limits
from refexplorer.io.reading.readings import ChunkState, Reading


def typed(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def pair(second: object) -> dict[str, Any]:
    return typed("structured", fields=[["a", "int16"], ["b", second]])


def read(data_type: object, values: bytes, fill: object) -> Reading:
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [2],
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
    }
    held = "base64:" + base64.b64encode(values).decode()
    refs = rx.open_references({"zarr.json": json.dumps(metadata), "c/0": held})
    return refs.chunk("", (0,))


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@pytest.mark.parametrize(
    ("data_type", "numpy", "fill"),
    [
        (pair("int32"), "<i2,<i4", "AAAAAAAA"),
        (pair(pair("int32")), [("a", "<i2"), ("b", "<i2,<i4")], "AAAAAAAAAAA="),
        (pair(typed("fixed_length_utf32", length_bytes=8)), "<i2,<U2", "AAAAAAAAAAAAAA=="),
        (typed("fixed_length_utf32", length_bytes=8), "<U2", ""),
        (typed("null_terminated_bytes", length_bytes=3), "S3", ""),
        (typed("raw_bytes", length_bytes=3), "V3", "AAAA"),
        (typed("numpy.datetime64", unit="s", scale_factor=1), "<M8[s]", 0),
        (typed("numpy.timedelta64", unit="s", scale_factor=10), "<m8[10s]", 0),
    ],
)
def test_values_are_those_that_were_written(data_type: object, numpy: Any, fill: object) -> None:
    dtype = np.dtype(numpy)
    written = np.frombuffer((b"\1\0\0\0" * 99)[: 2 * dtype.itemsize], dtype)
    found = read(data_type, written.tobytes(), fill)
    assert found.values is not None, found.message
    assert found.values.tolist() == written.tolist()
    assert found.values.dtype.itemsize == dtype.itemsize


@pytest.mark.parametrize("name", ["fixed_length_utf32", "null_terminated_bytes", "raw_bytes"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_length_that_is_claimed_is_refused_by_arithmetic(name: str, inside: bool) -> None:
    most = Limits().itemsize
    claimed = typed(name, length_bytes=most + 4)
    found = read(pair(claimed) if inside else claimed, b"", "")
    assert found.state is ChunkState.FAILED
    assert "`Limits.itemsize`" in (found.message or "")


@pytest.mark.parametrize(
    "data_type",
    [
        pair("string"),
        pair(["int8"]),
        pair(typed("raw_bytes", length_bytes=-1)),
        pair({"name": ["int8"]}),
        typed("structured", fields=[]),
        typed("structured", fields={"a": "int8"}),
        typed("structured", fields=[[f"f{n}", "int8"] for n in range(1_001)]),
        {"name": "structured"},
    ],
)
def test_a_data_type_of_unknown_size_is_reported(data_type: object) -> None:
    assert "is not supported" in (read(data_type, b"", "").message or "")
