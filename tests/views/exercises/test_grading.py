"""Files of answers are judged again, whatever they say of themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.views.exercises.exercise_models import exercises
from tests.helpers.commands import run

ALL = exercises()


def write(path: Path, **answers: Any) -> Path:
    found = {name.replace("_", "-"): answer for name, answer in answers.items()}
    path.write_text(json.dumps({"schema": 1, "answers": found}))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """All solved; one of each state; not a file of answers."""
    solved = {one.name: {"text": one.solution} for one in ALL}
    (tmp_path / "ada.json").write_text(json.dumps({"schema": 1, "answers": solved}))
    one, two, three, four = ALL[:4]
    mixed = {
        one.name: {"text": one.solution},
        two.name: {"text": two.solution, "solution_shown": True},
        three.name: {"text": three.wrong[0].text},
        four.name: {"text": four.start},
        "of-another-course": {"text": "{}"},
    }
    (tmp_path / "ben.json").write_text(json.dumps({"schema": 1, "answers": mixed}))
    (tmp_path / "cleo.json").write_text('{"schema": 1, "answers": {"01-a-range": "solved"}}')
    return [tmp_path / f"{name}.json" for name in ("ada", "ben", "cleo")]


def test_each_answer_is_judged(files: list[Path]) -> None:
    ada, ben, cleo = rx.grade(files)
    assert (ada.name, ada.count("solved")) == ("ada", len(ALL))
    states = [str(each.state) for each in ben.answers]
    assert states[:4] == ["solved", "solution shown", "wrong", "not answered"]
    assert {*states[4:]} == {"not answered"}
    assert ben.answers[2].sentence
    assert ben.unknown == ("of-another-course",)
    assert cleo.answers == ()
    assert "cleo.json is not an answer file" in cleo.error
    assert "Expected `object`, got `str`" in cleo.error


def test_a_file_of_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"schema": 2, "answers": {}}')
    (found,) = rx.grade([tmp_path / "a.json"])
    assert found.error.endswith("its schema is 2, and this version reads schema 1.")


def test_what_a_file_claims_counts_for_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", **{"01_a_range": {"text": "{", "state": "solved"}})
    (found,) = rx.grade([path])
    assert found.answers[0].state == "wrong"
    assert "JSON" in found.answers[0].sentence


def test_the_table_of_the_command(files: list[Path]) -> None:
    ran = run("grade", *map(str, files))
    assert ran.status == 2
    assert ran.out.splitlines() == [
        "name\tsolved\tsolution shown\twrong\tnot answered\tof",
        f"ada\t{len(ALL)}\t0\t0\t0\t{len(ALL)}",
        f"ben\t1\t1\t1\t{len(ALL) - 3}\t{len(ALL)}",
    ]
    assert "cleo.json is not an answer file" in ran.err
    assert "ben: not among these exercises: of-another-course." in ran.err
    detailed = run("grade", str(files[1]), "--details")
    assert detailed.status == 0
    assert f"ben: {ALL[2].name}: " in detailed.out


def test_the_document_of_the_command(files: list[Path]) -> None:
    ran = run("grade", *map(str, files), "--json")
    found = json.loads(ran.out)
    assert (found["schema"], found["status"], ran.status) == (1, 2, 2)
    ada, ben, cleo = found["grades"]
    assert ada["counts"]["solved"] == len(ALL)
    assert ben["answers"][1] == {"exercise": ALL[1].name, "state": "solution shown", "sentence": ""}
    assert cleo["error"]


def test_exercises_of_a_teacher(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(
        'title="One"\ntopic="t"\nlevel=1\ntask="x"\nhints=[]\nwhy="w"\nstart="{}"\n'
        'solution=\'{"a": "x"}\'\n'
    )
    answers = write(tmp_path / "dee.json", first={"text": '{"a": "x"}'})
    (found,) = rx.grade([answers], tmp_path)
    assert [str(each.state) for each in found.answers] == ["solved"]
    table = run("grade", str(answers), "--exercises", str(tmp_path)).out
    assert table.splitlines()[1:] == ["dee\t1\t0\t0\t0\t1"]
    ran = run("grade", str(answers), "--exercises", str(tmp_path / "none"))
    assert (ran.status, ran.out) == (2, "")
    assert "There is no folder" in ran.err


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{{f(c=a)}}", "`a` is not defined; the defined names are `f`. Text is written in quotes: "
         "{{f(c='a')}}."),
        ("{{f(c='A')}}", "the URL `http://host/A/data.nc` differs in upper and lower case."),
        ("{f(c='a')}", "still has braces: a template is written with two, `{{…}}`."),
        ("http://host/a/data.nc", "`a/0` does not use the template `f`."),
        ("{{f(c='ab')}}", "the URL `http://host/ab/data.nc` is right as far as `http://host/a`"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong_with_this_answer(
    written: str, says: str, tmp_path: Path
) -> None:
    document = {
        "version": 1,
        "templates": {"f": "http://host/{{c}}/data.nc"},
        "refs": {"a/0": [written, 0, 10], "b/0": ["{{f(c='b')}}", 0, 10]},
    }
    path = write(tmp_path / "a.json", **{"05_an_argument": {"text": json.dumps(document)}})
    (found,) = rx.grade([path])
    (answer,) = [each for each in found.answers if each.exercise == "05-an-argument"]
    assert says in answer.sentence


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ('["data.nc", 50, 100]', "the offset 50 and the length 100 are exchanged."),
        ('["data.nc", 100, 149]', "is where the bytes end, not how many there are."),
        ('["data.nc", 100, 150]', "is where the bytes end, not how many there are."),
        ('["data.nc", 101, 50]', "the offset 101 is too large."),
        ('["data", 100, 50]', "the URL `data` ends too early."),
        ('["other.nc", 100, 50]', "the URL `other.nc` is not right from its first letter on."),
    ],
)
def test_a_range_is_refused_with_a_reason(reference: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", **{"01_a_range": {"text": f'{{"x/0": {reference}}}'}})
    assert says in rx.grade([path])[0].answers[0].sentence
