"""What is said of a codec that cannot be used names the package that has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import refexplorer as rx


def set_with(codec: dict[str, Any], zarr_format: int = 2) -> dict[str, str]:
    metadata: dict[str, Any] = {"zarr_format": zarr_format, "shape": [4], "fill_value": 0}
    if zarr_format == 2:
        metadata |= {"chunks": [4], "dtype": "<i4", "order": "C", "filters": [codec]}
        metadata |= {"compressor": None}
    else:
        grid = {"name": "regular", "configuration": {"chunk_shape": [4]}}
        encoding = {"name": "default", "configuration": {"separator": "/"}}
        endian = {"name": "bytes", "configuration": {"endian": "little"}}
        metadata |= {"node_type": "array", "data_type": "int32", "chunk_grid": grid}
        metadata |= {"chunk_key_encoding": encoding, "codecs": [endian, codec]}
    return {f"x/{'.zarray' if zarr_format == 2 else 'zarr.json'}": json.dumps(metadata)}


@pytest.mark.parametrize("name", ["gribberish", "gribscan", "gribscan.rawgrib"])
def test_the_package_is_the_one_that_has_the_codec(name: str) -> None:
    refs = rx.open_references(set_with({"id": name}))
    (found,) = (each for each in refs.diagnostics if each.code == "codec-not-installed")
    assert f"`pip install {name.partition('.')[0]}`" in found.message


def test_a_codec_of_zarr_2_is_there_but_not_for_zarr_3() -> None:
    pytest.importorskip("imagecodecs")
    name = "imagecodecs_lzw"
    assert "codec-not-installed" not in {
        each.code for each in rx.open_references(set_with({"id": name})).diagnostics
    }
    refs = rx.open_references(set_with({"name": name, "configuration": {}}, 3))
    (found,) = (each for each in refs.diagnostics if each.code == "codec-not-installed")
    assert f"the codec {name}, which is installed for Zarr v2 only" in found.message
