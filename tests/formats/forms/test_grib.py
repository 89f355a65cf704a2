"""GRIB2 files open by themselves where eccodes is installed: each message is a group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.data.access.policy import AccessPolicy
from refexplorer.opening import open_guarded

eccodes: Any = pytest.importorskip("eccodes", reason="eccodes is not installed")
pytest.importorskip("cfgrib", reason="cfgrib is not installed")


def message(level: int) -> tuple[bytes, np.ndarray]:
    """Return a message of GRIB2 and its values, as eccodes reads them."""
    handle = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
    eccodes.codes_set(handle, "level", level)
    count = eccodes.codes_get_size(handle, "values")
    eccodes.codes_set_values(handle, np.linspace(level, level + 9, count))
    shape = eccodes.codes_get(handle, "Nj"), eccodes.codes_get(handle, "Ni")
    values = eccodes.codes_get_values(handle).reshape(shape)
    data: bytes = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    return data, values


def field(group: Any, level_name: str = "isobaricInhPa") -> Any:
    names = {"latitude", "longitude", "step", "time", "valid_time", level_name, "number"}
    (name,) = {name for name, _ in group.arrays()} - names
    return group[name]


def test_one_message(tmp_path: Path) -> None:
    data, values = message(500)
    (tmp_path / "a.grib2").write_bytes(data)
    refs = rx.open_references(tmp_path / "a.grib2")
    assert refs.source.form == "data file"
    assert np.allclose(field(refs.to_zarr())[:], values)
    ranges = [each for each in refs.values() if isinstance(each, rx.Range)]
    assert ranges == [rx.Range(str(tmp_path / "a.grib2"), 0, len(data))] * len(ranges)
    assert ranges


def test_each_message_is_a_group_and_what_lies_between_is_passed_over(tmp_path: Path) -> None:
    (first, one), (second, other) = message(500), message(850)
    # kerchunk itself reads a file with such an end for ever
    (tmp_path / "a.grib2").write_bytes(first + b"\r\n\r\nxx" + second + bytes(3))
    group: Any = rx.open_references(tmp_path / "a.grib2").to_zarr()
    assert np.allclose(field(group["message_0"])[:], one)
    assert np.allclose(field(group["message_1"])[:], other)


@pytest.mark.parametrize(
    ("place", "data", "said"),
    [
        (8, (0).to_bytes(8, "big"), "gives its length as 0 bytes"),
        (8, (2**60).to_bytes(8, "big"), "gives its length as"),
        (8, (40).to_bytes(8, "big"), "does not end where it says"),
        (7, b"\x01", "is not of GRIB2"),
    ],
)
def test_a_message_that_lies(place: int, data: bytes, said: str, tmp_path: Path) -> None:
    whole = bytearray(message(500)[0] * 2)
    start = len(whole) // 2 + place
    whole[start : start + len(data)] = data
    (tmp_path / "a.grib2").write_bytes(whole)
    with pytest.raises(rx.SourceError, match=rf"^a\.grib2 is a data file, .*{said}"):
        rx.open_references(tmp_path / "a.grib2")


def test_a_visitor(tmp_path: Path) -> None:
    (tmp_path / "a.grib2").write_bytes(message(500)[0])
    policy = AccessPolicy(None, [str(tmp_path)], served=True)
    assert open_guarded(str(tmp_path / "a.grib2"), policy, rx.Limits()).arrays()
