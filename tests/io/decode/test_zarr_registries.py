"""What Zarr can create of its registries reads equal to Zarr, or is named as not known.

Data types, codecs, grids and key encodings are those that the installed Zarr has registered.
"""

import base64
import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.core.dtype import data_type_registry
from zarr.registry import get_codec_class
from zarr.storage import MemoryStore

import refexplorer as rx

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
SWITCH = "array.rectilinear_chunks"
HAS_3_2 = zarr.config.get(SWITCH, None) is not None
newest = pytest.mark.skipif(not HAS_3_2, reason="Zarr has it from version 3.2 on")
NUMBERS = ("int8", "int16", "int64", "uint8", "uint32", "float16", "float32", "float64")
NATIVE: list[Any] = [
    "bool", *NUMBERS, "complex64", "complex128", "datetime64[s]", "timedelta64[ms]", "S4", "U3",
    "V5", str, [("a", "<i4"), ("b", ">f8")],
]  # fmt: skip
COMPRESSORS: list[Any] = [
    None,
    {"name": "gzip", "configuration": {"level": 1}},
    {"name": "zstd", "configuration": {"level": 1, "checksum": True}},
    {
        "name": "blosc",
        "configuration": {
            "cname": "lz4", "clevel": 3, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0,
        },
    },
    {"name": "crc32c"},
    *(
        {"name": f"numcodecs.{name}", "configuration": {}}
        for name in ("bz2", "crc32", "fletcher32", "lz4", "lzma", "adler32", "shuffle", "zlib")
    ),
]  # fmt: skip
FILTERS: list[Any] = [
    {"name": "scale_offset", "configuration": {"offset": 2, "scale": 2}},
    {"name": "cast_value", "configuration": {"data_type": "int32", "out_of_range": "clamp"}},
    {"name": "numcodecs.delta", "configuration": {"dtype": "<f8"}},
    {
        "name": "numcodecs.fixedscaleoffset",
        "configuration": {"dtype": "<f8", "astype": "<i2", "scale": 10, "offset": 1},
    },
    {"name": "numcodecs.bitround", "configuration": {"keepbits": 4}},
    {"name": "numcodecs.astype", "configuration": {"encode_dtype": "<f4", "decode_dtype": "<f8"}},
]


def values_of(dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    numbers = np.arange(count) % 7
    if dtype is str:
        return np.array([f"t{n}é" for n in numbers], object).reshape(shape)
    native = np.dtype(dtype)
    if native.names is not None:
        found = np.zeros(count, native)
        for name in native.names:
            found[name] = numbers
        return found.reshape(shape)
    if native.kind in "SU":
        return np.array([str(n) for n in numbers]).astype(native).reshape(shape)
    if native.kind == "V":
        return np.array([bytes([n] * native.itemsize) for n in numbers], native).reshape(shape)
    return numbers.astype(native).reshape(shape)


@st.composite
def layouts(draw: Any) -> dict[str, Any]:
    shape: tuple[int, ...] = tuple(draw(st.lists(st.integers(1, 9), max_size=3)))
    found: dict[str, Any] = {"shape": shape, "dtype": draw(st.sampled_from(NATIVE))}
    found["chunks"] = tuple(draw(st.integers(1, size)) for size in shape)
    compressor = draw(st.sampled_from(COMPRESSORS))
    found["compressors"] = None if compressor is None else [compressor]
    found["filters"] = []
    if shape and draw(st.booleans()):
        order = draw(st.permutations(range(len(shape))))
        found["filters"].append({"name": "transpose", "configuration": {"order": order}})
    if found["dtype"] == "float64" and draw(st.booleans()):
        found["filters"].append(draw(st.sampled_from(FILTERS)))
    if shape and draw(st.booleans()):
        found["shards"] = tuple(chunk * draw(st.integers(1, 2)) for chunk in found["chunks"])
    elif shape and HAS_3_2 and draw(st.booleans()):
        found["chunks"] = [draw(edges(size)) for size in shape]
    name = draw(st.sampled_from(["default", "v2"]))
    found["chunk_key_encoding"] = {"name": name, "separator": draw(st.sampled_from("./"))}
    return found


@st.composite
def edges(draw: st.DrawFn, size: int) -> list[int]:
    found: list[int] = []
    while (left := size - sum(found)) > 0:
        found.append(draw(st.integers(1, left)))
    return found


def created(layout: dict[str, Any]) -> tuple[dict[str, Any], np.ndarray] | None:
    """The keys of an array with its values as Zarr reads them; None where Zarr makes no such."""
    layout = dict(layout)
    store, values = MemoryStore(), values_of(layout.pop("dtype"), layout.pop("shape"))
    dtype = str if values.dtype == object else values.dtype
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            array = zarr.create_array(store, name="x", shape=values.shape, dtype=dtype, **layout)
            array[...] = values
            opened: Any = zarr.open_array(store, path="x", mode="r")
            expected = np.asarray(opened[...])
        except Exception:  # Zarr and its codecs raise what they like
            return None
        zarr.open_group(store, mode="a")
    return {
        key: buffer.to_bytes().decode()
        if key.endswith("zarr.json")
        else "base64:" + base64.b64encode(buffer.to_bytes()).decode()
        for key, buffer in store._store_dict.items()
    }, expected


def check(references: dict[str, Any], expected: np.ndarray) -> None:
    refs = rx.open_references(references)
    np.testing.assert_array_equal(np.asarray(refs.read("x")), expected)
    opened: Any = refs.to_zarr()
    np.testing.assert_array_equal(np.asarray(opened["x"][...]), expected)
    failed = [each for each in refs.diagnostics if each.severity == "error"]
    assert not failed, failed
    assert "undecodable" not in str(refs.audit())


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_what_zarr_creates_is_read_as_zarr_reads_it(layout: dict[str, Any]) -> None:
    with zarr.config.set({SWITCH: True}) if HAS_3_2 else warnings.catch_warnings():
        made = created(layout)
        if made is not None:
            check(*made)


@pytest.mark.parametrize("dtype", [each for each in NATIVE if each != "V5"], ids=str)
@pytest.mark.parametrize("shards", [None, (4, 4)], ids=["chunks", "shards"])
def test_each_data_type(dtype: Any, shards: tuple[int, int] | None) -> None:
    made = created({"shape": (5, 6), "dtype": dtype, "chunks": (2, 2), "shards": shards})
    if made is None and not HAS_3_2:
        pytest.skip("this Zarr makes no such array")
    assert made is not None
    check(*made)


@newest
@pytest.mark.parametrize("filters", FILTERS[:2], ids=lambda each: str(each["name"]))
@pytest.mark.parametrize("shards", [None, (4, 4)], ids=["chunks", "shards"])
def test_codecs_of_zarr_itself(filters: Any, shards: tuple[int, int] | None) -> None:
    if filters["name"] == "cast_value":
        pytest.importorskip("cast_value_rs")
    layout = {"shape": (5, 6), "dtype": "float64", "chunks": (2, 2), "shards": shards}
    made = created(layout | {"filters": [filters]})
    assert made is not None
    check(*made)


def odd_sets() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Arrays of what nothing installed here knows, with a part of the sentence that says so."""
    plain = {"name": "bytes", "configuration": {"endian": "little"}}
    inner = {"chunk_shape": [1], "codecs": [plain, {"name": "squeeze"}], "index_codecs": [plain]}
    shards = {"name": "sharding_indexed", "configuration": inner}
    yield "codec", {"codecs": [plain, {"name": "squeeze"}]}, "requires the codec squeeze"
    yield "inner codec", {"codecs": [shards]}, "requires the codec squeeze"
    yield "data type", {"data_type": "bfloat16"}, "requires the data type bfloat16"
    if not HAS_3_2:
        newer = "which needs Zarr 3.2 or newer, with Python 3.12 or newer; Zarr "
        scale = {"name": "scale_offset", "configuration": {"offset": 1, "scale": 2}}
        yield "scale_offset", {"codecs": [scale, plain]}, newer
        record = {
            "name": "struct",
            "configuration": {"fields": [{"name": "a", "data_type": "int8"}]},
        }
        yield "struct", {"data_type": record}, newer


@pytest.mark.parametrize(("change", "sentence"), [each[1:] for each in odd_sets()],
                         ids=[each[0] for each in odd_sets()])  # fmt: skip
def test_what_is_not_known_is_named_and_never_called_broken(
    change: dict[str, Any], sentence: str
) -> None:
    made = created({"shape": (2,), "dtype": "int16", "chunks": (2,), "compressors": None})
    assert made is not None
    references = made[0]
    references["x/zarr.json"] = json.dumps(json.loads(references["x/zarr.json"]) | change)
    refs = rx.open_references(references)
    for read in (lambda: refs.read("x"), lambda: refs.to_zarr()["x"]):  # type: ignore[index]
        with pytest.raises(rx.errors.DecodeError) as caught:
            read()
        assert sentence in str(caught.value)
    (finding,) = [each for each in refs.diagnostics if each.code == "codec-not-installed"]
    assert sentence in finding.message
    assert "bad-metadata" not in {each.code for each in refs.diagnostics}
    report = refs.audit()
    assert sentence in str(report)
    assert "undecodable" not in str(report)


def test_the_registries_have_what_the_tests_try() -> None:
    for name in ("scale_offset", "cast_value") if HAS_3_2 else ():
        assert get_codec_class(name)
    tried = {"fixed_length_utf32", "string", "raw_bytes", "null_terminated_bytes", "struct"}
    tried |= {
        "structured",
        "numpy.datetime64",
        "numpy.timedelta64",
        "variable_length_bytes",
        "bool",
    }
    plain = {n for n in data_type_registry.contents if n.rstrip("0123456789") in
             ("int", "uint", "float", "complex")}  # fmt: skip
    assert {*data_type_registry.contents} <= tried | plain
