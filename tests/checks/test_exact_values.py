"""Small differences of inline values, counts of a report, and the cause that it names."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from refexplorer.checks.report import Report
from tests.helpers.commands import run
from tests.helpers.kerchunk_sets import translated
from tests.helpers.verifying import joined, verified, write_files


def hdf5(folder: Path, values: np.ndarray, units: str | None) -> dict[str, Any]:
    """Write a file with an array that the set has inline, and one that it refers to."""
    with h5py.File(folder / "f.h5", "w") as file:
        file["v"], file["other"] = values, np.arange(3.0)
        if units:
            file["v"].attrs["units"] = units
    return translated(folder / "f.h5")["refs"]


def with_inline(folder: Path, values: np.ndarray, change: int | float, units: str | None) -> Report:
    """Return the report on a set whose first inline value is changed."""
    refs = hdf5(folder, values, units)
    mine = values.copy()
    mine[0] += change
    refs["v/0"] = f"base64:{base64.b64encode(mine.tobytes()).decode()}"
    return verified(refs, folder)


@pytest.mark.parametrize("is_changed", [True, False])
@pytest.mark.parametrize(
    ("values", "change", "units"),
    [
        (np.array([1_070_000.0, 1_070_006.0]), 1, "hours since 1900-01-01"),
        (np.array([1_600_000_000, 1_600_003_600]), 900, "seconds since 1970-01-01"),
        (np.arange(4) + 2**60, 1, None),
        (np.array([1e-13, 2e-13]), 1e-13, None),
        (np.array([80.0, 90.0]), 1e-5, None),
    ],
    ids=["hours", "seconds", "numbers", "tracer", "degrees"],
)
def test_a_value_that_is_a_little_off(
    tmp_path: Path, values: np.ndarray, change: float, units: str | None, is_changed: bool
) -> None:
    found = with_inline(tmp_path, values, change if is_changed else 0, units)
    assert [each.code for each in found.findings] == ["held-values"] * is_changed
    assert found.status == int(is_changed)


def test_the_largest_difference_and_the_counts_are_of_all_files(tmp_path: Path) -> None:
    files = write_files(tmp_path, {1: {"scale_factor": 0.2}, 2: {"scale_factor": 0.2}})
    found = verified(joined(files), tmp_path, values="all")
    (mine,) = [each for each in found.findings if each.code == "values"]
    assert found.counts.largest_at is not None
    assert f"differ by up to {found.counts.largest:.10g} ({found.counts.largest_at})" in str(mine)
    assert found.findings[0].code == "scale_factor"  # the cause comes first
    chunks = found.coverage["chunks"]
    assert chunks["placed"] == chunks["decoded"] == chunks["values"] == chunks["total"]


def test_units_of_inline_times_are_the_cause(tmp_path: Path) -> None:
    units = "hours since 2000-01-01"
    refs = hdf5(tmp_path, np.arange(3.0), units)
    refs["v/0"] = f"base64:{base64.b64encode(np.arange(3.0).tobytes()).decode()}"
    attributes = json.loads(refs["v/.zattrs"])
    refs["v/.zattrs"] = json.dumps(attributes | {"units": "days since 2000-01-01"})
    source = tmp_path / "set.json"
    source.write_text(json.dumps(refs))
    found = json.loads(run("verify", source, "--json").out)["findings"]
    assert [(each["code"], each["array"]) for each in found] == [("units", "v")]
    assert run("repair", source, "-o", tmp_path / "new.json").status == 0
    assert units in json.loads((tmp_path / "new.json").read_text())["v/.zattrs"]


@pytest.mark.parametrize("is_newer", [True, False])
def test_a_file_that_was_rewritten_after_the_set(tmp_path: Path, is_newer: bool) -> None:
    files = write_files(tmp_path)
    source = tmp_path / "set.json"
    source.write_text(json.dumps(joined(files)))
    write_files(tmp_path, {1: {"scale_factor": 0.2}})
    time = source.stat().st_mtime + (60 if is_newer else -60)
    for path in files:
        os.utime(path, (time, time))
    said = run("verify", source).out
    assert ("o_0001.nc was probably rewritten (modified after" in said) == is_newer
    assert "o_0002.nc was" not in said


def test_a_file_in_which_every_range_is_wrong(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    source = tmp_path / "set.json"
    source.write_text(json.dumps(joined(files)))
    files[1].write_bytes(bytes(512) + files[1].read_bytes())
    for path in files:
        os.utime(path, (0, 0))
    said = run("verify", source).out
    assert "o_0001.nc was probably rewritten (none of its chunks is where" in said


def test_unwritten_chunks_and_short_variables_of_a_file_opened_directly(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createVariable("long", "f4", ("t",), chunksizes=(2,))[:5] = 1
        file.createVariable("short", "f4", ("t",), chunksizes=(2,))[:3] = 1
        file.createVariable("never", "i4", ("t",))
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file.create_dataset("x", (4,), "i4", chunks=(2,), fillvalue=7)[:2] = 1
    for each in (path, tmp_path / "g.h5"):
        ran = run("verify", each, "--values", "all")
        assert (ran.status, "the same as its files" in ran.out) == (0, True)
