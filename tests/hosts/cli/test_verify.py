from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.helpers.commands import run
from tests.helpers.verifying import Changed, joined, write_files


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(joined(write_files(tmp_path))))
    return path


def test_a_set_in_order(source: Path) -> None:
    ran = run("verify", source, "--values", "all")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("set.json: the same as its files\n")
    assert "Read: 3 of 3 files. At the right position: 30 of 30 chunks. Decoded: 30. V" in ran.out


def test_a_set_that_differs(source: Path, tmp_path: Path) -> None:
    mine = Changed(json.loads(source.read_text()))
    mine.metadata("foo/.zattrs", scale_factor=0.2)
    source.write_text(json.dumps(mine.document))
    ran = run("verify", source)
    assert (ran.status, ran.err) == (1, "")
    assert (
        "`foo`: 3 of 3 files use a different packing (scale_factor 0.1, the set says 0.2)"
        in ran.out
    )
    assert ran.out.count("What to do: An array can have only one scale_factor") == 1
    page = tmp_path / "report.html"
    assert run("verify", source, "--html", page).out == ran.out
    assert "scale_factor 0.1, the set says 0.2" in page.read_text()
    ran = run("verify", source, "--json", "--results", tmp_path / "kept")
    found = json.loads(ran.out)
    assert (ran.status, found["status"]) == (1, 1)
    (finding,) = found["findings"]
    assert (finding["code"], finding["key"]) == ("scale_factor", "foo/.zattrs")
    assert "differs" in pq.read_table(tmp_path / "kept")["state"].to_pylist()
    again = run("verify", source, "--results", tmp_path / "kept")
    assert (again.status, again.out) == (2, "")
    assert "already has results" in again.err
    resumed = run("verify", source, "--json", "--results", tmp_path / "kept", "--resume")
    assert json.loads(resumed.out) == found


def test_what_cannot_be_read(tmp_path: Path) -> None:
    ran = run("verify", tmp_path / "none.json")
    assert (ran.status, ran.out) == (2, "")


def test_files_that_may_not_be_read(source: Path, tmp_path: Path) -> None:
    """Nothing is wrong with the set; nobody said that all of it is right, either."""
    place = tmp_path / "elsewhere" / "set.json"
    place.parent.mkdir()
    source.rename(place)
    ran = run("verify", place)
    assert ran.status == 2
    assert ran.out.startswith("set.json: not known: 3 files are not allowed yet\n")
    assert (
        "  Read: 0 of 3 files. At the right position: 0 of 30 chunks. Decoded: 0. Values compared"
        in ran.out
    )
    assert " failed" not in ran.out
    assert f"Use --allow {tmp_path} to verify the rest." in ran.out
    assert "(The file is not allowed yet)" in ran.out.splitlines()[-1]
    two: list[str | Path] = ["--allow", tmp_path / "o_0000.nc", "--allow", tmp_path / "o_0001.nc"]
    ran = run("verify", place, *two)
    assert ran.status == 2
    assert ran.out.startswith("set.json: not known: 1 file is not allowed yet\n")
    assert run("verify", place, "--allow", tmp_path).status == 0
    mine = Changed(json.loads(place.read_text()))
    mine.metadata("foo/.zattrs", scale_factor=0.2)
    place.write_text(json.dumps(mine.document))
    assert run("verify", place, *two).status == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--resume"], "--resume requires --results"),
        (["--values", "most"], "'most' is not one of 'none', 'sample', 'all'"),
    ],
)
def test_a_wrong_call_is_one_sentence(source: Path, options: list[str], said: str) -> None:
    ran = run("verify", source, *options)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
