"""What crosses the wire is described once, and nothing else crosses it."""

from __future__ import annotations

import ast
from typing import Any

import fastjsonschema
import pytest
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from refexplorer.checks.advice.requests import Connection
from refexplorer.hosts import schema as hosts_schema
from refexplorer.hosts.schema import PROTOCOLS, field_notes, fields_of, requests, schema
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.registry import PARTS
from refexplorer.views.wire.context import ExplorerPart
from refexplorer.views.wire.jobs import JobReport
from refexplorer.views.wire.requests import EXACT, Buffers, Message, bound, job
from refexplorer.views.wire.requests import answer as ask
from tests.helpers.explorer import Host
from tests.helpers.sets import DEMO
from tests.helpers.sources import PACKAGE, modules
from tests.helpers.wire import Recorder, problems, sent_by

WIRE = PACKAGE / "views" / "wire"
SAVED = PACKAGE / "views" / "saved"


def test_every_request_that_is_described_is_answered() -> None:
    asked = {name: {each.name for each in requests(name)} for name in PROTOCOLS}
    assert {*Host({"a": "b"}).controller.answers} == asked["Explorer"]
    exercises = {*ExercisesController().answers}
    assert exercises == asked["Editor"]
    assert {*EditorController().answers} < exercises


class Census:
    """What a newcomer writes: a controller whose method is a request."""

    def __init__(self, context: object = None) -> None:
        pass

    @job("census.count", buffers="float64: keys of each kind.")
    def count(
        self,
        report: JobReport,
        folder: str,  # Only keys below it
        # least, most: Bytes of a key
        least: int = 0,
        most: int | None = None,
    ) -> tuple[Connection, Buffers]:
        """Count the keys."""
        return Connection(folder, least, 1.0, 2.0, most), [b"12345678"]


def test_a_request_is_described_by_the_signature_of_a_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = ExplorerPart("census", "Census", "All heads", (Census,))
    monkeypatch.setattr(hosts_schema, "PARTS", [*PARTS, part])
    described = schema()["definitions"]
    request = described["ExplorerOperations"]["properties"]["census.count"]
    assert request["description"] == "Count the keys."
    asks = request["properties"]["asks"]
    assert (asks["required"], asks["additionalProperties"]) == (["folder"], False)
    notes = {name: each.get("description") for name, each in asks["properties"].items()}
    assert notes == {"folder": "Only keys below it"} | dict.fromkeys(
        ["least", "most"], "Bytes of a key"
    )
    # a class of the domain travels as it is, and its integers may have any size
    assert request["properties"]["reply"] == {"$ref": "#/definitions/Connection"}
    fields = described["Connection"]["properties"]
    assert fields["concurrency"]["anyOf"] == [{"$ref": "#/definitions/Count"}, {"type": "null"}]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "missing required field `folder`"),
        ({"folder": 1}, "Expected `str`, got `int` - at `$.folder`"),
        ({"folder": "a", "least": [1]}, "Expected `int`, got `array` - at `$.least`"),
        ({"folder": "a", "report": 1}, "unknown field `report`"),
        ({"folder": "a", "self": 1}, "unknown field `self`"),
    ],
)
def test_what_no_signature_has_reaches_no_method(fields: dict[str, Any], sentence: str) -> None:
    ((answer, _),) = ask(bound([Census()]), {"id": "t:1", "op": "census.count", **fields})
    assert sentence in answer["error"]
    assert answer["error"].startswith("The request 'census.count' cannot be read: ")


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
        if path.parent not in (WIRE, SAVED) and ('"ev"' in text or '"op"' in text)
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
    for each in (each for name in PROTOCOLS for each in requests(name)):
        for source, kind in ((each.method, each.asks), (each.reply, each.reply)):
            if kind is not None:
                assert {*field_notes(source)} <= {*fields_of(kind)}, each.name
