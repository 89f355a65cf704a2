"""Accepted findings do not fail, are named in the headline, and excuse nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import refexplorer as rx
from tests.helpers.commands import run
from tests.helpers.planted import Case, Plant, both, cut, drop, gone, shift
from tests.helpers.planted_sets import build


@pytest.fixture
def planted(tmp_path: Path) -> Callable[[Plant], Path]:
    def plant(fault: Plant) -> Path:
        case = Case(build("joined", tmp_path))
        fault(case)
        case.write()
        return case.source

    return plant


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        (drop("temp/1.0.0"), ["no-reference"]),
        (shift("temp/1.0.0", offset=3), ["offset"]),
        (gone(1), ["unreachable"]),
        (cut(1, lambda size: size // 2), ["damaged-file", "range-past-end"]),
    ],
)
def test_an_accepted_fault_passes_and_the_headline_names_it(
    planted: Callable[[Plant], Path], fault: Plant, codes: list[str]
) -> None:
    source = planted(fault)
    assert run("verify", source).status == 1
    seen = {found["code"] for found in json.loads(run("verify", source, "--json").out)["findings"]}
    accept = [word for code in seen for word in ("--accept", code)]
    ran = run("verify", source, *accept)
    line = ran.out.splitlines()[0]
    assert seen & {*codes}
    assert ran.status == 0, ran.out
    assert "the same as its files" not in line
    assert all(code in line for code in seen)
    document = json.loads(run("verify", source, *accept, "--json").out)
    assert (document["findings"], document["claim"]) == ([], "accepted")
    assert {found["code"] for found in document["accepted"]} == seen


def test_another_array_or_another_code_still_fails(planted: Callable[[Plant], Path]) -> None:
    source = planted(both(drop("temp/1.0.0"), shift("temp/2.0.0", offset=3)))
    for accepted in ("no-reference:other", "offset", "no-reference"):
        ran = run("verify", source, "--accept", accepted)
        assert ran.status == 1, accepted
    assert (
        "Accepted, but not found: no-reference of `other`."
        in run("verify", source, "--accept", "no-reference:other").out
    )
    both_codes = ("--accept", "no-reference:temp", "--accept", "offset:temp")
    assert run("verify", source, *both_codes).status == 0


def test_a_report_is_judged_again_without_another_run(demo: Path) -> None:
    refs = rx.open_references(demo / "sst.v0.json")
    report = refs.check()
    assert report.status == 0
    strict = report.judged("info")
    assert strict.status == 1
    assert strict.headline.text.startswith("has ")
    accepted = strict.judged("info", [found.code for found in strict.findings])
    assert (accepted.status, accepted.findings) == (0, ())
    assert "accepted: " in accepted.headline.text
    assert report.status == 0
    with pytest.raises(rx.RefexplorerError, match=r"is not a code of a check.*`missing-chunks`"):
        report.judged(accept=["mising-chunks"])
    with pytest.raises(rx.RefexplorerError, match="error, warning or info"):
        report.judged("fatal")
