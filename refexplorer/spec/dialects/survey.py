"""A document as its readers meet it: entries that all readers treat alike are one group.

A million references to one file are one group, so judging costs what the distinct ways of
writing cost, not what the keys cost.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from refexplorer.spec.core.reference_parsing import BadReference, read_reference
from refexplorer.spec.core.references import BASE64_PREFIX, Base64, V0Value
from refexplorer.spec.document.model import Document, UrlReader
from refexplorer.spec.gen.item import BadField, GenItem
from refexplorer.spec.templates.template import is_template

SAMPLES = 3
FORMS = 5_000
"""Beyond so many ways of writing, those that differ in their texts alone are one group."""
LONGEST_UINT32 = 2**32 - 1
EXACT = 2**53
"""Up to here each whole number is a 64-bit float."""
VAST = "a number beyond 2**53"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")


class Shape(StrEnum):
    """The written form of a reference, as finely as some reader distinguishes it."""

    TEXT = "text"
    BASE64 = "base64"
    EMPTY_BASE64 = "empty base64"
    FOREIGN_BASE64 = "base64 with characters outside the base64 alphabet"
    BROKEN_BASE64 = "base64 of a wrong length"
    OBJECT = "object"
    WHOLE = "[url]"
    RANGE = "[url, offset, length]"
    EMPTY_RANGE = "[url, offset, 0]"
    LONG_RANGE = "a length of 4 GiB or more"
    FLOAT_RANGE = "[url, 10.0, 5.0]"
    ODD_RANGE = "[url, offset, length] that breaks a rule"
    ODD_LIST = "a list of another length"
    OTHER = "null, a number, true or false"


class Link(StrEnum):
    """The kind of value that stands for a URL."""

    NONE = ""
    ABSOLUTE = "absolute"
    PATH = "absolute path"
    RELATIVE = "relative"
    EMPTY = "empty"
    TEMPLATE = "template"
    NULL = "null"
    ODD = "no text"


class EntryForm(NamedTuple):
    """The properties that all entries of a group share; `text` is the URL's template or scheme."""

    shape: Shape
    link: Link = Link.NONE
    text: str = ""
    detail: int | str = ""
    """The length of an odd list, the type of a value that is no reference, or `VAST`."""
    good_key: bool = True
    role: str = ""
    """The role of the key to a reader that looks at keys, in its own words."""


@dataclass(slots=True)
class EntryGroup:
    """Entries of one form: how many, and the first of them."""

    form: EntryForm
    count: int = 0
    samples: list[tuple[str, object]] = field(default_factory=list)


@dataclass(frozen=True)
class WrittenItem:
    """A gen item as it is written, and as the specification reads it; None where it refuses."""

    number: int
    written: object
    read: GenItem | None

    @property
    def count(self) -> int:
        """Keys by the specification."""
        return 0 if self.read is None else self.read.count

    def ours(self, values: Mapping[str, object]) -> tuple[str, V0Value] | None:
        """Return the key and the value of one combination by the specification."""
        if self.read is None:
            return None
        numbers = {name: value for name, value in values.items() if isinstance(value, int)}
        try:
            return self.read.rendered("key", numbers), self.read.reference(numbers).to_v0()
        except BadField:
            return None


@dataclass(frozen=True)
class Survey:
    """A document as its readers see it.

    Attributes
    ----------
    document
        As the specification reads it.
    written
        The JSON object as it is written.
    counts
        For keys that stand for several references of one form: how many.
    """

    document: Document
    written: Mapping[str, object]
    counts: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def templates(self) -> dict[str, object]:
        """The templates as written, with what was given at open time in their place."""
        section = self.written.get("templates") if self.document.version else None
        templates = dict(section) if isinstance(section, Mapping) else {}
        for name, template in self.document.templates.items():
            if template.text or template.literal:
                templates[name] = template.text
        return templates

    @cached_property
    def items(self) -> tuple[WrittenItem, ...]:
        """The gen items."""
        read = {item.number: item for item in self.document.gen}
        section = self.written.get("gen") if self.document.version else None
        written = section if isinstance(section, list | tuple) else ()
        return tuple(WrittenItem(n, item, read.get(n)) for n, item in enumerate(written))

    @cached_property
    def groups(self) -> tuple[EntryGroup, ...]:
        """The explicit references, those of one form together."""
        version = self.document.version
        refs = self.document.refs.items()
        return group_entries(((form_of(k, v, version), k, v) for k, v in refs), self.counts)

    @cached_property
    def _urls(self) -> UrlReader:
        return UrlReader(self.document)

    def ours(self, group: EntryGroup, value: object) -> V0Value | None:
        """Return the V0 value of an entry by the specification; None if it is refused."""
        if not group.form.good_key:
            return None
        try:
            return read_reference(value, self._urls.read, _ignore).to_v0()
        except BadReference:
            return None

    @cached_property
    def count(self) -> int:
        """Keys by the specification; a key that is made twice counts twice."""
        kept = (g.count for g in self.groups if self.ours(g, g.samples[0][1]) is not None)
        return sum(kept) + sum(item.count for item in self.items)


def _ignore(code: str, message: str, hint: str) -> None:
    """Take a note on a reference, which the document has already."""


def group_entries(
    entries: Iterable[tuple[EntryForm, str, object]],
    counts: Mapping[str, int] = MappingProxyType({}),
) -> tuple[EntryGroup, ...]:
    """Gather entries of one form; `counts` as of `Survey`."""
    groups: dict[EntryForm, EntryGroup] = {}
    for form, key, value in entries:
        group = groups.get(form)
        if group is None:
            form = form if len(groups) < FORMS else form._replace(text="")
            group = groups.setdefault(form, EntryGroup(form))
        group.count += counts.get(key, 1)
        if len(group.samples) < SAMPLES:
            group.samples.append((key, value))
    return tuple(groups.values())


def form_of(key: object, value: object, version: int) -> EntryForm:
    """Return the form of an entry."""
    good_key = isinstance(key, str) and (key.isascii() or _is_text(key))
    if isinstance(value, list | tuple):
        shape, detail = _shape_of_list(value)
        link, text = link_of(value[0], version) if value else (Link.ODD, "")
        return EntryForm(shape, link, text, detail, good_key)
    if isinstance(value, str):
        is_good = good_key and (value.isascii() or _is_text(value))
        return EntryForm(_shape_of_text(value), good_key=is_good)
    if isinstance(value, Mapping):
        return EntryForm(Shape.OBJECT, good_key=good_key)
    return EntryForm(Shape.OTHER, detail=type(value).__name__, good_key=good_key)


def _shape_of_list(value: list[object] | tuple[object, ...]) -> tuple[Shape, int | str]:
    if len(value) == 1:
        return Shape.WHOLE, 1
    if len(value) != 3:
        return Shape.ODD_LIST, min(len(value), 4)
    offset, length = value[1], value[2]
    if type(offset) is int and type(length) is int and offset >= 0 and length >= 0:
        if length == 0:
            return Shape.EMPTY_RANGE, 3
        shape = Shape.RANGE if length <= LONGEST_UINT32 else Shape.LONG_RANGE
        return shape, VAST if max(offset, length) > EXACT else 3
    whole = all(isinstance(n, int | float) and n >= 0 and n == n // 1 for n in (offset, length))
    is_bool = isinstance(offset, bool) or isinstance(length, bool)
    return (Shape.FLOAT_RANGE if whole and not is_bool else Shape.ODD_RANGE), 3


def _shape_of_text(value: str) -> Shape:
    if not value.startswith(BASE64_PREFIX):
        return Shape.TEXT
    try:
        return Shape.BASE64 if Base64(value).data else Shape.EMPTY_BASE64
    except ValueError:
        pass
    try:
        binascii.a2b_base64(value[len(BASE64_PREFIX) :])
    except ValueError:
        return Shape.BROKEN_BASE64
    return Shape.FOREIGN_BASE64


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def link_of(url: object, version: int) -> tuple[Link, str]:
    """Say what kind of URL it is, with its template or its scheme."""
    if url is None:
        return Link.NULL, ""
    if not isinstance(url, str):
        return Link.ODD, type(url).__name__
    if version and is_template(url):
        return Link.TEMPLATE, url
    scheme = _SCHEME.match(url)
    if scheme:
        return Link.ABSOLUTE, scheme[1].lower()
    if not url:
        return Link.EMPTY, ""
    return (Link.PATH if url.startswith("/") else Link.RELATIVE), ""


def spread(sizes: list[int], limit: int = 8) -> Iterator[list[int]]:
    """Yield indices in a product of these sizes: the first ones, the middle, the last one."""
    total = 1
    for size in sizes:
        total *= size
    for number in sorted({*range(min(total, limit)), total // 2, max(total - 1, 0)}):
        positions = []
        for size in reversed(sizes):
            number, position = divmod(number, size)
            positions.append(position)
        yield positions[::-1]
