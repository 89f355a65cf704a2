"""Findings of many arrays: each is counted where it is, and all of them are listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import refexplorer as rx
from refexplorer.views.health.health import ChunkHealth
from refexplorer.views.tree.rows import TroubleKeys
from refexplorer.views.wire.context import FailureLog
from tests.helpers.commands import run

ARRAYS, WRONG = 36, 24
ARRAY = {
    "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None,
    "filters": None, "order": "C", "fill_value": -1,
}  # fmt: skip


def document() -> dict[str, object]:
    """Return arrays, each of which has so many keys outside its grid."""
    found: dict[str, object] = {".zgroup": {"zarr_format": 2}}
    for number in range(ARRAYS):
        name = f"v{number}"
        found |= {f"{name}/.zarray": ARRAY, f"{name}/.zattrs": {"_ARRAY_DIMENSIONS": [name]}}
        found |= {f"{name}/{at}": ["s3://b/f", 100 * at, 8] for at in range(2 + WRONG)}
    return found


def test_each_array_has_its_own_findings() -> None:
    refs = rx.open_references(document())
    wrong = [each for each in refs.diagnostics if each.code == "chunk-outside-grid"]
    assert sum(each.count for each in wrong) == ARRAYS * WRONG
    by_array = {each.key.rpartition("/")[0] for each in wrong if each.key}
    assert by_array == {f"v{number}" for number in range(ARRAYS)}


def test_the_tree_and_what_is_narrowed_to_trouble_have_all_arrays() -> None:
    refs = rx.open_references(document())
    health = ChunkHealth(refs, FailureLog())
    counts = health.columns().warnings
    assert counts is not None
    assert [count for count in counts if count >= WRONG] == [*counts]
    trouble = TroubleKeys(refs, health)
    assert trouble.count("") == ARRAYS
    assert [trouble.count(f"v{number}") for number in range(ARRAYS)] == [WRONG] * ARRAYS


def test_all_lists_all(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(document()))
    lines = run("check", path, "--all").out.splitlines()
    assert sum("chunk-outside-grid" in line for line in lines) == ARRAYS * WRONG
    first = run("check", path).out.splitlines()
    assert f"chunk-outside-grid, {ARRAYS * WRONG} times" in first[1]
    found = json.loads(run("check", path, "--json").out)
    wrong = [each for each in found["findings"] if each["code"] == "chunk-outside-grid"]
    assert sum(each["count"] for each in wrong) == ARRAYS * WRONG


def test_a_finding_is_the_same_one_in_another_order_of_the_keys() -> None:
    """So that a list of known findings fits the next run; values that differ are another one."""
    refs = {f"x/{n}": ["http://h/f", -1, 4] for n in range(3)}
    one, other = (
        {each.id for each in rx.open_references(dict(order)).diagnostics if each.code == code}
        for code in ["bad-offset"]
        for order in (refs.items(), reversed(refs.items()))
    )
    assert one == other
    assert len(one) == 1
    (found, *_) = rx.open_references(refs).diagnostics
    changed = {replace(found, ours="1", theirs=value).id for value in ("2", "3")}
    assert len(changed | one) == 3
    assert found.to_dict()["id"] in one
