"""What is decoded without xarray is what xarray makes of it."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.io.reading.cf import decode_as_xarray, decode_plainly, decode_times_plainly
from refexplorer.spec.zarr_metadata import ArrayMeta

DTYPES = ("<i1", "<u1", ">i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", ">f4", "<f8")
NUMBERS = st.sampled_from([-1, 0, 3, 120, -1.0, 3.0, 0.1, -999.9, float("nan"), float("inf")])
FACTORS = st.sampled_from([0.1, 1.0, 0.01, 2, -0.5, True, [0.1], "0.1"])


def array_of(attributes: dict[str, Any], zarr_format: int = 2, dtype: str = "<i2") -> ArrayMeta:
    """Return the metadata of an array with these attributes."""
    if zarr_format == 2:
        metadata = {
            "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": dtype, "compressor": None,
            "filters": None, "order": "C", "fill_value": None,
        }  # fmt: skip
        refs = {"x/.zarray": json.dumps(metadata), "x/.zattrs": json.dumps(attributes)}
        return rx.open_references(refs).array("x")
    metadata = {
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
    }  # fmt: skip
    return rx.open_references({"x/zarr.json": json.dumps(metadata)}).array("x")


def array_document(path: str) -> dict[str, Any]:
    """Return a set of four values in a file, with times beside them."""
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [4], "compressor": None, "filters": None,
        "order": "C",
    }  # fmt: skip
    return {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": metadata | {"dtype": "<i2", "fill_value": -1},
        "x/.zattrs": {"_ARRAY_DIMENSIONS": ["time"], "scale_factor": 0.5},
        "x/0": [path, 0, 8],
        "time/.zarray": metadata | {"dtype": "|u1", "fill_value": None},
        "time/.zattrs": {"_ARRAY_DIMENSIONS": ["time"], "units": "days since 2000-01-01"},
        "time/0": [path, 0, 4],
    }


def check(array: ArrayMeta, values: np.ndarray, fill: object) -> bool:
    """Compare with xarray; say whether it was decoded plainly."""
    before = values.copy()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        plain = decode_plainly(array, values, fill)
        if plain is None:
            return False
        theirs = decode_as_xarray(array, values, fill, times=False)
    np.testing.assert_array_equal(values, before, "the values that were read stay as they are")
    assert plain.dtype == theirs.dtype
    np.testing.assert_array_equal(plain, theirs)
    return True


@given(
    st.sampled_from(DTYPES),
    st.dictionaries(st.sampled_from(["scale_factor", "add_offset"]), FACTORS),
    st.dictionaries(
        st.sampled_from(["missing_value", "_FillValue", "_Unsigned", "valid_min"]), NUMBERS
    ),
    st.one_of(st.none(), NUMBERS),
)
def test_whatever_the_attributes(
    dtype: str, scales: dict[str, Any], masks: dict[str, Any], fill: float | None
) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = np.array([0, 3, 120, 7]).astype(dtype)
        if values.dtype.kind != "u":
            values[0] = -1
        if values.dtype.kind == "f":
            values[1:3] = -999.9, np.nan
        typed = None if fill is None else np.array(fill).astype(dtype)[()]
    check(array_of(scales | masks), values, typed)


@pytest.mark.parametrize(
    ("dtype", "attributes", "fill"),
    [
        ("<i2", {}, None),
        ("<i2", {}, np.int16(3)),
        ("<i2", {"scale_factor": 0.1, "add_offset": 273.15}, np.int16(3)),
        (">i2", {"scale_factor": 0.1}, None),
        ("<i4", {"add_offset": 0.5, "missing_value": 3}, None),
        ("<f4", {"missing_value": -999.5}, np.float32(-999.5)),
        (">f4", {"scale_factor": 2.0}, np.float32("nan")),
        ("<f8", {"units": "K", "valid_min": 0.0}, None),
    ],
)
def test_what_sets_have_takes_no_xarray(dtype: str, attributes: dict[str, Any], fill: Any) -> None:
    values = np.array([-999.5, 3, 120, 7]).astype(dtype)
    assert check(array_of(attributes), values, fill)


def test_fill_values_of_zarr_3_are_in_base64() -> None:
    packed = base64.standard_b64encode(struct.pack("<d", 7.0)).decode()
    values = np.array([1, 3, 120, 7], "<f4")
    assert check(array_of({"_FillValue": packed}, 3), values, np.float32(0))
    assert np.isnan(decode_plainly(array_of({"_FillValue": packed}, 3), values, 0.0)[3])  # type: ignore[index]
    assert not check(array_of({"_FillValue": "?"}, 3), values, np.float32(0))


UNITS = (
    "days since 1970-01-01", "hours since 1900-01-01 00:00:00.0", "seconds since 2000-01-01T12:00",
    "minutes since 1850-1-1 6:00:00", "days since 0001-01-01", "seconds since 1970-01-01T00:00:00Z",
    "months since 1970-01-01", "days since 2000-13-01", "hours since 2200-01-01 00:00:00 +01:00",
)  # fmt: skip


@given(
    st.sampled_from(DTYPES),
    st.sampled_from(UNITS),
    st.sampled_from([None, "standard", "proleptic_gregorian", "noleap", "gregorian"]),
    st.lists(st.integers(-50_000, 120), min_size=1, max_size=4),
    st.sampled_from([None, 3, 120]),
    st.dictionaries(st.sampled_from(["missing_value", "add_offset"]), NUMBERS),
)
def test_times_are_those_of_xarray(
    dtype: str,
    units: str,
    calendar: str | None,
    numbers: list[int],
    fill: int | None,
    more: dict[str, Any],
) -> None:
    array = array_of({"units": units} | ({"calendar": calendar} if calendar else {}) | more)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = np.array(numbers).astype(dtype)
        typed = None if fill is None else np.array(fill).astype(dtype)[()]
        plain = decode_times_plainly(array, values, typed)
        if plain is None:
            return
        theirs = decode_as_xarray(array, values, typed)
    np.testing.assert_array_equal(plain, theirs.astype("datetime64[s]"))


def test_usual_times_take_no_xarray() -> None:
    for units in UNITS[:4]:
        assert decode_times_plainly(array_of({"units": units}), np.arange(4), None) is not None
    halves = np.array([0.5, 1.0])
    assert decode_times_plainly(array_of({"units": UNITS[0]}), halves, None) is None


def test_a_single_time_is_a_time_too() -> None:
    """As GRIB files have it: a scalar."""
    array = array_of({"units": "seconds since 1970-01-01"})
    times = decode_times_plainly(array, np.array(1735689600, "<i8"), None)
    assert times is not None
    assert times.shape == ()
    assert times[()] == np.datetime64("2025-01-01")


def test_a_picture_takes_no_xarray(tmp_path: Path) -> None:
    program = """
import sys
from tests.helpers.explorer import Host
import json
host = Host(json.loads(sys.argv[2]), allow=[sys.argv[1]])
reading, values = host.read("x", None, slices=[":"])
assert values.tolist() == [0.5, 1.0, 1.5, 2.0], values
assert reading["coordinates"][0]["times"]
print(sorted({"xarray", "dask", "scipy"} & set(sys.modules)))
"""
    (tmp_path / "f").write_bytes(np.arange(1, 5, dtype="<i2").tobytes())
    path = str(tmp_path / "f")
    command = [sys.executable, "-c", program, path, json.dumps(array_document(path))]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.stdout == "[]\n", ran.stderr
