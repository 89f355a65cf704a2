"""Sets as their writers make them: nothing may be found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.report import Report
from refexplorer.checks.states import Rank
from tests.helpers.kerchunk_sets import translated
from tests.helpers.verifying import (
    FILES,
    joined,
    n_unread,
    n_with,
    verified,
    virtualised,
    write_files,
    write_files_with_own_epochs,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("files"))


def in_order(found: Report) -> Report:
    assert found.findings == ()
    assert found.good, str(found)
    return found


@pytest.mark.parametrize("inline", [0, 100, 500])
def test_kerchunk_of_one_file(files: list[Path], inline: int) -> None:
    found = in_order(verified(translated(files[0], inline), files[0].parent, values="all"))
    assert n_unread(found) == 0


@pytest.mark.parametrize("inline", [0, 100, 500])
def test_kerchunk_of_several(files: list[Path], inline: int) -> None:
    found = in_order(verified(joined(files, inline), files[0].parent, values="all"))
    assert n_unread(found) == 0
    assert dict(found.ledger.files.counts) == {"read": FILES}


@pytest.mark.parametrize("loadable", [[], ["time"], ["time", "lat", "lon"]], ids=len)
@pytest.mark.parametrize("count", [1, FILES])
def test_virtualizarr(files: list[Path], tmp_path: Path, loadable: list[str], count: int) -> None:
    source = virtualised(files[:count], tmp_path / "set.json", loadable_variables=loadable)
    in_order(verified(str(source), files[0].parent, values="all"))


def test_times_that_virtualizarr_encodes_again(tmp_path: Path) -> None:
    own = write_files_with_own_epochs(tmp_path)
    source = virtualised(own, tmp_path / "set.json", loadable_variables=["time"])
    in_order(verified(str(source), tmp_path, values="all"))


def test_kerchunk_with_chunks_cut_in_pieces(tmp_path: Path) -> None:
    utils = pytest.importorskip("kerchunk.utils")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(12 * 4 * 5, dtype="f4").reshape(12, 4, 5) + 1
    found = in_order(verified(utils.subchunk(translated(path), "x", 3), tmp_path, values="all"))
    assert found.counts.values == 240


def by_hand(path: Path, name: str, **metadata: Any) -> dict[str, Any]:
    """Return the references to one contiguous or chunked dataset of h5py."""
    with h5py.File(path) as file:
        data = file[name]
        chunks = [data.id.get_chunk_info(n) for n in range(data.id.get_num_chunks())]
        written = {
            "zarr_format": 2, "shape": data.shape, "chunks": data.chunks, "dtype": data.dtype.str,
            "compressor": None, "filters": None, "order": "C", "fill_value": None,
        }  # fmt: skip
        refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}'}
        refs[f"{name}/.zarray"] = json.dumps(written | metadata)
        for chunk in chunks:
            places = [n // c for n, c in zip(chunk.chunk_offset, data.chunks, strict=True)]
            key = f"{name}/{'.'.join(map(str, places))}"
            refs[key] = [str(path), chunk.byte_offset, chunk.size]
    return refs


def test_files_that_are_stacked(tmp_path: Path) -> None:
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}'}
    for number in range(3):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=np.full((4, 6), number + 1, "i4"), chunks=(2, 6))
        own = by_hand(path, "x")
        refs |= {f"x/{number}.{key[2:]}": ref for key, ref in own.items() if ".z" not in key}
    shape = {"shape": [3, 4, 6], "chunks": [1, 2, 6]}
    refs["x/.zarray"] = by_hand(path, "x", **shape)["x/.zarray"]
    found = in_order(verified(refs, tmp_path, values="all"))
    assert n_with(found, Rank.GOOD) == 6


def test_a_renamed_array_and_one_that_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name in ("x", "y"):
            file.create_dataset(name, data=np.arange(8.0) + 1, chunks=(4,))
    refs = {key.replace("x/", "renamed/"): ref for key, ref in by_hand(path, "x").items()}
    in_order(verified(refs, tmp_path, values="all"))


def test_texts_and_scalars_of_kerchunk(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["fixed"] = np.array([b"ab", b"cd"])
        file["crs"] = np.int32(4326)
        file["flag"] = np.array([True, False])
        file.create_dataset("empty", (4, 4), "f4", chunks=(2, 2))
        file["complex"] = np.array([1 + 2j, 3j])  # JSON has its fill value as two numbers
    found = verified(translated(path), tmp_path)
    # its fill value is 0, which xarray masks
    assert [(each.code, each.array) for each in found.findings] == [("masked", "empty")]
    assert found.headline.text == "the same as its files"
    assert n_unread(found) == 0
    assert "crs" not in found.summary[-1]  # a scalar has no dimensions to name


def test_a_scalar_of_virtualizarr(tmp_path: Path) -> None:
    """Its JSON has the key ``crs/``, for which nobody asks: readers give the fill value."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["crs"] = np.int32(4326)
    source = virtualised([path], tmp_path / "set.json", loadable_variables=[])
    assert "crs/" in json.loads(source.read_text())["refs"]
    found = verified(str(source), tmp_path)
    assert {(each.code, each.keys) for each in found.findings} == {
        ("no-reference", ("crs/0",)),
        ("orphan-chunk", ("crs/",)),
    }
    assert rx.open_references(source).allowing(str(tmp_path)).to_xarray()["crs"].item() != 4326
