"""Comparing with the files in the explorer: what crosses the wire, and what may be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.states import CHUNK_TERMS, LedgerState, Rank
from tests.helpers.explorer import Host, later
from tests.helpers.verifying import Changed, joined, write_files

CHUNK_RANKS = np.array([term.rank for term in CHUNK_TERMS.values()])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A set of which one key is shifted, one is gone, and one field is another."""
    mine = Changed(joined(write_files(tmp_path)))
    mine.refs["foo/2.1.0"][1] += 8
    del mine.refs["bar/2.0.0"]
    mine.metadata("foo/.zattrs", scale_factor=0.2)
    path = tmp_path / "set.json"
    path.write_text(json.dumps(mine.document))
    return path


def differing(host: Host) -> dict[str, Any]:
    asked = {"start": 0, "n": 100, "sort": "path", "descending": False}
    rows = later(host, "health.rows", **asked)[0]["rows"]
    return {row["path"]: row["counts"]["differing"] for row in rows}


def test_findings_name_what_they_are_about(source: Path) -> None:
    host = Host(source)
    assert host.ask("verify.last") == {"found": None}
    assert set(differing(host).values()) == {None}
    found, _ = later(host, "verify", values=False)
    assert (found["verdict"], found["good"], found["grants"]) == (
        "differs from its files",
        False,
        [],
    )
    told = {(each["code"], each["array"], each["key"]) for each in found["findings"]}
    assert told == {
        ("offset", "foo", "foo/2.1.0"),
        ("scale_factor", "foo", "foo/.zattrs"),
        ("no-reference", "bar", None),  # no key leads to what is not there
    }
    (offset,) = [each for each in found["findings"] if each["code"] == "offset"]
    assert [Path(url).name for url in offset["files"]] == ["o_0001.nc"]
    assert found["finding_count"] == 3
    assert differing(host)["foo"] == 1
    assert differing(host)["lat"] == 0
    host.ask("tree.toggle", path="foo", open=True)
    marks = {row["path"]: row["badges"] for row in host.ask("tree.rows", start=0, n=99)["rows"]}
    assert marks["foo/.zattrs"]["errors"] == marks["foo"]["errors"] == 1  # its scale_factor
    assert marks["foo/0.0.0"] is None  # whose bytes are those of the file
    assert marks["foo/2.1.0"]["differing"] == 1
    assert host.controller.code == "refs.verify()"
    assert host.ask("verify.last")["found"] == found
    assert {event["ev"] for event in host.events} == {"progress"}


def test_what_was_found_is_repeated_where_it_is(source: Path, tmp_path: Path) -> None:
    host = Host(source)
    summary = later(host, "targets.summary")[0]
    assert (summary["checked"], summary["lost_count"]) == (0, 0)
    assert host.ask("key.show", path="foo/2.1.0")["item"]["checked"] is None
    later(host, "verify", values=False)
    asked = {"start": 0, "n": 100, "sort": "path", "descending": False}
    counts = {row["path"]: row["counts"] for row in later(host, "health.rows", **asked)[0]["rows"]}
    rows = {row["path"]: row["badges"] for row in host.ask("tree.rows", start=0, n=50)["rows"]}
    assert (counts["bar"]["absent"], counts["bar"]["differing"]) == (1, 1)
    assert (rows["bar"]["absent"], rows["bar"]["differing"]) == (0, 1)  # one chunk, counted once
    (tmp_path / "o_0002.nc").unlink()
    later(host, "verify", values=False)
    summary = later(host, "targets.summary")[0]
    assert summary["checked"] == summary["total"]
    assert [(Path(each["url"]).name, each["state"]) for each in summary["lost"]] == [
        ("o_0002.nc", "unreachable")
    ]
    shown = host.ask("key.show", path="foo/2.1.0")["item"]
    assert shown["checked"] == {"text": "not at its position in the file", "outcome": "bad"}
    assert "offset" in {each["code"] for each in shown["notes"]}
    array = host.ask("key.show", path="foo")["item"]
    assert "scale_factor" in {each["code"] for each in array["notes"]}
    # a chunk that could not be read is not counted again as one that differs
    counts = {row["path"]: row["counts"] for row in later(host, "health.rows", **asked)[0]["rows"]}
    verified = host.controller.references.verified
    assert verified is not None
    for path, found in counts.items():
        states = verified.chunks(path)
        bad = (CHUNK_RANKS[states] == Rank.BAD) & (states != LedgerState.WRONG_METADATA)
        assert (found["failed"] or 0) + (found["differing"] or 0) == np.count_nonzero(bad), path


def test_the_list_of_problems_follows_what_is_found(source: Path) -> None:
    host = Host(source)
    later(host, "tree.only", what="trouble")
    host.ask("tree.toggle", path="foo", open=True)
    before = host.ask("tree.rows", start=0, n=99)
    assert "foo/.zattrs" not in {row["path"] for row in before["rows"]}
    later(host, "verify", values=False)
    after = host.ask("tree.rows", start=0, n=99)["rows"]
    assert after[host.ask("tree.reveal", path="foo/.zattrs")["index"]]["path"] == "foo/.zattrs"


def test_what_was_compared_to_repair_a_set_is_known(source: Path) -> None:
    host = Host(source)
    later(host, "repair.plan")
    assert host.ask("verify.last")["found"]["finding_count"] == 3
    summary = later(host, "targets.summary")[0]
    assert summary["checked"] == summary["total"] > 0


def test_a_file_that_may_not_be_read_was_not_checked() -> None:
    host = Host({"a": ["http://127.0.0.1:9/a.nc", 0, 4]})
    later(host, "targets.check")
    summary = later(host, "targets.summary")[0]
    assert (summary["checked"], summary["lost_count"]) == (0, 0)


def test_what_python_found_is_shown(source: Path) -> None:
    refs = rx.open_references(source)
    refs.verify()
    assert Host(refs).ask("verify.last")["found"]["finding_count"] == 3


def test_values_are_compared_if_asked_for(source: Path) -> None:
    host = Host(source)
    found, _ = later(host, "verify", values=True)
    assert "values" in {each["code"] for each in found["findings"]}
    assert host.controller.code == 'refs.verify(values="sample")'


def test_only_what_may_be_read_is_read(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere" / "set.json"
    place.parent.mkdir()
    source.rename(place)
    host = Host(place)
    found, _ = later(host, "verify", values=False)
    assert (found["verdict"], found["grants"]) == (
        "not known: 3 files are not allowed yet",
        [str(tmp_path)],
    )
    assert found["findings"] == []
    host.ask("allow", grant=str(tmp_path))
    found, _ = later(host, "verify", values=False)
    assert (found["verdict"], found["grants"]) == ("differs from its files", [])
    assert host.controller.code == f"refs.allowing({str(tmp_path)!r}).verify()"


def test_a_visitor_reads_no_file_of_the_server(source: Path, tmp_path: Path) -> None:
    """Nor one beside the set, unless whoever serves it said so."""
    host = Host(source, served=True)
    found, _ = later(host, "verify", values=False)
    assert found["verdict"] == "not known: 3 files are not allowed yet"
    assert found["findings"] == []
    assert "error" in host.ask("allow", grant=str(tmp_path))
    host = Host(source, served=True, allow=[str(tmp_path)])
    found, _ = later(host, "verify", values=False)
    assert found["verdict"] == "differs from its files"
    assert str(tmp_path) not in host.controller.code


def test_it_can_be_stopped(source: Path) -> None:
    host = Host(source)
    assert host.controller.handle({"id": "t:7", "op": "verify", "values": False}) == []
    host.posted.get(timeout=30)  # it has begun
    host.ask("cancel", job="t:7")
    message: dict[str, Any] = {}
    while message.get("id") != "t:7" or "ev" in message:
        message = host.posted.get(timeout=30)[0]
    assert message["error"] == "It was stopped."
    assert host.ask("verify.last") == {"found": None}


def test_a_file_that_is_gone_counts_among_those_of_an_array(source: Path, tmp_path: Path) -> None:
    before, _ = later(Host(source), "verify", values=False)
    (tmp_path / "o_0002.nc").unlink()
    found, _ = later(Host(source), "verify", values=False)
    lost = [each for each in found["findings"] if each["code"] == "unreachable"]
    count = sum(path.suffix == ".nc" for path in tmp_path.iterdir()) + 1
    assert lost
    assert before["findings"]
    assert all(f"1 of {count} files cannot be read" in each["message"] for each in lost)
