"""STAC items and collections that have references themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded


def test_a_set_with_such_keys_is_a_set() -> None:
    refs = {".zgroup": '{"zarr_format": 2}', "stac_version": "1", "sources:": "x"}
    assert rx.open_references(json.dumps(refs)).count == 3


def described(as_collection: bool = False) -> dict[str, Any]:
    """Return an item that has references itself, as xstac writes them."""
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    attributes = {"kerchunk:zarray": metadata, "kerchunk:zattrs": {"_ARRAY_DIMENSIONS": ["t"]}}
    time = {"0": "base64:AAAAAAEAAAA=", "1": "base64:AgAAAAMAAAA="}
    values = {"0": ["d/f.bin", 4, 8], "1": ["d/f.bin", 12, 8]}
    within: dict[str, Any] = {
        "kerchunk:zgroup": {"zarr_format": 2},
        "kerchunk:zattrs": {"title": "made here"},
        "cube:dimensions": {
            "t": {"type": "temporal"} | attributes | {"kerchunk:value": time},
            "band": {"type": "bands", "values": ["a"]},
        },
        "cube:variables": {"x": {"type": "data"} | attributes | {"kerchunk:value": values}},
    }
    kind = "Collection" if as_collection else "Feature"
    whole = {"type": kind, "stac_version": "1.0.0", "links": [], "assets": {}}
    return whole | (within if as_collection else {"properties": within})


@pytest.mark.parametrize("as_collection", [False, True])
def test_a_document_that_has_references_itself(as_collection: bool, tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "d").mkdir()
    (folder / "d/f.bin").write_bytes(np.arange(5, dtype="<i4").tobytes())
    document = described(as_collection)
    (folder / "item.json").write_text(json.dumps(document))
    refs = rx.open_references(folder / "item.json")
    assert (refs.source.form, refs.arrays(), refs.error_count) == ("STAC", ("t", "x"), 0)
    dataset = refs.to_xarray()
    assert dataset.x.values.tolist() == [1, 2, 3, 4]
    assert dataset.t.values.tolist() == [0, 1, 2, 3]
    assert dataset.attrs == {"title": "made here"}
    assert f"refexplorer.open_references({str(folder / 'item.json')!r})" in refs.code()
    assert rx.open_references(document).to_v0() == refs.to_v0()
    policy = AccessPolicy(None, [str(folder)], served=True)
    guarded = open_guarded(str(folder / "item.json"), policy, rx.Limits())
    assert guarded.to_v0() == refs.to_v0()


@pytest.mark.parametrize(
    "within",
    [
        {"kerchunk:zgroup": 5},
        {"kerchunk:zarray": [], "cube:variables": {"x": {"kerchunk:value": {"0": 5}}}},
        {"kerchunk:zgroup": {}, "cube:variables": {"x": []}, "cube:dimensions": []},
        {"kerchunk:zgroup": {}, "cube:variables": {"../x": {"kerchunk:zarray": "{"}}},
    ],
)
def test_references_in_a_document_that_are_wrong_are_diagnostics(within: dict[str, Any]) -> None:
    whole = {"stac_version": "1.0.0", "type": "Feature", "properties": within}
    text = json.dumps(whole | {"kerchunk:z": 1})
    refs = rx.open_references(text)
    assert refs.source.form == "STAC"
    assert refs.diagnostics
