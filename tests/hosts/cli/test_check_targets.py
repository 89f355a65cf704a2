from __future__ import annotations

import html
import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import refexplorer as rx
from tests.helpers.commands import run, start, written
from tests.helpers.servers import RangeServer, range_server


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


def test_targets_beside_the_set_need_no_leave(demo: Path) -> None:
    ran = run("check", demo / "sst.v0.json", "--targets")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "sst.v0.json: all 38 ranges are inside their files"
    assert "  Found: 4 of 4 files. Inside their files: 38 of 38 chunks (4 inline)." in lines


def test_nothing_is_asked_before_it_is_allowed(server: RangeServer, tmp_path: Path) -> None:
    path = written(tmp_path, server, 2)
    ran = run("check", path, "--targets")
    assert (ran.status, server.requests) == (2, [])
    assert f"--allow {server.url}" in ran.out
    allowed = run("check", path, "--targets", "--allow", server.url, "--json")
    assert allowed.status == 0
    found = json.loads(allowed.out)
    assert (found["schema"], found["verb"], found["status"]) == (1, "check --targets", 0)
    assert found["coverage"]["files"] == {"total": 2, "read": 2, "asked": 2}
    assert allowed.err == ""


@pytest.mark.child
def test_an_interrupt_leaves_the_answers(server: RangeServer, tmp_path: Path) -> None:
    path, kept = written(tmp_path, server, 250), tmp_path / "kept"
    server.etags = {f"/{n}": '"one"' for n in range(250)}
    server.stalled = {f"/{n}" for n in range(200, 250)}
    options = ("--allow", server.url, "--results", kept, "--workers", "1")
    command = ("check", path, "--targets", *options)
    started = start(*command)
    while len(list(kept.glob("part-*.parquet"))) < 2:
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert (started.returncode, out) == (130, "")
    assert err == f"Stopped. Finished parts are kept in {kept}; continue with --resume.\n"
    server.stalled = set()
    server.requests.clear()
    assert run(*command, "--resume").status == 0
    assert sorted({int(path[1:]) for path in server.requests}) == list(range(250))


def test_options_of_targets_alone_are_a_wrong_call(demo: Path) -> None:
    for asked, said in (
        (["--workers", "2"], "--workers requires --targets"),
        (["--workers", "2", "--only", "1/2"], "--workers, --only require --targets"),
    ):
        ran = run("check", demo / "sst.v0.json", *asked)
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err


def test_the_page_of_a_check(tmp_path: Path, demo: Path) -> None:
    page = tmp_path / "report.html"
    before = run("check", demo / "broken.json")
    ran = run("check", demo / "broken.json", "--html", page)
    assert (ran.status, ran.out, ran.err) == (before.status, before.out, before.err)
    text = page.read_text()
    lines = [line.split() for line in before.out.splitlines()]
    codes = {words[1] for words in lines if words[0] == "error"}
    assert codes
    assert [code for code in codes if f"<code>{code}</code>" not in text] == []
    plain = html.unescape(re.sub("</?code>", "`", text))
    assert [code for code in codes if rx.explain_code(code).cause not in plain] == []
    assert "No file was opened." in text
    assert not re.search(r"<script|https?://|<link|<img", text)
    assert run("check", demo / "sst.v0.json", "--targets", "--html", page).status == 0
    text = page.read_text()
    assert "error" not in text
    assert "<code>sst_2025-07.nc</code>" in text


def test_a_page_of_a_strange_set(tmp_path: Path) -> None:
    source, page = tmp_path / "<b>.json", tmp_path / "report.html"
    source.write_text(json.dumps({"<script>/.zarray": "{", "x/0": ["<i>.nc", -1, 4]}))
    assert run("check", source, "--html", page).status == 1
    text = page.read_text()
    assert not re.search(r"<script|<b>\.json|<i>\.nc", text)
    assert "&lt;script&gt;/.zarray" in text


def test_what_is_wrong_comes_before_what_was_not_asked(tmp_path: Path, server: RangeServer) -> None:
    """Exit status 1 if a target is gone, whatever may not be asked yet."""
    source = tmp_path / "set.json"
    root = {".zgroup": '{"zarr_format": 2}'}
    refs = root | {"a": [f"{server.url}/f"], "b": [str(tmp_path / "gone")]}
    source.write_text(json.dumps(refs))
    assert run("check", source, "--targets").status == 1
    assert run("audit", source).status == 1
    del refs["b"]
    source.write_text(json.dumps(refs))
    assert run("check", source, "--targets").status == 2
    assert run("audit", source).status == 2
    assert server.requests == []


@pytest.mark.parametrize(
    "command",
    [
        ["check", "--targets"],
        ["audit"],
        ["verify"],
        ["why"],
    ],
)
def test_what_may_not_be_read_yet_names_the_option(command: list[str], tmp_path: Path) -> None:
    """On the command line the advice is an option to type, not a line of Python."""
    metadata = {
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": None,
        "filters": None, "fill_value": 0, "order": "C",
    }  # fmt: skip
    refs = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(metadata)}
    path = tmp_path / "set.json"
    path.write_text(json.dumps({**refs, "x/0": ["s3://misc/f.nc", 0, 8]}))
    ran = run(command[0], path, *command[1:], *(["x", "0"] if command == ["why"] else []))
    assert ran.status == 2
    assert "--allow s3://misc" in ran.out + ran.err
    assert "allowing(" not in ran.out + ran.err
