"""What crosses the wire is described once, and nothing else crosses it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.wire.answering import Message
from refexplorer.views.wire.editor.editor_messages import Explore
from refexplorer.views.wire.messages import EXACT, tag_of
from refexplorer.views.wire.schema import PROTOCOLS, field_notes, requests, schema
from tests.helpers.explorer import Host
from tests.helpers.sets import DEMO
from tests.helpers.sources import PACKAGE, modules
from tests.helpers.wire import Recorder, problems, sent_by

WIRE = PACKAGE / "views" / "wire"


def test_every_request_that_is_described_is_answered() -> None:
    asked = {name: {*map(tag_of, requests(module))} for name, module in PROTOCOLS.items()}
    explorer = Host({"a": "b"}).controller
    assert {*map(tag_of, explorer.operations)} == asked["Explorer"]
    exercises = {*map(tag_of, ExercisesController().operations)}
    assert exercises | {tag_of(Explore)} == asked["Editor"]
    assert {*map(tag_of, EditorController().operations)} < exercises


def test_the_messages_of_a_new_view_are_a_module_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "census_messages.py").write_text(
        "from refexplorer.views.wire.messages import Done, Request\n\n\n"
        "class CountHeads(Request, frozen=True, tag='census.count'):\n"
        "    'Count the keys.'\n\n    reply = Done\n"
    )
    explorer = PROTOCOLS["Explorer"]
    monkeypatch.setattr(explorer, "__path__", [*explorer.__path__, str(tmp_path)])
    assert tag_of(requests(explorer)[0]) == "cancel"  # those of the explorer itself come first
    described = schema()["definitions"]["ExplorerOperations"]["properties"]
    del sys.modules[f"{explorer.__name__}.census_messages"]
    assert described["census.count"]["description"] == "Count the keys."


def test_the_schema_is_one() -> None:
    """By the meta-schema alone: jsonschema takes 1.6 s to import."""
    meta = REGISTRY.contents("http://json-schema.org/draft-07/schema#")
    fastjsonschema.compile(meta)(schema())
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        fastjsonschema.compile(meta)({**schema(), "properties": ["none"]})


@pytest.mark.parametrize(
    ("field", "value"),
    [("surprise", 1), ("code", None), ("facts", {"keys": 1}), ("note_count", "many"), ("form", 1)],
)
def test_a_field_that_no_model_describes_is_found(field: str, value: object) -> None:
    hello = Host(DEMO / "sst.v0.json").ask("hello")
    assert not problems("Hello", hello)
    assert problems("Hello", {**hello, field: value})


@pytest.mark.parametrize("field", ["facts", "notes", "arrays"])
def test_a_field_that_is_not_sent_is_found(field: str) -> None:
    hello = Host(DEMO / "sst.v0.json").ask("hello")
    del hello[field]
    assert problems("Hello", hello)


@pytest.mark.parametrize(
    ("said", "at_once"),
    [
        ({"ev": "surprise"}, False),
        ({"ev": "code", "code": "refs", "more": 1}, False),
        ({"id": "t:1", "error": "why", "more": 1}, True),
        ({"id": "t:1", "total": 1}, True),
        ({"id": "t:1", "total": 1, "index": 1}, False),
        ({"id": "t:2", "total": 1, "index": 1}, True),
    ],
)
def test_a_message_that_no_model_describes_is_found(said: Message, at_once: bool) -> None:
    recorder = Recorder("Explorer", [])
    recorder.asked({"id": "t:1", "op": "tree.toggle"})
    recorder.said({"id": "t:1", "total": str(EXACT + 1), "index": -1}, [], at_once=True)
    assert not recorder.findings
    recorder.said(said, [], at_once=at_once)
    assert recorder.findings


class Sender:
    """A host that says something of its own."""

    def __init__(self) -> None:
        self.sent: list[Message] = []

    def send(self, message: Message) -> None:
        self.sent.append(message)


def test_a_message_of_a_host_that_no_model_describes_is_found() -> None:
    with sent_by(Sender, "send", "Page", lambda message: message) as findings:
        sender = Sender()
        sender.send({"ev": "piece", "start": 0})
        assert not findings
        for odd in ({"ev": "surprise"}, {"ev": "piece"}, {"ev": "piece", "start": None}):
            sender.send(odd)
    assert len(findings) == 3
    sender.send({"ev": "surprise"})
    assert (len(findings), len(sender.sent)) == (3, 5)


def test_no_message_is_written_by_hand() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, text in modules().items()
        if path.parent != WIRE and ('"ev"' in text or '"op"' in text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Dict)
        and {"ev", "op"} & {key.value for key in node.keys if isinstance(key, ast.Constant)}
    ]
    assert not found


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"op": None},
        {"op": ["hello"]},
        {"op": {"a": "hello"}},
        {"op": "tree.rows", "start": [0], "n": {}},
        {"op": "tree.rows", "start": float("nan"), "n": 1},
        {"op": "tree.rows", "start": 0, "n": 1, "id": 7},
        {"op": "tree.find", "text": "a", "mode": "?", "kinds": ["rnage"]},
        {"op": "slice.plan", "array": "x", "index": "00"},
        {"op": "target.show", "window": [1]},
        {"op": "cancel"},
    ],
)
def test_an_odd_request_is_answered_with_a_sentence(odd: dict[str, Any]) -> None:
    ((answer, buffers),) = Host({"a": "b"}).controller.handle(odd)
    assert (answer["id"], buffers) == (odd.get("id"), [])
    assert "Traceback" not in answer["error"]
    assert "Unexpected" not in answer["error"]


def test_numbers_of_javascript_are_read() -> None:
    reply = Host({"a": "b"}).ask("tree.rows", start=1e21, n=1.0)
    assert (reply["start"], reply["rows"]) == (str(10**21), [])


def test_every_field_that_is_explained_is_there() -> None:
    for module in PROTOCOLS.values():
        for kind in requests(module):
            for each in filter(None, (kind, kind.reply)):
                assert {*field_notes(each)} <= {*each.__struct_encode_fields__}, each


def test_the_schema_is_made_with_what_the_build_requires() -> None:
    source = (
        "import sys, refexplorer.views.wire.schema as made\n"
        "made.schema()\n"
        "print(*{name.partition('.')[0] for name in sys.modules} - {*sys.stdlib_module_names})"
    )
    said = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path += {sys.path!r}\n{source}"],
        capture_output=True,
        text=True,
        check=True,
    )
    built_with = {"lazy_loader", "msgspec", "typing_extensions", "refexplorer", "__main__"}
    assert {*said.stdout.split()} <= built_with
