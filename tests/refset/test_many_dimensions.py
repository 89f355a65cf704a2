"""More dimensions than an array of numpy can have: every question has an answer, or a sentence."""

from __future__ import annotations

import json
from itertools import islice, product
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer.core.errors import RefexplorerError
from tests.helpers.commands import run

RANK = 70


def generated(several: int, sizes: int = 2, dimensions: int = 200) -> dict[str, object]:
    """Return a set of one gen item; of its dimensions the last ones have several values."""
    names = [f"d{number}" for number in range(dimensions)]
    stops = [1] * (dimensions - several) + [sizes] * several
    item = {
        "key": "a/" + ".".join("{{" + name + "}}" for name in names),
        "url": "http://h/{{ d0 }}",
        "dimensions": {name: {"stop": stop} for name, stop in zip(names, stops, strict=True)},
    }
    return {"version": 1, "gen": [item]}


def explicit() -> dict[str, object]:
    """Return an array of 70 dimensions, with its eight chunks, and keys that look like another."""
    array = {"zarr_format": 2, "shape": [2] * 3 + [1] * (RANK - 3), "chunks": [1] * RANK}
    array |= {"dtype": "<i4", "compressor": None, "filters": None, "order": "C", "fill_value": 0}
    refs: dict[str, object] = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    for number in reversed(range(8)):
        index = [number >> 2, number >> 1 & 1, number & 1] + [0] * (RANK - 3)
        refs["x/" + ".".join(map(str, index))] = ["http://h/f", number * 4, 4]
    return refs


def test_a_search_goes_through_generated_keys() -> None:
    refs = rx.open_references(generated(200))
    found = list(islice(refs.find("a+.*1[.]1$", mode="regex"), 3))
    zeros = "a/" + "0." * 196
    assert found == [zeros + last for last in ("0.0.1.1", "0.1.1.1", "1.0.1.1")]


@pytest.mark.parametrize(("several", "sizes"), [(1, 5_000), (12, 2), (2, 70)])
def test_generated_keys_are_those_that_are_of_all_combinations(several: int, sizes: int) -> None:
    refs = rx.open_references(generated(several, sizes))
    assert refs.count == sizes**several > 2_048
    ends = product(map(str, range(sizes)), repeat=several)
    start = "a/" + "0." * (200 - several)
    assert list(refs.find("*")) == [start + ".".join(end) for end in ends]


def test_a_command_that_searches(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(generated(200)))
    ran = run("find", path, "a+", "--mode", "regex", "--limit", "2")
    assert (ran.status, ran.err, len(ran.out.splitlines())) == (0, "", 2)


def test_explicit_keys_are_listed_and_written(tmp_path: Path) -> None:
    refs = rx.open_references(explicit())
    level = [row.name for row in refs.children("x", 0, 20).rows]
    assert level == sorted(level)
    assert len(level) == 9
    rx.convert(refs, tmp_path / "a.json", rx.Conversion(form="v0"))
    assert not rx.diff(refs, tmp_path / "a.json")
    with pytest.raises(RefexplorerError, match="neither metadata nor a chunk of an array"):
        rx.convert(refs, tmp_path / "a.parq")
    noted = {each.code: each.message for each in refs.diagnostics}
    assert "70 dimensions" in noted["bad-metadata"]
