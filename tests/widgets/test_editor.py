from __future__ import annotations

import json

from refexplorer import demo
from refexplorer.referenceset import ReferenceSet
from refexplorer.widgets import TemplateEditor


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
