"""Reads the XML of DMR++ documents under limits, without document types or entities."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.parsers import expat

from refexplorer.core.errors import LimitError, SpecError
from refexplorer.core.files import Readable
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape

_PIECE = 2**20  # bytes that the XML parser gets at a time
DAP = "DAP"
DMRPP = "DMR++"
_SPACES = {
    DAP: re.compile(r"https?://xml\.opendap\.org/ns/DAP/4\.[0-9.]+#?"),
    DMRPP: re.compile(r"https?://xml\.opendap\.org/dap/dmrpp/1\.[0-9.]+#?"),
}
"""Published documents have both schemes, and other versions."""


@dataclass(slots=True)
class Element:
    """An element of the document."""

    # space, name: Its namespace, one of those above or as it is written, and its name in that
    space: str
    name: str
    # By name; those with a namespace have it, and a space, before the name
    attributes: dict[str, str]
    text: str = ""  # What stands in it, without what stands in its children
    children: list[Element] = field(default_factory=list)  # In order

    def is_a(self, space: str, name: str) -> bool:
        """Say whether it is an element of this name."""
        return (self.space, self.name) == (space, name)

    def of(self, space: str, *names: str) -> list[Element]:
        """Return the children of one of these names."""
        return [child for child in self.children if child.space == space and child.name in names]


def read_xml(stream: Readable, name: str, limits: Limits) -> Element:
    """Read a document."""
    reader = _XmlReader(name, limits)
    try:
        while piece := stream.read(_PIECE):
            reader.parse(piece, False)
        reader.parse(b"", True)
    except expat.ExpatError as error:
        raise SpecError(
            f"{escape(name)} is not well-formed XML: {expat.ErrorString(error.code)} in line "
            f"{error.lineno}.",
            code="not-json",
        ) from None
    except (LookupError, ValueError, TypeError) as error:  # of the codec that it names
        why = str(error).partition("\n")[0].rstrip(".")
        raise SpecError(
            f"{escape(name)} is not XML that can be read: {escape(why, 200)}; write it as UTF-8.",
            code="not-json",
        ) from None
    return reader.root


class _XmlReader:
    def __init__(self, name: str, limits: Limits) -> None:
        self._name, self._limits = name, limits
        self._open = [Element("", "", {})]
        self._texts: list[list[str]] = [[]]
        self._names: dict[str, tuple[str, str]] = {}
        self._count = 0
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parse: Callable[[bytes, bool], object] = parser.Parse

    @property
    def root(self) -> Element:
        return self._open[0].children[0]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > self._limits.json_lists:
            raise LimitError(
                f"{escape(self._name)} has more than {self._limits.json_lists:,} elements; "
                "`Limits.json_lists` raises the limit."
            )
        if len(self._open) > self._limits.json_depth:
            raise LimitError(
                f"{escape(self._name)} is nested deeper than {self._limits.json_depth} elements; "
                "`Limits.json_depth` raises the limit."
            )
        space, name = self._known(tag)
        if " " in "".join(attributes):  # which few elements have, and there are many
            attributes = {
                " ".join(self._known(key)).lstrip(): text for key, text in attributes.items()
            }
        element = Element(space, name, attributes)
        self._open[-1].children.append(element)
        self._open.append(element)
        self._texts.append([])

    def _known(self, tag: str) -> tuple[str, str]:
        """Return the namespace, by the name that it has here, and the name in it."""
        if tag not in self._names:
            space, _, name = tag.rpartition(" ")
            fitting = (known for known, spelling in _SPACES.items() if spelling.fullmatch(space))
            self._names[tag] = next(fitting, space), name
        return self._names[tag]

    def _end(self, tag: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())

    def _text(self, text: str) -> None:
        self._texts[-1].append(text)

    def _refuse(self, *_: object) -> None:
        raise SpecError(
            f"{escape(self._name)} declares a document type, which DMR++ has no use for and which "
            "can make a small file expand without end; it is not read.",
            code="not-json",
        )
