"""What is inferred expands to the same references, and is shorter where there is a pattern."""

from __future__ import annotations

import datetime
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.refset.inference import groups
from refexplorer.refset.inference import infer as inferred
from tests.helpers.kerchunk_sets import DAYS, combined


def expands_back(v0: dict[str, Any]) -> rx.types.Inference:
    """Infer from V0 references, and hold the document against them."""
    found = rx.infer(v0)
    assert rx.open_references(found.document).to_v0() == v0
    assert found.size_after <= found.size_before
    compact = len(json.dumps(found.document, separators=(",", ":")).encode())
    assert 0 <= found.size_after - compact <= 2  # line ends
    return found


def collection(variables: int, steps: int, tiles: int, per_file: int = 4) -> dict[str, Any]:
    """Chunks of several variables in files of several steps, as kerchunk combines them."""
    return {
        f"v{v}x/{t}.{x}": [
            f"s3://bucket/store/{2000 + t // (12 * per_file)}/f_{t // per_file % 12 + 1:02d}.nc",
            1000 + ((v * per_file + t % per_file) * tiles + x) * 77,
            77,
        ]
        for v in range(variables)
        for t in range(steps)
        for x in range(tiles)
    }


def test_steps_in_files_in_folders_become_dimensions() -> None:
    found = expands_back(collection(1, 96, 3))
    assert found.kept_explicit == 0
    (item,) = found.gen
    assert item["key"] == "v0x/{{i * 48 + j * 4 + k}}.{{l}}"
    assert item["dimensions"] == {
        "i": {"stop": 2}, "j": {"stop": 12}, "k": {"stop": 4}, "l": {"stop": 3},
    }  # fmt: skip
    assert "/{{i + 2000}}/f_{{'%02d' % (j + 1)}}.nc" in item["url"]


@pytest.mark.parametrize("form", ["{year}/f_{file:04d}.nc", "{year}/{month:02d}/f_{day:02d}.nc"])
def test_a_joined_archive_is_a_fiftieth(form: str) -> None:
    """200 files of 24 steps of 4 chunks, in folders by year, by number or by date."""
    first = datetime.date(2003, 9, 14)
    v0: dict[str, Any] = {".zgroup": '{"zarr_format":2}'}
    for file in range(200):
        day = first + datetime.timedelta(days=file)
        name = form.format(year=day.year, month=day.month, day=day.day, file=file)
        for step, chunk in np.ndindex(24, 4):
            offset = 20_000 + (step * 4 + chunk) * 4_096
            v0[f"x/{file * 24 + step}.{chunk}"] = [f"s3://bucket/archive/{name}", offset, 4_096]
    found = expands_back(v0)
    assert found.size_after <= 0.02 * found.size_before
    assert found.kept_explicit == 1


def test_a_number_of_the_variable_is_a_dimension_too() -> None:
    found = expands_back(collection(3, 96, 3))
    assert [item["key"] for item in found.gen] == ["v{{i}}x/{{j * 48 + k * 4 + l}}.{{m}}"]


def test_what_breaks_the_pattern_stays_explicit() -> None:
    v0 = collection(1, 96, 3)
    v0["v0x/40.1"] = ["s3://bucket/repair.nc", 5, 6]
    v0[".zattrs"] = "{}"
    found = expands_back(v0)
    assert found.kept_explicit < 10
    assert {"v0x/40.1", ".zattrs"} <= set(found.explicit_keys())


def test_a_missing_chunk_does_not_come_back() -> None:
    v0 = collection(1, 96, 3)
    del v0["v0x/7.2"]
    assert "v0x/7.2" not in rx.open_references(expands_back(v0).document)


def test_places_without_progression_are_listed() -> None:
    steps = [0, 1, 5, 6, 20, 33, 34, 90]
    v0 = {f"t/{t}.{x}": [f"http://h/run_{t:03d}.bin", x * 10, 10] for t in steps for x in range(9)}
    found = expands_back(v0)
    assert found.gen[0]["dimensions"]["i"] == steps


@pytest.mark.parametrize("url", ["s3://b/{{x}}/f_%d.nc", "s3://b/{%% raw %%}\n_%d", "a{_%d_\r\n"])
def test_urls_that_look_like_templates_stay_as_they_are(url: str) -> None:
    many = expands_back({f"x/{i}": [url % i, i * 10, 10] for i in range(200)})
    assert many.kept_explicit == 0
    expands_back({f"x/{i}": [url % 5, i * i, 10] for i in range(50)})


def test_inline_values_stay_as_they_are() -> None:
    v0: dict[str, Any] = {f"x/{i}": "{{i}}" for i in range(30)}
    v0 |= {"{{a}}/0": ["u", 0, 1], "version": "{% if %}", "n": [None, 0, 1], "b": "base64:aGk="}
    with pytest.raises(rx.errors.SpecError):
        rx.infer(v0)
    del v0["version"]
    expands_back(v0)


def test_nothing_found_leaves_urls_as_they_are() -> None:
    refs = rx.open_references({"version": 1, "refs": {"x": ["{{'{'}}%a"]}, "gen": []})
    assert refs.to_v0() == {"x": ["{%a"]}
    assert rx.infer(refs).document == {"x": ["{%a"]}
    named = rx.open_references({"version": 1, "refs": {"version": ["{{'{'}}%a"]}})
    assert rx.open_references(rx.infer(named).document).to_v0() == {"version": ["{%a"]}


def test_irregular_sets_get_templates() -> None:
    long = "https://server.example.org/data/archive/collection/very/long/folder/file_%s.nc"
    v0 = {f"x/{i}": [long % "abc"[i % 3], i**3, i * 7 + 1] for i in range(100)}
    found = expands_back(v0)
    assert sorted(found.templates.values()) == [long % name for name in "abc"]
    assert found.size_after < found.size_before / 2


def test_what_kerchunk_writes_of_irregular_files_is_half_as_large(tmp_path: Path) -> None:
    found = expands_back(rx.open_references(combined(tmp_path)).to_v0())
    assert 40_000 < found.size_before < 50_000
    assert found.size_after < found.size_before / 2
    assert len(found.templates) == DAYS


def test_many_files_share_their_folder() -> None:
    v0 = {f"x/{i}": [f"https://server.example.org/data/{i**5:x}q.nc"] for i in range(50)}
    assert "https://server.example.org/data/" in expands_back(v0).templates.values()


def test_a_document_of_v1_is_not_made_larger(demo: Path) -> None:
    found = rx.infer(demo / "sst.v1.json")
    assert found.size_after <= found.size_before == (demo / "sst.v1.json").stat().st_size
    trillion = {"key": "v/{{i}}", "url": "u", "dimensions": {"i": {"stop": 10**12}}}
    with pytest.raises(rx.errors.LimitError, match="1,000,000,000,000 keys"):
        rx.infer({"version": 1, "gen": [trillion]})


@pytest.mark.parametrize("name", ["sst.v0.json", "sst.v1.json", "sst.parq", "spec.v1.json"])
def test_every_form_expands_back(name: str, demo: Path) -> None:
    refs = rx.open_references(demo / name)
    found = rx.infer(refs)
    assert rx.open_references(found.document).to_v0() == refs.to_v0()


def test_templates_of_open_time_are_part_of_the_set() -> None:
    document = {"version": 1, "templates": {"u": "a"}, "refs": {"x": ["{{u}}"], "y": ["{{u}}/b"]}}
    refs = rx.open_references(document, templates={"u": "s3://a/much/longer/place/than/that"})
    assert rx.open_references(rx.infer(refs).document).to_v0() == refs.to_v0()


def test_it_reads_well(demo: Path, tmp_path: Path) -> None:
    found = rx.infer(demo / "sst.v0.json")
    assert str(found).startswith("sst.v0.json: ")
    assert "1 gen item for 18 keys, 42 keys written out" in str(found)
    assert "<code>wind/{{i * 6 + j}}.0.0</code>" in found._repr_html_()
    found.to_json(tmp_path / "set.json.gz")
    assert (
        rx.open_references(tmp_path / "set.json.gz").to_v0()
        == rx.open_references(demo / "sst.v0.json").to_v0()
    )


def with_holes(v0: dict[str, Any], share: float) -> dict[str, Any]:
    """Leave out references at random, the same ones each time."""
    chance = random.Random(7)
    return {key: value for key, value in v0.items() if chance.random() >= share}


@pytest.mark.parametrize(("share", "left"), [(0.002, 0.04), (0.02, 0.2), (0.2, 0.6)])
def test_chunks_missing_at_random_leave_the_grids_between(share: float, left: float) -> None:
    v0 = with_holes(collection(1, 480, 12), share)
    found = expands_back(v0)
    assert found.size_after < found.size_before * left
    again = rx.open_references(found.document)
    assert {one.code for one in again.diagnostics} <= {"readers-differ", "orphan-chunk"}
    assert again["v0x/479.11"] == rx.open_references(v0)["v0x/479.11"]


def test_repaired_chunks_stay_explicit() -> None:
    v0 = collection(1, 480, 12)
    repaired = random.Random(3).sample(sorted(v0), 10)
    for key in repaired:
        v0[key] = [v0[key][0], 10**6 + len(key) ** 9 % 1013, 5]
    found = expands_back(v0)
    assert set(repaired) <= set(found.explicit_keys())
    assert found.size_after < 0.06 * found.size_before


MIXED = {
    **with_holes(collection(2, 60, 5), 0.05),
    **{f"a{v}/{i}.0": [f"http://h/{i // 7}.nc", i * 10, 10] for v in range(2) for i in range(150)},
    **{f"whole/{i}": [f"http://h/whole_{i:04d}.nc"] for i in range(80)},
    **{f"odd/{i}": [f"s3://b/{i % 5}", i**3 % 1009, i % 11 + 1] for i in range(90)},
    "a0/.zarray": "{}",
}


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_the_same_is_found_in_blocks(is_shuffled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = list(MIXED.items())
    if is_shuffled:
        random.Random(1).shuffle(mixed)
    v0 = dict(mixed)
    at_once = expands_back(v0)
    assert len(at_once.gen) > 3
    for block in (1, 7, 100):
        with monkeypatch.context() as patch:
            for module in (groups, inferred):
                patch.setattr(module, "BLOCK", block)
            in_blocks = rx.infer(v0)
        assert in_blocks.document == at_once.document
        assert in_blocks.explicit_keys() == at_once.explicit_keys()


def test_numbers_of_one_array_are_held_at_a_time(tmp_path: Path) -> None:
    one = collection(1, 400, 40)
    ten = {f"{name}{key}": ref for name in "abcdefghij" for key, ref in one.items()}
    path = tmp_path / "ten.json"  # whose size is read, and not found by writing a dict
    path.write_text(json.dumps(ten))
    refs = rx.open_references(path)
    assert refs.count == len(ten)
    tracemalloc.start()
    try:
        found = rx.infer(refs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.kept_explicit == 0
    assert peak < 150 * len(ten)


def test_it_can_be_stopped_at_every_step() -> None:
    steps: list[tuple[int, int]] = []
    rx.infer(MIXED, progress=lambda done, of: steps.append((done, of)))
    assert steps == sorted(steps)
    assert {of for _, of in steps} == {3 * len(MIXED)}
    assert {3 * done // of for done, of in steps} == {0, 1, 2}

    def stopping(done: int, of: int) -> None:
        if (done, of) == steps[-1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rx.infer(MIXED, progress=stopping)


def test_a_piece_of_a_grid_may_be_a_hole_itself() -> None:
    one = {f"{i}.{j}": [f"f{i // 3}{j}", 99 + i + j, 7] for i in range(12) for j in range(8)}
    other = {f"{i}.{j}": [f"f{i}{j}", 99, 7] for i in range(11) for j in range(4)}
    refs = rx.open_references(one | other)
    assert rx.open_references(rx.infer(refs).document).to_v0() == refs.to_v0()


def test_keys_that_differ_in_zeros_alone_stay_as_they_are() -> None:
    refs = {
        f"{i:0{pad}d}.{j}": [f"h{i}", 99, 7]
        for pad, rows, columns in ((2, 7, 11), (1, 11, 4))
        for i in range(rows)
        for j in range(columns)
    }
    found = rx.infer(refs)
    assert rx.open_references(found.document).to_v0() == refs
