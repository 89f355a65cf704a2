"""What CI services read is what they take: SARIF by its structure, JUnit's XML, annotations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fastjsonschema
import pytest

from refexplorer.spec.codes import CODES
from tests.helpers.commands import run

Schema = dict[str, Any]


def thing(required: str = "", **properties: Schema) -> Schema:
    return {
        "type": "object", "required": required.split(), "properties": properties,
        "additionalProperties": False,
    }  # fmt: skip


def many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 1}
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = thing("text", text=TEXT)
PHYSICAL = thing(
    "artifactLocation",
    artifactLocation=thing("uri", uri={"type": "string", "pattern": r"^[^\s\\]+$"}),
    region=thing("startLine startColumn", startLine=COUNT, startColumn=COUNT),
)
LOCATION = thing(physicalLocation=PHYSICAL, logicalLocations=many(thing(fullyQualifiedName=TEXT)))
SARIF = thing(
    "version runs",
    version={"const": "2.1.0"},
    runs=many(
        thing(
            "tool",
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            tool=thing(
                "driver",
                driver=thing(
                    "name",
                    name=TEXT,
                    version=TEXT,
                    rules=many(
                        thing(
                            "id",
                            id=TEXT,
                            shortDescription=MESSAGE,
                            fullDescription=MESSAGE,
                            help=MESSAGE,
                            defaultConfiguration=thing(level=LEVEL),
                        )
                    ),
                ),
            ),
            invocations=many(
                thing(
                    "executionSuccessful",
                    executionSuccessful={"type": "boolean"},
                    exitCode={"type": "integer"},
                    toolExecutionNotifications=many(
                        thing("message", level=LEVEL, message=MESSAGE, locations=many(LOCATION))
                    ),
                )
            ),
            results=many(
                thing(
                    "message",
                    ruleId=TEXT,
                    ruleIndex={"type": "integer", "minimum": 0},
                    level=LEVEL,
                    message=MESSAGE,
                    locations=many(LOCATION),
                    partialFingerprints={"type": "object", "additionalProperties": TEXT},
                    suppressions=many(
                        thing("kind", kind={"enum": ["inSource", "external"]}, justification=TEXT)
                    ),
                )
            ),
        )
    ),
)
"""What of the published schema (SARIF 2.1.0, draft 4) is used: stricter, since it has no more."""
is_sarif = fastjsonschema.compile(SARIF)


def test_sarif_has_each_finding_at_its_place(demo: Path, tmp_path: Path) -> None:
    broken, none = demo / "broken.json", tmp_path / "none.json"
    accepted = ("--accept", "overlapping-ranges")
    ran = run("check", broken, none, "--format", "sarif", *accepted)
    document = json.loads(ran.out)
    is_sarif(document)
    (found,) = document["runs"]
    known = json.loads(run("check", broken, "--json", *accepted).out)
    both = [*known["findings"], *known["accepted"]]
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    assert [each["ruleId"] for each in found["results"]] == [each["code"] for each in both]
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in found["results"])
    assert {*rules} <= {*CODES}
    lines = broken.read_text().splitlines()
    by_code = {each["ruleId"]: each for each in found["results"]}
    region = by_code["bad-offset"]["locations"][0]["physicalLocation"]["region"]
    assert "-1" in lines[region["startLine"] - 1] + lines[region["startLine"] + 1]
    suppressed = [each["ruleId"] for each in found["results"] if "suppressions" in each]
    assert suppressed == ["overlapping-ranges"]
    (invocation,) = found["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (ran.status, False)
    (notice,) = invocation["toolExecutionNotifications"]
    assert "none.json" in notice["message"]["text"]


def test_reports_follow_their_schema(demo: Path, tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    schema = json.loads(run("schema", "--report").out)
    Draft202012Validator.check_schema(schema)
    valid = Draft202012Validator(schema).validate
    sets = [demo / "sst.v0.json", demo / "broken.json", demo / "sst.parq", tmp_path / "none.json"]
    for verb in (["check"], ["check", "--targets"], ["audit"], ["verify"]):
        valid(json.loads(run(verb[0], *sets, *verb[1:], "--json").out))
        for source in sets:
            valid(json.loads(run(verb[0], source, *verb[1:], "--json").out))
    valid(json.loads(run("verify", demo / "broken.json", "--values", "all", "--json").out))


def test_junit_has_a_case_for_each_array(demo: Path, tmp_path: Path) -> None:
    ran = run("check", demo / "broken.json", demo / "sst.v0.json", "--format", "junit")
    suites = ElementTree.fromstring(ran.out)
    assert [suite.tag for suite in suites] == ["testsuite"] * 2
    for suite in suites:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases) == 9
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert all(case.attrib["name"] and case.attrib["classname"] for case in cases)
    failed = [case.attrib["name"] for case in suites[0] if case.find("failure") is not None]
    assert failed == ["(the set)", "lat", "sst"]
    assert suites[1].find("testcase/failure") is None


def test_what_may_not_be_read_is_skipped_in_junit_and_a_warning_for_github(tmp_path: Path) -> None:
    refs = {".zgroup": '{"zarr_format": 2}', "a": ["s3://bucket/f"]}
    source = tmp_path / "set.json"
    source.write_text(json.dumps(refs))
    ran = run("audit", source, "--format", "junit")
    assert ran.status == 2
    skipped = ElementTree.fromstring(ran.out).find("testsuite/testcase/skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "1 file is not allowed yet"
    lines = run("audit", source, "--format", "github").out.splitlines()
    assert any(line.startswith("::warning ") and "not allowed yet" in line for line in lines)


ODD = {
    "a\nb/.zarray": "{",
    "%0A::error::x/0": ["u", -1, 2],
    "<x>&\"'/0": ["u", 1],
    "\x00\x1b[31m/0": 1,
    "\ud800/0": ["s3://u:secret@b/f?X-Amz-Signature=0123456789", -2, 2],
}


@pytest.mark.parametrize("form", ["github", "junit", "sarif"])
def test_names_of_a_stranger_stay_names(form: str, tmp_path: Path) -> None:
    source = tmp_path / "a, b:c%.json"
    source.write_text(json.dumps(ODD))
    out = run("check", source, "--format", form, "--fail-on", "info").out
    assert "secret" not in out
    assert "0123456789" not in out
    assert not re.search("[\x00\x1b\ud800]", out)
    if form == "junit":
        assert len(ElementTree.fromstring(out)) == 1
    elif form == "sarif":
        is_sarif(json.loads(out))
    else:
        commands = [line for line in out.splitlines() if "::error" in line]
        assert all(re.match(r"::error file=[^,:\n]*%2C b%3Ac%25\.json,", line) for line in commands)
        assert commands


def test_the_badge_says_how_it_is(demo: Path, tmp_path: Path) -> None:
    badge = tmp_path / "badge.svg"
    for name, word in {
        "sst.v0.json": "passing",
        "broken.json": "failing",
        "no": "not known",
    }.items():
        run("check", demo / name, "--badge", badge)
        drawn = ElementTree.parse(badge).getroot()
        assert drawn.attrib["aria-label"] == f"references: {word}"
        assert "http" not in badge.read_text().replace("http://www.w3.org/2000/svg", "")
