"""Inputs that must do no harm, each opened and looked at in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases import hostile
from tests.hostile.child import RECIPES

pytestmark = pytest.mark.child

CASES = hostile()
ELSEWHERE = {
    "range-past-end": "tests/data reads such a range",
}
NAMES = [name for name in CASES if name not in ELSEWHERE]
TEMPLATES = [name for name in NAMES if CASES[name]["layer"].startswith("templates")]
HARMLESS = {"tpl-utf8", "tpl-body-at-load"}
REFUSALS = {"unsafe-template", "bad-template", "template-limit", "undefined-name"}
SECONDS, MEGABYTES = 10, 1000
"""Of processor time and of resident memory."""
MANY_KEYS = "json-many-keys"
MANY_SECONDS, MANY_MEGABYTES = 8, 420
"""Of two million keys: 100 bytes each beside the blocks that are read; the benchmarks open ten."""


@pytest.fixture(scope="module")
def starter() -> Iterator[subprocess.Popen[str]]:
    """What starts a process for each case; their errors come with those of the test."""
    command = [sys.executable, "-m", "tests.hostile.child"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as started:
        yield started


def look_at(name: str, folder: Path, starter: subprocess.Popen[str]) -> dict[str, Any]:
    assert starter.stdin is not None
    assert starter.stdout is not None
    starter.stdin.write(f"{name} {folder}\n")
    starter.stdin.flush()
    assert starter.stdout.readline() == "0\n"
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return found


def test_every_case_is_run_or_has_its_test_elsewhere() -> None:
    runnable = {name for name, case in CASES.items() if "input" in case} | RECIPES.keys()
    assert CASES.keys() == runnable | ELSEWHERE.keys()


@pytest.mark.parametrize("name", NAMES)
def test_looking_costs_little_and_asks_for_nothing(
    name: str, tmp_path: Path, starter: subprocess.Popen[str]
) -> None:
    found = look_at(name, tmp_path, starter)
    share = 2 if name in ONE_LEFT else 1  # ten million letters, not keys
    many = name == MANY_KEYS
    assert found["seconds"] < (MANY_SECONDS if many else SECONDS / share)
    assert found["megabytes"] < (MANY_MEGABYTES if many else MEGABYTES / share)
    assert not found["modules"]
    assert not found.get("control")
    assert found.get("shown", 0) < 300_000
    _check(name, found)


def _check(name: str, found: dict[str, Any]) -> None:
    """Hold what was found to what the case expects."""
    codes = {code: count for code, _, count in found.get("codes", [])}
    if name in TEMPLATES and name not in HARMLESS:
        assert found["keys"] == 0
        assert REFUSALS & codes.keys()
    elif name in EXPECTED:
        for field, value in EXPECTED[name].items():
            assert found.get(field) == value, found
    for code in CODES.get(name, ()):
        assert code in codes, found
    if name == "json-duplicate-flood":
        assert codes["duplicate-key"] == 1


TOO_LONG = [name for name in NAMES if name.startswith("json-key-of-")]
ONE_LEFT = [*TOO_LONG, "json-long-url", "json-long-text", "template-long-name", "gen-long-key"]
EXPECTED: dict[str, dict[str, Any]] = {
    "tpl-body-at-load": {"keys": 1},
    "gen-product-1e12": {"keys": 10**12},
    "gen-12-dims": {"keys": 10**12},
    "gen-empty-times-huge": {"keys": 0},
    "gen-all-collide": {"keys": 1},
    "gen-long-list": {"keys": 1_000_000},
    "json-deep": {"code": "not-json"},
    "json-long-key": {"keys": 0},
    **{key: {"keys": 1, "first": ["b"]} for key in ONE_LEFT},
    "json-keys-of-60-kB": {"keys": 300},
    "parquet-long-key": {"keys": 1, "first": [".zgroup"]},
    MANY_KEYS: {"keys": 2_000_001},
    "json-duplicate-flood": {"keys": 1},
    "parquet-record-size-0": {"code": "parquet-bad-zmetadata"},
    "target-local-passwd": {"keys": 2},
    "shape-huge": {"keys": 3, "missing": 1},
    "range-huge": {"keys": 1},
    "csv-formula": {"keys": 3},
}
CODES = {
    "tpl-utf8": ["suspicious-characters"],
    **{key: ["key-too-long"] for key in ["json-long-key", "parquet-long-key", *TOO_LONG]},
    "template-long-name": ["bad-template-type"],
    "gen-long-key": ["template-limit"],
    "gen-all-collide": ["gen-duplicate-key"],
    "parquet-rle-bomb": ["parquet-too-many-rows"],
    "parquet-dictionary-bomb": ["parquet-too-large"],
    "parquet-path-bomb": ["parquet-too-large"],
    "parquet-zero-chunk": ["bad-chunks"],
    "parquet-corrupt-as-missing": ["parquet-unreadable"],
    "chunk-zero": ["bad-chunks"],
}
