"""Shares and time limits: what they leave is said, and all shares together are the whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.states import LedgerState
from refexplorer.core.errors import RefexplorerError
from tests.helpers.commands import run
from tests.helpers.planted import Case, drop, put

LEFT = [LedgerState.UNTOUCHED, LedgerState.REFERENCED, LedgerState.FILES_UNREAD,
        LedgerState.UNCOVERED, LedgerState.HELD]  # fmt: skip


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_all_shares_are_the_whole(case: Callable[[str], Case], of: int) -> None:
    """Each chunk is looked at in one of them, and each finding is made by one of them."""
    mine = case("joined")
    drop("temp/4.0.0")(mine)
    put("wind/2.0.0", ["f1.nc", 7, 9])(mine)
    mine.write()
    refs = rx.open_references(mine.source)
    whole = refs.verify()
    parts = [refs.verify(only=f"{number}/{of}") for number in range(1, of + 1)]
    for path in ("temp", "wind", "time"):
        states = np.stack([part.chunks(path) for part in parts])
        is_seen = ~np.isin(states, LEFT)
        assert (is_seen.sum(axis=0) == 1).all()
        assert np.array_equal(np.where(is_seen, states, 0).max(axis=0), whole.chunks(path))
    said = {(each.code, each.array, each.keys) for part in parts for each in part.findings}
    assert said == {(each.code, each.array, each.keys) for each in whole.findings}
    files = [part.coverage["files"]["read"] for part in parts]
    assert sum(files) == whole.coverage["files"]["read"] == 5


def test_a_share_of_a_sound_set(sound: Callable[[str], Path]) -> None:
    lines = [run("verify", sound("joined"), "--only", f"{n}/3") for n in (1, 2, 3)]
    assert [each.status for each in lines] == [0, 0, 0]
    assert "in share 2/3 of it" in lines[1].out.splitlines()[0]


def test_time_is_up(sound: Callable[[str], Path]) -> None:
    """What was not begun is unknown, which is not good."""
    ran = run("verify", sound("joined"), "--within", "0.000001")
    assert ran.status == 2
    assert "not known" in ran.out
    assert "At the right position: 0 of" in ran.out


@pytest.mark.parametrize(("option", "text"), [("only", "4/3"), ("only", "x"), ("within", "soon")])
def test_what_is_no_share_or_time(sound: Callable[[str], Path], option: str, text: str) -> None:
    with pytest.raises(RefexplorerError, match="Write "):
        rx.open_references(sound("joined")).verify(**{option: text})  # type: ignore[arg-type]


def test_shares_of_several_days_are_a_whole_report(
    case: Callable[[str], Case], tmp_path: Path
) -> None:
    """A nightly job looks at a share, and takes in what the nights before have seen."""
    mine = case("joined")
    put("wind/2.0.0", ["f1.nc", 7, 9])(mine)
    mine.write()
    refs = rx.open_references(mine.source)
    for verb in ("verify", "audit", "check_targets"):
        how = {"results": tmp_path / verb, "resume": True}
        whole = getattr(refs, verb)()
        parts = [getattr(refs, verb)(only=f"{number}/3", **how) for number in (1, 2, 3)]
        assert "share 1/3 of it" in parts[0].headline.text or parts[0].status == 1
        assert parts[1].to_dict()["selection"] == "2/3 and 1 more"
        assert parts[2].to_dict()["selection"] == "all"
        assert parts[2].headline == whole.headline
        assert parts[2].coverage == whole.coverage
        for path in ("temp", "wind", "time"):
            assert np.array_equal(parts[2].chunks(path), whole.chunks(path))
        found, wanted = (
            {(e.code, e.array, e.keys, e.message) for e in report.findings}
            for report in (parts[2], whole)
        )
        assert found == wanted
        assert [*parts[2].counts.shares] == [1, 2]
        assert "Shares of earlier runs, in UTC: 1 (2" in str(parts[2])
        assert parts[2].to_dict()["balanced"]


def test_shares_of_another_set_are_not_taken_in(
    case: Callable[[str], Case], tmp_path: Path
) -> None:
    mine = case("joined")
    how: dict[str, object] = {"results": tmp_path / "kept", "resume": True}
    for number in (1, 2):
        rx.open_references(mine.source).audit(only=f"{number}/3", **how)  # type: ignore[arg-type]
    for key, ref in mine.refs.items():
        if isinstance(ref, list) and len(ref) == 3:
            mine.refs[key] = [ref[0], ref[1], ref[2] - 1]
    mine.write()
    found = rx.open_references(mine.source).audit(only="3/3", **how)  # type: ignore[arg-type]
    assert found.to_dict()["selection"] == "3/3"
    assert found.counts.shares == {}
