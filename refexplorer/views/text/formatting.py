"""A JSON text, written so that a person can read it; each of its tokens stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from refexplorer.errors import LimitError, RefexplorerError
from refexplorer.formats.json.positions import TEXT
from refexplorer.markup import size_text

LONGEST = 20_000_000
"""Characters of a text that is formatted."""
_WIDTH = 70
_TOKEN = re.compile(rf'{TEXT}|[{{}}\[\],:]|[^\s{{}}\[\],:"]+', re.DOTALL)
_OPENING = {"{": "}", "[": "]"}
Member = tuple[str, "JsonPart"]
"""What stands before a value, such as its name, and the value."""
JsonPart = str | tuple[str, list[Member]]
"""A token, or an opening bracket with what is in it."""


def formatted(text: str) -> str:
    """Return a text with one member a line, and short lists and objects in one line.

    Numbers, names that are there twice and escapes are kept as they are written.
    """
    if len(text) > LONGEST:
        said = (
            f"The text has {size_text(len(text))}, and at most {size_text(LONGEST)} are formatted."
        )
        raise LimitError(said)
    try:
        json.loads(text)
        tokens = (found[0] for found in _TOKEN.finditer(text))
        return "\n".join(_lines(_node(next(tokens), tokens), "", 0)) + "\n"
    except RecursionError:
        raise LimitError("The text is nested too deeply to be formatted.") from None
    except ValueError:
        raise RefexplorerError("The text is not JSON yet, so it cannot be formatted.") from None


def _node(token: str, tokens: Iterator[str]) -> JsonPart:
    if token not in _OPENING:
        return token
    members: list[Member] = []
    for inner in tokens:
        if inner == _OPENING[token]:
            break
        if inner == ",":
            continue
        if token == "{":
            next(tokens)  # the colon
            members.append((f"{inner}: ", _node(next(tokens), tokens)))
        else:
            members.append(("", _node(inner, tokens)))
    return token, members


def _lines(node: JsonPart, before: str, depth: int) -> Iterator[str]:
    """Yield the lines of a value, behind what stands before it."""
    indent = "  " * depth
    inline = None if _is_open(node, depth) else _inline(node, _WIDTH - len(indent) - len(before))
    if isinstance(node, str) or inline is not None:
        yield f"{indent}{before}{node if isinstance(node, str) else inline}"
        return
    opening, members = node
    yield f"{indent}{before}{opening}"
    for number, (name, member) in enumerate(members, 1):
        *first, last = _lines(member, name, depth + 1)
        yield from first
        yield last + ("," if number < len(members) else "")
    yield f"{indent}{_OPENING[opening]}"


def _is_open(node: JsonPart, depth: int) -> bool:
    """Say whether a value has lines of its own: the document, and its sections."""
    if isinstance(node, str) or not node[1]:
        return False
    return depth == 0 or (depth == 1 and any(not isinstance(each, str) for _, each in node[1]))


def _inline(node: JsonPart, room: int) -> str | None:
    """Return a value in one line, None if there is no room for it; a list of values has room."""
    if isinstance(node, str):
        return node
    opening, members = node
    is_plain = opening == "[" and all(isinstance(each, str) for _, each in members)
    pieces: list[str] = []
    for name, member in members:
        piece = _inline(member, room)
        if piece is None:
            return None
        pieces.append(f"{name}{piece}")
        room -= len(pieces[-1]) + 2
        if room < 0 and not is_plain:
            return None
    return f"{opening}{', '.join(pieces)}{_OPENING[opening]}"
