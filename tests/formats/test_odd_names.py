"""Files with odd names are read and written as any others."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.commands import run

ARRAY = {
    "zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "|u1", "compressor": None,
    "filters": None, "order": "C", "fill_value": 0,
}  # fmt: skip
SET = {".zgroup": {"zarr_format": 2}, "x/.zarray": ARRAY, "x/0": "a", "x/1": "b"}
NAMES = [
    "~no-such-user/a.json",
    "~.json",
    "[br]/a.json",
    "{br}/a.json",
    "[1].json",
    '"a".json',
    "<a.json",
]
OUTPUTS = ["s3:out", "file:out", "[out]", "~out", os.fsdecode(b"\xff")]
no_names = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str) -> str:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(json.dumps(SET))
    return name


@no_names
@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_exists_is_read(name: str) -> None:
    assert rx.open_references(write(name)).arrays() == ("x",)
    ran = run("info", name)
    assert (ran.status, ran.err) == (0, "")


def test_a_user_who_is_not_there_is_part_of_a_name() -> None:
    folder = Path("~nobody-of-this-name").absolute()
    ran = run("info", "~nobody-of-this-name/a.json")
    assert (ran.status, ran.err) == (
        2,
        f"refexplorer: There is no file '~nobody-of-this-name/a.json', and no folder '{folder}'.\n",
    )


@no_names
def test_a_pattern_that_begins_with_a_bracket_fits_files() -> None:
    for name in ("a.nc", "b.nc"):
        np.save(name, np.zeros(2))
    with pytest.raises(rx.errors.SourceError, match=r"a\.nc.* is not a data file|a\.nc"):
        rx.open_references("[ab].n*")


@pytest.mark.parametrize("text", ['[{"x": "*"}]', "{}", '["a]', '{"a": "b"}'])
def test_text_is_text_where_no_file_has_its_name(text: str) -> None:
    try:
        found = rx.open_references(text).source.name
    except rx.errors.SpecError as error:
        found = str(error)
    assert found.startswith("text")


@no_names
@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("ending", [".json", ".parq"])
def test_what_is_written_is_read_back(name: str, ending: str) -> None:
    write("a.json")
    ran = run("convert", "a.json", name + ending)
    assert (ran.status, ran.err) == (0, "")
    assert rx.open_references(Path(name + ending)).to_v0().keys() == SET.keys()


@no_names
@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("verb", ["audit", "verify"])
def test_results_are_kept(name: str, verb: str) -> None:
    write("a.json")
    for more in ((), ("--resume",)):
        ran = run(verb, "a.json", "--results", name, *more)
        assert ran.status in (0, 1, 2)
        assert "should not happen" not in ran.err
    assert Path(name).is_dir()


@pytest.mark.parametrize(
    "command",
    [("repair", "-o"), ("page", "-o"), ("audit", "--results"), ("audit", "--html")],
)
def test_no_folder_is_made_of_a_url(command: tuple[str, str]) -> None:
    verb, option = command
    write("a.json")
    ran = run(verb, "a.json", option, "s3://b/out.json")
    assert ran.status == 2
    assert "it looks like a URL" in ran.err or verb == "repair"
    assert not Path("s3:").exists()
