"""The commands that go through all keys: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import refexplorer as rx
from tests.helpers.commands import run


def test_infer_prints_and_writes(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "set.json.zst"
    facts = json.loads(run("infer", demo / "sst.v0.json", "-o", out, "--json").out)
    assert (facts["keys"], facts["generated"], facts["kept_explicit"]) == (60, 18, 42)
    assert facts["gen"][0]["key"] == "wind/{{i * 6 + j}}.0.0"
    assert not rx.diff(out, demo / "sst.v0.json")
    again = run("infer", demo / "sst.v0.json", "-o", out)
    assert (again.status, again.out) == (2, "")
    assert "--overwrite" in again.err
    assert run("infer", demo / "sst.v0.json", "-o", out, "--overwrite").status == 0


def test_diff_says_what_became_of_keys(demo: Path, tmp_path: Path) -> None:
    other = json.loads((demo / "sst.v0.json").read_text())
    other["sst/0.0.0"][1] += 8
    del other["sst/0.0.1"]
    (tmp_path / "b.json").write_text(json.dumps(other))
    ran = run("diff", demo / "sst.v0.json", tmp_path / "b.json")
    assert ran.status == 1
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert lines[:3] == [["=", "same", "58"], ["-", "removed", "1"], ["S", "shifted", "1"]]
    assert [line[:2] for line in lines[3:]] == [["S", "sst/0.0.0"], ["-", "sst/0.0.1"]]
    found = json.loads(run("diff", demo / "sst.v0.json", tmp_path / "b.json", "--json").out)
    assert (found["total"], len(found["rows"])) == (2, 2)
    same = run("diff", demo / "sst.v0.json", demo / "sst.parq")
    assert (same.status, same.out) == (0, "=\tsame\t60\n")
    wrong = run("diff", demo / "sst.v0.json", demo / "sst.parq", "--change", "lost")
    assert (wrong.status, wrong.out, len(wrong.err.splitlines())) == (2, "", 1)


def test_convert_writes_what_it_says(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "set.json.gz"
    ran = run("convert", demo / "sst.v1.json", out, "--rename", "sst_=s3://b/sst_")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"{out}: 60 keys as V0 JSON, read back and identical to sst.v1.json.\n"
    assert rx.open_references(out)["sst/0.0.0"].to_v0()[0] == "s3://b/sst_2025-07.nc"
    facts = json.loads(run("convert", out, tmp_path / "set.parq", "--json").out)
    assert facts == {"output": str(tmp_path / "set.parq"), "form": "parquet", "keys": 60}
    for arguments in ([out], [tmp_path / "x", "--to", "v7"], [tmp_path / "x", "--rename", "a"]):
        refused = run("convert", demo / "sst.v0.json", *arguments)
        assert (refused.status, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set.json.gz", "set.parq"]


def test_convert_gives_arrays_other_chunks(tmp_path: Path) -> None:
    np.arange(48, dtype="<i4").tofile(tmp_path / "f")
    array = {"zarr_format": 2, "shape": [8, 6], "chunks": [4, 6], "dtype": "<i4", "order": "C"}
    array |= {"compressor": None, "filters": None, "fill_value": None}
    time = array | {"shape": [8], "chunks": [1]}
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    refs |= {"time/.zarray": json.dumps(time), "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["time", "y"]}'}
    refs["time/.zattrs"] = '{"_ARRAY_DIMENSIONS": ["time"]}'
    refs |= {f"x/{n}.0": ["f", 96 * n, 96] for n in range(2)}
    refs |= {f"time/{n}": ["f", 24 * n, 4] for n in range(8)}
    (tmp_path / "a.json").write_text(json.dumps(refs))
    out = tmp_path / "b.json"
    ran = run("convert", tmp_path / "a.json", out, "--inline-coordinates", "--subchunk", "x=2")
    assert "read back and of the same values as a.json" in ran.out
    opened = rx.open_references(out)
    assert opened.array("x").chunks == (2, 6)
    root: Any = opened.to_zarr()
    assert root["time"][...].tolist() == [*range(0, 48, 6)]
    store = tmp_path / "c.parq"
    assert run("convert", out, store, "--record-size", "auto").status == 0
    for option in (["--record-size", "few"], ["--subchunk", "x=1"], ["--subchunk", "y"]):
        refused = run("convert", out, tmp_path / "d.json", *option)
        assert refused.status == 2
        assert not (tmp_path / "d.json").exists()


def test_convert_says_of_which_array_fsspec_finds_no_chunk(tmp_path: Path) -> None:
    array = {"zarr_format": 2, "shape": [2, 2], "chunks": [1, 2], "dtype": "<i4", "order": "C"}
    array |= {"compressor": None, "filters": None, "fill_value": 0, "dimension_separator": "/"}
    source = tmp_path / "set.json"
    source.write_text(json.dumps({"x/.zarray": array, "x/1/0": ["http://h/f", 0, 8]}))
    ran = run("convert", source, tmp_path / "set.parq")
    assert (ran.status, len(ran.err.splitlines())) == (0, 1)
    assert "no chunk of `x`" in ran.err
    assert "parquet-lost-chunks" in run("check", tmp_path / "set.parq").out
    assert run("convert", tmp_path / "set.parq", tmp_path / "again.json").err == ""
