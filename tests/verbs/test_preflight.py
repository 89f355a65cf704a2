"""Barriers between files are those that joining meets, and the parts are what can be joined."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.commands import run

pytestmark = [
    pytest.mark.filterwarnings("ignore:Arrays without the dimension"),
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3"),
]
STEPS = 4


def write(folder: Path, number: int, **change: Any) -> Path:
    """Write a file of four days; `change` says what is otherwise."""
    path = folder / f"f{number:03d}.nc"
    names = change.get("dimensions", ("time", "lat"))
    sizes = {"time": change.get("steps", STEPS), "lat": 5}
    with netCDF4.Dataset(path, "w") as file:
        for name, size in sizes.items():
            file.createDimension(name, size)
        time = file.createVariable("time", "f8", ("time",))
        epoch = change.get("epoch", 0)
        time.units = change.get("time_units", f"days since 2000-01-{1 + epoch:02d}")
        time.calendar = change.get("calendar", "standard")
        start = change.get("start", STEPS * number)
        time[:] = np.arange(sizes["time"]) + start - epoch
        lat = file.createVariable("lat", "f4", ("lat",))
        lat[:] = np.arange(5) + change.get("shift", 0)
        for name in change.get("variables", ("t", "u")):
            options = {"chunksizes": change.get("chunks", (2, 5)), "zlib": change.get("zlib", True)}
            kind = change.get("dtype", "i2")
            fill = change.get("fill", -99)
            made = file.createVariable(name, kind, names, fill_value=fill, **options)
            made.setncatts(
                {"scale_factor": change.get("scale", 0.1), "units": change.get("units", "K")}
            )
            made.set_auto_maskandscale(False)
            made[:] = np.zeros([sizes[each] for each in names], kind)
    return path


def can_be_joined(paths: list[Path]) -> bool:
    try:
        rx.open_references([str(each) for each in paths], concat_dim="time")
    except rx.RefexplorerError:
        return False
    return True


CHANGES: dict[str, tuple[dict[str, Any], set[tuple[str, str]]]] = {
    "packing": ({"scale": 0.2}, {("t", "scale_factor"), ("u", "scale_factor")}),
    "type": ({"dtype": "i4"}, {("t", "dtype"), ("u", "dtype"), ("t", "filters"), ("u", "filters")}),
    "fill": ({"fill": -1}, {("t", "fill_value"), ("u", "fill_value")}),
    "chunks": ({"chunks": (2, 3)}, {("t", "chunks"), ("u", "chunks")}),
    "codecs": ({"zlib": False}, {("t", "filters"), ("u", "filters")}),
    "units": ({"units": "degC"}, {("t", "units"), ("u", "units")}),
    "a variable": ({"variables": ("t",)}, {("u", "present")}),
    "a coordinate": ({"shift": 1}, {("lat", "values")}),
    "calendar": ({"calendar": "noleap"}, {("time", "calendar")}),
    "no times": ({"time_units": "1"}, {("time", "kind")}),
    "dimensions": (
        {"dimensions": ("lat", "time"), "chunks": (5, 2)},
        {("t", "dimensions"), ("u", "dimensions")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_barrier_is_one_that_joining_meets(name: str, tmp_path: Path) -> None:
    change, wanted = CHANGES[name]
    paths = [write(tmp_path, n, **(change if n == 3 else {})) for n in range(5)]
    found = rx.preflight(str(tmp_path / "f*.nc"))
    assert found.dimension == "time"
    assert {(each.variable, each.what) for each in found.barriers} == wanted
    assert {each.files for each in found.barriers} == {("f003.nc",)}
    assert [len(era.files) for era in found.eras] == [4, 1]
    by_name = {path.name: path for path in paths}
    parts = [[by_name[file] for file in era.files] for era in found.eras]
    assert all(map(can_be_joined, parts))
    assert not any(can_be_joined([*one, *other]) for one, other in combinations(parts, 2))
    assert found.status == 1


def test_what_joining_takes_is_no_barrier(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [{}, {"epoch": 3}, {"steps": 8, "chunks": (4, 5)}]
    paths = [
        write(tmp_path, n, **change, start=start)
        for (n, change), start in zip(enumerate(changes), (0, 4, 8), strict=True)
    ]
    found = rx.preflight([str(path) for path in paths])
    assert (found.barriers, found.findings, found.status) == ((), (), 0)
    assert found.headline == "3 files can be combined along time"
    (era,) = found.eras
    assert (era.first, era.last) == ("2000-01-01", "2000-01-16")
    assert can_be_joined(paths)


def test_times_between_files(tmp_path: Path) -> None:
    paths = [write(tmp_path, n, start=start) for n, start in enumerate((8, 0, 4, 16, 20))]
    found = rx.preflight([str(path) for path in paths])
    assert found.eras[0].files == ("f001.nc", "f002.nc", "f000.nc", "f003.nc", "f004.nc")
    (gap,) = found.findings
    assert gap.code == "axis-gap"
    assert "between 2000-01-12 and 2000-01-17" in gap.message
    assert found.status == 0
    write(tmp_path, 5, start=7)
    found = rx.preflight(str(tmp_path / "f*.nc"))
    assert "axis-duplicate" in {each.code for each in found.findings}
    assert found.status == 1


def test_a_chunk_that_is_not_full_ends_a_part(tmp_path: Path) -> None:
    paths = [write(tmp_path, n, steps=3 if n == 1 else 4, start=4 * n) for n in range(4)]
    found = rx.preflight(str(tmp_path / "f*.nc"))
    assert [era.files for era in found.eras] == [("f000.nc", "f001.nc"), ("f002.nc", "f003.nc")]
    assert [era.partial for era in found.eras] == ["t", None]
    assert "2000-01-07; ends inside a chunk of `t`" in str(found)
    assert can_be_joined(paths[:2])
    assert not can_be_joined(paths[:3])


def test_a_file_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path, number)
    (tmp_path / "f009.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(40))
    ran = run("preflight", str(tmp_path / "f*.nc"))
    assert ran.status == 2
    text = "not known: 1 file could not be read completely; 2 files can be combined along time\n"
    assert ran.out.startswith(text)
    assert "f009.nc: " in ran.out
    assert run("preflight", str(tmp_path / "g*.nc")).status == 2


def test_the_command_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        write(tmp_path, number, scale=0.1 if number < 2 else 0.2)
    monkeypatch.chdir(tmp_path)
    ran = run("preflight", "f*.nc")
    assert (ran.status, ran.err) == (1, "")
    assert "`t`  scale_factor  0.1 | 0.2  f002.nc, f003.nc" in ran.out
    assert "Group 2: f002.nc, f003.nc, 2000-01-09 to 2000-01-16" in ran.out
    document = json.loads(run("preflight", *sorted(map(str, tmp_path.glob("*.nc"))), "--json").out)
    assert document == json.loads(json.dumps(rx.preflight("f*.nc").to_dict()))
    assert (document["status"], document["dimension"]) == (1, "time")
    assert "scale_factor" in rx.preflight("f*.nc")._repr_html_()


def test_files_without_a_coordinate_that_differs_get_a_new_dimension(tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path, number, start=0)
    found = rx.preflight(str(tmp_path / "f*.nc"))
    assert (found.dimension, found.barriers, found.findings) == (None, (), ())
    assert found.headline == "2 files can be combined along a new dimension"
    found = rx.preflight(str(tmp_path / "f*.nc"), concat_dim="time")
    assert {each.code for each in found.findings} == {"axis-duplicate", "axis-order"}
    assert found.status == 1


def test_patterns_and_files_are_given_together(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path, number)
    odd = tmp_path / "notes.nc"
    odd.write_text("no NetCDF")
    ran = run("preflight", str(tmp_path / "f*.nc"), str(odd))
    assert ran.status == 2
    assert ran.out.startswith(
        "not known: 1 file could not be read completely; 3 files can be combined along time\n"
    )
    assert ran.out.count("notes.nc") == 1
    assert rx.preflight([str(tmp_path / "f000.nc")]).headline.startswith("1 file, so there is")
