from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.helpers.commands import run, start, written
from tests.helpers.servers import RangeServer, range_server


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


def test_a_good_set(demo: Path, tmp_path: Path) -> None:
    ran = run("audit", demo / "sst.v0.json", "--decode", "all", "--html", tmp_path / "page.html")
    assert (ran.status, ran.err) == (0, "")
    assert "sst.v0.json: all 38 ranges are inside their files; 42 chunks decode\n" in ran.out
    assert (
        "Found: 4 of 4 files. Inside their files: 38 of 38 chunks (4 inline). Decoded: 42."
        in ran.out
    )
    assert "good" not in ran.out
    assert "18 decoded</td>" in (tmp_path / "page.html").read_text()


def test_a_broken_set_names_keys_and_causes(demo: Path, tmp_path: Path) -> None:
    ran = run("audit", demo / "broken.json", "--json", "--results", tmp_path / "kept")
    assert (ran.status, ran.err) == (1, "")
    found = json.loads(ran.out)
    assert (found["status"], found["headline"]) == (1, "has errors: 1 file cannot be read")
    states = {each["path"]: each["states"] for each in found["arrays"]}
    assert (states["sst"]["undecodable"], states["sst"]["unreachable"]) == (2, 1)
    keys = {each["code"]: each["keys"] for each in found["findings"] if each["array"] == "sst"}
    assert (keys["unreadable"][0], keys["unreachable"]) == ("sst/1.0.0", ["sst/3.0.0"])
    assert pq.read_table(tmp_path / "kept").num_rows == 36


def test_nothing_is_asked_before_it_is_allowed(server: RangeServer, tmp_path: Path) -> None:
    path = written(tmp_path, server, 2)
    ran = run("audit", path)
    assert (ran.status, server.requests) == (2, [])
    assert "not known: 2 files are not allowed yet" in ran.out
    assert f"Use --allow {server.url} to check the rest." in ran.out
    assert run("audit", path, "--allow", server.url).status == 0


@pytest.mark.child
def test_an_interrupt_leaves_a_folder_to_go_on_from(server: RangeServer, tmp_path: Path) -> None:
    count = 1500  # more than one part
    path, folder = written(tmp_path, server, count), tmp_path / "kept"
    server.etags = dict.fromkeys(server.files, '"one"')
    server.stalled = {f"/{n}" for n in range(1100, count)}
    command = ("audit", path, "--allow", server.url, "--results", folder, "--workers", "1")
    started = start(*command)
    while not list(folder.glob("part-*.parquet")):
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert (started.returncode, out) == (130, "")
    assert err == f"Stopped. Finished parts are kept in {folder}; continue with --resume.\n"
    assert {path.name.partition("-")[0] for path in folder.iterdir()} == {"part"}
    again = run(*command)
    assert (again.status, again.out) == (2, "")
    assert "already has results" in again.err
    done = [url.removeprefix(server.url) for url in pq.read_table(folder)["target"].to_pylist()]
    assert done
    server.stalled = set()
    server.requests.clear()
    assert run(*command, "--resume").status == 0
    requests = Counter(server.requests)
    assert {requests[name] for name in done} == {1}  # asked whether it changed, and not read


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--resume"], "--resume requires --results"),
        (
            ["--decode", "most"],
            "decode must be a number of chunks, 'sample', 'all' or 'none', not 'most'",
        ),
        (["--decode", "-1"], "not '-1'"),
        (["--results", "/dev/null/x"], "Results cannot be kept in"),
    ],
)
def test_a_wrong_call_is_one_sentence(demo: Path, options: list[str], said: str) -> None:
    ran = run("audit", demo / "sst.v0.json", *options)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1
