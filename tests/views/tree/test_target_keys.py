"""From a target to its keys, from an array to its targets, from a failure to its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

import refexplorer as rx
from tests.helpers.explorer import Host, ask, later


@pytest.mark.parametrize("name", ["sst.v1.json", "sst.parq", "broken.json"])
def test_a_target_leads_to_its_keys(demo: Path, name: str) -> None:
    refs = rx.open_references(demo / name)
    host = Host(refs)
    for target in refs.targets():
        of_target = {k for k, each in refs.items() if getattr(each, "url", None) == target.url}
        found = later(host, "tree.target", url=target.url)[0]
        rows = host.ask("tree.rows", start=0, n=1000)
        assert (found["total"], rows["total"]) == (len(of_target), len(of_target))
        assert {row["path"] for row in rows["rows"]} == of_target
        part = host.ask("tree.rows", start=1, n=1)["rows"]
        assert part == rows["rows"][1:2]
    assert "No reference" in later(host, "tree.target", url="s3://other")[0]["error"]


@pytest.mark.parametrize("name", ["sst.v1.json", "sst.parq"])
def test_an_array_leads_to_its_targets(demo: Path, name: str) -> None:
    refs = rx.open_references(demo / name)
    host = Host(refs)
    for path in refs.arrays():
        urls = {
            refs[key].url  # type: ignore[union-attr]
            for key in refs
            if key.startswith(f"{path}/") and refs[key].kind in ("url", "range")
        }
        page = ask(host, "targets.rows", start=0, n=100, query={"array": path})[0]
        assert {row["url"] for row in page["rows"]} == urls
        assert page["total"] == len(urls)
    assert (
        "no array" in ask(host, "targets.rows", start=0, n=1, query={"array": "none"})[0]["error"]
    )


def test_rows_say_why(demo: Path) -> None:
    host = Host(demo / "broken.json")
    later(host, "health.rows", start=0, n=1, sort="trouble", descending=True)
    message = host.read("sst", [3, 0, 0])[0]["message"]
    later(host, "tree.state", state="failed", array=None)
    (row,) = host.ask("tree.rows", start=0, n=9)["rows"]
    assert row["cause"] == message
    assert "no such file" in row["cause"]
    later(host, "tree.state", state="rejected", array="sst")
    causes = {row["path"]: row["cause"] for row in host.ask("tree.rows", start=0, n=9)["rows"]}
    refs = host.controller.references
    for path, cause in causes.items():
        error = refs.rejection(path)
        assert error is not None
        assert cause == error.message


def test_findings_are_counted_by_severity(demo: Path) -> None:
    refs = rx.open_references(demo / "broken.json")
    counts = Host(refs).ask("hello")["severities"]
    assert counts == {
        severity: sum(each.severity == severity for each in refs.diagnostics)
        for severity in ("error", "warning", "info")
    }
