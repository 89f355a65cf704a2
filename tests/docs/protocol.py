"""The page that describes the messages, made from their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from refexplorer.hosts.schema import PROTOCOLS, events, requests, schema, summary
from refexplorer.views.wire.requests import tag_of

_INTRODUCTION = """\
A controller is plain Python. A host gives it a function to post messages, and passes it the
messages of the front end:

```python
controller = ExplorerController(references)
controller.post = send  # send(message: dict, buffers: list[bytes]), from any thread
for message, buffers in controller.handle(message, buffers):
    send(message, buffers)
```

A request is `{"id": "<view>:<number>", "op": …, …}`. The controller replies immediately, or later
from a thread after `progress` events. The reply has the same `id` and the fields of the reply, or
`{"id", "error": "one sentence"}`. Events without a request are `{"ev": …, …}`. Every view of the
widget receives each reply, so a view ignores ids that are not its own. Numbers are JSON numbers; a
`Count` above 2^53 is sent as text. Arrays are sent as little-endian binary buffers.

State that a notebook can observe is a trait, with the same name in the notebook and on the page.
The explorer has `selection` (the selected key or path), `code` (Python code for the last action)
and `part` (the part of the explorer that the widget shows; one bundle draws all parts). The editor
has `document`. The page calls it `text`, because Bokeh reserves the name `document`
(`frontend/src/shared/host.ts` maps it). In a notebook the explorer also has the trait `first`: the
replies to `hello` and to the first `tree.rows`, by the name of the operation, which save the first
view two requests. It is empty after the first message or change.

A request is a method of a controller, declared with `request` or `job` of
`refexplorer.views.wire`. Its signature validates the message, and `python hatch_build.py`
generates the types of the front end from it. A test fails if a controller sends a message that its
signature does not describe."""

Part = Mapping[str, Any]


def protocol_page() -> str:
    """Return every request with its reply, every event, and every model."""
    described = schema()["definitions"]
    lines = ["# The messages between the views and Python", "", _INTRODUCTION, ""]
    shown = {f"{name}{part}" for name in PROTOCOLS for part in ("Operations", "Events")}
    for name in PROTOCOLS:
        lines += [f"## {name}", "", *_operations(name, described), *_events(name)]
    lines += ["## Models", ""]
    for name in sorted(described.keys() - shown):
        lines += _model(name, described[name])
    return "\n".join(lines).rstrip() + "\n"


def _operations(name: str, described: Mapping[str, Part]) -> Iterator[str]:
    yield from ("| operation | request | reply | description |", "|---|---|---|---|")
    for kind in requests(name):
        parts = described[f"{name}Operations"]["properties"][kind.name]["properties"]
        when = "later: " if kind.is_later else ""
        reply = when + _text(parts["reply"]) if "reply" in parts else ""
        said = [summary(kind.method), *_explained(parts["asks"])]
        if kind.buffers:
            said.append(f"Buffers: {kind.buffers}")
        yield _cells(f"`{kind.name}`", ", ".join(_fields(parts["asks"])), reply, " ".join(said))
    yield ""


def _fields(model: Part) -> Iterator[str]:
    for name, part in model["properties"].items():
        needed = "" if name in model["required"] else "?"
        yield f"`{name}{needed}`: {_text(part)}"


def _explained(model: Part) -> Iterator[str]:
    for name, part in model["properties"].items():
        if "description" in part:
            yield f"`{name}`: {part['description']}"


def _events(name: str) -> Iterator[str]:
    if found := events(name):
        yield from ("| event | | |", "|---|---|---|")
        for kind in found:
            yield _cells(f"`{tag_of(kind)}`", _link(kind.__name__), summary(kind))
        yield ""


def _model(name: str, model: Part) -> Iterator[str]:
    yield from (f"### {name}", "")
    if "description" in model:
        yield from (model["description"], "")
    if "properties" not in model:
        yield from (_text(model), "")
        return
    fields = {each: part for each, part in model["properties"].items() if each != "ev"}
    if fields:
        yield from ("| field | type | |", "|---|---|---|")
        for each, part in fields.items():
            needed = "" if each in model["required"] else "?"
            yield _cells(f"`{each}{needed}`", _text(part), part.get("description", ""))
        yield ""


def _text(part: Part) -> str:
    """Return a type in a few words."""
    if "$ref" in part:
        return _link(part["$ref"].rpartition("/")[2])
    if "allOf" in part:
        return _text(part["allOf"][0])
    if "anyOf" in part:
        return " or ".join(map(_text, part["anyOf"]))
    if "enum" in part:
        return ", ".join(f"`{word}`" for word in part["enum"])
    kind = part.get("type", part.get("tsType", "any JSON"))
    if kind == "array":
        items = part.get("items", {})
        inside = ", ".join(map(_text, items)) if isinstance(items, list) else f"{_text(items)}, …"
        return f"[{inside}]"
    if kind == "object":
        return f"{{name: {_text(part['additionalProperties'])}}}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _cells(*cells: str) -> str:
    return " | ".join(["", *(cell.replace("|", "\\|") for cell in cells), ""]).strip()
