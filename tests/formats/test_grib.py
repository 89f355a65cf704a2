"""GRIB2 files opened directly: what cfgrib and eccodes read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import cfgrib
import eccodes
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded

pytestmark = pytest.mark.child
GRID = {
    "Ni": 4, "Nj": 3, "latitudeOfFirstGridPointInDegrees": 50.0,
    "latitudeOfLastGridPointInDegrees": 48.0, "longitudeOfFirstGridPointInDegrees": 0.0,
    "longitudeOfLastGridPointInDegrees": 3.0, "iDirectionIncrementInDegrees": 1.0,
    "jDirectionIncrementInDegrees": 1.0, "bitsPerValue": 16, "dataDate": 20250101, "dataTime": 600,
}  # fmt: skip


def encoded(number: int = 0, **changes: Any) -> bytes:
    """Return a message of GRIB2 with values that no other has."""
    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    wanted = GRID | {"shortName": "t"} | changes
    for way, axis in (("jScansPositively", "latitude"), ("iScansNegatively", "longitude")):
        if changes.get(way):
            ends = [f"{axis}Of{end}GridPointInDegrees" for end in ("First", "Last")]
            wanted |= {ends[0]: wanted[ends[1]], ends[1]: wanted[ends[0]]}
    for key, value in wanted.items():
        eccodes.codes_set(handle, key, value)
    eccodes.codes_set_values(handle, 100.0 * number + np.arange(12))
    data: bytes = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    return data


def message(level: int) -> tuple[bytes, np.ndarray]:
    return encoded(level, level=level), 100.0 * level + np.arange(12).reshape(3, 4)


def like_cfgrib(path: Path, refs: rx.ReferenceSet) -> None:
    """Compare each variable of each dataset that cfgrib makes with that of the same name."""
    with warnings.catch_warnings(action="ignore"):
        datasets = cfgrib.open_datasets(str(path), backend_kwargs={"indexpath": ""})
    groups = {name.rpartition("/")[0] for name in refs.arrays()}
    ours = [refs.to_xarray(group=group) if group else refs.to_xarray() for group in groups]
    compared = 0
    for theirs in datasets:
        for name, variable in theirs.data_vars.items():
            mine = next(each[name] for each in ours if name in each and is_alike(each, theirs))
            np.testing.assert_allclose(mine, variable, rtol=1e-5)
            assert mine.dims == variable.dims
            assert mine.attrs["GRIB_shortName"] == variable.attrs["GRIB_shortName"]
            compared += 1
    assert compared == sum("GRIB_shortName" in each[name].attrs for each in ours for name in each)


def is_alike(mine: Any, theirs: Any) -> bool:
    """Say whether all coordinates that cfgrib has are the same."""

    def plain(value: Any) -> np.ndarray:
        found = np.asarray(value)
        if found.dtype.kind == "m":
            return found / np.timedelta64(3600, "s")
        if found.dtype.kind == "M":
            return found.astype("M8[s]").astype(float)
        return found

    return all(
        name in mine.variables
        and mine[name].dims == theirs[name].dims
        and np.array_equal(plain(mine[name]), plain(theirs[name]))
        for name in theirs.coords
    )


LAYERS: dict[str, list[Mapping[str, Any]]] = {
    "one": [{"level": 500}],
    "levels": [{"level": level} for level in (850, 500, 300)],
    "all": [
        {"level": level, "forecastTime": step, "dataDate": day}
        for day, step, level in product((20250101, 20250102), (0, 6, 12), (850, 500))
    ],
    "two variables": [{"shortName": name, "level": 500} for name in ("t", "q")],
    "not all": [{"level": 500, "forecastTime": 0}, {"level": 850, "forecastTime": 6}],
    "other levels": [
        {"shortName": "t", "level": 500}, {"shortName": "q", "level": 850},
        {"shortName": "q", "level": 300},
    ],
    "other grids": [
        {"shortName": "t"},
        {
            "shortName": "q", "latitudeOfFirstGridPointInDegrees": 52.0,
            "latitudeOfLastGridPointInDegrees": 50.0,
        },
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "scanning",
    [{}, {"jScansPositively": 1}, {"iScansNegatively": 1}, {"jPointsAreConsecutive": 1}],
    ids=str,
)
@pytest.mark.parametrize("name", LAYERS)
def test_as_cfgrib(name: str, scanning: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "a.grib2"
    messages = [encoded(n, **{**scanning, **each}) for n, each in enumerate(LAYERS[name])]
    path.write_bytes(b"".join(messages))
    refs = rx.open_references(path)
    assert not refs.source.left_out
    assert refs.error_count == 0
    if name in ("one", "levels", "all", "two variables"):
        assert {each.rpartition("/")[0] for each in refs.arrays()} == {""}
    if name == "not all":  # cfgrib has one array with NaN
        assert [each for each in refs.arrays() if each.endswith("/t")] == [
            "t/t",
            "t_isobaricInhPa/t",
        ]
    elif not scanning or "jScansPositively" in scanning:
        like_cfgrib(path, refs)  # which takes columns for rows, and has longitudes always ascend
    check_points(refs, messages)
    assert refs.verify(values="all").good


def check_points(refs: rx.ReferenceSet, messages: list[bytes]) -> None:
    """Compare each point that eccodes gives of each message, wherever its variable is."""
    groups = {each.rpartition("/")[0] for each in refs.arrays()}
    opened = [refs.to_xarray(group=group) if group else refs.to_xarray() for group in groups]
    stacks = [
        each[name].load().stack(all=[...])
        for each in opened
        for name in each
        if "GRIB_shortName" in each[name].attrs
    ]
    found = {
        float(value): (float(stack["latitude"][at]), float(stack["longitude"][at]))
        for stack in stacks
        for at, value in enumerate(stack.values)
    }
    assert len(found) == 12 * len(messages)
    for message in messages:
        handle = eccodes.codes_new_from_message(message)
        for latitude, longitude, value in points(handle):
            assert found[value] == (latitude, longitude)
        eccodes.codes_release(handle)


def points(handle: Any) -> list[tuple[float, float, float]]:
    iterator, found = eccodes.codes_grib_iterator_new(handle, 0), []
    while point := eccodes.codes_grib_iterator_next(iterator):
        found.append(tuple(point))
    eccodes.codes_grib_iterator_delete(iterator)
    return found


def joined(*messages: bytes) -> bytes:
    """Return one message with the fields of several, which share what comes before the product."""
    parts: list[bytes] = []
    for number, each in enumerate(messages):
        at = 16
        while each[at : at + 4] != b"7777":
            size = int.from_bytes(each[at : at + 4], "big")
            if not number or each[at + 4] >= 4:
                parts.append(each[at : at + size])
            at += size
    body = b"".join(parts)
    return messages[0][:8] + (20 + len(body)).to_bytes(8, "big") + body + b"7777"


def test_several_fields_of_a_message(tmp_path: Path) -> None:
    path = tmp_path / "a.grib2"
    path.write_bytes(joined(encoded(1, shortName="u"), encoded(2, shortName="v"), encoded(3)))
    refs = rx.open_references(path)
    like_cfgrib(path, refs)
    assert {name for name in refs.arrays() if len(name) == 1} == {"u", "v", "t"}
    large = {"Ni": 200, "Nj": 100}
    handles = []
    for name in ("u", "v"):
        handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
        for key, value in (GRID | {"shortName": name} | large).items():
            eccodes.codes_set(handle, key, value)
        eccodes.codes_set_values(handle, np.arange(20_000.0))
        handles.append(eccodes.codes_get_message(handle))
        eccodes.codes_release(handle)
    path.write_bytes(joined(*handles))
    with pytest.warns(
        rx.errors.LeftOutWarning, match=r"left out: v \(Some of its fields are not the first"
    ):
        refs = rx.open_references(path)
    assert "u" in refs.arrays()


def test_one_message(tmp_path: Path) -> None:
    data, values = message(500)
    (tmp_path / "a.grib2").write_bytes(data)
    refs = rx.open_references(tmp_path / "a.grib2")
    assert refs.source.form == "data file"
    group: Any = refs.to_zarr()
    assert np.allclose(group["t"][:], values)
    ranges = [each for each in refs.values() if isinstance(each, rx.types.Range)]
    assert ranges == [rx.types.Range(str(tmp_path / "a.grib2"), 0, len(data))]


def test_what_lies_between_messages_is_passed_over(tmp_path: Path) -> None:
    (first, one), (second, other) = message(500), message(850)
    (tmp_path / "a.grib2").write_bytes(first + b"\r\n\r\nxx" + second + bytes(3))
    group: Any = rx.open_references(tmp_path / "a.grib2").to_zarr()
    assert group["isobaricInhPa"][:].tolist() == [850, 500]
    assert np.allclose(group["t"][:], [other, one])


@pytest.mark.parametrize(
    ("place", "data", "said"),
    [
        (8, (0).to_bytes(8, "big"), "gives its length as 0 bytes"),
        (8, (2**60).to_bytes(8, "big"), "gives its length as"),
        (8, (40).to_bytes(8, "big"), "does not end at its declared length"),
        (7, b"\x01", "GRIB 1 messages of more than 8 MB"),
    ],
)
def test_a_message_that_lies(place: int, data: bytes, said: str, tmp_path: Path) -> None:
    whole = bytearray(message(500)[0] * 2)
    start = len(whole) // 2 + place
    whole[start : start + len(data)] = data
    (tmp_path / "a.grib2").write_bytes(whole)
    with pytest.raises(rx.errors.SourceError, match=rf"^a\.grib2 is a data file, .*{said}"):
        rx.open_references(tmp_path / "a.grib2")


def test_a_visitor(tmp_path: Path) -> None:
    (tmp_path / "a.grib2").write_bytes(message(500)[0])
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    assert open_guarded(str(tmp_path / "a.grib2"), policy, rx.Limits()).arrays()
