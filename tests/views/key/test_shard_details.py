"""The inside of a shard over the wire: its index in one request, the ladder of an inner chunk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refexplorer.views.key import key_details
from tests.helpers.explorer import Host, ask
from tests.helpers.servers import range_server
from tests.helpers.sets import DEMO
from tests.helpers.shards import START, VALUES, opened, written


def test_the_inner_chunks_of_a_shard(tmp_path: Path) -> None:
    host = Host(opened(tmp_path, written(tmp_path)))
    answer, buffers = ask(host, "key.shard", path="x/c/1/1")
    shard = answer
    assert (shard["state"], shard["grid"], shard["chunks"]) == ("fetched", [2, 4], [2, 1])
    assert (shard["count"], shard["empty"], shard["beyond"], shard["listed"]) == (8, 6, 0, True)
    refs = opened(tmp_path, json.loads((tmp_path / "set.json").read_text()))
    known = refs.trace("x/c/1/1", inner=...).shard
    assert known is not None
    offsets, lengths = (np.frombuffer(each) for each in buffers)
    assert known.offsets is not None
    assert known.lengths is not None
    assert offsets.tolist() == known.offsets.reshape(-1).tolist()
    assert lengths.tolist() == known.lengths.reshape(-1).tolist()
    assert shard["start"] == refs["x/c/1/1"].to_v0()[1]


def test_the_ladder_of_an_inner_chunk(tmp_path: Path) -> None:
    host = Host(opened(tmp_path, written(tmp_path)))
    answer, _ = ask(host, "key.trace", path="x/c/0/0", inner=[1, 2])
    values = [str(each) for each in VALUES[2:4, 2].tolist()]
    assert answer["values"] == values
    answer, _ = ask(host, "key.trace", path="x/c/1/1", inner=[1, 3])
    assert answer["state"] == "fill"


def test_a_shard_without_a_reference(tmp_path: Path) -> None:
    host = Host(opened(tmp_path, written(tmp_path)))
    answer, buffers = ask(host, "key.shard", path="x/c/1/0")
    assert (answer["state"], answer["empty"], buffers) == ("fill", 8, [])


def test_it_asks_first_and_reads_the_index_alone(tmp_path: Path) -> None:
    refs = written(tmp_path)
    with range_server() as server:
        server.files["/all.bin"] = (tmp_path / "all.bin").read_bytes()
        for value in refs.values():
            if isinstance(value, list):
                value[0] = f"{server.url}/all.bin"
        host = Host(opened(tmp_path, refs))
        for op, more in (("key.shard", {}), ("key.trace", {"inner": [0, 0]})):
            answer, _ = ask(host, op, path="x/c/0/0", **more)
            assert (answer["state"], answer["grant"]) == ("ask", server.url)
        assert server.requests == []
        host.ask("allow", grant=server.url)
        answer, _ = ask(host, "key.shard", path="x/c/0/0")
        assert answer["state"] == "fetched"
        end = START + refs["x/c/0/0"][2]
        assert server.spans == [f"bytes={end - 8 * 16 - 4}-{end - 1}"]


def test_an_index_that_lies_has_failed(tmp_path: Path) -> None:
    refs = written(tmp_path)
    data = bytearray((tmp_path / "all.bin").read_bytes())
    end = START + refs["x/c/0/0"][2]
    data[end - 20] ^= 255
    (tmp_path / "all.bin").write_bytes(data)
    answer, buffers = ask(Host(opened(tmp_path, refs)), "key.shard", path="x/c/0/0")
    assert (answer["state"], answer["empty"], buffers) == ("failed", None, [])
    assert answer["message"]


def test_of_too_many_only_the_counts_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_details, "INNER_LISTED", 7)
    answer, buffers = ask(Host(opened(tmp_path, written(tmp_path))), "key.shard", path="x/c/0/0")
    assert (answer["listed"], answer["count"], buffers) == (False, 8, [])


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        ("x/c/0/0", {"inner": [2, 0]}, "has no inner chunk [2, 0]"),
        ("x/zarr.json", {"inner": [0, 0]}, "is not a chunk of an array"),
    ],
)
def test_what_there_is_not(path: str, fields: Any, said: str, tmp_path: Path) -> None:
    host = Host(opened(tmp_path, written(tmp_path)))
    answer, _ = ask(host, "key.trace", path=path, **fields)
    assert said in answer["error"]


def test_a_chunk_that_is_no_shard() -> None:
    answer, _ = ask(Host(DEMO / "sst.v1.json"), "key.shard", path="sst/0.0.0")
    assert "are not shards" in answer["error"]


def test_the_inspector_counts_both(tmp_path: Path) -> None:
    host = Host(opened(tmp_path, written(tmp_path)))
    array = host.ask("key.show", path="x/c/0/0")["item"]["array"]
    assert (array["chunk_count"], array["inner_count"], array["inner_chunks"]) == (4, 32, [2, 1])
    answer, _ = ask(host, "health.rows", start=0, n=9, sort="path", descending=False)
    (row,) = answer["rows"]
    assert (row["counts"]["chunks"], row["inner_count"], row["inner_chunks"]) == (4, 32, [2, 1])
    plain = Host(DEMO / "sst.v1.json").ask("key.show", path="sst")["item"]["array"]
    assert (plain["inner_count"], plain["inner_chunks"]) == (None, None)
