"""All messages as one JSON Schema: ``python -m refexplorer.hosts.schema`` writes it.

The types of the front end and the protocol's documentation page are generated from it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, get_type_hints

import msgspec
from msgspec import UNSET, Struct

from refexplorer.hosts.page.page import ServedPage
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.editor.shortening import Shortening
from refexplorer.views.editor.specification import Specification
from refexplorer.views.exercises.exercise_controller import ExercisesController
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.registry import PARTS
from refexplorer.views.wire.jobs import Jobs
from refexplorer.views.wire.requests import NAMED, OTHERS, Event, RequestMethod, operations, tag_of

Schema = dict[str, Any]

PROTOCOLS = ("Explorer", "Editor", "Page")
EDITING = (EditorController, Shortening, Specification, ExercisesController)
_UNANSWERED = {"Page"}  # Traits of the page show what came of a request
_POINTER = "#/definitions/{name}"
_SECTION = re.compile(r"^(\w[\w, ]*)\n((?: +.+\n?)+)", re.MULTILINE)
_FIELD = re.compile(r"^ +(\w+): [^#]*?(?:  # (.+))?$")
_COMMENT = re.compile(r"^ +# (?:(\w+(?:, \w+)+): )?(.+)$")


def controllers(protocol: str) -> list[type[Any]]:
    """Return the classes that handle the requests of a protocol."""
    if protocol == "Explorer":
        parts = [make for part in PARTS for make in part.controllers]
        return [Jobs, ExplorerController, *(each for each in parts if isinstance(each, type))]
    return [Jobs, *EDITING] if protocol == "Editor" else [ServedPage]


def requests(protocol: str) -> list[RequestMethod]:
    """Return the requests of a protocol, in source order."""
    found = {each.name: each for kind in controllers(protocol) for each in operations(kind)}
    return [*found.values()]


def events(protocol: str) -> list[type[Event]]:
    """Return the events of a protocol."""
    return [each for kind in controllers(protocol) for each in vars(kind).get("events", ())]


def schema() -> Schema:
    """Return the schema (draft 7): requests, responses and events of each protocol."""
    sections: Schema = {}
    sent: dict[Any, None] = {}
    asked: dict[Any, None] = {}
    for name in PROTOCOLS:
        found = requests(name)
        said = {
            tag_of(kind): {"$ref": _POINTER.format(name=kind.__name__)} for kind in events(name)
        }
        sections[f"{name}Operations"] = _object(
            {each.name: _operation(each, name not in _UNANSWERED) for each in found}
        )
        sections[f"{name}Events"] = _object(said)
        if name not in _UNANSWERED:
            sent |= dict.fromkeys([each.reply for each in found if each.reply is not None])
        sent |= dict.fromkeys(events(name))
        asked |= dict.fromkeys(part for each in found for part in fields_of(each.asks).values())
    definitions = _definitions([*_with_parts(sent)], [*_with_parts(asked)])
    for name, section in sections.items():
        definitions[name] = _finished(section, definitions)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": dict(sorted(definitions.items())),
    }


def _operation(operation: RequestMethod, is_answered: bool) -> Schema:
    parts = {"asks": _asked(operation)}
    if is_answered and operation.reply is not None:
        parts["reply"] = _components([operation.reply])[0][0]
    return {**_object(parts), "description": summary(operation.method)}


def _asked(operation: RequestMethod) -> Schema:
    """Return the schema of a request, without its id and operation."""
    kind = operation.asks
    model = _components([kind])[1][_name(kind)]
    notes = field_notes(operation.method)
    fields = {
        name: _described(each, notes.get(name))
        for name, each in model["properties"].items()
        if name not in ("op", "id")
    }
    required = [name for name in model["required"] if name in fields]
    return {**_object(fields), "required": required}


def _components(kinds: Iterable[Any]) -> tuple[tuple[Schema, ...], Schema]:
    return msgspec.json.schema_components(kinds, ref_template=_POINTER)


def _name(kind: type[Any]) -> str:
    return str(_components([kind])[0][0]["$ref"].rpartition("/")[2])


def _object(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _definitions(sent: Iterable[type[Any]], asked: Iterable[type[Any]]) -> Schema:
    """Return the schemas of all models that are sent or received, by name."""
    models = {each.__name__: each for each in [*sent, *asked]}
    questions = {each.__name__ for each in asked}
    definitions: Schema = {}
    for name, component in _components(models.values())[1].items():
        if name in models:
            component = _model(component, models[name], name in questions)
        definitions[name] = _finished(component, definitions)
    return definitions


def _model(component: Schema, kind: type[Any], is_asked: bool) -> Schema:
    """Return the schema of a model: fields with defaults are sent, too."""
    notes = field_notes(kind)
    is_counted = not issubclass(kind, Struct)
    properties = {
        name: _described(_counted(each) if is_counted else each, notes.get(name))
        for name, each in component["properties"].items()
    }
    needed = component["required"] if is_asked else [
        each for each in properties if each not in _unset(kind)
    ]  # fmt: skip
    return {
        **component,
        "description": summary(kind),
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }


def _counted(part: Any) -> Any:
    """Return a nested class that is not a message: its integers may have any size."""
    if isinstance(part, list):
        return [_counted(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "integer":
        return {NAMED: {"title": "Count", **OTHERS["Count"]}}
    return {name: _counted(each) for name, each in part.items()}


def _unset(kind: type[Any]) -> set[str]:
    """Return the fields of a model that are not always sent."""
    if not issubclass(kind, Struct):
        return set()
    return {each.encode_name for each in msgspec.structs.fields(kind) if each.default is UNSET}


def _with_parts(kinds: Iterable[Any]) -> Iterator[type[Any]]:
    """Yield the given models and all nested models."""
    seen: set[type[Any]] = set()
    waiting = [model for kind in kinds for model in _models_in(kind)]
    while waiting:
        kind = waiting.pop(0)
        if kind not in seen:
            seen.add(kind)
            yield kind
            waiting += [model for part in fields_of(kind).values() for model in _models_in(part)]


def fields_of(kind: type[Any]) -> dict[str, Any]:
    """Return the field types of a model by their Python names."""
    if issubclass(kind, Struct):
        return {each.name: each.type for each in msgspec.structs.fields(kind)}
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def _models_in(annotation: Any) -> Iterator[type[Any]]:
    if isinstance(annotation, type) and (
        issubclass(annotation, Struct) or dataclasses.is_dataclass(annotation)
    ):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models_in(part)


def summary(kind: object) -> str:
    """Return the docstring of a model without its field descriptions, as one paragraph."""
    return " ".join((inspect.getdoc(kind) or "").partition("\nAttributes\n")[0].split())


def field_notes(source: Any) -> dict[str, str]:
    """Return the descriptions of fields or parameters, from comments or the docstring."""
    notes: dict[str, str] = {}
    for each in reversed(source.__mro__[:-1]) if isinstance(source, type) else [source]:
        if each.__module__.partition(".")[0] == "msgspec":
            continue
        said = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes\n----------\n")[2]
        for names, text in _SECTION.findall(said):
            notes |= dict.fromkeys(names.split(", "), " ".join(text.split()))
        with suppress(OSError):  # a response of one field has no source
            notes |= _comments(inspect.getsource(each))
    return notes


def _comments(source: str) -> dict[str, str]:
    """Return the comments of fields: ``# name, name: text`` above describes both."""
    notes: dict[str, str] = {}
    names: list[str] = []
    above: list[str] = []
    for line in source.splitlines():
        if found := _COMMENT.match(line):
            names = names or (found[1] or "").split(", ")
            above.append(found[2] if not above else line.strip("# "))
        elif field := _FIELD.match(line):
            text = " ".join([*above, field[2] or ""]).strip()
            if text:
                notes |= dict.fromkeys([field[1].rstrip("_"), *filter(None, names)], text)
            names, above = [], []
        elif not line.strip():
            names, above = [], []
    return notes


def _described(part: Schema, note: str | None) -> Schema:
    """Return a subschema with its description: draft 7 ignores siblings of a reference."""
    if note is None:
        return part
    is_alone = "$ref" in part or NAMED in part
    return {**({"allOf": [part]} if is_alone else part), "description": note}


def _finished(part: Any, definitions: Schema) -> Any:
    """Return a subschema in draft 7, with its named types among the definitions."""
    if isinstance(part, list):
        return [_finished(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    if NAMED in part:
        name = part[NAMED]["title"]
        definitions[name] = part[NAMED]
        return {"$ref": _POINTER.format(name=name)}
    done = {name: _finished(each, definitions) for name, each in part.items() if name != "default"}
    if "prefixItems" in done:
        done |= {"items": done.pop("prefixItems"), "additionalItems": False}
    return done


if __name__ == "__main__":
    json.dump(schema(), sys.stdout, indent=1)
