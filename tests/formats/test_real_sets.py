"""Reference sets that other projects published, where they lie beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.reference import LazyReferenceMapper

import refexplorer as rx
from tests.helpers.real_sets import ROOT, needs_sets

SETS = {
    "cmip6-two-templates/kc1-manual-templated.json": (24, 168, 0, 1335),
    "cmip6-zstd/index.zstd": (24, 171, 0, 1332),
    "gdal-v0-min/ref.json": (4, 0, 1, 0),
    "grib-gfs-tree-gz/zarr_tree_store.json.gz": (183, 22, 0, 0),
    "its-live/its_live_catalog.json": (20, 2, 0, 14),
    "netcdf3-kc1/kc1.json": (14, 1, 0, 5),
    "padocc-3dagg/1.1a.json": (25, 8, 0, 8),
    "parquet-esacci24/esacci24": (32, 119, 0, 1182),
    "parquet-pythia-wrf/combined.parq": (24, 3, 0, 16),
    "pythia-arg-wrf/ARG_combined.json": (25, 8, 0, 58),
    "pythia-radar/RADAR.json": (16, 898, 0, 437),
    "spec-example-js/ref.json": (1, 0, 0, 8),
    "tool-netcdf4-air/refs.json": (10, 3, 0, 1),
    "tool-tiff-tifffile/refs.json": (8, 0, 0, 96),
    "tool-zarr-v3/refs.json": (4, 0, 5, 0),
}


@needs_sets
@pytest.mark.parametrize("name", SETS)
def test_a_published_set_opens_with_the_kinds_of_its_manifest(name: str) -> None:
    refs = rx.open_references(ROOT / name)
    assert tuple(refs.summary().kinds.values()) == SETS[name]
    assert len(list(refs)) == len(refs) == sum(SETS[name])
    assert not [found for found in refs.diagnostics if found.severity == "error"]


@needs_sets
@pytest.mark.parametrize("name", [name for name in SETS if "parq" not in name])
def test_a_published_set_expands_as_fsspec_does(name: str) -> None:
    compression = {".gz": "gzip", ".zstd": "zstd"}.get(Path(name).suffix)
    with fsspec.open(str(ROOT / name), "rb", compression=compression) as file:
        document = json.load(file)
    theirs = fsspec.filesystem(
        "reference", fo=document, remote_protocol="file", simple_templates=False
    ).references
    ours = rx.open_references(ROOT / name)
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        reference = ours[key]
        if isinstance(value, list):
            assert reference.to_v0() == value
        elif isinstance(reference, rx.types.Inline | rx.types.Base64) and not isinstance(
            value, dict
        ):
            text = value if isinstance(value, bytes) else value.encode()
            assert text in (reference.data, reference.text.encode()) or key.endswith(
                (".zarray", ".zattrs", ".zgroup", "zarr.json", ".zmetadata")
            )


@needs_sets
@pytest.mark.parametrize("name", [name for name in SETS if "parq" in name])
@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
def test_a_published_store_leads_where_fsspec_leads(name: str) -> None:
    theirs = LazyReferenceMapper(str(ROOT / name), fs=fsspec.filesystem("file"))
    refs = rx.open_references(ROOT / name)
    assert refs
    for key, reference in refs.items():
        if isinstance(reference, rx.types.Url | rx.types.Range):
            assert theirs[key] == reference.to_v0()
        elif isinstance(reference, rx.types.Base64):
            assert theirs[key] == reference.data
