"""Shards that zarr-python wrote: their indices, inner chunks, and what of broken ones is told."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec

import refexplorer as rx
from refexplorer.io.reading.readings import ChunkState
from tests.helpers.commands import run
from tests.helpers.servers import range_server
from tests.helpers.shards import VALUES, opened, written


def shard_of(refs: rx.ReferenceSet, key: str) -> rx.types.Shard:
    """The index of a shard."""
    shard = refs.trace(key, inner=...).shard
    assert shard is not None
    return shard


@pytest.mark.parametrize("place", ["start", "end"])
@pytest.mark.parametrize(
    "codecs", [(BytesCodec(), Crc32cCodec()), (BytesCodec(),), (BytesCodec(endian="big"),)]
)
def test_inner_chunks_are_where_zarr_put_them(
    tmp_path: Path, place: str, codecs: tuple[Any, ...]
) -> None:
    refs = opened(tmp_path, written(tmp_path, index_location=place, index_codecs=codecs))
    shard = shard_of(refs, "x/c/1/1")
    assert (shard.state, shard.grid, shard.chunks) == (ChunkState.FETCHED, (2, 4), (2, 1))
    assert (shard.count, shard.empty, shard.beyond) == (8, 6, ())
    for inner in np.ndindex(2, 4):
        trace = refs.trace("x/c/1/1", inner=inner)
        wanted = np.zeros((8, 8), "<i4")
        wanted[4:6, 4:6] = VALUES[4:6, 4:6]
        row, column = 4 + 2 * inner[0], 4 + inner[1]
        if shard.inner(inner) is None:
            assert trace.state == ChunkState.FILL
            assert not wanted[row : row + 2, column : column + 1].any()
        else:
            assert trace.state == ChunkState.FETCHED
            assert trace.values is not None
            assert np.array_equal(trace.values, wanted[row : row + 2, column : column + 1])
            assert [step.name for step in trace.steps][:5] == [
                "reference",
                "shard index",
                "inner chunk",
                "raw bytes",
                "gzip(level=5)",
            ]


def test_the_index_takes_one_request_for_its_bytes(tmp_path: Path) -> None:
    refs = written(tmp_path)
    with range_server() as server:
        server.files = {"/all.bin": (tmp_path / "all.bin").read_bytes()}
        for key in list(refs):
            if "/c/" in key:
                refs[key][0] = f"{server.url}/all.bin"
        found = shard_of(opened(tmp_path, refs).allowing(server.url), "x/c/0/1")
        _, offset, length = refs["x/c/0/1"]
        size = 16 * 8 + 4
        assert server.spans == [f"bytes={offset + length - size}-{offset + length - 1}"]
    assert found.empty == 0
    assert found.inner((1, 3)) == rx.types.Range(
        f"{server.url}/all.bin",
        offset + int(found.offsets[1, 3]),  # type: ignore[index]
        int(found.lengths[1, 3]),  # type: ignore[index]
    )


def test_a_shard_without_a_reference_is_empty(tmp_path: Path) -> None:
    shard = shard_of(opened(tmp_path, written(tmp_path)), "x/c/1/0")
    assert (shard.state, shard.empty, shard.inner((0, 0))) == (ChunkState.FILL, 8, None)
    assert "there is no reference" in str(shard)


def test_whole_files_and_inline_shards(tmp_path: Path) -> None:
    refs = written(tmp_path)
    target, offset, length = refs["x/c/0/0"]
    data = (tmp_path / target).read_bytes()[offset : offset + length]
    (tmp_path / "whole").write_bytes(data)
    refs["x/c/0/0"] = ["whole"]
    refs["x/c/0/1"] = "base64:" + base64.b64encode(data).decode()
    found = opened(tmp_path, refs)
    for key in ("x/c/0/0", "x/c/0/1"):
        assert shard_of(found, key).empty == 0
        values = found.trace(key, inner=(1, 2)).values
        assert values is not None
        assert values.tolist() == VALUES[2:4, 2:3].tolist()


def test_an_array_without_shards_says_so(tmp_path: Path) -> None:
    refs = written(tmp_path)
    zarr.create_array(tmp_path / "plain", shape=(4,), chunks=(2,), dtype="i2")
    refs["y/zarr.json"] = (tmp_path / "plain/zarr.json").read_text()
    found = opened(tmp_path, refs)
    with pytest.raises(rx.errors.DecodeError, match="The chunks of y are not shards"):
        found.trace("y/c/0", inner=...)
    with pytest.raises(rx.errors.DecodeError, match=r"x/zarr.json is not a chunk"):
        found.trace("x/zarr.json", inner=...)
    with pytest.raises(
        rx.errors.DecodeError, match=r"has no inner chunk \[2, 0\]; its grid is \[2, 4\]"
    ):
        found.trace("x/c/0/0", inner=(2, 0))
    for key in ("x/c/2/0", "z/c/0"):
        with pytest.raises(KeyError):
            found.trace(key, inner=...)


def damaged(folder: Path, refs: dict[str, Any], index: np.ndarray) -> None:
    """Write another index, without a checksum, into the file of the first shard."""
    _, offset, length = refs["x/c/0/0"]
    body = bytearray((folder / "all.bin").read_bytes())
    data = index.astype("<u8").tobytes()
    body[offset + length - len(data) : offset + length] = data
    (folder / "all.bin").write_bytes(bytes(body))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ((2**64 - 1, 5), "lacks an offset or a length"),
        ((5, 2**64 - 1), "lacks an offset or a length"),
        ((2**63, 1), "too large for any file"),
        ((0, 2**64 - 2), "too large for any file"),
    ],
)
def test_an_index_that_lies_fails(tmp_path: Path, value: tuple[int, int], said: str) -> None:
    refs = written(tmp_path, index_codecs=(BytesCodec(),))
    damaged(tmp_path, refs, np.array([value] * 8, "u8"))
    found = opened(tmp_path, refs)
    shard = shard_of(found, "x/c/0/0")
    assert (shard.state, shard.empty, shard.offsets) == (ChunkState.FAILED, None, None)
    assert said in str(shard.message)
    trace = found.trace("x/c/0/0", inner=(0, 0))
    assert trace.state is ChunkState.FAILED
    assert (trace.steps[-1].name, trace.steps[-1].message) == ("shard index", shard.message)


def test_an_inner_chunk_past_the_end_fails(tmp_path: Path) -> None:
    refs = written(tmp_path, index_codecs=(BytesCodec(),))
    damaged(tmp_path, refs, np.array([(2**62, 2**62), (0, 10)] * 4, "u8"))
    found = opened(tmp_path, refs)
    shard = shard_of(found, "x/c/0/0")
    assert len(shard.beyond) == 4
    assert "4 inner chunks reach past the end of the shard" in str(shard)
    trace = found.trace("x/c/0/0", inner=(0, 0))
    assert (trace.state, trace.steps[-1].name) == (ChunkState.FAILED, "inner chunk")
    assert "its index has an inner chunk at" in str(trace)


def test_a_wrong_checksum_and_a_short_shard_fail(tmp_path: Path) -> None:
    refs = written(tmp_path)
    refs["x/c/0/0"][2] -= 1
    refs["x/c/0/1"][2] = 10
    found = opened(tmp_path, refs)
    assert "checksum of the shard index is wrong" in str(shard_of(found, "x/c/0/0").message)
    assert "fewer than its shard index" in str(shard_of(found, "x/c/0/1").message)


def test_an_index_of_many_gigabytes_is_not_read(tmp_path: Path) -> None:
    refs = written(tmp_path)
    metadata = json.loads(refs["x/zarr.json"])
    metadata["shape"] = metadata["chunk_grid"]["configuration"]["chunk_shape"] = [2**32, 4]
    refs["x/zarr.json"] = json.dumps(metadata)
    refs["x/c/0/0"][2] = 2**50
    shard = shard_of(opened(tmp_path, refs), "x/c/0/0")
    assert shard.state is ChunkState.FAILED
    assert "more than the limit" in str(shard.message)


def test_the_command_lists_inner_chunks(tmp_path: Path) -> None:
    refs = opened(tmp_path, written(tmp_path))
    path = tmp_path / "set.json"
    ran = run("explain", path, "x/c/1/1", "--shard")
    assert ran.status == 0, ran.err
    assert "x/c/1/1: 8 inner chunks of [2, 1], 6 of them empty" in ran.out
    told = json.loads(run("explain", path, "x/c/1/1", "--shard", "--json").out)["shard"]
    assert (told["grid"], told["inner_chunks"], told["empty"]) == ([2, 4], [2, 1], 6)
    shard = shard_of(refs, "x/c/1/1")
    assert told["offsets"] == shard.offsets.tolist()  # type: ignore[union-attr]
    missing = run("explain", path, "x/c/1/0", "--shard")
    assert "there is no reference" in missing.out
    assert run("explain", path, "x/zarr.json", "--shard").status == 2


def test_info_says_both_numbers_of_chunks(tmp_path: Path) -> None:
    opened(tmp_path, written(tmp_path))
    path = tmp_path / "set.json"
    (array,) = json.loads(run("info", path, "--json").out)["arrays"]
    assert (array["chunk_count"], array["inner_chunks"], array["inner_count"]) == (4, [2, 1], 32)
    assert "x: 4 shards, 32 inner chunks of 2, 1" in run("info", path).out
