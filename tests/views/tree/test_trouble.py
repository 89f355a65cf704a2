"""The tree narrowed to what is wrong, and the badges of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.helpers.explorer import Host, later
from tests.helpers.sets import ZARRAY


def opened(host: Host, *paths: str) -> list[str]:
    for path in paths:
        host.ask("tree.toggle", path=path, open=True)
    return [row["path"] for row in rows(host)]


def rows(host: Host) -> list[Any]:
    found: list[Any] = host.ask("tree.rows", start=0, n=1000)["rows"]
    return found


def badges(host: Host) -> dict[str, Any]:
    return {row["path"]: row["badges"] for row in rows(host)}


def counted(host: Host) -> None:
    later(host, "health.rows", start=0, n=1, sort="trouble", descending=True)


def grouped() -> dict[str, Any]:
    """Two groups: one whole, and one with an array of which chunks are absent and rejected."""
    chunks = {f"good/a/{n}": "text" for n in range(3)}
    bad = {"bad/deep/b/0": "text", "bad/deep/b/1": ["f", 0]}
    arrays = {f"{path}/.zarray": ZARRAY for path in ("good/a", "bad/deep/b")}
    return {".zgroup": '{"zarr_format":2}', **chunks, **bad, **arrays, "loose": ["f", 0]}


def test_only_what_is_wrong_with_the_chunks_that_are_not_there(demo: Path) -> None:
    host = Host(demo / "broken.json")
    assert later(host, "tree.only", what="trouble")[0]["total"] == 2
    assert opened(host, "sst", "lat") == [
        "lat", "lat/0", "sst", "sst/1.0.0", "sst/1.0.1", "sst/4.0.1", "sst/5.0.0", "sst/6.0.0",
        "sst/7.0.0", "sst/8.0.0",
    ]  # fmt: skip
    assert host.ask("tree.reveal", path="sst/4.0.1")["index"] == 5
    assert host.ask("tree.reveal", path="wind/0.0.0")["index"] == -1
    total = later(host, "tree.only", what=None)[0]["total"]
    assert total > 20  # what was open stays open
    assert host.ask("tree.reveal", path="wind/0.0.0")["index"] > 0


def test_groups_that_have_none_are_left_out_and_loose_keys_are_not() -> None:
    host = Host(grouped())
    later(host, "tree.only", what="trouble")
    assert opened(host, "bad", "bad/deep", "bad/deep/b")[:4] == [
        "loose", "bad", "bad/deep", "bad/deep/b"
    ]  # fmt: skip
    assert "good" not in badges(host)


def test_a_set_without_trouble_is_empty() -> None:
    host = Host({"a/.zarray": ZARRAY, **{f"a/{n}": "text" for n in range(3)}})
    assert later(host, "tree.only", what="trouble")[0]["total"] == 0


def test_badges_come_with_the_counts_and_roll_up() -> None:
    host = Host(grouped())
    assert set(badges(host).values()) == {None}  # nothing holds up the first rows
    counted(host)
    found = badges(host)
    assert found["good"] is None
    assert found["bad"]["rejected"] == 1
    opened(host, "bad", "bad/deep")
    assert badges(host)["bad/deep/b"]["rejected"] == 1
    assert badges(host)["bad"]["absent"] == badges(host)["bad/deep/b"]["absent"] > 0


def test_what_failed_is_marked_where_it_failed(demo: Path) -> None:
    host = Host(demo / "broken.json")
    counted(host)
    host.read("sst", [3, 0, 0])
    opened(host, "sst")
    assert badges(host)["sst/3.0.0"]["failed"] == badges(host)["sst"]["failed"] == 1
    assert badges(host)["sst/0.0.0"] is None
    assert badges(host)["sst/1.0.1"]["warnings"] == 1  # it overlaps the one before


def test_arrays_say_their_form(demo: Path) -> None:
    host = Host(demo / "broken.json")
    forms = {row["path"]: row["form"] for row in rows(host)}
    assert forms["sst"] == "18 \N{MULTIPLICATION SIGN} 96 \N{MULTIPLICATION SIGN} 192 int16"
    assert forms[".zgroup"] is None


def test_a_word_is_looked_for_in_keys_and_targets(demo: Path) -> None:
    host = Host(demo / "sst.v0.json")
    word = {"text": "in", "mode": "glob", "kinds": []}
    assert host.ask("tree.find", **word)["total"] > 20  # no wildcard: what contains it
    found = host.ask("tree.find", **word | {"text": "2025-09"})
    assert found["total"] == found["in_targets"] > 0
    assert host.controller.code == "list(refs.find('2025-09', mode='substring', targets=True))"
    both = host.ask("tree.find", **word | {"text": "sst"})
    assert 0 < both["in_targets"] < both["total"]
    paths = [row["path"] for row in rows(host)]
    assert ["sst" in path for path in paths] == sorted("sst" in path for path in paths)[::-1]
    host.ask("tree.find", **word | {"text": "wind/1?.*"})
    assert [row["path"] for row in rows(host)] == [f"wind/{n}.0.0" for n in range(10, 18)]
