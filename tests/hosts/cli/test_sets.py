"""Commands over several sets: what fails, what is accepted, settings of the folder."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.helpers.commands import run


def test_several_sets_are_checked_though_one_cannot_be_opened(demo: Path, tmp_path: Path) -> None:
    good, bad, none = demo / "sst.v0.json", demo / "broken.json", tmp_path / "none.json"
    ran = run("check", good, none, bad)
    assert ran.status == 1
    assert [line.partition(":")[0] for line in ran.out.splitlines() if line[0] != " "] == [
        "sst.v0.json", "broken.json",
    ]  # fmt: skip
    assert ran.err.count("\n") == 1
    assert "none.json" in ran.err
    assert run("check", good, none).status == 2
    assert run("check", good, good).status == 0
    document = json.loads(run("check", good, none, "--json").out)
    assert (document["schema"], document["status"]) == (1, 2)
    first, second = document["reports"]
    assert (first["status"], first["headline"]) == (0, run_headline(good))
    assert (second["status"], "none.json" in second["error"]) == (2, True)


def run_headline(source: Path) -> str:
    return run("check", source).out.splitlines()[0].partition(": ")[2]


@pytest.mark.parametrize("form", ["json", "github", "junit", "sarif"])
@pytest.mark.parametrize("verb", ["check", "audit", "verify"])
def test_a_set_that_cannot_be_opened_is_a_document(verb: str, form: str, tmp_path: Path) -> None:
    ran = run(verb, tmp_path / "none.json", "--format", form)
    assert ran.status == 2
    assert "none.json" in ran.out
    if form in ("json", "sarif"):
        assert json.loads(ran.out)
    elif form == "junit":
        assert ElementTree.fromstring(ran.out).find("testsuite/testcase/error") is not None
    else:
        assert ran.out.startswith("::error ")


def test_the_least_severity_that_fails(demo: Path) -> None:
    source = demo / "sst.v0.json"
    assert run("check", source, "--fail-on", "warning").status == 0
    ran = run("check", source, "--fail-on", "info")
    assert ran.status == 1
    assert ran.out.startswith("sst.v0.json: has 1 note; no errors in the set itself")
    assert run("check", source, "--fail-on", "info", "--accept", "relative-url").status == 0
    # one finding stands for many arrays: those of one of them are not accepted apart
    assert run("check", source, "--fail-on", "info", "--accept", "relative-url:lon").status == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--accept", "relativ-url"], "Did you mean `relative-url`?"),
        (["--fail-on", "fatal"], "'fatal' is not one of"),
        (["--format", "xml"], "'xml' is not one of"),
        (["other.json", "--html", "x.html"], "--html takes one set"),
    ],
)
def test_a_wrong_call_is_one_sentence(demo: Path, arguments: list[str], sentence: str) -> None:
    ran = run("check", demo / "sst.v0.json", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("name", ["refexplorer.toml", "pyproject.toml"])
def test_settings_of_the_folder(
    name: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "[tool.refexplorer]\n" if name == "pyproject.toml" else ""
    text = 'fail-on = "info"\naccept = ["odd-url"]\nallow = ["."]\nvalues = "sample"\n'
    Path(name).write_text(head + text)
    source = demo / "sst.v0.json"
    assert run("check", source).status == 1
    assert (
        run("check", source, "--accept", "relative-url", "--accept", "missing-chunks").status == 0
    )
    assert run("check", source, "--fail-on", "error").status == 0
    verified = json.loads(run("verify", source, "--json").out)
    assert verified["verb"] == "verify --values"
    assert run("info", source).status == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fail_on = 1", "unknown key 'fail_on'. Did you mean `fail-on`?"),
        ("accept = 'x'", "accept of refexplorer.toml must be a list of texts"),
        ("fail-on = ", "refexplorer.toml is not TOML: "),
        ("fail-on = 'fatal'", "'fatal' is not one of"),
        ("accept = ['nope']", "'nope' is not a code"),
    ],
)
def test_settings_that_are_wrong_are_one_sentence(
    text: str, sentence: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("refexplorer.toml").write_text(text)
    ran = run("check", demo / "sst.v0.json")
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
    assert run("info", demo / "sst.v0.json").status == 0


def test_the_exit_status_means_the_same_everywhere(demo: Path, tmp_path: Path) -> None:
    good, bad, none = demo / "sst.v0.json", demo / "broken.json", tmp_path / "none.json"
    reader = ("--reader", "fsspec (default)")
    found = {
        ("check", good): 0, ("check", bad): 1, ("check", none): 2,
        ("audit", good): 0, ("audit", bad): 1, ("audit", none): 2,
        ("verify", good): 0, ("verify", bad): 1, ("verify", none): 2,
        ("diff", good, good): 0, ("diff", good, bad): 1, ("diff", good, none): 2,
        ("dialects", good, *reader): 0, ("dialects", demo / "sst.v1.json", *reader): 1,
        ("dialects", none, *reader): 2,
        ("ls", good): 0, ("ls", bad): 1, ("ls", none): 2,
    }  # fmt: skip
    assert {command: run(*command).status for command in found} == found
