"""Every fix mends what it is offered for, and the help speaks of what there is."""

from __future__ import annotations

from typing import Any

import pytest

from refexplorer.spec.document import SECTIONS
from refexplorer.spec.gen.item import FIELDS
from refexplorer.spec.templates.parsing import FILTERS
from tests.helpers.editing import Host


def mended(text: str, fix: dict[str, Any]) -> str:
    """Apply a fix as the front end does: by code units, all changes to the same text."""
    units = text.encode("utf-16-le")
    for change in sorted(fix["changes"], key=lambda change: change["from"], reverse=True):
        insert = change["insert"].encode("utf-16-le")
        units = units[: 2 * change["from"]] + insert + units[2 * change["to"] :]
    return units.decode("utf-16-le")


def gen(fields: str) -> str:
    return f'{{"version": 1, "refs": {{"😀": "x"}}, "gen": [{{{fields}}}]}}'


ITEM = '"key": "x/{{i}}", "url": "u{{i}}", '
DIMENSIONS = '"dimensions": {"index": {"stop": 3}}'


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("not-json", '{"a": "x"', '{"a": "x"}'),
        ("not-json", '{"a": ["u", {"b": 1\n', '{"a": ["u", {"b": 1}]}\n'),
        ("not-json", '{"😀": "x"\n "b": "y"}', '{"😀": "x",\n "b": "y"}'),
        ("not-json", '{"a": "x",}', '{"a": "x"}'),
        ("not-json", '{"a": "x",, "b": "y"}', '{"a": "x", "b": "y"}'),
        ("not-json", '{"a": "x"}}', '{"a": "x"}'),
        ("not-json", '{"a" "x"}', '{"a": "x"}'),
        ("not-json", "{'a': 'x'}", '{"a": "x"}'),
        ("not-json", """{"a": "it's", 'b': 'y'}""", """{"a": "it's", "b": "y"}"""),
        ("not-json", '{"a": {"b": True, "c": None}}', '{"a": {"b": true, "c": null}}'),
        ("not-json", '{"a": "x"} // why', '{"a": "x"} '),
        ("not-json", '/* why */ {"a": "# x"}', ' {"a": "# x"}'),
        ("not-json", '{"a": "x\n}', '{"a": "x"\n}'),
        ("not-json", '{"a": "x}', '{"a": "x"}'),
        (
            "bad-section",
            '{"version": 1, "gen": {"key": "x", "url": "u", "dimensions": {"i": [1]}}}',
            '{"version": 1, "gen": [{"key": "x", "url": "u", "dimensions": {"i": [1]}}]}',
        ),
        (
            "gen-bad-dimension",
            gen(ITEM + '"dimensions": {"i": 3}'),
            gen(ITEM + '"dimensions": {"i": {"stop": 3}}'),
        ),
        (
            "gen-bad-dimension",
            gen(ITEM + '"dimensions": {"i": {"end": 3}}'),
            gen(ITEM + '"dimensions": {"i": {"stop": 3}}'),
        ),
        (
            "single-braces",
            '{"version": 1, "templates": {"u": "s3://b"}, "refs": {"a": ["{u}/f"]}}',
            '{"version": 1, "templates": {"u": "s3://b"}, "refs": {"a": ["{{u}}/f"]}}',
        ),
        ("bad-version", '{"version": "1"}', '{"version": 1}'),
        ("version-missing", '{"refs": {"a": ["u"]}}', '{"version": 1, "refs": {"a": ["u"]}}'),
        (
            "template-in-v0",
            '{"a": ["{{u}}/f"]}',
            '{\n "version": 1,\n "templates": {},\n "refs": {"a": ["{{u}}/f"]}\n}',
        ),
        (
            "undefined-name",
            gen('"key": "{{ indx }}/indx", "url": "u{{index}}", ' + DIMENSIONS),
            gen('"key": "{{ index }}/indx", "url": "u{{index}}", ' + DIMENSIONS),
        ),
        (
            "unknown-field",
            gen(ITEM + '"size": "5", "dimensions": {"i": [1]}'),
            gen(ITEM + '"length": "5", "dimensions": {"i": [1]}'),
        ),
        (
            "gen-missing-field",
            gen(ITEM.rstrip(", ")),
            gen('"dimensions": {"i": {"stop": 1}}, ' + ITEM.rstrip(", ")),
        ),
        (
            "gen-offset-length-pair",
            gen(ITEM.strip() + '\n "offset": "0", "dimensions": {"i": [1]}'),
            gen(ITEM.strip() + '\n "offset": "0",\n "length": "1", "dimensions": {"i": [1]}'),
        ),
        (
            "gen-number-not-string",
            gen(ITEM + '"offset": 5, "length": "1", "dimensions": {"i": [1]}'),
            gen(ITEM + '"offset": "5", "length": "1", "dimensions": {"i": [1]}'),
        ),
        (
            "gen-bad-int",
            gen(ITEM + '"offset": "{{i / 2}}", "length": "1", "dimensions": {"i": [2]}'),
            gen(ITEM + '"offset": "{{i // 2}}", "length": "1", "dimensions": {"i": [2]}'),
        ),
    ],
)
def test_a_fix_mends(code: str, text: str, expected: str) -> None:
    host = Host(text)
    mark = next(note for note in host.ask("notes")["notes"] if note["code"] == code)
    results = [mended(text, fix) for fix in mark["fixes"]]
    assert expected in results
    reply = host.ask("edit", document=expected)
    assert reply["good"] is True
    assert code not in [note["code"] for note in host.ask("notes")["notes"]]


@pytest.mark.parametrize(
    ("text", "offered"),
    [("", 0), ("x", 0), ("{{{", 0), ("'a'", 0), ('{"a": "', 0), ("[1,,2,,]", 1), ("{" * 5000, 0),
     ('{"a": nope}', 0)],
)  # fmt: skip
def test_no_fix_is_offered_that_does_not_get_further(text: str, offered: int) -> None:
    host = Host(text)
    (mark,) = host.ask("notes")["notes"]
    assert len(mark["fixes"]) == offered
    for fix in mark["fixes"]:
        (later,) = Host(mended(text, fix)).ask("notes")["notes"] or [{"from": len(text)}]
        assert later["from"] > mark["from"]


def test_what_only_a_person_can_know_has_no_fix() -> None:
    text = '{"version": 1, "refs": {"a": ["{{nosuch}}"]}}'
    marks = Host(text).ask("notes")["notes"]
    assert [mark["fixes"] for mark in marks if mark["code"] == "undefined-name"] == [[]]


def test_the_help_knows_every_part_and_every_filter() -> None:
    told = Host().ask("hello")["help"]
    assert set(told["filters"]) == {*FILTERS, "default", "d"}
    assert {f"/{section}" for section in SECTIONS} <= set(told["parts"])
    assert {f"/gen/*/{field}" for field in FIELDS} <= set(told["parts"])
