"""What the commands print of sizes that are not known, and of what they did not check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.sizes import LONGEST, QUARTERS, VARYING, VAST, WHOLE, text
from tests.helpers.commands import run


def written(tmp_path: Path, references: dict[str, Any]) -> Path:
    path = tmp_path / "set.json"
    path.write_text(text(references))
    return path


def cells(printed: str) -> dict[str, list[str]]:
    """The rows of a table by their first cell."""
    return {cell: rest for cell, *rest in (line.split("\t") for line in printed.splitlines())}


def test_unknown_is_not_zero(tmp_path: Path) -> None:
    path = written(tmp_path, VARYING)
    assert cells(run("info", path).out)["bytes"] == ["not known"]
    assert json.loads(run("info", path, "--json").out)["bytes"] is None
    assert cells(run("ls", path).out)["x"][1] == "not known"
    assert json.loads(run("ls", path, "--json").out)["rows"][0]["size"] is None
    assert "x/  array  10,000,001 children  size not known" in run("ls", path, "--tree").out


@pytest.mark.parametrize(("references", "size"), [(QUARTERS, 3 * LONGEST), (VAST, 10**22)])
def test_large_numbers_are_exact(references: dict[str, Any], size: int, tmp_path: Path) -> None:
    path = written(tmp_path, references)
    size += len(references.get("refs", references)["x/.zarray"])
    assert cells(run("info", path).out)["bytes"] == [f"{size:,}"]
    assert json.loads(run("info", path, "--json").out)["bytes"] == size
    assert json.loads(run("ls", path, "--json").out)["rows"][0]["size"] == size


def test_whole_files_are_beside_what_is_known(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    (said,) = cells(run("info", path).out)["bytes"]
    assert said.endswith(" plus 1 whole file (size unknown)")
    assert cells(run("ls", path, "x").out)["0"][:2] == ["url", "not known"]


def test_a_check_says_that_nothing_of_the_targets_was_read(demo: Path) -> None:
    ran = run("check", demo / "sst.v0.json")
    assert ran.out.splitlines()[0].endswith(
        "no errors in the set itself; its files were not opened"
    )
    assert "Looked at: the set itself, whose grids have 42 chunks. No file was opened." in ran.out
    assert "Use `refexplorer verify` to compare it with its files." in ran.out


def test_json_of_an_audit_says_what_was_not_checked(demo: Path) -> None:
    found = json.loads(run("audit", demo / "sst.v0.json", "--json", "--decode", "none").out)
    assert found["headline"] == "all 38 ranges are inside their files; 0 chunks decode"
    assert found["coverage"]["chunks"] == {"total": 42, "inside": 38, "decoded": 0, "values": 0}
