from __future__ import annotations

import json
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.core.errors import RefexplorerError
from refexplorer.hosts.notebook.editor import Exercises, TemplateEditor
from refexplorer.verbs.referenceset import ReferenceSet


def keys(references: ReferenceSet | None) -> list[str]:
    assert references is not None
    return list(references)


def test_a_dict_is_shown_as_text() -> None:
    editor = TemplateEditor({"version": 1, "refs": {"a": "text"}})
    assert json.loads(editor.document) == {"version": 1, "refs": {"a": "text"}}


def test_references_follow_the_document() -> None:
    editor = TemplateEditor(demo.path("spec.v1.json").read_text())
    seen: list[list[str]] = []
    editor.observe(lambda change: seen.append(keys(change["new"])), "references")
    editor.document = '{"version": 1, "refs": {"a": "text"}}'
    assert seen == [["a"]]


def test_a_broken_document_keeps_the_last_good_references() -> None:
    editor = TemplateEditor({"version": 1, "refs": {"a": "text"}})
    editor.document = '{"version": 1, "refs": {'
    assert keys(editor.references) == ["a"]


def test_what_is_typed_reaches_references_and_not_the_document() -> None:
    """The front end sets `document` itself, once it is answered."""
    editor = TemplateEditor("{}")
    editor._receive(editor, {"id": "v:1", "op": "edit", "document": '{"b": "text"}'}, [])
    assert keys(editor.references) == ["b"]
    assert editor.document == "{}"


def test_a_gen_of_any_size_follows_another() -> None:
    gen = {"key": "k{{i}}", "url": "u", "dimensions": {"i": {"stop": 10**12}}}
    editor = TemplateEditor({"version": 1, "gen": [gen]})
    before = editor.references
    editor.document = json.dumps({"version": 1, "gen": [gen], "refs": {}})
    assert editor.references is not before
    assert editor.references is not None
    assert editor.references.count == 10**12


def test_diagnostics_are_those_of_the_references() -> None:
    editor = TemplateEditor({"version": 1, "refs": {"a": ["{{nosuch}}"]}})
    assert [diagnostic.pointer for diagnostic in editor.diagnostics] == ["/refs/a"]


def test_templates_are_tried_from_python_and_from_the_view() -> None:
    document = {"version": 1, "templates": {"u": "a"}, "refs": {"k": ["{{u}}/f"]}}
    editor = TemplateEditor(document, templates={"u": "b"})
    assert editor.references is not None
    assert editor.references["k"].to_v0() == ["b/f"]
    editor.templates = {"u": "c"}
    assert editor.references["k"].to_v0() == ["c/f"]
    message = {"id": "v:1", "op": "try", "templates": {"u": "d"}}
    editor._receive(editor, message, [])
    assert editor.templates == {"u": "d"}
    assert editor.references["k"].to_v0() == ["d/f"]


def test_diagnostics_are_observed() -> None:
    editor = TemplateEditor({"version": 1, "refs": {}})
    seen: list[str] = []
    editor.observe(lambda change: seen.extend(one.code for one in change["new"]), "diagnostics")
    editor.document = '{"version": 1, "refs": {"a": ["{{nosuch}}"]}}'
    assert seen == ["undefined-name"]


def test_the_edited_set_opens_in_an_explorer() -> None:
    editor = TemplateEditor({"version": 1, "refs": {"a": "text"}})
    before = editor.explorer
    assert before is None
    explorer = editor.explore()
    assert explorer is editor.explorer
    assert keys(explorer.references) == ["a"]
    assert editor.explore() is explorer
    editor.document = '{"b": "text"}'
    assert keys(editor.explore().references) == ["b"]
    with pytest.raises(RefexplorerError, match="No valid text with keys was entered yet"):
        TemplateEditor("{").explore()


def test_a_saved_notebook_keeps_the_document_and_the_rows() -> None:
    editor = TemplateEditor({"version": 1, "refs": {"<i>": "<script>", "b": ["http://h/f", 1, 2]}})
    data, _ = editor._repr_mimebundle_()
    html = data["text/html"]
    assert "http://h/f" in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "<i>" not in html
    assert html.count("2 keys") == 1
    assert data["text/plain"] == "template editor: 2 keys"


def test_a_saved_notebook_keeps_the_task() -> None:
    data, _ = Exercises(exercise="01-a-range", answers=None)._repr_mimebundle_()
    assert "The chunk `x/0` is 50 bytes long" in data["text/html"]
    assert "data.nc" in data["text/html"]


def test_answers_outlive_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    exercises = Exercises(exercise="01-a-range", answers=file)
    assert not file.exists()  # looking writes nothing
    exercises.document = '{"x/0": ["data.nc", 100, 50]}'
    assert exercises.solved == ["01-a-range"]
    exercises.document = '{"x/0": '  # a text that passed is not lost
    exercises.exercise = "08-offsets"
    assert "all.bin" in exercises.document
    exercises.document = '{"mine": "half done"}'

    again = Exercises(exercise="08-offsets", answers=file)
    assert again.solved == ["01-a-range"]
    assert again.document == '{"mine": "half done"}'
    again.exercise = "01-a-range"
    assert again.document == '{"x/0": ["data.nc", 100, 50]}'
    (found,) = rx.grade([file])
    states = {
        each.exercise: str(each.state) for each in found.answers if each.state != "not answered"
    }
    assert states == {"01-a-range": "solved", "08-offsets": "wrong"}


def test_answers_are_kept_in_a_file_beside_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Exercises().document = '{"x/0": ["data.nc", 100, 50]}'
    assert Exercises().solved == ["01-a-range"]
    assert Exercises(answers=None).solved == []
    assert [path.name for path in tmp_path.iterdir()] == ["answers.json"]


def test_another_course_in_the_same_file_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text('{"schema": 1, "answers": {"other": {"text": "x"}}}')
    Exercises(answers=file).document = '{"x/0": ["data.nc", 100, 50]}'
    assert [*json.loads(file.read_text())["answers"]] == ["other", "01-a-range"]


def test_a_file_of_something_else_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text("mine")
    with pytest.raises(RefexplorerError, match=r"answers.json is not an answer file: .*malformed"):
        Exercises(answers=file)
    assert file.read_text() == "mine"


def test_answers_that_cannot_be_saved_are_a_warning(tmp_path: Path) -> None:
    exercises = Exercises(answers=tmp_path / "none" / "answers.json")
    with pytest.warns(UserWarning, match="Your answers are not saved: .* cannot be written"):
        exercises.document = '{"x/0": ["data.nc", 100, 50]}'
    assert exercises.solved == ["01-a-range"]


def test_an_exercise_that_is_not_there() -> None:
    with pytest.raises(RefexplorerError, match="no exercise 'x'"):
        Exercises(exercise="x", answers=None)
