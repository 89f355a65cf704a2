"""Rows that an edit removed, and rows as another reader has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import refexplorer as rx
from tests.helpers.editing import GOOD, Host


def states(host: Host) -> list[tuple[str, str]]:
    return [(row["key"], row["state"]) for row in host.ask("rows", start=0, n=100)["rows"]]


def gen(stop: int, **fields: Any) -> dict[str, Any]:
    item = {"key": "x/{{i}}", "url": "h{{i}}", "dimensions": {"i": {"stop": stop}}, **fields}
    return {"version": 1, "gen": [item]}


def test_removed_rows_stand_where_they_were() -> None:
    host = Host()
    fewer = {**GOOD, "refs": {"b": ["{{u}}/f", 1, 2]}}
    fewer["gen"] = [{**GOOD["gen"][0], "dimensions": {"i": [0, 2]}}]  # type: ignore[index]
    reply = host.ask("edit", document=json.dumps(fewer))
    assert (reply["total"], reply["shown"]) == (3, 5)
    assert (reply["removed"], reply["removed_exactly"]) == (2, True)
    same = [("b", "same"), ("x/0", "same")]
    assert states(host) == [("a", "removed"), *same, ("x/1", "removed"), ("x/2", "same")]
    assert host.ask("rows", start=3, n=1)["rows"][0]["url"] == "s3://b/1"
    assert host.ask("seek", text="x/2")["index"] == 4
    assert host.ask("explain", key="x/2")["derivation"]["row"] == 4
    assert host.ask("uses", pointer="/gen/0")["uses"]["ranges"] == [[2, 5]]


def test_rows_of_a_part_that_is_gone_stand_at_the_end() -> None:
    host = Host(gen(3))
    item = {"key": "y/{{i}}", "url": "h", "dimensions": {"i": {"stop": 2}}}
    document = {"version": 1, "gen": [*gen(3)["gen"], item]}
    host.ask("edit", document=json.dumps(document))
    host.ask("edit", document=json.dumps(gen(2)))
    assert states(host) == [
        ("x/0", "same"),
        ("x/1", "same"),
        *[(key, "removed") for key in ("x/2", "y/0", "y/1")],
    ]


def test_all_rows_can_go() -> None:
    host = Host()
    host.ask("edit", document='{"version": 1, "refs": {}}')
    assert {state for _, state in states(host)} == {"removed"}
    host.ask("edit", document='{"version": 1, "refs": {"new": "x"}}')
    assert states(host) == [("new", "added")]


@pytest.mark.parametrize(("before", "after"), [(10**12, 10**12 - 7), (10**6, 3), (5_000, 10)])
def test_removed_keys_of_a_gen_are_counted_by_arithmetic(before: int, after: int) -> None:
    reply = (host := Host(gen(before))).ask("edit", document=json.dumps(gen(after)))
    assert (reply["removed"], reply["removed_exactly"]) == (before - after, True)
    assert reply["shown"] >= host.ask("rows", start=0, n=1)["total"]


def test_ten_thousand_removed_references_are_counted() -> None:
    refs = {f"x/{i}": ["h", i, 1] for i in range(10_001)}
    reply = Host({"version": 1, "refs": refs}).ask("edit", document='{"x/10000": ["h", 1, 1]}')
    assert (reply["removed"], reply["removed_exactly"]) == (10_000, True)
    assert reply["shown"] == 1 + 10


def test_another_key_template_leaves_a_lower_bound() -> None:
    moved = gen(10**9, key="y/{{i}}")
    reply = Host(gen(10**9)).ask("edit", document=json.dumps(moved))
    assert (reply["removed"], reply["removed_exactly"]) == (2_000, False)


def test_what_other_readers_make_of_the_text() -> None:
    readers = {reader["name"]: reader for reader in Host().ask("readers")["readers"]}
    assert readers["the specification"]["outcome"] == "same"
    assert all(reader["reasons"] for reader in readers.values() if reader["outcome"] != "same")
    default = next(reader for name, reader in readers.items() if name.startswith("fsspec"))
    assert default["outcome"] != "same"


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        ("", {"b": "same", "x/1": "same"}),
        ("fsspec (default)", {"b": "same", "x/1": "absent"}),
        ("fsspec (simple_templates=False)", {"b": "same", "x/1": "same"}),
        ("GDAL", {"b": "unknown", "x/1": "unknown"}),
    ],
)
def test_the_table_as_a_reader_has_it(reader: str, expected: dict[str, str]) -> None:
    rows = Host().ask("rows", start=0, n=100, reader=reader)["rows"]
    found = {row["key"]: row for row in rows}
    assert {key: found[key]["state"] for key in expected} == expected


def test_what_a_reader_has_instead_is_shown_with_the_reason() -> None:
    host = Host({"version": 1, "refs": {"a": ["{{'s3'}}://f", 1, 2], "b": "x"}})
    different, same = host.ask("rows", start=0, n=9, reader="fsspec (default)")["rows"]
    assert (different["state"], different["url"]) == ("different", "{{'s3'}}://f")
    assert different["why"] == "The reader has a different value."
    assert (same["state"], same["why"]) == ("same", None)


ITEMS = [
    {"key": "x/{{i}}", "url": "h", "dimensions": {"i": {"stop": 6}}},
    {"key": "x/{{i}}", "url": "h", "dimensions": {"i": {"start": 2, "stop": 9}}},
    {"key": "x/{{i}}", "url": "h", "dimensions": {"i": [9, 3, 4]}},
    {"key": "x/{{i + 1}}", "url": "h", "dimensions": {"i": {"stop": 6}}},
    {"key": "x/{{i}}.{{j}}", "url": "h", "dimensions": {"i": {"stop": 3}, "j": [1, 5]}},
    {"key": "x/{{i}}.{{j}}", "url": "h", "dimensions": {"j": [5, 7], "i": {"stop": 2}}},
    {"key": "{{'abc'[i]}}", "url": "h{{10 // (i - 1)}}", "dimensions": {"i": {"stop": 3}}},
]


@pytest.mark.parametrize("others", [[], [{**ITEMS[0], "dimensions": {"i": [0, 8]}}]])
@pytest.mark.parametrize("after", ITEMS)
@pytest.mark.parametrize("before", ITEMS)
def test_what_is_removed_is_what_is_no_longer_there(
    before: dict[str, Any], after: dict[str, Any], others: list[dict[str, Any]]
) -> None:
    first, second = (
        {"version": 1, "refs": {"x/5": "x"}, "gen": [item, *others]} for item in (before, after)
    )
    reply = (host := Host(first)).ask("edit", document=json.dumps(second))
    gone = set(rx.open_references(first)) - set(rx.open_references(second))
    assert (reply["removed"], reply["removed_exactly"]) == (len(gone), True)
    assert {key for key, state in states(host) if state == "removed"} == gone
