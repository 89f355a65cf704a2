"""What zarr-python or xarray refuse of an array, a check says before."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

import refexplorer as rx
from tests.helpers.kerchunk_sets import translated
from tests.helpers.loops import without_loop

V2: dict[str, Any] = {
    "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<f8", "compressor": None,
    "filters": None, "order": "C", "fill_value": None,
}  # fmt: skip
V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "float64",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
    "dimension_names": ["x"],
}


class _Gone:
    """Stands for a field that is left out; the same text in each process that collects tests."""

    def __repr__(self) -> str:
        return "gone"


GONE = _Gone()
NAMES = {"_ARRAY_DIMENSIONS": ["x"]}

FIELDS_V2 = [
    {"dtype": GONE}, {"dtype": "f8"}, {"dtype": "float64"}, {"dtype": "<f9"}, {"dtype": "|O"},
    {"dtype": ""}, {"dtype": None}, {"dtype": 5}, {"dtype": "<M8"}, {"dtype": "=f8"},
    {"dtype": "<i1"}, {"dtype": "|S0"}, {"dtype": "string"},
    {"dtype": [["a", "<f4"], ["a", "<i4"]]}, {"dtype": [["a", "<i4", [2]]]},
    {"dtype": [["a", [["b", "<f8"]]]]}, {"dtype": [["a", "|O"]]},
    {"order": GONE}, {"order": "A"}, {"order": None}, {"order": "c"},
    {"fill_value": GONE}, {"fill_value": "abc"}, {"fill_value": []}, {"fill_value": {}},
    {"dtype": "<i4", "fill_value": "NaN"}, {"dtype": "<i4", "fill_value": 1.5},
    {"dtype": "<i4", "fill_value": 2**40}, {"dtype": "|u1", "fill_value": -1},
    {"dtype": "|S4", "fill_value": 5}, {"dtype": "<U2", "fill_value": 0},
    {"dtype": "<c16", "fill_value": 0}, {"dtype": "<c16", "fill_value": "NaN"},
    {"filters": "x"}, {"filters": [{"id": "nope"}]}, {"filters": [{}]}, {"filters": ["zlib"]},
    {"compressor": "zlib"}, {"compressor": {}}, {"compressor": {"id": "nope"}},
    {"compressor": {"id": "zlib", "levvel": 1}}, {"dimension_separator": "x"},
    {"dimension_separator": None}, {"zarr_format": 1}, {"zarr_format": "2"}, {"zarr_format": GONE},
    {"zarr_format": 3}, {"chunks": [0]}, {"chunks": [2, 2]}, {"chunks": GONE}, {"shape": GONE},
    {"shape": [4.0]}, {"shape": [-4]}, {"shape": [2**70]},
]  # fmt: skip
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
FIELDS_V3 = [
    {"data_type": GONE}, {"data_type": "float65"}, {"data_type": 5}, {"data_type": "<f8"},
    {"fill_value": GONE}, {"fill_value": None}, {"fill_value": "abc"}, {"fill_value": []},
    {"data_type": "int32", "fill_value": "NaN"}, {"data_type": "int8", "fill_value": 300},
    {"codecs": GONE}, {"codecs": []}, {"codecs": [{"name": "nope"}]}, {"codecs": ["nope"]},
    {"codecs": [{"name": "gzip", "configuration": {"level": 5}}]}, {"codecs": ["bytes"]},
    *({"codecs": [LITTLE, codec]} for codec in (
        {"name": "gzip"}, {"name": "gzip", "configuration": {"level": "a"}},
        {"name": "gzip", "configuration": {"level": 50}}, {"name": "zstd"},
        {"name": "zstd", "configuration": {"level": 1000, "checksum": False}},
        {"name": "blosc", "configuration": {"cname": "lz4", "shuffle": "foo"}},
        {"name": "transpose", "configuration": {"order": [0]}},
    )),
    *({"codecs": [{"name": "transpose", "configuration": {"order": order}}, LITTLE]}
      for order in ("F", [0, 0], [1])),
    {"codecs": [{"name": "bytes", "configuration": None}]},
    {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2], "odd": 1}}},
    {"codecs": [{"name": "bytes", "configuration": {"endian": "middle"}}]},
    {"chunk_grid": GONE}, {"chunk_grid": {"name": "odd"}}, {"zarr_format": 2},
    {"chunk_key_encoding": {"name": "odd"}}, {"chunk_key_encoding": GONE},
    {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}},
    {"dimension_names": ["x", "y"]}, {"dimension_names": GONE}, {"shape": [-1]},
    {"something": {"must_understand": True}},
]  # fmt: skip
ATTRIBUTES = [
    {}, {"_ARRAY_DIMENSIONS": ["x", "y"]}, {"_ARRAY_DIMENSIONS": []}, {"_ARRAY_DIMENSIONS": "xy"},
    {"_ARRAY_DIMENSIONS": None}, NAMES | {"scale_factor": "a"}, NAMES | {"scale_factor": [1, 2]},
    NAMES | {"add_offset": "1"}, NAMES | {"units": "days since x"},
    NAMES | {"units": "foo since 2000-01-01"}, NAMES | {"coordinates": 5},
    NAMES | {"units": "days since 2000-01-01", "calendar": "foo"},
]  # fmt: skip


def with_fields(base: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Metadata with other fields; those that are `GONE` are left out."""
    return {name: value for name, value in (base | fields).items() if value is not GONE}


def documents(metadata: dict[str, Any], attributes: dict[str, Any] | None) -> dict[str, Any]:
    """Text by key: a group and an array `x` of zeros, as Zarr v2 or v3."""
    chunk = "\0" * 16
    if attributes is None:
        group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
        return {"zarr.json": group, "x/zarr.json": metadata, "x/c/0": chunk, "x/c/1": chunk}
    own = {"x/.zarray": metadata, "x/.zattrs": attributes, "x/0": chunk, "x/1": chunk}
    return {".zgroup": {"zarr_format": 2}, **own}


def opens_elsewhere(texts: dict[str, Any], use_consolidated: bool | None = False) -> bool:
    """Tell whether zarr-python and xarray open and read the array, without refexplorer."""
    buffer = default_buffer_prototype().buffer
    texts = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in texts.items()
    }
    store = MemoryStore({key: buffer.from_bytes(text.encode()) for key, text in texts.items()})

    def read() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = zarr.open_group(store, mode="r", use_consolidated=use_consolidated)["x"]
            assert isinstance(array, zarr.Array)
            dataset = xr.open_zarr(store, consolidated=False)
            _ = array[...], dataset["x"].values

    try:
        without_loop(read)  # xarray calls asyncio.run where _ARRAY_DIMENSIONS is missing
    except Exception:  # they raise what they like
        return False
    return True


def codes(texts: dict[str, Any]) -> set[str]:
    return {found.code for found in rx.open_references(texts).diagnostics}


def test_good_arrays_are_good() -> None:
    for texts in (documents(V2, NAMES), documents(V3, None)):
        assert opens_elsewhere(texts)
        assert codes(texts) == set()


@pytest.mark.parametrize("fields", FIELDS_V2, ids=str)
def test_metadata_of_version_2_that_zarr_refuses_is_noted(fields: dict[str, Any]) -> None:
    texts = documents(with_fields(V2, fields), NAMES)
    assert not opens_elsewhere(texts)
    assert codes(texts) & {"bad-metadata", "bad-dtype", "bad-chunks", "codec-not-installed"}


@pytest.mark.parametrize("fields", FIELDS_V3, ids=str)
def test_metadata_of_version_3_that_zarr_refuses_is_noted(fields: dict[str, Any]) -> None:
    texts = documents(with_fields(V3, fields), None)
    assert not opens_elsewhere(texts)
    assert codes(texts) - {"orphan-chunk"}


@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=str)
def test_attributes_that_xarray_refuses_are_noted(attributes: dict[str, Any]) -> None:
    texts = documents(V2, attributes)
    assert not opens_elsewhere(texts)
    assert codes(texts) & {"bad-attribute", "bad-dimension-names", "no-dimension-names"}


@pytest.mark.parametrize(
    "dtype", ["|V8", [["a", "<i4"], ["b", "<f4"]], [["a", "<i4"], ["b", ">f4"]]], ids=str
)
@pytest.mark.parametrize("fill_value", [None, "AAAAAAAAAAA="])
def test_structures_that_xarray_does_not_decode_are_noted(dtype: Any, fill_value: Any) -> None:
    texts = documents(V2 | {"dtype": dtype, "fill_value": fill_value}, NAMES)
    refs = rx.open_references(texts)
    if opens_elsewhere(texts):
        assert not refs.diagnostics
        return
    assert codes(texts) == {"bad-attribute"}
    if fill_value is None:
        with pytest.warns(rx.errors.LeftOutWarning) as caught:
            refs.to_xarray()
        assert "xarray cannot read the values of x" in str(caught[0].message)
        return
    with pytest.raises(rx.errors.DecodeError, match="xarray cannot open x"):
        refs.to_xarray()


OTHER = {"_ARRAY_DIMENSIONS": ["y"]}
COPIES = {".zgroup": {"zarr_format": 2}, "x/.zarray": V2, "x/.zattrs": OTHER}


@pytest.mark.parametrize(
    "copies",
    [
        COPIES, None, [], {}, COPIES | {"x/.zarray": {}}, COPIES | {"x/.zarray": None},
        COPIES | {"x/.zarray": json.dumps(V2)}, COPIES | {"x/0": "a"},
        COPIES | {"x/.zarray": V2 | {"shape": [8]}},
    ],
    ids=str,
)  # fmt: skip
def test_consolidated_metadata_that_zarr_refuses_are_an_error(copies: Any) -> None:
    texts = documents(V2, OTHER) | {".zmetadata": {"metadata": copies}}
    buffer = default_buffer_prototype().buffer
    pairs = ((key, v if isinstance(v, str) else json.dumps(v)) for key, v in texts.items())
    store = MemoryStore({key: buffer.from_bytes(text.encode()) for key, text in pairs})
    refs = rx.open_references(texts)
    try:
        names = without_loop(lambda: list(zarr.open_group(store, mode="r").array_keys()))
    except Exception:  # as above
        assert refs.check().status == 1
        with pytest.raises(rx.errors.DecodeError):
            refs.to_zarr()
    else:
        assert refs.check().status == 0
        group = refs.to_zarr()
        assert isinstance(group, zarr.Group)
        assert list(group.array_keys()) == names


@pytest.mark.parametrize(
    "copies",
    [None, {"kind": "odd"}, {"kind": "inline", "metadata": {"x": {}}}, 5, {"metadata": {"x": V3}}],
    ids=str,
)
def test_copies_of_zarr_v3_that_zarr_refuses_are_an_error(copies: Any) -> None:
    texts = documents(V3, None)
    texts["zarr.json"] |= {"consolidated_metadata": copies}
    refs = rx.open_references(texts)
    if opens_elsewhere(texts, use_consolidated=None):
        assert "bad-metadata" not in codes(texts)
        assert isinstance(refs.to_zarr(), zarr.Group)
    else:
        assert refs.check().status == 1
        with pytest.raises(rx.errors.DecodeError, match=r"cannot be used: [`A-Z]"):
            refs.to_zarr()


ZLIB = {"name": "numcodecs.zlib", "configuration": {"level": 1}}


@pytest.mark.parametrize(
    "texts",
    [
        documents(V3 | {"codecs": [LITTLE, ZLIB]}, None),  # Zarr warns of codecs of numcodecs
        documents(V2 | {"filters": [], "compressor": {"id": "crc32"}}, OTHER),  # and of `[]`
        documents(V2 | {"dtype": "<f2", "fill_value": 65520.0}, OTHER),  # and NumPy of overflows
    ],
    ids=["numcodecs", "no filters", "overflow"],
)
def test_warnings_of_other_packages_are_neither_shown_nor_findings(texts: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refs = rx.open_references(texts)
        assert "bad-metadata" not in {found.code for found in refs.diagnostics}
        refs.trace("x/c/0" if "x/c/0" in refs else "x/0")
        refs.audit()
    assert [str(each.message) for each in caught] == []


def test_a_time_without_unit_is_explained() -> None:
    refs = rx.open_references(documents(V2 | {"dtype": "<M8"}, OTHER))
    assert "cannot decode it: datetime64 values must have a unit" in str(refs.why("x", 0))


WORDS = st.sampled_from(["", "C", "<i4", "NaN", "x"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
        st.sampled_from(["id", "name", "configuration"]), inner, max_size=2
    ),
    max_leaves=4,
)  # fmt: skip


@given(st.sampled_from(sorted(V2)), JUNK)
@settings(max_examples=3 * settings().max_examples // 2)
def test_any_field_of_version_2_that_zarr_refuses_is_noted(name: str, value: object) -> None:
    texts = documents(with_fields(V2, {name: value}), NAMES)
    assert opens_elsewhere(texts) or codes(texts)


@given(st.sampled_from(sorted(set(V3) - {"node_type"})), JUNK)
@settings(max_examples=3 * settings().max_examples // 2)
def test_any_field_of_version_3_that_zarr_refuses_is_noted(name: str, value: object) -> None:
    texts = documents(with_fields(V3, {name: value}), None)
    assert opens_elsewhere(texts) or codes(texts)


@pytest.mark.parametrize(
    "changed",
    [
        {"x/.zarray": '{"zarr_format": 2, '},
        {"x/.zarray": json.dumps(V2 | {"dtype": "<q8"})},
        {"x/.zarray": json.dumps(V2 | {"order": "X"})},
        {"x/.zattrs": '{"_ARRAY'},
        {"x/.zattrs": '{"_ARRAY_DIMENSIONS": ["x", "y"]}'},
        {".zgroup": '{"zarr'},
    ],
    ids=str,
)
def test_a_set_that_no_reader_opens_is_not_the_same_as_its_files(
    changed: dict[str, str], tmp_path: Path
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        values = file.create_dataset("x", data=np.arange(4.0), chunks=(2,))
        starts = [values.id.get_chunk_info(n).byte_offset for n in range(2)]
    refs: dict[str, Any] = {
        ".zgroup": '{"zarr_format": 2}',
        "x/.zarray": json.dumps(V2),
        "x/.zattrs": json.dumps(NAMES),
        **{f"x/{n}": [str(tmp_path / "a.h5"), start, 16] for n, start in enumerate(starts)},
    }
    sound = rx.open_references(refs).allowing(str(tmp_path))
    assert sound.verify().good
    assert not sound.check().has_errors
    broken = rx.open_references(refs | changed).allowing(str(tmp_path))
    assert not broken.verify().good
    assert broken.check().has_errors
    chunks = {f"x/{n}": 16 * "\0" for n in range(2)}
    assert opens_elsewhere(refs | chunks)
    assert not opens_elsewhere(refs | chunks | changed)


def test_verify_says_that_xarray_opens_no_group_whose_dimensions_differ(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["u"], file["v"] = np.arange(300.0), np.arange(400.0)
    refs = translated(tmp_path / "a.h5")["refs"]
    for name in "uv":
        refs[f"{name}/.zattrs"] = json.dumps(NAMES)
    path = tmp_path / "set.json"
    path.write_text(json.dumps(refs))
    found = rx.open_references(path).allowing(str(tmp_path)).verify()
    assert found.good
    assert "xarray does not open it as it is: The dimension 'x'" in str(found)
    with pytest.raises(ValueError, match="conflicting sizes"):
        xr.open_dataset(str(path), engine="kerchunk")
