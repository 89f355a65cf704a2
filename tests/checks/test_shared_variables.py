"""Files of a join that overlap, or that differ in variables that the set takes from one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from kerchunk.combine import MultiZarrToZarr

from refexplorer.checks.report import Report
from tests.helpers.kerchunk_sets import translated
from tests.helpers.verifying import verified

STATIC = ("lat", "mask", "reftime")


def write(path: Path, start: int, side: int = 8, **others: float) -> None:
    """Write five hours from `start`, and variables without the dimension of time."""
    values = {"lat": 0.0, "mask": 1.0, "reftime": 0.0} | others
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", None), ("y", side), ("x", side)):
            file.createDimension(name, size)
        times = file.createVariable("time", "f8", ("time",), chunksizes=(1,))
        times.units = "hours since 2000-01-01"
        times[:] = np.arange(start, start + 5)
        grid = np.arange(side * side).reshape(side, side)
        file.createVariable("lat", "f8", ("y", "x"))[:] = grid + values["lat"]
        file.createVariable("mask", "i4", ("y", "x"))[:] = values["mask"]
        file.createVariable("reftime", "f8", ())[...] = values["reftime"]
        data = file.createVariable("t2m", "f4", ("time", "y", "x"), chunksizes=(1, side, side))
        data[:] = grid + np.arange(start, start + 5)[:, None, None]


def joined(folder: Path, second: dict[str, Any]) -> Report:
    """Join two files as kerchunk does, with no inline values but the times, and verify the set."""
    paths = [str(folder / name) for name in ("a.nc", "b.nc")]
    write(Path(paths[0]), 0, second.get("side", 8))
    write(Path(paths[1]), **second)
    refs = [translated(Path(path)) for path in paths]
    made = MultiZarrToZarr(
        refs, concat_dims=["time"], identical_dims=list(STATIC), inline_threshold=0
    )
    return verified(made.translate(), folder)


def test_files_that_join_without_overlap_are_the_same(tmp_path: Path) -> None:
    found = joined(tmp_path, {"start": 5})
    assert (found.status, found.findings) == (0, ())
    assert found.headline.text == "the same as its files"


def test_files_that_overlap_are_named(tmp_path: Path) -> None:
    found = joined(tmp_path, {"start": 3})
    (mine,) = found.findings
    assert (mine.code, mine.array, mine.reference_count) == ("overlap", "t2m", 2)
    assert [Path(url).name for url in mine.files] == ["a.nc"]
    assert mine.keys == ("t2m/3.0.0", "t2m/4.0.0")
    assert "2 chunks of files are not in it, because files overlap" in found.headline.text


@pytest.mark.parametrize("name", STATIC)
def test_a_variable_of_the_first_file_is_compared_with_the_others(
    tmp_path: Path, name: str
) -> None:
    found = joined(tmp_path, {"start": 5, name: 3.0})
    (mine,) = found.findings
    assert (found.status, mine.code, mine.array) == (1, "same-variable", name)
    assert [Path(url).name for url in mine.files] == ["b.nc"]


def test_a_variable_too_large_to_be_compared_with_the_others_is_named(tmp_path: Path) -> None:
    found = joined(tmp_path, {"start": 5, "side": 400, "mask": 2.0})
    assert found.headline.text == (
        "the same as its files; 2 variables were compared with one file only"
    )
    assert any("values in other files of `lat`, `mask`" in line for line in found.summary)


@pytest.mark.parametrize(("change", "code"), [(8, "offset"), (0, "other-array")])
def test_a_wrong_reference_is_no_difference_of_a_variable(
    tmp_path: Path, change: int, code: str
) -> None:
    """What is read through it is not what another file has, which says nothing of the files."""
    write(tmp_path / "a.nc", 0)
    write(tmp_path / "b.nc", 5)
    paths = [str(tmp_path / name) for name in ("a.nc", "b.nc")]
    refs = [translated(Path(path)) for path in paths]
    made = MultiZarrToZarr(
        refs, concat_dims=["time"], identical_dims=list(STATIC), inline_threshold=0
    ).translate()
    lat, first = made["refs"]["lat/0.0"], made["refs"]["t2m/0.0.0"]
    made["refs"]["lat/0.0"] = [lat[0], lat[1] + change, lat[2]] if change else [*first[:2], lat[2]]
    found = verified(made, tmp_path)
    assert {each.code for each in found.findings if each.array == "lat"} >= {code}
    assert not [each for each in found.findings if each.code == "same-variable"]
    assert not [each for each in found.findings if each.code == "undecodable-inline"]


def test_bounds_are_counted_from_the_epoch_of_their_times(tmp_path: Path) -> None:
    for name, day in (("a.nc", 1), ("b.nc", 3)):
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createDimension("time", None)
            file.createDimension("nv", 2)
            times = file.createVariable("time", "f8", ("time",), chunksizes=(2,))
            times.setncatts({"units": f"days since 2000-01-0{day}", "bounds": "edges"})
            times[:] = [0, 1]
            edges = file.createVariable("edges", "f8", ("time", "nv"), chunksizes=(2, 2))
            edges[:] = [[0, 1], [1, 2]]
    refs = [translated(tmp_path / name) for name in ("a.nc", "b.nc")]
    made = MultiZarrToZarr(
        refs, concat_dims=["time"], coo_map={"time": "cf:time"}, inline_threshold=0
    )
    found = verified(made.translate(), tmp_path)
    (mine,) = found.findings
    assert (found.status, mine.code, mine.array) == (1, "units", "edges")
    assert [Path(url).name for url in mine.files] == ["b.nc"]
