"""What `verify` says of files: how many, which ones, and what of their chunks was not decoded."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.verifying import codes, verified

GROUP = {".zgroup": '{"zarr_format": 2}'}


def array(name: str, shape: list[int], chunks: list[int], dims: list[str], **more: Any) -> Any:
    """Return the metadata of an array; `more` are fields, and `units` an attribute."""
    units = {"units": more.pop("units")} if "units" in more else {}
    fields = {
        "zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<f8", "compressor": None,
        "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    return {
        f"{name}/.zarray": json.dumps(fields | more),
        f"{name}/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": dims} | units),
    }


def inline(values: list[float]) -> str:
    return "base64:" + base64.b64encode(np.array(values, "<f8").tobytes()).decode()


def write_hours(folder: Path, hours: list[float]) -> dict[str, Any]:
    """Write a file of one value for each time; return the references to the values."""
    refs = {}
    for number, hour in enumerate(hours):
        path = folder / f"f{number}.nc"
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", 1)
            time = file.createVariable("time", "f8", ("time",))
            time.units, time[:] = "hours since 2000-01-01", hour
            file.createVariable("v", "f8", ("time",))[:] = number
        with h5py.File(path) as file:
            refs[f"v/{number}"] = [str(path), file["v"].id.get_offset(), 8]
    return refs


def test_a_zero_has_other_units_as_well(tmp_path: Path) -> None:
    """As its value is the same in both, that file differs from the set as much as the others."""
    refs = GROUP | array("v", [5], [1], ["time"]) | write_hours(tmp_path, [0, 1, 2, 3, 4])
    refs |= array("time", [5], [5], ["time"], units="days since 2000-01-01")
    found = verified(refs | {"time/0": inline([0, 1, 2, 3, 4])}, tmp_path)
    (units,) = (each for each in found.findings if each.array == "time")
    assert (units.code, units.file_count) == ("units", 5)
    assert "5 of 5 files have different units" in units.message
    right = refs | {"time/0": inline([hour / 24 for hour in range(5)])}
    assert verified(right, tmp_path).good


def test_files_of_one_name_have_the_names_of_their_folders(tmp_path: Path) -> None:
    refs = GROUP | array("x", [4], [2], ["n"])
    for number, folder in enumerate(("one", "two")):
        refs[f"x/{number}"] = [str(tmp_path / folder / "a.nc"), 0, 16]
    (found,) = verified(refs, tmp_path).findings
    assert found.message.endswith(": one/a.nc, two/a.nc")


def write_chunks(path: Path, seed: int) -> dict[str, Any]:
    """Write an array of three compressed chunks; return the references to them."""
    values = np.random.default_rng(seed).integers(0, 50, 3000).astype("<i4")
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", data=values, chunks=(1000,), compression="gzip")
        file.flush()
        places = [data.id.get_chunk_info(number) for number in range(3)]
    return {f"x/{n}": [str(path), each.byte_offset, each.size] for n, each in enumerate(places)}


def test_all_chunks_of_a_file_that_was_rewritten_are_counted(tmp_path: Path) -> None:
    codec = {"id": "zlib", "level": 4}
    refs = GROUP | array("x", [3000], [1000], ["n"], dtype="<i4", compressor=codec, fill_value=0)
    refs |= write_chunks(tmp_path / "a.h5", 0)
    assert verified(refs, tmp_path).good
    write_chunks(tmp_path / "a.h5", 1)
    found = verified(refs, tmp_path)
    (offset,) = (each for each in found.findings if each.code == "offset")
    assert offset.keys == ("x/1", "x/2")
    assert "x/1 starts" in offset.message
    assert "and 1 more chunk)" in offset.message


def test_a_wrong_inline_chunk_is_in_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("v", data=np.arange(4.0), chunks=(2,))
        place = data.id.get_chunk_info(0)
    refs = GROUP | array("v", [4], [2], ["n"]) | {"v/0": [str(path), place.byte_offset, 16]}
    for values, expected in (([2.0, 3.0], set()), ([2.0, 5.0], {("held-values", "v")})):
        assert codes(verified(refs | {"v/1": inline(values)}, tmp_path)) == expected


def test_chunks_that_no_codec_decodes_are_said_to_be_compared_as_bytes(tmp_path: Path) -> None:
    """imagecodecs has its codecs for Zarr v2, and this set is of v3."""
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.arange(256, dtype="u1").reshape(16, 16), tile=(16, 16),
                     compression="lzw")  # fmt: skip
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        place = [str(path), page.dataoffsets[0], page.databytecounts[0]]
    metadata = {
        "zarr_format": 3, "node_type": "array", "shape": [16, 16], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16, 16]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "attributes": {},
        "codecs": ["bytes", {"name": "imagecodecs_lzw", "configuration": {}}],
        "dimension_names": ["y", "x"],
    }  # fmt: skip
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    refs = {"zarr.json": json.dumps(group), "0/zarr.json": json.dumps(metadata), "0/c/0/0": place}
    found = verified(refs, tmp_path)
    assert found.headline.text == (
        "the same as its files; 1 variable was compared as encoded bytes, which no installed codec "
        "decodes"
    )
    assert "requires the codec imagecodecs_lzw" in str(found)
    assert not verified(refs, tmp_path, values="all").good


def test_where_an_error_is_graver_than_the_catalogue_says_it_says_so() -> None:
    for code in ("metadata-copies-differ", "chunk-wrong-rank", "bad-template-name"):
        assert "This is an error" in str(rx.explain_code(code)).replace("\n", " ")
