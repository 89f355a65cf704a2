"""What the inspector shows of one key: derivation, bytes, ladder and code, over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from tests.helpers.explorer import Host, ask
from tests.helpers.servers import RangeServer, range_server
from tests.helpers.sets import DEMO, raw_set

PAGE = 2**16


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


def test_the_derivation_of_a_generated_key() -> None:
    answer, _ = ask(Host(DEMO / "sst.v1.json"), "key.explain", path="wind/0.0.0")
    assert answer["origin"].startswith("gen[")
    assert answer["steps"][0]["name"] == "dimensions"
    assert answer["steps"][-1]["name"] == "reference"


def test_pages_of_bytes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 600
    (tmp_path / "f").write_bytes(b"head" + data)
    document = raw_set([f"{tmp_path}/f", 4, len(data)], [f"{tmp_path}/f"], "base64:AAEC")
    host = Host(document, allow=[str(tmp_path)])
    answer, (page,) = ask(host, "key.bytes", path="x/0", start=PAGE, n=10**9)
    assert answer["total"] == len(data)
    assert page == data[PAGE : 2 * PAGE]
    _, (last,) = ask(host, "key.bytes", path="x/0", start=2 * PAGE, n=PAGE)
    assert last == data[2 * PAGE :]
    answer, (whole,) = ask(host, "key.bytes", path="x/1", start=0, n=4)
    assert whole == b"head"
    assert answer["total"] == len(data) + 4
    answer, (inside,) = ask(host, "key.bytes", path="x/2", start=0, n=PAGE)
    assert inside == bytes([0, 1, 2])


def test_bytes_and_ladder_ask_first_and_read_no_more_than_the_page(server: RangeServer) -> None:
    server.files["/f"] = bytes(100_000)
    host = Host(raw_set([f"{server.url}/f", 0, 100_000]))
    for op in ("key.bytes", "key.trace"):
        window = {"start": 0, "n": 16} if op == "key.bytes" else {}
        answer, buffers = ask(host, op, path="x/0", **window)
        assert answer["state"] == "ask"
        assert answer["grant"] == server.url
        assert buffers == []
    assert server.requests == []
    host.ask("allow", grant=server.url)
    answer, (page,) = ask(host, "key.bytes", path="x/0", start=16, n=16)
    assert answer["state"] == "fetched"
    assert len(page) == 16
    assert server.spans == ["bytes=16-31"]


def test_the_ladder_names_the_step_that_fails() -> None:
    host = Host(raw_set("not zlib", compressor={"id": "zlib", "level": 1}))
    answer, _ = ask(host, "key.trace", path="x/0")
    ladder = answer
    assert ladder["state"] == "failed"
    assert [rung["name"] for rung in ladder["steps"]] == ["reference", "raw bytes", "zlib(level=1)"]
    assert bytes.fromhex(ladder["steps"][1]["head"]) == b"not zlib"
    assert ladder["steps"][-1]["message"] == ladder["message"]


def test_the_first_values_of_a_chunk_that_decodes() -> None:
    answer, _ = ask(Host(raw_set("base64:BwAIAA==")), "key.trace", path="x/0")
    assert answer["values"] == ["7", "8"]


def test_code_that_opens_the_key_elsewhere() -> None:
    answer, _ = ask(Host(DEMO / "sst.v0.json"), "key.code", path="sst/0.0.1")
    names: dict[str, Any] = {}
    exec(answer["code"], names)
    refs = rx.open_references(DEMO / "sst.v0.json")
    assert names["data"] == refs.filesystem().cat("sst/0.0.1")


def test_what_is_not_there_is_said() -> None:
    host = Host(raw_set())
    for op in ("key.explain", "key.bytes", "key.trace"):
        window = {"start": 0, "n": 1} if op == "key.bytes" else {}
        answer, _ = ask(host, op, path="nothing", **window)
        assert "nothing" in answer["error"]


def test_how_much_of_a_whole_file_is_to_come_is_null(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12")
    host = Host(raw_set([str(tmp_path / "f")]), allow=[str(tmp_path)])
    host.controller.handle({"id": "t:9", "op": "key.trace", "path": "x/0"})
    event, _ = host.posted.get(timeout=30)
    assert event == {"ev": "progress", "id": "t:9", "done": 2, "of": None, "label": "2 B"}


def test_a_slow_reading_can_be_stopped(server: RangeServer) -> None:
    server.files["/f"] = bytes(10**6)
    server.dripping.add("/f")
    host = Host(raw_set([f"{server.url}/f", 0, 10**6]), allow=[server.url])
    host.controller.handle({"id": "t:9", "op": "key.trace", "path": "x/0"})
    event, _ = host.posted.get(timeout=30)
    assert event["ev"] == "progress"
    host.ask("cancel", job="t:9")
    while "error" not in event:
        event, _ = host.posted.get(timeout=30)
    assert event["error"] == "It was stopped."
    assert server.hung_up.wait(timeout=30)


def test_code_on_a_page_for_others_names_no_folder_that_the_set_allows(tmp_path: Path) -> None:
    refs = rx.open_references(raw_set(None)).allowing(tmp_path, "s3://bucket")
    for served, shown in ((False, [str(tmp_path), "s3://bucket"]), (True, ["s3://bucket"])):
        answer, _ = ask(Host(refs, served=served), "key.code", path="x/0")
        names = ", ".join(map(repr, sorted(shown)))
        assert f"refs.allowing({names}).chunk('x', (0,))" in answer["code"]
    assert refs.allowed == (str(tmp_path), "s3://bucket")
