"""Sets of other formats than HDF5, as their writers make them and with mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.report import Report
from refexplorer.checks.states import Rank
from tests.helpers.file_sets import SHAPES, netcdf3_set, tiff_set, zarr_set
from tests.helpers.verifying import codes, n_with

tifffile = pytest.importorskip("tifffile")


def verified(document: dict[str, Any], folder: Path) -> Report:
    return rx.open_references(document).allowing(f"file://{folder}").verify(values="all")


@pytest.mark.parametrize("name", SHAPES)
def test_tifffile(tmp_path: Path, name: str) -> None:
    found = verified(tiff_set(tmp_path, name), tmp_path)
    assert found.findings == ()
    assert found.good, str(found)
    assert dict(found.counts.forms) == {"TIFF": 1}


def test_mistakes_in_a_set_of_a_tiff(tmp_path: Path) -> None:
    document = tiff_set(tmp_path, "deflated")
    document["1.2"], document["2.1"] = document["2.1"], document["1.2"]
    document["0.0"][1] += 1
    document["3.3"][2] -= 1
    array = json.loads(document[".zarray"])
    document[".zarray"] = json.dumps(array | {"dtype": ">u2"})
    found = verified(document, tmp_path)
    assert {("misplaced", ""), ("offset", ""), ("length", ""), ("byte-order", "")} <= codes(found)
    (mine,) = [each for each in found.findings if each.code == "misplaced"]
    assert set(mine.keys) == {"1.2", "2.1"}


def test_any_series_of_a_tiff_may_be_the_array_of_a_set(tmp_path: Path) -> None:
    path, sets = tmp_path / "a.tif", list[dict[str, Any]]()
    with tifffile.TiffWriter(path) as file:
        for dtype in ("u1", "f4"):
            file.write(np.ones((64, 64), dtype), tile=(32, 32), metadata=None)
    for series in range(2):
        with tifffile.imread(path, aszarr=True, series=series) as store:
            store.write_fsspec(tmp_path / "a.json", url=f"file://{tmp_path}", version=0)
        sets.append(json.loads((tmp_path / "a.json").read_text()))
    for document in sets:
        found = verified(document, tmp_path)
        assert (found.status, found.findings) == (0, ())
        assert "1 of 2 variables" in found.headline.text
    mixed = verified(sets[1] | {".zarray": sets[0][".zarray"]}, tmp_path)
    assert ("dtype", "") in codes(mixed)


def test_zeros_of_a_tiff_are_masked_by_the_fill_value(tmp_path: Path) -> None:
    """tifffile writes a fill value of 0, which xarray masks in Zarr v2."""
    document = tiff_set(tmp_path, "volume")
    with tifffile.TiffFile(tmp_path / "volume.tif", mode="r+b") as file:
        start = file.pages[0].dataoffsets[0]
    with (tmp_path / "volume.tif").open("r+b") as raw:
        raw.seek(start)
        raw.write(b"\0")
    found = verified(document, tmp_path)
    assert codes(found) == {("masked", "")}
    assert (found.counts.false_nan, found.good) == (1, True)


@pytest.mark.parametrize("inline", [0, 30])
def test_netcdf3_of_kerchunk(tmp_path: Path, inline: int) -> None:
    found = verified(netcdf3_set(tmp_path, inline), tmp_path)
    assert found.findings == ()
    assert found.good, str(found)


def test_mistakes_in_a_set_of_netcdf3(tmp_path: Path) -> None:
    document = netcdf3_set(tmp_path)
    refs = document["refs"]
    refs["v/5.0"], refs["v/6.0"] = refs["v/6.0"], refs["v/5.0"]
    refs["w/0.0"] = [refs["w/0.0"][0], refs["w/0.0"][1] + 4, refs["w/0.0"][2]]
    attributes = json.loads(refs["v/.zattrs"])
    refs["v/.zattrs"] = json.dumps(attributes | {"scale_factor": 0.25})
    found = verified(document, tmp_path)
    assert {("misplaced", "v"), ("offset", "w"), ("scale_factor", "v")} <= codes(found)
    (mine,) = [each for each in found.findings if each.code == "misplaced"]
    assert [Path(url).name for url in mine.files] == ["1.nc"]
    assert set(mine.keys) == {"v/5.0", "v/6.0"}


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_of_zarr_as_targets(tmp_path: Path, version: Literal[2, 3]) -> None:
    refs, keys = zarr_set(tmp_path, version)
    found = verified(refs, tmp_path)
    assert (found.findings, found.good) == ((), True)
    refs[keys[0]], refs[keys[1]] = refs[keys[1]], refs[keys[0]]
    found = verified(refs, tmp_path)
    assert ("misplaced", "a") in codes(found)
    (mine,) = [each for each in found.findings if each.code == "misplaced"]
    assert set(mine.keys) == set(keys[:2])
    assert n_with(found, Rank.BAD) == 2


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
def test_values_of_zarr_v3_with_codecs_of_numcodecs(tmp_path: Path) -> None:
    """VirtualiZarr writes them for the filters of HDF5."""
    import h5py

    path, values = tmp_path / "a.h5", np.arange(1, 13, dtype="<i4")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, chunks=(12,), compression="gzip", shuffle=True)
        chunk = file["x"].id.get_chunk_info(0)
    names = {"shuffle": {"elementsize": 4}, "zlib": {"level": 4}}
    array = {
        "zarr_format": 3, "node_type": "array", "shape": [12], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [12]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]
        + [{"name": f"numcodecs.{name}", "configuration": each} for name, each in names.items()],
        "fill_value": 0, "attributes": {}, "dimension_names": ["t"],
    }  # fmt: skip
    group = json.dumps({"zarr_format": 3, "node_type": "group"})
    refs: dict[str, Any] = {"zarr.json": group, "x/zarr.json": json.dumps(array)}
    refs |= {"x/c/0": [str(path), chunk.byte_offset, chunk.size]}
    found = verified(refs, tmp_path)
    assert (found.good, found.counts.values) == (True, 12), str(found)
