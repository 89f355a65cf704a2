"""Documents of LINDI open as V1, and what lies behind their links is told."""

from __future__ import annotations

import json
from typing import Any

import refexplorer as rx

ARRAY = {
    "zarr_format": 2,
    "shape": [4],
    "chunks": [2],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "fill_value": 0,
}
DOCUMENT: dict[str, Any] = {
    "generationMetadata": {"generator": "lindi", "generatorVersion": "0.4.4"},
    "templates": {"u1": "https://h/f.nwb"},
    "version": 1,
    "refs": {
        ".zgroup": {"zarr_format": 2},
        ".zattrs": {"of": "a session"},
        "x/.zarray": ARRAY,
        "x/.zattrs": {
            "_EXTERNAL_ARRAY_LINK": {
                "link_type": "hdf5_dataset",
                "url": "https://h/f.nwb",
                "name": "/x",
            }
        },
        "y/.zarray": ARRAY,
        "y/.zattrs": {"_SCALAR": True},
        "y/0": ["{{u1}}", 8, 8],
        "y/1": ["{{u1}}", 16, 8],
        "g/.zgroup": {"zarr_format": 2},
        "g/.zattrs": {"_SOFT_LINK": {"path": "/y"}},
    },
}


def test_its_references_are_read_and_its_links_reported() -> None:
    refs = rx.open_references(json.dumps(DOCUMENT))
    assert refs["y/0"] == rx.types.Range("https://h/f.nwb", 8, 8)
    told = {found.code: found for found in refs.diagnostics}
    external, soft = told["array-elsewhere"], told["soft-link"]
    assert (external.key, external.severity) == ("x/.zattrs", "warning")
    assert "the dataset '/x' of 'https://h/f.nwb'" in external.message
    assert (soft.key, soft.severity) == ("g/.zattrs", "warning")
    assert "`g` is a soft link to '/y'" in soft.message
    assert [node.path for node in refs.children("g").rows] == ["g/.zattrs", "g/.zgroup"]


def test_odd_links_and_zarr_v3() -> None:
    refs: dict[str, Any] = {"x/.zarray": ARRAY, "x/.zattrs": {"_EXTERNAL_ARRAY_LINK": 7}}
    refs["g/zarr.json"] = {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {"_SOFT_LINK": {"path": ["a"]}, "_EXTERNAL_ARRAY_LINK": {"url": 1}},
    }
    refs["h/.zattrs"] = '{"about": "_SOFT_LINK"}'
    refs["i/.zattrs"] = "_SOFT_LINK"
    found = rx.open_references(refs).diagnostics
    told = [
        (each.code, each.key) for each in found if each.code in ("array-elsewhere", "soft-link")
    ]
    assert sorted(told) == [("array-elsewhere", "g/zarr.json"), ("array-elsewhere", "x/.zattrs")]
    assert "an unknown place of an unknown place" in next(
        each.message for each in found if each.code == "array-elsewhere"
    )
