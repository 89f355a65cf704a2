"""Sets of Zarr v2 as sets of v3: the same values, by the same bytes."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.verbs.migrating import as_v3, is_older
from refexplorer.verbs.opening import set_of
from tests.helpers.sets import DEMO

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not")


@pytest.mark.parametrize("name", ["sst.v0.json", "sst.v1.json", "sst.parq"])
def test_the_demo_reads_the_same(name: str) -> None:
    older = rx.open_references(DEMO / name)
    newer = set_of(as_v3(older), older.limits)
    assert (is_older(older), is_older(newer)) == (True, False)
    assert newer.error_count == 0
    assert {newer.array(path).zarr_format for path in newer.arrays()} == {3}
    first: Any = older.to_zarr()
    second: Any = newer.allowing(str(DEMO)).to_zarr()
    for path in older.arrays():
        assert np.array_equal(first[path][:], second[path][:], equal_nan=True), path
        assert first[path].dtype == second[path].dtype
        assert newer.array(path).dimensions == older.array(path).dimensions
    assert older.summary().missing == newer.summary().missing


def test_a_scalar_and_a_nested_key() -> None:
    metadata = {
        "zarr_format": 2, "shape": [], "chunks": [], "dtype": "<i4", "compressor": None,
        "fill_value": None, "filters": None, "order": "C",
    }  # fmt: skip
    nested = metadata | {"shape": [2, 2], "chunks": [1, 1], "dimension_separator": "/"}
    refs = {
        "s/.zarray": json.dumps(metadata),
        "s/0": "base64:BwAAAA==",
        "n/.zarray": json.dumps(nested),
        "n/1/0": "base64:CAAAAA==",
    }
    made = as_v3(rx.open_references(refs)).value
    assert made is not None
    assert {*made} == {"s/zarr.json", "s/c", "n/zarr.json", "n/c/1/0"}
    assert json.loads(made["s/zarr.json"])["fill_value"] == 0
    assert "_FillValue" not in json.loads(made["s/zarr.json"])["attributes"]


@pytest.mark.parametrize("dtype", ["|i1", "<f4", "<c8", "|b1"])
def test_chunks_of_one_element_whose_fill_value_is_one(dtype: str) -> None:
    """What zarr writes to try the codecs may be the fill value, which it does not write."""
    fill: Any = [1.0, 0.0] if dtype == "<c8" else True if dtype == "|b1" else 1
    metadata = {
        "zarr_format": 2, "shape": [2], "chunks": [1], "dtype": dtype, "compressor": None,
        "fill_value": fill, "filters": None, "order": "C",
    }  # fmt: skip
    data = np.ones(1, dtype).tobytes()
    refs: dict[str, Any] = {".zgroup": {"zarr_format": 2}, "x/.zarray": metadata}
    refs["x/0"] = "base64:" + base64.b64encode(data).decode()
    older = rx.open_references(refs)
    newer: Any = set_of(as_v3(older), older.limits).to_zarr()
    assert np.array_equal(newer["x"][:], np.ones(2, dtype))


@pytest.mark.parametrize("name", ["sst.v0.json", "sst.v1.json"])
def test_chunks_of_one_place_are_one_key_in_a_comparison(name: str) -> None:
    older = rx.open_references(DEMO / name)
    references: Any = as_v3(older).value
    same = rx.diff(older, references)
    assert (same.total, same.keys) == (0, len(references))
    key = next(each for each in references if each.startswith("sst/c/"))
    url, offset, length = references[key]
    moved = rx.diff(older, references | {key: [url, offset + 4, length]})
    assert [(each.key, each.change) for each in moved.iterate()] == [(key, "shifted")]
    back = rx.diff(references, older)
    assert not back


def test_what_zarr_3_cannot_say_is_compared_as_it_is() -> None:
    metadata = {
        "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|S3", "compressor": None,
        "fill_value": None, "filters": None, "order": "C",
    }  # fmt: skip
    older = {".zgroup": {"zarr_format": 2}, "x/.zarray": metadata, "x/0": "abc"}
    newer = as_v3(rx.open_references({".zgroup": {"zarr_format": 2}})).value
    array = {"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": "int8",
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
             "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
             "fill_value": 0, "codecs": [{"name": "bytes"}]}  # fmt: skip
    found = rx.diff(older, {**(newer or {}), "x/zarr.json": array})
    assert found.counts["removed"] == 3
