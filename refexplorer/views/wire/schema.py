"""All messages as one JSON Schema: ``python -m refexplorer.views.wire.schema`` writes it.

The types of the front end and the page that describes the protocol are made of it. It is made
while the package is built, too, so that nothing here may import more than msgspec.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from refexplorer.views.wire import editor, explorer, page_messages
from refexplorer.views.wire.messages import NAMED, Event, Request, tag_of

Schema = dict[str, Any]

PROTOCOLS: Mapping[str, ModuleType] = {
    "Explorer": explorer,
    "Editor": editor,
    "Page": page_messages,
}
"""Whose messages each package or module holds; all modules of a package are read."""
_POINTER = "#/definitions/{name}"
_FIELD = re.compile(r"^(\w[\w, ]*)\n((?: +.+\n?)+)", re.MULTILINE)


def requests(protocol: ModuleType) -> list[type[Request]]:
    """Return the requests of a protocol, in the order of its modules and their text."""
    return [each for each in _messages(protocol, Request) if issubclass(each, Request)]


def events(protocol: ModuleType) -> list[type[Event]]:
    """Return the events of a protocol."""
    return [each for each in _messages(protocol, Event) if issubclass(each, Event)]


def _messages(protocol: ModuleType, base: type[Struct]) -> dict[type[Struct], None]:
    return {
        each: None
        for module in _modules(protocol)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, base) and each is not base
    }


def _modules(protocol: ModuleType) -> list[ModuleType]:
    """Return the modules of a package, the one that is named like it first."""
    start, folders = protocol.__name__, getattr(protocol, "__path__", ())
    names = [f"{start}.{found.name}" for found in pkgutil.iter_modules(folders)]
    own = f"{start}.{start.rpartition('.')[2]}_messages"
    names.sort(key=lambda name: name != own)
    return [importlib.import_module(name) for name in names] or [protocol]


def schema() -> Schema:
    """Return the schema (draft 7): of each protocol what is asked and answered, and its events."""
    sections: Schema = {}
    sent: dict[type[Struct], None] = {}
    for name, module in PROTOCOLS.items():
        asked = {tag_of(kind): _operation(kind) for kind in requests(module)}
        said = {
            tag_of(kind): {"$ref": _POINTER.format(name=kind.__name__)} for kind in events(module)
        }
        sections |= {f"{name}Operations": _object(asked), f"{name}Events": _object(said)}
        replies = [kind.reply for kind in requests(module) if kind.reply is not None]
        sent |= dict.fromkeys([*replies, *events(module)])
    named = [part for module in PROTOCOLS.values() for part in _asked_parts(module)]
    definitions = _definitions(sent, named)
    for name, section in sections.items():
        definitions[name] = _finished(section, definitions)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": dict(sorted(definitions.items())),
    }


def _operation(kind: type[Request]) -> Schema:
    parts = {"asks": _asked(kind)}
    if kind.reply is not None:
        parts["reply"] = _reference(kind.reply.__name__)
    return {**_object(parts), "description": summary(kind)}


def _asked(kind: type[Request]) -> Schema:
    """Return the schema of a request, without its id and its operation."""
    (_,), found = msgspec.json.schema_components([kind], ref_template=_POINTER)
    model = _described(found[kind.__name__], kind)
    fields = {name: each for name, each in model["properties"].items() if name not in ("op", "id")}
    required = [name for name in model["required"] if name in fields]
    return {**_object(fields), "required": required}


def _reference(name: str) -> Schema:
    return {"$ref": _POINTER.format(name=name)}


def _object(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _asked_parts(module: ModuleType) -> Iterator[type[Struct]]:
    """Yield the models that the requests of a module hold."""
    for kind in requests(module):
        for field in msgspec.structs.fields(kind):
            yield from _with_parts(_models_in(field.type))


def _definitions(kinds: Iterable[type[Struct]], asked: Iterable[type[Struct]]) -> Schema:
    """Return the schema of all that is sent, and of what is asked with, by the names."""
    models = {each.__name__: each for each in [*_with_parts(kinds), *asked]}
    questions = {each.__name__ for each in asked}
    _, found = msgspec.json.schema_components(list(models.values()), ref_template=_POINTER)
    definitions: Schema = {}
    for name, component in found.items():
        if name in models:
            fields, needed = component["properties"], component["required"]
            # what has a default is sent all the same
            always = [each for each in fields if each in needed or "default" in fields[each]]
            always = needed if name in questions else always
            component = _described(component, models[name])
            component |= {"required": always, "additionalProperties": False}
        definitions[name] = _finished(component, definitions)
    return definitions


def _with_parts(kinds: Iterable[type[Struct]]) -> Iterator[type[Struct]]:
    """Yield models, and the models that they hold."""
    seen: set[type[Struct]] = set()
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        yield kind
        for field in msgspec.structs.fields(kind):
            waiting += _models_in(field.type)


def _models_in(annotation: Any) -> Iterator[type[Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models_in(part)


def summary(kind: type) -> str:
    """Return the docstring of a model without what it says of its fields, as one paragraph."""
    return " ".join((inspect.getdoc(kind) or "").partition("\nAttributes\n")[0].split())


def field_notes(kind: type) -> dict[str, str]:
    """Return what the docstrings of a model and of what it extends say of its fields."""
    notes: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        said = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes\n----------\n")[2]
        for names, text in _FIELD.findall(said):
            notes |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return notes


def _described(component: Schema, kind: type) -> Schema:
    notes = field_notes(kind)
    properties = {
        name: {**_described_beside(each), "description": notes[name]} if name in notes else each
        for name, each in component["properties"].items()
    }
    return {**component, "description": summary(kind), "properties": properties}


def _described_beside(part: Schema) -> Schema:
    """Return a part that something may stand beside: draft 7 reads nothing beside a reference."""
    return {"allOf": [part]} if "$ref" in part or NAMED in part else part


def _finished(part: Any, definitions: Schema) -> Any:
    """Return a part of a schema in words of draft 7, its named types among the definitions."""
    if isinstance(part, list):
        return [_finished(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    if NAMED in part:
        name = part[NAMED]["title"]
        definitions[name] = part[NAMED]
        return _reference(name)
    done = {name: _finished(each, definitions) for name, each in part.items() if name != "default"}
    if "prefixItems" in done:
        done |= {"items": done.pop("prefixItems"), "additionalItems": False}
    return done


if __name__ == "__main__":
    json.dump(schema(), sys.stdout, indent=1)
