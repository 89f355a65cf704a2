"""Inline data is looked at before anything is said of its values."""

from __future__ import annotations

import base64
import json
import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import refexplorer as rx

FILL_CODES = {"fill-value-masks", "fill-value-may-mask", "fill-value-ignored"}


def document(
    values: list[float] | None, fill_value: object, *, name: str = "x", attributes: Any = None,
    dtype: str = "<i4", compressor: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """An array of one chunk, inline where its values are given."""
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": dtype, "filters": None,
        "compressor": compressor, "order": "C", "fill_value": fill_value,
    }  # fmt: skip
    data = np.array(values or [], dtype).tobytes()
    data = zlib.compress(data) if compressor else data
    chunk: Any = f"base64:{base64.b64encode(data).decode()}"
    return {
        ".zgroup": '{"zarr_format": 2}',
        f"{name}/.zarray": json.dumps(metadata),
        f"{name}/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["x"]} | (attributes or {})),
        f"{name}/0": ["s3://b/f.nc", 0, 16] if values is None else chunk,
    }


def found(source: dict[str, Any]) -> dict[str, str]:
    return {
        each.code: each.message
        for each in rx.open_references(source).diagnostics
        if each.code in FILL_CODES | {"undecodable-inline"}
    }


@pytest.mark.parametrize("compressor", [None, {"id": "zlib", "level": 1}])
@pytest.mark.parametrize("values", [[0, 1, 2, 3], [5, 0, 0, 7], [1, 2, 3, 4]])
def test_a_warning_says_what_xarray_masks(
    values: list[float], compressor: dict[str, Any] | None
) -> None:
    source = document(values, 0, compressor=compressor)
    said = found(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = rx.open_references(source).to_xarray()["x"].values
    masked = int(np.isnan(read).sum())
    assert masked == values.count(0)
    if masked:
        assert f"{masked} of 4 values of `x`" in said["fill-value-masks"]
    else:
        assert said == {}


def test_what_is_not_inline_may_be_masked() -> None:
    assert found(document(None, 0)).keys() == {"fill-value-may-mask"}
    assert "-999 of `x`" in found(document(None, -999))["fill-value-may-mask"]
    assert found(document(None, None)) == {}
    assert found(document(None, 0, attributes={"_FillValue": 0})) == {}


@pytest.mark.parametrize("fill_value", [-2147483647, -999, -9999, 2147483647])
def test_usual_signs_of_missing_values_are_no_news_of_data(fill_value: int) -> None:
    assert found(document(None, fill_value, name="temp")) == {}
    assert found(document(None, 0, name="temp")).keys() == {"fill-value-may-mask"}


@pytest.mark.parametrize(
    ("fill_value", "dtype", "attributes"),
    [
        (-2147483647, "<i4", {}),  # what netCDF fills with
        (-127, "|i1", {}),
        (65535, "<u2", {}),
        (-900, "<i4", {"missing_value": -900}),
        (-900.1, "<f4", {"missing_value": [np.float32(-900.1).item()]}),
        (-1, "<i4", {"flag_values": [0, 1, 2]}),
        (-1, "<i4", {"valid_range": [0, 100]}),
        (5, "<i4", {"valid_min": 6}),
        (5, "<i4", {"valid_max": 4}),
        (-1, "<i2", {"valid_range": [0, -6], "_Unsigned": "true"}),
    ],
)
@pytest.mark.parametrize("name", ["x", "temp"])
def test_a_file_says_in_many_ways_that_a_value_is_missing(
    fill_value: float, dtype: str, attributes: dict[str, Any], name: str
) -> None:
    options: Any = {"name": name, "dtype": dtype, "attributes": attributes}
    assert found(document(None, fill_value, **options)) == {}
    assert found(document([fill_value, 1, 2, 3], fill_value, **options)) == {}


@pytest.mark.parametrize(
    "attributes",
    [
        {"missing_value": -900},
        {"missing_value": "5"},
        {"flag_values": [0, 5]},
        {"valid_range": [0, 5]},
        {"valid_range": [6.0, 7.5], "scale_factor": 0.1},  # of the values, not as they are stored
        {"valid_range": "none"},
    ],
)
def test_a_value_that_no_attribute_takes_for_missing(attributes: dict[str, Any]) -> None:
    assert found(document(None, 5, attributes=attributes)).keys() == {"fill-value-may-mask"}


def test_nines_in_single_precision_are_a_usual_sign() -> None:
    value = float(np.float32(-9999.9))
    assert str(value) == "-9999.900390625"
    assert found(document(None, value, name="temp", dtype="<f4")) == {}


def test_fill_values_are_compared_in_the_data_type_of_the_array() -> None:
    digits = {"_FillValue": float(np.float32(9.96921e36))}
    source = document([1, 2, 3, 9.96921e36], 9.96921e36, dtype="<f4", attributes=digits)
    assert found(source) == {}
    read = rx.open_references(source).to_xarray()["x"].values
    np.testing.assert_array_equal(read, np.array([1, 2, 3, np.nan], "f4"))
    wider = document([1, 2, 3, 4], 9.96921e36, dtype="<f8", attributes=digits)
    assert found(wider).keys() == {"fill-value-ignored"}
    assert found(document([1, 2, 3, 4], 1, dtype="<f4", attributes={"_FillValue": 1e300}))


def test_integers_are_written_as_integers() -> None:
    said = found(document([-(2**63), 1, 2, 3], -(2**63), dtype="<i8"))["fill-value-masks"]
    assert "-9223372036854775808" in said


def test_the_sign_for_missing_values_that_xarray_ignores() -> None:
    source = document([0, -999, 2, 3], 0, attributes={"_FillValue": -999})
    assert "xarray reads 0 as missing and -999 as a value" in found(source)["fill-value-ignored"]
    read = rx.open_references(source).to_xarray()["x"].values
    np.testing.assert_array_equal(read, [np.nan, -999, 2, 3])


def test_inline_data_that_is_no_chunk() -> None:
    source = document([1, 2, 3, 4], None, compressor={"id": "zlib"})
    assert found(source) == {}
    cut = source | {"x/0": source["x/0"][:-8]}
    assert "`x/0` is not a chunk of `x`" in found(cut)["undecodable-inline"]
    short = document([1, 2, 3], None, compressor={"id": "zlib"})
    assert "12" in found(short)["undecodable-inline"]


def test_a_chunk_that_would_fill_the_memory_is_left_alone() -> None:
    bomb = zlib.compress(bytes(2**26), 1)
    source = document([1, 2, 3, 4], 0, compressor={"id": "zlib"})
    assert found(source | {"x/0": f"base64:{base64.b64encode(bomb).decode()}"}).keys() <= {
        "fill-value-may-mask"
    }
