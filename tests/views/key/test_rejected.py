"""What the explorer tells of rejected keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.explorer import Host, ask, show
from tests.helpers.sets import raw_set

BAD = ["u", -1, 4]


def shown(host: Host, path: str) -> Any:
    found: Any = host.ask("key.show", path=path)["item"]
    return found


def test_a_chunk_whose_reference_is_refused_shows_its_own_error() -> None:
    host = Host(raw_set(None, BAD, BAD))
    item = shown(host, "x/1")
    assert (item["origin"], item["chunk"]["index"]) == ("rejected", [1])
    assert (item["notes"][0]["code"], item["notes"][0]["pointer"]) == ("bad-offset", "/x~11")
    assert shown(host, "x/0")["origin"] == "absent"
    assert "bad-offset" not in [note["code"] for note in shown(host, "x/0")["notes"]]
    ladder = ask(host, "key.trace", path="x/1")[0]
    assert ladder["state"] == "failed"
    assert "The offset -1 is negative." in ladder["message"]
    assert "The offset -1 is negative." in ask(host, "key.explain", path="x/1")[0]["error"]


def test_the_code_of_a_key_that_is_not_there_says_what_it_is() -> None:
    host = Host(raw_set("text", BAD))
    said = {}
    for key in ("x/1", "x/2"):
        line = shown(host, key)["code"]
        assert line == host.controller.code
        said[key] = eval(line, {"refs": host.controller.references})
    assert said["x/1"].code == "bad-offset"
    assert said["x/2"].state == "fill"


def test_the_code_to_copy_of_a_key_that_is_not_there_runs(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(raw_set("text", BAD)))
    found: dict[str, Any] = {}
    for key in ("x/1", "x/2"):
        exec(ask(Host(str(path)), "key.code", path=key)[0]["code"], found)
    assert found["diagnostic"].code == "bad-offset"
    assert found["chunk"].state == "fill"


def test_counts_of_chunks_without_a_reference_agree_with_the_map() -> None:
    array = shown(Host(raw_set("text", BAD, BAD, shape=[8])), "x")["array"]
    assert (array["chunk_count"], array["present"], array["rejected"]) == (4, 1, 2)


def test_any_key_that_was_left_out_is_shown_with_its_error() -> None:
    host = Host({"x/.zarray": 5, "note": ["a", "b"], "x/0": "good"})
    for key, code in (("x/.zarray", "bad-ref-type"), ("note", "bad-ref-shape")):
        item = shown(host, key)
        assert [note["code"] for note in item["notes"]] == [code]
        assert "code" in ask(host, "key.code", path=key)[0]
        assert ask(host, "key.trace", path=key)[0]["state"] == "failed"


@pytest.mark.parametrize("bad", [BAD, {}], ids=["rejected", "absent"])
def test_rows_of_chunks_that_are_not_there_say_why(bad: Any) -> None:
    host = Host(raw_set("text", bad))
    ask(host, "tree.only", what="trouble")
    host.ask("tree.toggle", path="x", open=True)
    rows = {row["path"]: row["origin"] for row in host.ask("tree.rows", start=0, n=99)["rows"]}
    assert (rows["x/1"], rows["x/2"]) == ("rejected" if bad else "absent", "absent")


def test_the_map_counts_and_draws_what_was_left_out_as_failed() -> None:
    host = Host(raw_set("text", BAD, BAD, shape=[8]))
    for _ in range(2):  # once more when one of them was read, and is known to have failed
        grid, (counts, *_) = show(host, "x")
        found = dict(zip(grid["states"], grid["counts"], strict=True))
        assert (found["inline"], found["absent"], found["failed"]) == (1, 1, 2)
        assert counts.reshape(6, 4)[-1].tolist() == [0, 1, 1, 0]
        host.read("x", [1])
