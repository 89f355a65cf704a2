"""Metadata that Zarr or xarray refuse: one sentence of ours that names the array, everywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.core.errors import DecodeError
from refexplorer.io.reading.readings import ChunkState

pytestmark = pytest.mark.filterwarnings("ignore::refexplorer.core.errors.LeftOutWarning")
NAN = float("nan")
GONE = object()
V2: dict[str, Any] = {
    "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None,
    "filters": None, "order": "C", "fill_value": 0,
}  # fmt: skip
REGULAR = {"name": "regular", "configuration": {"chunk_shape": [2]}}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
V3: dict[str, Any] = {
    "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32",
    "chunk_grid": REGULAR, "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
    "codecs": [BYTES], "dimension_names": ["x"],
}  # fmt: skip
UNREADABLE: list[tuple[str, Any, str]] = [
    ("shape", [-4], "`shape` must be a list of non-negative integers."),
    ("shape", [NAN], "`shape` must be a list of non-negative integers."),
    ("shape", None, "`shape` must be a list of non-negative integers."),
    ("shape", GONE, "The field `shape` is missing."),
    ("chunks", [-2], "`chunks` must be a list of non-negative integers."),
    ("chunks", [0], "Chunks cannot have a length of 0."),
    ("chunks", [2, 2], "The chunk shape has 2 dimensions, but the array has 1."),
]
# of the sentences of Zarr what its versions 3.1 to 3.4 have in common
REFUSED: list[tuple[str, Any, str]] = [
    ("dtype", GONE, "The field `dtype` is missing."),
    ("dtype", "<q9", "No Zarr data type found that matches"),
    ("order", "K", "'C', 'F'"),
    ("order", GONE, "The field `order` is missing."),
    ("zarr_format", GONE, "The field `zarr_format` is missing."),
    ("zarr_format", 4, "ot 4."),
    ("fill_value", "abc", "Expected an integer."),
    ("compressor", "zlib", "Invalid compressor."),
    ("compressor", {"id": "zlib", "nope": 4}, "unexpected keyword argument 'nope'"),
    ("filters", [{"id": "delta"}], "missing 1 required positional argument: 'dtype'"),
]
REFUSED_V3: list[tuple[str, Any, str]] = [
    ("shape", [-4], "`shape` must be a list of non-negative integers."),
    ("data_type", GONE, "The field `data_type` is missing."),
    ("chunk_grid", REGULAR | {"configuration": {"chunk_shape": [0]}}, "a length of 0."),
    ("chunk_key_encoding", GONE, "The field `chunk_key_encoding` is missing."),
    ("codecs", [], "At least one ArrayBytesCodec is required."),
    ("node_type", "x", '`node_type` must be "array" or "group".'),
    ("attributes", [1], "`attributes` must be an object."),
]


def array_set(
    metadata: dict[str, Any], field: str, value: Any, **attributes: Any
) -> rx.ReferenceSet:
    """Return a set of one array, of which one field is otherwise."""
    changed = metadata | {field: value}
    if value is GONE:
        del changed[field]
    if metadata is V3:
        group = {"zarr_format": 3, "node_type": "group"}
        refs = {"zarr.json": group, "x/zarr.json": changed}
        chunks = {"x/c/0": "base64:AAAAAAAAAAA="}
    else:
        named = {"_ARRAY_DIMENSIONS": ["x"]} | attributes
        refs = {".zgroup": {"zarr_format": 2}, "x/.zarray": changed, "x/.zattrs": named}
        chunks = {"x/0": "base64:AAAAAAAAAAA="}
    return rx.open_references({key: json.dumps(refs[key]) for key in refs} | chunks)


def refusals(refs: rx.ReferenceSet) -> set[str]:
    """Return what Zarr and xarray are heard to say."""
    said = set()
    group: Any = refs.to_zarr()
    for attempt in (lambda: group["x"], refs.to_xarray, refs.to_datatree):
        with pytest.raises(DecodeError) as caught:
            attempt()
        said.add(str(caught.value))
    return said


@pytest.mark.parametrize(("field", "value", "said"), UNREADABLE + REFUSED)
def test_an_array_of_version_2(field: str, value: Any, said: str) -> None:
    (sentence,) = refusals(array_set(V2, field, value))
    assert sentence.startswith("x/.zarray cannot be used: ")
    assert said in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(("field", "value", "said"), REFUSED_V3)
def test_an_array_of_version_3(field: str, value: Any, said: str) -> None:
    (sentence,) = refusals(array_set(V3, field, value))
    assert sentence.startswith("x/zarr.json cannot be used: ")
    assert said in sentence


def test_a_data_type_that_nothing_has_is_named() -> None:
    (sentence,) = refusals(array_set(V3, "data_type", "int3"))
    said = "x/zarr.json requires the data type int3, which no installed package provides."
    assert sentence == said


@pytest.mark.parametrize(("field", "value", "said"), UNREADABLE)
def test_a_chunk_of_an_array_that_cannot_be_read(field: str, value: Any, said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        array_set(V2, field, value).chunk("x", (0,))
    assert str(caught.value) == f"x/.zarray cannot be used: {said}".replace(
        "The field `shape` is missing.", "`shape` must be a list of non-negative integers."
    )
    with pytest.raises(KeyError):
        array_set(V2, field, value).chunk("y", (0,))


@pytest.mark.parametrize(("field", "value", "said"), [case for case in REFUSED if case[1] != 4])
def test_a_chunk_that_zarr_refuses_has_failed(field: str, value: Any, said: str) -> None:
    found = array_set(V2, field, value).chunk("x", (0,))
    assert found.state is ChunkState.FAILED
    assert said in (found.message or "")


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"scale_factor": "abc"}, "xarray cannot unpack x: its attribute `scale_factor` must"),
        ({"add_offset": [1, 2]}, "xarray cannot unpack x: its attribute `add_offset` must"),
        ({"coordinates": 4}, "xarray cannot open x: its attribute `coordinates` must be a string."),
    ],
)
def test_attributes_that_xarray_cannot_go_by(attributes: dict[str, Any], said: str) -> None:
    refs = array_set(V2, "order", "C", **attributes)
    for attempt in (refs.to_xarray, refs.to_datatree):
        with pytest.raises(DecodeError) as caught:
            attempt()
        assert str(caught.value).startswith(said)
    if "coordinates" not in attributes:
        assert refs.to_xarray(mask_and_scale=False)["x"].values.tolist()[:2] == [0, 0]


def test_a_dimension_beyond_what_an_index_can_be() -> None:
    with pytest.raises(DecodeError, match=r"xarray cannot open x: one of its dimensions has 1,18"):
        array_set(V2, "shape", [2**70]).to_xarray()


def test_arrays_that_do_not_fit_together() -> None:
    one, two = (json.dumps(V2 | {"shape": [size]}) for size in (4, 5))
    named = json.dumps({"_ARRAY_DIMENSIONS": ["x"]})
    refs = {"x/.zarray": one, "x/.zattrs": named, "y/.zarray": two, "y/.zattrs": named}
    with pytest.raises(DecodeError, match="xarray cannot open dict: conflicting sizes for dimens"):
        rx.open_references({".zgroup": '{"zarr_format": 2}', **refs}).to_xarray()


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ({}, "The set has no group at its root"),
        ({".zgroup": "{"}, ".zgroup cannot be used: It is not a JSON object."),
        ({".zgroup": "{}"}, ".zgroup cannot be used: The field `zarr_format` is missing."),
        ({"zarr.json": "{}"}, 'zarr.json cannot be used: `node_type` must be "array" or "group".'),
        ({".zgroup": '{"zarr_format": 2}', ".zattrs": "[]"}, ".zattrs cannot be used: It is not a"),
    ],
)
def test_a_root_that_zarr_refuses(root: dict[str, str], said: str) -> None:
    refs = rx.open_references({"x/.zarray": json.dumps(V2), "x/0": "abcdabcd", **root})
    with pytest.raises(DecodeError) as caught:
        refs.to_zarr()
    assert said in str(caught.value)
