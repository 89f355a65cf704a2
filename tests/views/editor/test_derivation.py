"""From a row to the text that it comes from, and back."""

from __future__ import annotations

import json

import pytest

from tests.helpers.editing import GOOD, Host, slice_of


def steps_of(host: Host, key: str) -> dict[str, dict[str, object]]:
    derivation = host.ask("explain", key=key)["derivation"]
    return {step["name"]: step for step in derivation["steps"]}


def test_a_generated_row_unfolds_from_its_dimensions() -> None:
    host = Host()
    text = host.ask("hello")["document"]
    derivation = host.ask("explain", key="x/2")["derivation"]
    assert (derivation["number"], derivation["origin"]) == (4, "gen[0]")
    names = [step["name"] for step in derivation["steps"]]
    assert names == ["dimensions", "key", "template u", "url", "reference"]
    url = derivation["steps"][3]
    assert slice_of(text, url) == '"{{u}}/{{i}}"'
    assert url["result"] == "s3://b/2"
    pieces = [(piece["text"], piece["result"]) for piece in url["pieces"]]
    assert pieces == [("{{u}}", "s3://b"), ("/", None), ("{{i}}", "2")]
    assert [slice_of(text, piece) for piece in url["pieces"] if piece["result"]] == [
        "{{u}}",
        "{{i}}",
    ]


def test_places_are_right_behind_escapes() -> None:
    url = r'"\ud83d\ude00\"\u0041{{ i }}😀{{i}}"'
    text = '{"version": 1, "gen": [{"key": "😀{{i}}", "url": URL, "dimensions": {"i": [7]}}]}'
    text = text.replace("URL", url)
    url_step = steps_of(Host(text), "😀7")["url"]
    assert url_step["result"] == '😀"A7😀7'
    pieces = url_step["pieces"]
    assert isinstance(pieces, list)
    assert [slice_of(text, piece) for piece in pieces if piece["result"]] == ["{{ i }}", "{{i}}"]


def test_a_broken_text_has_no_places() -> None:
    host = Host()
    host.ask("edit", document=host.controller.document + "}")
    step = steps_of(host, "x/2")["url"]
    assert step["result"] == "s3://b/2"
    assert step["from"] is None


def test_a_key_that_is_gone_says_so() -> None:
    host = Host()
    assert "`x/9` is not a key" in host.ask("explain", key="x/9")["error"]
    assert "No valid text" in Host("{").ask("explain", key="a")["error"]


@pytest.mark.parametrize(
    ("pointer", "what", "ranges"),
    [
        ("/gen/0/url", "gen[0]", [[2, 5]]),
        ("/refs/b/0", "b", [[1, 2]]),
        ("/templates/u", "templates/u", [[1, 5]]),
        ("/refs", None, []),
        ("/version", None, []),
        ("/gen/7/key", "gen[7]", []),
        ("", None, []),
    ],
)
def test_a_part_of_the_text_knows_its_rows(
    pointer: str, what: str | None, ranges: list[list[int]]
) -> None:
    assert Host().ask("uses", pointer=pointer)["uses"] == {"what": what, "ranges": ranges}


def test_parts_of_v0_are_its_keys() -> None:
    found = Host({"a": "x", "b/c": "y"}).ask("uses", pointer="/b~1c")["uses"]
    assert found == {"what": "b/c", "ranges": [[1, 2]]}


def test_an_entry_that_a_gen_item_makes_again_has_no_row() -> None:
    again = {**GOOD, "refs": {"x/1": "text", "a": "text"}}
    host = Host(json.dumps(again))
    assert host.ask("uses", pointer="/refs/x~11")["uses"]["ranges"] == []


def test_the_rows_of_a_large_item_are_arithmetic() -> None:
    gen = {"key": "v/{{i}}", "url": "h{{i}}", "dimensions": {"i": {"stop": 10**12}}}
    host = Host({"version": 1, "gen": [gen]})
    assert host.ask("uses", pointer="/gen/0")["uses"]["ranges"] == [[0, 10**12]]
    assert host.ask("explain", key="v/999999999999")["derivation"]["number"] == 10**12 - 1
