"""Repairing in the explorer: the difference first, then a new file, where the person may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from tests.helpers.explorer import Host, later
from tests.helpers.verifying import Changed, joined, write_files


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A set of which one key is shifted and one field is another."""
    mine = Changed(joined(write_files(tmp_path)))
    mine.refs["foo/2.1.0"][1] += 8
    mine.metadata("foo/.zattrs", scale_factor=0.2)
    path = tmp_path / "set.json"
    path.write_text(json.dumps(mine.document))
    return path


def planned(host: Host) -> dict[str, Any]:
    found, _ = later(host, "repair.plan")
    return found


def test_the_difference_is_shown_before_a_file_is_written(source: Path, tmp_path: Path) -> None:
    host = Host(source)
    found = planned(host)
    assert {row["key"] for row in found["changes"]} == {"foo/2.1.0", "foo/.zattrs"}
    assert found["change_count"] == 2
    assert len(found["repaired"]) == 2
    assert found["left"] == []
    assert found["output"] == str(tmp_path / "set.repaired.json")
    assert not Path(found["output"]).exists()
    written, _ = later(host, "repair.write", output=found["output"])
    assert written["path"] == found["output"]
    assert rx.open_references(written["path"]).verify().good
    assert not rx.open_references(source).verify().good
    assert host.controller.code == f"rx.repair(refs, {found['output']!r})"


def test_the_repaired_set_is_shown_in_place_of_the_old_one(source: Path) -> None:
    shown: list[rx.ReferenceSet] = []
    host = Host(source, show=shown.append)
    assert "no repaired set" in later(host, "repair.open")[0]["error"]
    output = planned(host)["output"]
    assert later(host, "repair.write", output=output)[0]["can_open"]
    later(host, "repair.open")
    assert [each.source.name for each in shown] == [Path(output).name]
    assert shown[0].verify().good


def test_a_comparison_says_whether_a_repair_would_change_something(
    source: Path, tmp_path: Path
) -> None:
    found, _ = later(Host(source), "verify", values=False)
    assert (found["good"], found["is_repairable"]) == (False, True)
    assert all(each["remedy"] for each in found["findings"])
    mine = Changed(json.loads(source.read_text()))
    mine.refs["foo/2.1.0"][1] -= 8
    mine.metadata("foo/.zattrs", scale_factor=0.1)
    source.write_text(json.dumps(mine.document))
    next(tmp_path.glob("*.nc")).unlink()
    host = Host(source)
    found, _ = later(host, "verify", values=False)
    assert (found["good"], found["is_repairable"]) == (False, False)
    assert planned(host)["changes"] == []


def test_a_file_that_exists_is_kept(source: Path) -> None:
    host = Host(source)
    planned(host)
    before = source.read_bytes()
    failed, _ = later(host, "repair.write", output=str(source))
    assert "exists already" in failed["error"]
    assert source.read_bytes() == before


def test_nothing_is_written_unseen(source: Path, tmp_path: Path) -> None:
    failed, _ = later(Host(source), "repair.write", output=str(tmp_path / "new.json"))
    assert "first to see what would change" in failed["error"]
    assert not (tmp_path / "new.json").exists()


def test_a_sound_set_has_nothing_to_write(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(joined(write_files(tmp_path))))
    found = planned(Host(path))
    assert (found["changes"], found["output"], found["obstacle"]) == ([], None, None)
    assert found["verdict"].startswith("nothing to repair")


def test_a_visitor_writes_nothing(source: Path, tmp_path: Path) -> None:
    host = Host(source, served=True, allow=[str(tmp_path)])
    found = planned(host)
    assert found["output"] is None
    assert "Only the owner" in found["obstacle"]
    failed, _ = later(host, "repair.write", output=str(tmp_path / "new.json"))
    assert "Only the owner" in failed["error"]
    assert not (tmp_path / "new.json").exists()


def test_a_visitor_reads_no_file_that_is_not_offered(source: Path) -> None:
    found = planned(Host(source, served=True))
    assert found["changes"] == []
    assert found["repaired"] == () or found["repaired"] == []
