"""Sets that Zarr and xarray cannot open as a whole are refused in a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

import refexplorer as rx

ARRAY = {
    "zarr_format": 2,
    "shape": [2],
    "chunks": [1],
    "dtype": "|u1",
    "compressor": None,
    "filters": None,
    "fill_value": 0,
    "order": "C",
}
GROUP = '{"zarr_format": 2}'
V3 = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [2],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [{"name": "bytes"}],
}
NO_ROOT = {"x/.zarray": json.dumps(ARRAY), "x/0": "a", "x/1": "b"}


@pytest.mark.parametrize("document", [NO_ROOT, {"key": "text"}])
@pytest.mark.parametrize("verb", ["to_zarr", "to_xarray", "to_datatree"])
def test_a_set_without_a_root_is_refused(document: dict[str, Any], verb: str) -> None:
    refs = rx.open_references(document)
    with pytest.raises(rx.errors.DecodeError, match=r"no group at its root.*\.zgroup.*\.$"):
        getattr(refs, verb)()


@pytest.mark.parametrize("verb", ["to_xarray", "to_datatree"])
def test_an_array_at_the_root_is_no_dataset(verb: str) -> None:
    refs = rx.open_references({".zarray": json.dumps(ARRAY), "0": "a", "1": "b"})
    with pytest.raises(rx.errors.DecodeError, match="The root of the set is an array"):
        getattr(refs, verb)()


def test_names_of_dimensions_are_called_as_the_version_of_zarr_does() -> None:
    group = json.dumps({"zarr_format": 3, "node_type": "group"})
    refs = rx.open_references({"zarr.json": group, "x/zarr.json": json.dumps(V3)})
    with pytest.raises(rx.errors.DecodeError, match="x has no valid dimension_names"):
        refs.to_xarray()
    refs = rx.open_references(NO_ROOT | {".zgroup": GROUP})
    with pytest.raises(rx.errors.DecodeError, match="x has no valid _ARRAY_DIMENSIONS"):
        refs.to_xarray()
