"""The reason for a value is the one that xarray, Zarr and the file give."""

from __future__ import annotations

import base64
import json
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numcodecs import FixedScaleOffset
from xarray.backends.zarr import FillValueCoder

import refexplorer as rx
from refexplorer.hosts.cli import main
from refexplorer.io.reading.trace_value import ValueOrigin
from tests.helpers.kerchunk_sets import translated

VALUES = np.array([0, 1, -999, 7, 40, 5], "<i4")


def document(
    path: Path, *, fill_value: Any = None, attributes: dict[str, Any] | None = None,
    values: np.ndarray = VALUES, zarr_format: int = 2,
) -> dict[str, Any]:  # fmt: skip
    """Two chunks of three values in a file, and a third chunk without a reference."""
    (path / "data.bin").write_bytes(values.tobytes())
    size = 3 * values.itemsize
    chunks = {str(n): [str(path / "data.bin"), n * size, size] for n in range(2)}
    if zarr_format == 3:
        metadata = {
            "zarr_format": 3, "node_type": "array", "shape": [9], "data_type": values.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": fill_value,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "attributes": attributes or {}, "dimension_names": ["t"],
        }  # fmt: skip
        group = {"zarr_format": 3, "node_type": "group"}
        own: dict[str, Any] = {"zarr.json": group, "x/zarr.json": metadata}
        return own | {f"x/c/{key}": value for key, value in chunks.items()}
    metadata = {
        "zarr_format": 2, "shape": [9], "chunks": [3], "dtype": values.dtype.str, "filters": None,
        "compressor": None, "order": "C", "fill_value": fill_value,
    }  # fmt: skip
    named = {"_ARRAY_DIMENSIONS": ["t"]} | (attributes or {})
    own = {".zgroup": {"zarr_format": 2}, "x/.zarray": metadata, "x/.zattrs": named}
    return own | {f"x/{key}": value for key, value in chunks.items()}


CASES: list[tuple[str, dict[str, Any], dict[int, ValueOrigin]]] = [
    (
        "a fill value of 0",
        {"fill_value": 0},
        {0: ValueOrigin.FILL_VALUE, 1: ValueOrigin.AS_STORED, 7: ValueOrigin.NO_REFERENCE},
    ),
    (
        "booleans with a fill value of false",
        {"fill_value": False, "values": np.array([0, 1, 0, 1, 0, 1], "?")},
        {0: ValueOrigin.FILL_VALUE, 1: ValueOrigin.AS_STORED},
    ),
    (
        "an attribute that xarray ignores",
        {"fill_value": 0, "attributes": {"_FillValue": -999}},
        {0: ValueOrigin.FILL_VALUE, 2: ValueOrigin.AS_STORED},
    ),
    (
        "missing_value",
        {"attributes": {"missing_value": -999, "scale_factor": 0.5, "add_offset": 10.0}},
        {0: ValueOrigin.SCALED, 2: ValueOrigin.MISSING_VALUE, 4: ValueOrigin.SCALED},
    ),
    (
        "NaN in the data",
        {"values": np.array([np.nan, 1, 2, 3, 4, 5], "<f4"), "fill_value": -1.0},
        {0: ValueOrigin.NAN_IN_DATA, 1: ValueOrigin.AS_STORED, 8: ValueOrigin.NO_REFERENCE},
    ),
    (
        "times",
        {"attributes": {"units": "days since 2000-01-01"}},
        {1: ValueOrigin.SCALED},
    ),
    (
        "Zarr v3: the fill value masks nothing",
        {"zarr_format": 3, "fill_value": 0},
        {0: ValueOrigin.AS_STORED, 8: ValueOrigin.NO_REFERENCE},
    ),
    (
        "Zarr v3: _FillValue in base64",
        {
            "zarr_format": 3,
            "fill_value": 0.0,
            "values": VALUES.astype("<f4"),
            "attributes": {"_FillValue": FillValueCoder.encode(-999.0, np.dtype("<f4"))},
        },
        {0: ValueOrigin.AS_STORED, 2: ValueOrigin.MISSING_VALUE},
    ),
]


@pytest.mark.parametrize(("settings", "causes"), [case[1:] for case in CASES],
                         ids=[case[0] for case in CASES])  # fmt: skip
def test_what_is_reported_is_what_zarr_and_xarray_show(
    settings: dict[str, Any], causes: dict[int, ValueOrigin], tmp_path: Path
) -> None:
    refs = rx.open_references(document(tmp_path, **settings))
    opened: Any = refs.allowing(str(tmp_path)).to_zarr()
    zarr_array = opened["x"]
    dataset = refs.allowing(str(tmp_path)).to_xarray(coordinates=True)
    for place, cause in causes.items():
        found = refs.allowing(str(tmp_path)).why("x", [place])
        assert found.cause is cause, str(found)
        np.testing.assert_array_equal(found.raw, zarr_array[place])
        np.testing.assert_array_equal(found.shown, dataset["x"].values[place])


def test_the_chunk_with_its_file_and_bytes(tmp_path: Path) -> None:
    refs = rx.open_references(document(tmp_path))
    found = refs.allowing(str(tmp_path)).why("x", [-5])
    assert (found.index, found.key, found.chunk) == ((4,), "x/1", (1,))
    assert found.reference == rx.types.Range(str(tmp_path / "data.bin"), 12, 12)
    assert "Bytes 12 to 24" in str(found)


def test_a_chunk_that_fails_and_one_that_is_rejected(tmp_path: Path) -> None:
    source = document(tmp_path)
    source["x/1"] = [str(tmp_path / "gone.bin"), 0, 12]
    source["x/2"] = [str(tmp_path / "data.bin"), -1, 12]
    refs = rx.open_references(source)
    failed = refs.allowing(str(tmp_path)).why("x", [3])
    assert (failed.cause, failed.raw, failed.shown) == (ValueOrigin.FAILED, None, None)
    assert "gone.bin" in str(failed.sentence)
    rejected = refs.allowing(str(tmp_path)).why("x", [6])
    assert rejected.cause is ValueOrigin.REJECTED
    assert "offset" in str(rejected)


def test_a_value_outside_the_valid_range_is_reported_and_stays(tmp_path: Path) -> None:
    refs = rx.open_references(document(tmp_path, attributes={"valid_range": [0, 10]}))
    found = refs.allowing(str(tmp_path)).why("x", [4])
    assert (found.cause, found.shown) == (ValueOrigin.AS_STORED, 40)
    assert "40 is above the maximum valid value, 10" in str(found)


def test_attributes_that_xarray_cannot_decode(tmp_path: Path) -> None:
    refs = rx.open_references(document(tmp_path, attributes={"units": "days since x"}))
    found = refs.allowing(str(tmp_path)).why("x", [1])
    assert (found.cause, found.raw, found.shown) == (ValueOrigin.NOT_DECODED, 1, None)


def test_a_file_of_kerchunk(tmp_path: Path) -> None:
    path = tmp_path / "packed.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("t", data=np.array([[0, 12], [-1, 3]], "<i2"), chunks=(1, 2),
                                   compression="gzip", fillvalue=-1)  # fmt: skip
        data.attrs.update({"scale_factor": 0.1, "add_offset": 273.15})
    refs = rx.open_references(translated(path))
    masked = refs.allowing(str(tmp_path)).why("t", [1, 0])
    assert masked.cause is ValueOrigin.FILL_VALUE
    assert np.isnan(masked.shown)
    scaled = refs.allowing(str(tmp_path)).why("t", [0, 1])
    assert scaled.shown == pytest.approx(12 * 0.1 + 273.15)
    assert "12 x 0.1 + 273.15" in str(scaled)


def test_a_place_that_the_array_does_not_have(tmp_path: Path) -> None:
    refs = rx.open_references(document(tmp_path))
    for index in ([9], [-10]):
        with pytest.raises(rx.errors.DecodeError, match="has no element"):
            refs.why("x", index)
    for index in ([], [0, 0]):
        with pytest.raises(rx.errors.DecodeError, match="needs an index of as many integers"):
            refs.why("x", index)
    for odd in ({"x": 0}, ["0"], [0.5], None, "0", np.array([0.5])):
        with pytest.raises(
            rx.errors.DecodeError, match=r"one integer for each dimension, such as \(0,\)"
        ):
            refs.why("x", odd)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        refs.why("y", [0])
    with pytest.raises(rx.errors.AccessError):
        refs.why("x", [0])


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(document(tmp_path, fill_value=0)))
    arguments = ["why", str(path), "x", "0", "--allow", str(tmp_path)]
    assert main(arguments) == 0
    assert "equals the fill value of the array; xarray shows NaN" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["cause"], told["raw"], told["shown"]) == ("fill value", 0, "nan")
    assert main(["why", str(path), "x", "one"]) == 2
    assert "not a list of integers" in capsys.readouterr().err
    assert main(["why", str(path), "y", "0"]) == 2
    assert "nothing at 'y'" in capsys.readouterr().err


_WIDE = ("|i1", "|u1", ">i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f2", ">f4", ">f8")
_SCALES: tuple[dict[str, Any], ...] = (
    {},
    {"scale_factor": 0.5},
    {"scale_factor": 2, "add_offset": 10},
    {"add_offset": 0.1},
)
_MASKS: tuple[dict[str, Any], ...] = (
    {}, {"_FillValue": 7}, {"_FillValue": 7.0}, {"missing_value": 100}, {"missing_value": [100, 7]},
    {"_FillValue": "AAAAAAAAHEA="},
)  # fmt: skip


def several(dtype: np.dtype[Any]) -> np.ndarray:
    """Six values: some that are missing, some as which others are read when bytes are swapped."""
    low = np.array([0, 7, 100, 1, -1, -7]).astype(dtype)
    if dtype.kind == "f":
        low[4:] = np.nan, np.inf
    elif dtype.itemsize > 1:
        low[3] = np.array(7, dtype).byteswap()
    return low


@given(
    st.sampled_from(_WIDE), st.sampled_from([2, 3]), st.sampled_from([None, "true", "false"]),
    st.sampled_from(_SCALES), st.sampled_from(_MASKS), st.sampled_from([None, 7, 0, -1]),
)  # fmt: skip
@example(">i2", 2, "true", {}, {}, 7)
@example("<f4", 3, None, {}, {"_FillValue": 7.0}, 0)
@example("<u8", 2, None, {}, {}, -1)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_values_equal_those_of_xarray_for_any_attributes(
    tmp_path: Path, kind: str, zarr_format: int, unsigned: str | None, scales: dict[str, Any],
    masks: dict[str, Any], fill: int | None,
) -> None:  # fmt: skip
    dtype = np.dtype(kind)
    if zarr_format == 3:
        dtype = dtype.newbyteorder("<")
    attributes = scales | masks | ({"_Unsigned": unsigned} if unsigned else {})
    if zarr_format == 3 and fill is None:
        fill = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        values = several(dtype)
        own = None if fill is None else np.array(fill).astype(dtype).item()
        source = document(
            tmp_path, fill_value=own, attributes=attributes, values=values,
            zarr_format=zarr_format,
        )  # fmt: skip
        refs = rx.open_references(source)
        try:
            shown = refs.allowing(str(tmp_path)).to_xarray(coordinates=True)["x"].values
        except rx.errors.DecodeError:
            assert refs.allowing(str(tmp_path)).why("x", [0]).cause is ValueOrigin.NOT_DECODED
            return
        for place, value in enumerate(values):
            found = refs.allowing(str(tmp_path)).why("x", [place])
            np.testing.assert_array_equal(found.shown, shown[place], str(found))
            is_masked = np.isnan(shown[place]) and not np.isnan(value)
            causes = (ValueOrigin.FILL_VALUE, ValueOrigin.MISSING_VALUE)
            assert is_masked == (found.cause in causes), str(found)


def test_a_fill_value_that_a_filter_unpacks_is_named(tmp_path: Path) -> None:
    codec = FixedScaleOffset(offset=0, scale=2, dtype="<f8", astype="|u1")
    stored = np.array([20, 255, 180], "u1")
    source = document(tmp_path, fill_value=255, values=codec.decode(stored))
    source["x/.zarray"] |= {"filters": [codec.get_config()]}
    source["x/0"] = "base64:" + base64.b64encode(stored.tobytes()).decode()
    refs = rx.open_references(source)
    found = refs.why("x", [1])
    assert (found.cause, found.shown) == (ValueOrigin.PACKED_FILL_VALUE, 127.5)
    assert "The stored value is 255, which equals the fill value of the array" in str(
        found.sentence
    )
    assert refs.why("x", [0]).cause is ValueOrigin.AS_STORED
