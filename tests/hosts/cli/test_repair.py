from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fsspec
import pytest

import refexplorer as rx
from refexplorer import demo
from tests.helpers.commands import run
from tests.helpers.verifying import Changed, joined, write_files

KEY = "foo/2.1.0"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A set of which one key is shifted."""
    path = tmp_path / "set.json"
    mine = Changed(joined(write_files(tmp_path)))
    mine.refs[KEY][1] += 8
    path.write_text(json.dumps(mine.document))
    return path


def test_a_set_is_repaired(source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    target = tmp_path / "new.json"
    ran = run("repair", source, "--dry-run")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("set.json → the repaired set: 1 key differs")
    assert "set.json: 1 key changed; the repaired set: the same as its files" in lines
    assert any(line.startswith("  repaired: `foo`: 1 of 3 files") for line in lines)
    assert not target.exists()
    ran = run("repair", source, "-o", target)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[:-1] == lines
    assert ran.out.endswith(f"{target}: 42 keys, read back, the same and verified once more.\n")
    assert run("verify", target).status == 0
    assert "S\tshifted\t1\n" in run("diff", source, target).out
    assert source.read_bytes() == before


def url_of(source: Path) -> str:
    reference: Any = rx.open_references(source)[KEY]
    return str(reference.url)


@pytest.mark.parametrize(
    ("name", "form"),
    [("new.json.gz", "V1"), ("new.parq", "parquet"), ("v0.json", "V0"), ("v1.json", "V1")],
)
def test_other_forms(source: Path, tmp_path: Path, name: str, form: str) -> None:
    options = ["--to", form] if name.startswith("v") else []
    ran = run("repair", source, "-o", tmp_path / name, "--json", *options)
    found = json.loads(ran.out)
    assert (ran.status, found["good"], found["output"]) == (0, True, str(tmp_path / name))
    assert (found["changed"], len(found["repaired"]), found["left"]) == (1, 1, [])
    assert rx.open_references(tmp_path / name).source.form == form
    assert run("verify", tmp_path / name).status == 0


def test_fsspec_reads_all_that_it_read_before(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.json"
    assert run("repair", source, "-o", target).status == 0
    keys, before = (
        set(fsspec.filesystem("reference", fo=str(path)).find("")) for path in (target, source)
    )
    assert keys == before
    assert run("repair", demo.path("sst.v1.json"), "-o", tmp_path / "gen.json").status == 0
    assert rx.open_references(tmp_path / "gen.json").source.form == "V1"  # as it was


def test_a_document_keeps_its_version(source: Path, tmp_path: Path) -> None:
    """VirtualiZarr reads V1 only, and neither templates nor `gen` are in the set."""
    assert run("repair", source, "-o", tmp_path / "new.json").status == 0
    written = json.loads((tmp_path / "new.json").read_text())
    assert (written["version"], {*written}) == (1, {"version", "refs"})
    assert written["refs"].keys() == json.loads(source.read_text())["refs"].keys()
    first = json.loads(source.read_text())["refs"]
    source.write_text(json.dumps(first))
    assert run("repair", source, "-o", tmp_path / "flat.json").status == 0
    assert rx.open_references(tmp_path / "flat.json").source.form == "V0"


def test_relative_urls_keep_their_targets(source: Path, tmp_path: Path) -> None:
    """Written into another folder, the set refers to the same files."""
    source.write_text(source.read_text().replace(f"{tmp_path}/", ""))
    assert run("verify", source).status == 1
    beside, away = tmp_path / "beside.json", tmp_path / "away" / "new.json"
    away.parent.mkdir()
    for target in (beside, away):
        assert run("repair", source, "-o", target).status == 0
        assert run("verify", target, "--allow", tmp_path).status == 0
    assert url_of(beside) == "o_0001.nc"
    assert url_of(away) == str(tmp_path / "o_0001.nc")


def test_what_is_left(source: Path, tmp_path: Path) -> None:
    mine = Changed(json.loads(source.read_text()))
    mine.refs["lat/0"] = "base64:" + "A" * 86 + "=="
    source.write_text(json.dumps(mine.document))
    target = tmp_path / "new.json"
    ran = run("repair", source, "-o", target)
    assert ran.status == 1
    assert "  left: `lat`: 3 of 3 files have different values from the set" in ran.out
    assert "    These values are stored in the set: rebuild them" in ran.out
    assert target.exists()
    ran = run("repair", target, "-o", tmp_path / "again.json")
    assert ran.status == 1
    assert "nothing can be repaired" in ran.out
    assert ran.err.endswith("not written, since nothing could be repaired.\n")
    assert not (tmp_path / "again.json").exists()


def test_files_that_may_not_be_read(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere" / "set.json"
    place.parent.mkdir()
    source.rename(place)
    ran = run("repair", place, "-o", tmp_path / "new.json", "--json")
    found = json.loads(ran.out)
    assert (ran.status, found["output"], found["changed"]) == (2, None, 0)
    assert not (tmp_path / "new.json").exists()


def test_moved_files(source: Path, tmp_path: Path) -> None:
    text = source.read_text()
    source.write_text(text.replace(str(tmp_path), "/gone"))
    target = tmp_path / "new.json"
    ran = run("repair", source, "-o", target, "--rename", f"/gone={tmp_path}")
    assert ran.status == 0
    assert "'/gone" in ran.out
    assert url_of(target) == str(tmp_path / "o_0001.nc")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Pass either --output or --dry-run"),
        (["-o", "x.json", "--dry-run"], "Pass either --output or --dry-run"),
        (["-o", "{source}"], "is the source itself"),
        (["-o", "{other}"], "exists"),
        (["-o", "x.json", "--to", "xml"], "is not a form"),
        (["--dry-run", "--rename", "a"], "--rename takes OLD=NEW, not 'a'"),
        (["--dry-run", "--rename", "zz=a"], "No URL of set.json starts with 'zz'"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    source: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    ran = run("repair", source, *(each.format(source=source, other=other) for each in options))
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert other.read_text() == "{}"
