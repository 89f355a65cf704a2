from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import google_crc32c
import msgpack
import numcodecs
import numpy as np
import pytest
import zarr
import zstandard
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

import refexplorer as rx
from refexplorer.core.limits import Limits
from refexplorer.io.decode.sizes import check_inflation
from refexplorer.io.reading.readings import ChunkState
from refexplorer.io.reading.trace import Trace
from tests.helpers.servers import RangeServer
from tests.helpers.sets import DEMO, raw_set

ZEROS = bytes(2**22)
"""More than a step of a small chunk may make, 2**20 bytes, in several pieces."""
SMALL = Limits(chunk_bytes=2**21)
"""What Zarr is given without a look is less than the zeros."""


def streamed(data: bytes) -> bytes:
    """A zstd frame that does not declare its size."""
    out = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(out, closefd=False) as writer:
        writer.write(data)
    return out.getvalue()


BOMBS: dict[str, tuple[dict[str, Any], Callable[[bytes], bytes]]] = {
    "zlib": ({"id": "zlib"}, zlib.compress),
    "gzip": ({"id": "gzip"}, gzip.compress),
    "gzip of many members": ({"id": "gzip"}, lambda data: gzip.compress(data[: 2**14]) * 300),
    "bz2": ({"id": "bz2"}, bz2.compress),
    "lzma": ({"id": "lzma"}, partial(lzma.compress, preset=0)),
    "zstd": ({"id": "zstd"}, zstandard.compress),
    "zstd without a size": ({"id": "zstd"}, streamed),
    "blosc": ({"id": "blosc"}, numcodecs.Blosc().encode),
    "lz4": ({"id": "lz4"}, numcodecs.LZ4().encode),
}


def stored(
    folder: Path, data: bytes, limits: rx.Limits | None = None, **metadata: Any
) -> rx.ReferenceSet:
    """A set of one array whose first chunk is a file."""
    (folder / "f").write_bytes(data)
    return rx.open_references(raw_set([f"{folder}/f"], **metadata), limits=limits)


def climb(folder: Path, data: bytes, **metadata: Any) -> Trace:
    return stored(folder, data, **metadata).allowing(str(folder)).trace("x/0")


def test_each_step_of_a_chunk_of_a_netcdf_file() -> None:
    refs = rx.open_references(DEMO / "sst.v0.json")
    found = refs.trace("sst/0.0.1")
    assert [step.name for step in found.steps] == [
        "reference", "raw bytes", "zlib(level=6)", "shuffle(elementsize=2)", "values",
    ]  # fmt: skip
    _, raw, inflated, shuffled, values = found.steps
    assert raw.size == refs["sst/0.0.1"].size
    assert inflated.size == shuffled.size == values.size == 2 * 96 * 96 * 2
    assert raw.head == refs.filesystem().cat("sst/0.0.1")[:64]
    assert values.result == "<i2 [2, 96, 96]"
    chunk = refs.chunk("sst", (0, 0, 1))
    np.testing.assert_array_equal(found.values, chunk.values)
    assert found.state is chunk.state is ChunkState.FETCHED
    assert found.message is None


def test_a_key_that_is_no_chunk_has_its_bytes_and_a_missing_chunk_its_fill_value() -> None:
    refs = rx.open_references(raw_set(None, "abcd"))
    assert [step.name for step in refs.trace("x/.zarray").steps] == ["reference", "raw bytes"]
    missing = refs.trace("x/0")
    assert missing.state is ChunkState.FILL
    assert "fill value" in str(missing)
    for key in ("nothing", "x/7", "x/0.0"):
        with pytest.raises(KeyError):
            refs.trace(key)


def test_from_the_template_of_the_document_to_what_xarray_shows() -> None:
    refs = rx.open_references(DEMO / "sst.v1.json")
    found = refs.trace("sst", (-1, 5, 100))
    names = [step.name for step in found.steps]
    assert names[:5] == ["chunk", "entry", "template m09", "url", "reference"]
    assert names[5:9] == ["raw bytes", "zlib(level=6)", "shuffle(elementsize=2)", "values"]
    assert names[-1] == "xarray"
    assert {step.key for step in found.steps} == {found.key} == {"sst/8.0.1"}
    assert {step.reference for step in found.steps[5:]} == {refs["sst/8.0.1"]}
    values = refs.to_xarray(coordinates=True)["sst"][-1, 5, 100]
    np.testing.assert_array_equal(found.shown, values)
    assert found.cause == refs.why("sst", (17, 5, 100)).cause
    explained = [step.name for step in refs.explain("sst/8.0.1").steps]
    assert explained == names[1:5]
    assert refs.explain("sst/8.0.1").state is None
    with pytest.raises(rx.RefexplorerError, match="not both"):
        refs.trace("sst", (0, 0, 0), inner=(0,))


def test_a_value_whose_chunk_breaks_names_the_step(tmp_path: Path) -> None:
    refs = stored(tmp_path, b"not zlib", compressor={"id": "zlib"})
    found = refs.allowing(str(tmp_path)).trace("x", (0,))
    assert (found.cause, found.state) == (rx.types.ValueOrigin.FAILED, ChunkState.FAILED)
    assert found.steps[-1].name == "zlib"
    assert "✕ failed here" in found._repr_html_()
    assert "FAILED: " in str(found)


def test_it_asks_before_it_reads(server: RangeServer) -> None:
    refs = rx.open_references(raw_set([f"{server.url}/f", 0, 4]))
    with pytest.raises(rx.errors.AccessError):
        refs.trace("x/0")
    assert server.requests == []


@pytest.mark.parametrize(
    ("data", "metadata", "step", "sentence"),
    [
        (
            b"123",
            {},
            "values",
            "3 bytes) were decoded, but 2 elements of <i2 take 4, and 3 is not a multiple",
        ),
        (bytes(8), {}, "values", "elements of 4 bytes would fit"),
        (b"not zlib", {"compressor": {"id": "zlib"}}, "zlib", "cannot decode the bytes"),
        (b"abcd1234", {"filters": [{"id": "crc32"}]}, "crc32", "checksum does not match"),
        (b"abcd", {"compressor": {"id": "zfpy"}}, "zfpy", "`pip install zfpy`"),
        (b"abcd", {"compressor": {"id": "wavpack"}}, "wavpack", "`pip install wavpack-numcodecs`"),
        (b"abcd", {"dtype": "<q9"}, "values", "not a valid data type"),
        (b"\x02\x01\x21\x04" + bytes(4), {"compressor": {"id": "blosc"}}, "blosc", "truncated"),
    ],
)
def test_the_step_that_fails_says_why(
    tmp_path: Path, data: bytes, metadata: dict[str, Any], step: str, sentence: str
) -> None:
    found = climb(tmp_path, data, **metadata)
    assert found.state is ChunkState.FAILED
    assert found.steps[-1].name == step
    assert sentence in (found.message or "")
    assert found.message is not None
    assert found.message.endswith(".")


def test_a_target_that_fails_is_a_step_too(tmp_path: Path) -> None:
    refs = rx.open_references(raw_set([f"{tmp_path}/gone"]))
    found = refs.allowing(str(tmp_path)).trace("x/0")
    assert found.steps[-1].name == "raw bytes"
    assert "no such file" in (found.message or "")


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_stopped_in_the_trace_and_in_zarr(tmp_path: Path, name: str) -> None:
    compressor, packed = BOMBS[name]
    data = packed(ZEROS)
    found = climb(tmp_path, data, compressor=compressor)
    assert "it was stopped" in (found.message or "")
    refs = rx.open_references(raw_set([f"{tmp_path}/f"], compressor=compressor), limits=SMALL)
    group: Any = refs.allowing(str(tmp_path)).to_zarr()
    with pytest.raises(rx.errors.LimitError, match="x/0 could not be decoded"):
        group["x"][:2]
    chunk = refs.allowing(str(tmp_path)).chunk("x", (0,))
    assert chunk.state is ChunkState.FAILED
    assert "it was stopped" in (chunk.message or "")


def test_a_bomb_within_a_bomb_is_stopped_too(tmp_path: Path) -> None:
    data = zlib.compress(zlib.compress(ZEROS))
    twice = {"filters": [{"id": "zlib"}], "compressor": {"id": "zlib"}}
    assert "it was stopped" in (climb(tmp_path, data, **twice).message or "")
    refs = rx.open_references(raw_set([f"{tmp_path}/f"], **twice), limits=SMALL)
    group: Any = refs.allowing(str(tmp_path)).to_zarr()
    with pytest.raises(rx.errors.LimitError, match="zlib inflates"):
        group["x"][:2]


def test_filters_that_widen_again_and_again_are_stopped_too(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(4097))
    packed = {"dtype": "|b1", "filters": [{"id": "packbits"}] * 5}
    refs = rx.open_references(raw_set([f"{tmp_path}/f"], **packed))
    opened: Any = refs.allowing(str(tmp_path)).to_zarr()
    with pytest.raises(rx.errors.LimitError, match="x/0 could not be decoded: packbits inflates"):
        opened["x"][:2]


@pytest.mark.parametrize("name", ["zlib", "gzip", "bz2"])
def test_a_chunk_of_some_bytes_too_many_is_refused_by_zarr(tmp_path: Path, name: str) -> None:
    (tmp_path / "f").write_bytes(numcodecs.get_codec({"id": name}).encode(bytes(10**5)))
    refs = rx.open_references(raw_set([f"{tmp_path}/f"], compressor={"id": name}))
    opened: Any = refs.allowing(str(tmp_path)).to_zarr()
    with pytest.raises(
        rx.errors.DecodeError, match=r"x/0 could not be .* reshape array of size 50000"
    ):
        opened["x"][:2]


@pytest.mark.parametrize("location", ["start", "end"])
def test_a_bomb_within_a_shard_is_stopped_too(tmp_path: Path, location: str) -> None:
    shards: Any = {"shape": (8,), "index_location": location}
    array = zarr.create_array(
        str(tmp_path / "s"),
        shape=(8,),
        chunks=(4,),
        shards=shards,
        dtype="u1",
        compressors=GzipCodec(),
    )
    array[...] = 1
    document = {"zarr.json": (tmp_path / "s/zarr.json").read_text(), "c/0": [f"{tmp_path}/s/c/0"]}
    refs = rx.open_references(document, limits=SMALL)
    opened: Any = refs.allowing(str(tmp_path)).to_zarr()
    assert opened[:4].tolist() == opened[:].tolist()[:4] == [1] * 4
    chunk = gzip.compress(ZEROS)
    start = 36 if location == "start" else 0
    index = struct.pack("<4Q", start, len(chunk), 2**64 - 1, 2**64 - 1)
    checked = index + struct.pack("<I", google_crc32c.value(index))
    parts = [checked, chunk] if location == "start" else [chunk, checked]
    (tmp_path / "s/c/0").write_bytes(b"".join(parts))
    assert refs.allowing(str(tmp_path)).trace("c/0").state is ChunkState.FAILED
    opened = refs.allowing(str(tmp_path)).to_zarr()
    for part in (slice(4), slice(8)):
        with pytest.raises(rx.errors.LimitError, match="gzip inflates"):
            opened[part]


@pytest.mark.child
def test_a_codec_of_unknown_output_size_runs_in_a_child_process(tmp_path: Path) -> None:
    pytest.importorskip("kerchunk")  # has the codec
    rows, size = 300, 4_000_000
    limits = rx.Limits(chunk_bytes=2**25)  # half a second to fill, not two
    table = np.zeros(rows, dtype=[("a", ">i4", (2,))])
    table["a"][:, 0] = size - 1
    codec = {
        "id": "FITSVarBintable",
        "dt_in": "[('a', '>i4', (2,))]",
        "dt_out": "[('a', 'O')]",
        "nrow": rows,
        "types": {"a": "B"},
    }
    refs = stored(tmp_path, table.tobytes() + bytes(size), limits, filters=[codec])
    allow = [str(tmp_path)]
    opened: Any = refs.allowing(*allow).to_zarr()
    for read in (
        lambda: opened["x"][:],
        refs.allowing(*allow).to_xarray(coordinates=False)["x"].to_numpy,
    ):
        with pytest.raises(rx.errors.LimitError, match=r"x/0 could not be decoded: .* was stopped"):
            read()


def test_sizes_that_headers_declare() -> None:
    millions = (10**6 - 1 << 24 | 10**6 - 1) << 4 | 1 << 2 | 3
    header = b"zfp\x05" + millions.to_bytes(8, "little") + bytes(9)
    items = msgpack.packb([1, "<f8", [10**12]])
    for name, data in (("zfpy", header), ("msgpack2", items)):
        with pytest.raises(rx.errors.LimitError, match=rf"{name} inflates .* to 8\.00 TB or more"):
            check_inflation(name, {}, data, 2**30)
    check_inflation("zfpy", {}, header, 8 * 10**12)


def test_items_of_varying_length_are_counted_before_they_are_made(tmp_path: Path) -> None:
    metadata = {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": ""}
    found = climb(tmp_path, struct.pack("<I", 2**31) + b"abcd", **metadata)
    assert "2,147,483,648 items are declared" in (found.message or "")
    huge = json.dumps([1, "<f8", [10**12]]).encode()
    json2 = {"dtype": "|O", "filters": [{"id": "json2"}], "fill_value": None}
    assert "it was stopped" in (climb(tmp_path, huge, **json2).message or "")


DTYPES: dict[str, np.ndarray] = {
    "big-endian": np.arange(6, dtype=">f4"),
    "structured": np.array([(1, 2.5)] * 6, dtype=[("a", "<i2"), ("b", ">f8")]),
    "text": np.array(["ab", "ç", "", "d", "e", "f"], dtype="<U2"),
    "bytes": np.array([b"a", b"bc"] * 3, dtype="|S2"),
    "times": np.arange(6).astype("<M8[ns]"),
}


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_data_types_of_zarr_2_come_as_zarr_reads_them(
    tmp_path: Path, name: str, order: Any
) -> None:
    values = DTYPES[name].reshape(2, 3)
    array = zarr.create_array(
        str(tmp_path / "s"), shape=(2, 3), chunks=(2, 3), dtype=values.dtype,
        zarr_format=2, order=order, compressors=numcodecs.Blosc(),
    )  # fmt: skip
    array[...] = values
    found = written(tmp_path / "s").allowing(str(tmp_path)).trace("0.0")
    assert found.message is None
    np.testing.assert_array_equal(found.values, values)


FILTERS: list[list[Any]] = [
    [numcodecs.Delta("i4")],
    [numcodecs.FixedScaleOffset(0, 1, "i4", "i2")],
    [numcodecs.AsType("i8", "i4")],
    [numcodecs.Delta("i4"), numcodecs.Fletcher32()],
    [numcodecs.CRC32C(), numcodecs.Adler32(), numcodecs.JenkinsLookup3()],
    [numcodecs.Base64()],
]


@pytest.mark.parametrize("filters", FILTERS, ids=lambda found: "+".join(f.codec_id for f in found))
@pytest.mark.parametrize("compressor", [c["id"] for c, _ in BOMBS.values()])
def test_filters_and_compressors_of_numcodecs(
    tmp_path: Path, filters: list[Any], compressor: str
) -> None:
    packer = numcodecs.get_codec({"id": compressor})
    values = np.arange(200, dtype="<i4")
    data: Any = values
    for codec in [*filters, packer]:
        data = codec.encode(data)
    config = [codec.get_config() for codec in filters]
    found = climb(
        tmp_path, bytes(data), dtype="<i4", shape=[200], chunks=[200], filters=config,
        compressor=packer.get_config(),
    )  # fmt: skip
    assert found.message is None
    np.testing.assert_array_equal(found.values, values)


V3: dict[str, dict[str, Any]] = {
    "gzip": {"compressors": GzipCodec()},
    "blosc": {"compressors": BloscCodec()},
    "zstd and checksum": {"compressors": [ZstdCodec(), Crc32cCodec()]},
    "big-endian": {"serializer": BytesCodec(endian="big")},
    "transposed": {"filters": [TransposeCodec(order=(1, 0))]},
    "shards": {"shards": (4, 6)},
}


@pytest.mark.parametrize("name", V3)
def test_codecs_of_zarr_3(tmp_path: Path, name: str) -> None:
    values = np.arange(24, dtype="i4").reshape(4, 6)
    chunks = (2, 3) if name == "shards" else (4, 6)
    store = str(tmp_path / "s")
    array = zarr.create_array(store, shape=(4, 6), chunks=chunks, dtype="i4", **V3[name])
    array[...] = values
    found = written(tmp_path / "s").allowing(str(tmp_path)).trace("c/0/0")
    assert found.message is None
    assert found.steps[-1].name == "values"
    np.testing.assert_array_equal(found.values, values)


# Zarr 3.1.0 warns of a codec that the specification did not have yet.
@pytest.mark.filterwarnings("ignore:The codec `vlen-utf8` is currently not part in the Zarr")
def test_texts_and_single_values_of_zarr_3(tmp_path: Path) -> None:
    array = zarr.create_array(str(tmp_path / "s"), shape=(3,), chunks=(3,), dtype=str)
    array[...] = np.array(["ab", "ç", ""], dtype=object)
    found = written(tmp_path / "s").allowing(str(tmp_path)).trace("c/0")
    assert found.values is not None
    assert found.values.tolist() == ["ab", "ç", ""]
    single = zarr.create_array(str(tmp_path / "t"), shape=(), dtype="f8")
    single[...] = 2.5
    found = written(tmp_path / "t").allowing(str(tmp_path)).trace("c")
    assert found.values is not None
    assert found.values.item() == 2.5


def test_a_missing_codec_of_zarr_3_is_named(tmp_path: Path) -> None:
    zarr.create_array(str(tmp_path / "s"), shape=(2,), dtype="f8")[...] = 1
    document = json.loads((tmp_path / "s/zarr.json").read_text())
    document["codecs"].append({"name": "numcodecs.pcodec", "configuration": {}})
    (tmp_path / "s/zarr.json").write_text(json.dumps(document))
    refs = written(tmp_path / "s")
    found = refs.allowing(str(tmp_path)).trace("c/0")
    assert found.steps[-1].name.startswith("numcodecs.pcodec")
    assert "`pip install pcodec`" in (found.message or "")
    with pytest.raises(rx.errors.DecodeError, match="pip install pcodec"):
        refs.to_zarr()


def written(folder: Path) -> rx.ReferenceSet:
    """The files of a store as references."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    metadata = (".zarray", ".zgroup", ".zattrs", "zarr.json")
    return rx.open_references(
        {
            str(path.relative_to(folder)): path.read_text()
            if path.name in metadata
            else [str(path)]
            for path in files
        }
    )
