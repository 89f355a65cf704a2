"""DMR++ documents, which describe the arrays of a data file and the locations of their chunks.

A variable with an unsupported layout is omitted with the reason: half of one would be wrong.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.parsers import expat

import numpy as np

from refexplorer.core.errors import LimitError, SpecError
from refexplorer.core.files import Readable
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.columns.table import LARGEST
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileFilter,
    FileObject,
    Unread,
)
from refexplorer.formats.datafiles.references import INLINE_BYTES

_TYPES = {
    "Byte": "u1",
    "UByte": "u1",
    "Char": "u1",
    "Int8": "i1",
    "UInt8": "u1",
    "Int16": "i2",
    "UInt16": "u2",
    "Int32": "i4",
    "UInt32": "u4",
    "Int64": "i8",
    "UInt64": "u8",
    "Float32": "f4",
    "Float64": "f8",
}
_ENUM = "Enum"
_TEXTS = ("String", "URL", "Url")
_OTHER_TYPES = (_ENUM, *_TEXTS, "Structure", "Sequence", "Opaque")
_PLACEHOLDERS = {
    "OPeNDAP_DMRpp_DATA_ACCESS_URL": "",
    "OPeNDAP_DMRpp_MISSING_DATA_ACCESS_URL": "_mvs.h5",
}
"""What servers replace by the URL of the file, or of the one beside it for values it lacks."""
_HREF = "dmrpp:href"
_UNWRAPPED = "HDF5_GLOBAL"  # The container of the file's attributes
_HELD = ("dmrpp:compact", "dmrpp:missingdata", "dmrpp:vlsa")  # Elements that contain values
_PLACED = ("dmrpp:chunks", "dmrpp:chunk")

_PIECE = 2**20  # bytes that the XML parser gets at a time
_SPACES = {
    re.compile(r"\{https?://xml\.opendap\.org/ns/DAP/4\.[0-9.]+#?\}"): "",
    re.compile(r"\{https?://xml\.opendap\.org/dap/dmrpp/1\.[0-9.]+#?\}"): "dmrpp:",
}
"""Published documents use both schemes, and other versions."""


def read_xml(stream: Readable, name: str, limits: Limits) -> Element:
    """Read a document under limits; DAP 4 tags lose their namespace."""
    parser = XMLParser(target=_LimitedBuilder(escape(name), limits))
    try:
        while piece := stream.read(_PIECE):
            parser.feed(piece)
        root: Element = parser.close()
    except ParseError as error:
        raise SpecError(
            f"{escape(name)} is not well-formed XML: {expat.ErrorString(error.code)} in line "
            f"{error.position[0]}.",
        ) from None
    except (LookupError, ValueError, TypeError) as error:  # from the encoding that it names
        why = str(error).partition("\n")[0].rstrip(".")
        raise SpecError(
            f"{escape(name)} cannot be read as XML: {escape(why, 200)}; save it as UTF-8.",
        ) from None
    return root


class _LimitedBuilder(TreeBuilder):
    """Rejects document types, and thus entities, and elements beyond the limits."""

    def __init__(self, name: str, limits: Limits) -> None:
        super().__init__()
        self._name, self._limits = name, limits
        self._known: dict[str, str] = {}
        self._count = self._depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self._count, self._depth = self._count + 1, self._depth + 1
        limits, fields = self._limits, {"json_lists": self._count, "json_depth": self._depth}
        for field, found in fields.items():
            if found > (most := getattr(limits, field)):
                what = "is nested deeper than" if field == "json_depth" else "has more than"
                raise LimitError(
                    f"{self._name} {what} {most:,} elements; `Limits.{field}` raises the limit."
                )
        return super().start(self._short(tag), {self._short(key): attrs[key] for key in attrs})

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(self._short(tag))

    def _short(self, tag: str) -> str:
        if tag not in self._known:
            found = next((space for space in _SPACES if space.match(tag)), None)
            self._known[tag] = tag if found is None else found.sub(_SPACES[found], tag)
        return self._known[tag]

    def doctype(self, *_: object) -> None:
        raise SpecError(
            f"{self._name} declares a document type, which DMR++ does not use and which can make "
            "a small file expand without end; it is not read.",
        )


def _of(element: Element, *tags: str) -> list[Element]:
    """Return the children with one of these tags."""
    return [child for child in element if child.tag in tags]


@dataclass(frozen=True, slots=True)
class _DmrppVariable:
    """A variable with the declarations of its group and those above it."""

    element: Element
    sizes: Mapping[str, int]  # Of dimensions, by full name
    enumerations: Mapping[str, str]  # Their types, by full name


class DmrppFile(DataFile):
    """A file as described by a DMR++ document; the file itself is not opened."""

    form = "DMR++"

    def __init__(self, root: Element) -> None:
        href = root.get(_HREF, "")
        own = href if href and href not in _PLACEHOLDERS else root.get("name", "")
        self.target = own
        self._groups: dict[str, Element] = {}
        self._variables: dict[str, _DmrppVariable] = {}
        sizes, enumerations = dict[str, int](), dict[str, str]()
        waiting = [("", root)]
        while waiting:
            path, group = waiting.pop()
            start = f"{path}/" if path else ""
            self._groups[path] = group
            for each in _of(group, "Dimension"):
                size = each.get("size", "")
                if size.isdecimal() and int(size) <= LARGEST:
                    sizes[f"/{start}{_name(each)}"] = int(size)
            for each in _of(group, "Enumeration"):
                enumerations[f"/{start}{_name(each)}"] = each.get("basetype", "")
            for each in _of(group, *_TYPES, *_OTHER_TYPES):
                known = _DmrppVariable(each, sizes, enumerations)
                self._variables[f"{start}{_name(each)}"] = known
            groups = _of(group, "Group")
            waiting += [(f"{start}{_name(each)}", each) for each in reversed(groups)]
        self.declared = len(self._variables)

    def objects(self) -> Iterator[FileObject]:
        return (FileObject(name, "array") for name in self._variables)

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        found = {path: _attributes(group) for path, group in self._groups.items()}
        for attributes in found.values():
            attributes |= attributes.pop(_UNWRAPPED, {})
        return found

    def names(self) -> tuple[str, ...]:
        return tuple(self._variables)

    def array(self, name: str) -> FileArray:
        variable = self._variables[name]
        element = variable.element
        if not _name(element):
            raise _unknown("It has no name.")
        dimensions = list(_dimensions(variable))
        shape = tuple(size for _, size in dimensions)
        storage = _storage(element)
        own = storage.attrib if storage.tag == "dmrpp:chunks" else {}
        dtype = _dtype(variable, storage)
        if own.get("byteOrder") == "BE":
            dtype = dtype.newbyteorder(">")
        filters = tuple(_filters(own, dtype))
        chunks = shape
        if storage.tag == "dmrpp:missingdata" and len(_decoded(storage)) != _size_of(shape, dtype):
            filters = (FileFilter("zlib", {"level": 1}),)
        elif storage.tag == "dmrpp:chunks":
            chunks = _chunk_shape(storage, shape)
        return FileArray(
            name,
            shape,
            chunks,
            dtype,
            filters,
            _fill_value(own.get("fillValue"), dtype),
            tuple(each for each, _ in dimensions),
            _attributes(element),
        )

    def held(self, name: str) -> bytes | None:
        storage = _storage(self._variables[name].element)
        if storage.tag not in ("dmrpp:compact", "dmrpp:missingdata"):
            return None
        data, array = _decoded(storage), self.array(name)
        if not array.filters and len(data) != _size_of(array.shape, array.dtype):
            raise _unknown(
                f"The document has {len(data):,} bytes of its values, which does not fit its shape."
            )
        return data

    def chunks(self, name: str) -> FileChunks:
        storage, array = _storage(self._variables[name].element), self.array(name)
        parts = [storage] if storage.tag == "dmrpp:chunk" else _of(storage, "dmrpp:chunk")
        # a chunk with a fill value and no offset is not in the file
        parts = [
            each for each in parts if {"offset", "fillValue"} & each.attrib.keys() != {"fillValue"}
        ]
        indices = _indices(parts, array)
        if len(np.unique(indices, axis=0)) < len(indices):
            raise _unknown("The document has several parts of the same chunk.")
        # the filters that each chunk skips, bit by bit as HDF5 has them
        masks = np.array(_whole_numbers(part.get("fm") or "0" for part in parts), np.int64)
        urls = [each.get("href", each.get(_HREF, "")) for each in parts]
        return FileChunks(
            indices,
            np.array(_whole_numbers(each.get("offset") for each in parts), np.int64),
            np.array(_whole_numbers(each.get("nBytes") for each in parts), np.int64),
            np.minimum(masks, 2**32 - 1).astype(np.uint32),
            urls=np.array([self._url(each) for each in urls], object) if any(urls) else None,
        )

    def _url(self, href: str) -> str:
        is_own = not href or href in _PLACEHOLDERS
        return f"{self.target}{_PLACEHOLDERS.get(href, '')}" if is_own else href

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        storage, array = _storage(self._variables[name].element), self.array(name)
        if not array.dtype.hasobject:
            raise _unknown(
                "Zarr cannot decode all of its chunks: some skip filters or are shuffled."
            )
        texts = np.empty(math.prod(array.shape), object)
        texts[:] = _texts(storage, len(texts))
        return np.asarray(texts.reshape(array.shape)[selection])


def _unknown(sentence: str) -> Unread:
    return Unread("format", sentence)


def _name(element: Element) -> str:
    return element.get("name", "").strip("/")


def _dtype(variable: _DmrppVariable, storage: Element) -> np.dtype[Any]:
    element = variable.element
    kind = element.tag
    if kind == _ENUM:
        enumeration = element.get("enum", "")
        kind = variable.enumerations.get(f"/{enumeration.lstrip('/')}", "")
        if kind not in _TYPES:
            raise _unknown(f"Its enumeration {escape(enumeration, 100)} is not declared.")
    if kind in _TYPES:
        return np.dtype(_TYPES[kind])
    if kind not in _TEXTS:
        raise _unknown(f"Its values are of the type {kind}, which no Zarr data type has.")
    if storage.tag not in _PLACED:
        return np.dtype(object)
    for each in _of(element, "dmrpp:FixedLengthStringArray"):
        (length,) = _whole_numbers([each.get("string_length")])
        if 0 < length < 2**31:
            return np.dtype(f"S{length}")
    raise _unknown("Its strings vary in length, so its chunks contain only their addresses.")


def _dimensions(variable: _DmrppVariable) -> Iterator[tuple[str, int]]:
    """Yield names and lengths."""
    for number, each in enumerate(_of(variable.element, "Dim")):
        full, size = each.get("name"), each.get("size", "")
        if full is not None:
            if full not in variable.sizes:
                raise _unknown(f"Its dimension {escape(full, 100)} is not declared.")
            yield full.rpartition("/")[2], variable.sizes[full]
        elif size.isdecimal() and int(size) <= LARGEST:
            yield f"phony_dim_{number}", int(size)
        else:
            raise _unknown("It has a dimension without a length.")


def _storage(element: Element) -> Element:
    """Return the element that describes the storage of the values."""
    known = _of(element, *_HELD, *_PLACED)
    filled = [each for each in known if each.tag in _HELD or each.tag == "dmrpp:chunk" or len(each)]
    chosen = filled or known
    if len(chosen) != 1:
        tags = {each.tag for each in element if each.tag.startswith("dmrpp:")}
        names = ", ".join(sorted(tag[6:] for tag in tags))
        raise _unknown(f"The document stores its values in an unknown way ({names or 'none'}).")
    (storage,) = chosen
    others = {each.tag.removeprefix("dmrpp:") for each in storage}
    others -= {"chunk", "chunkDimensionSizes", "v"}
    if others:
        raise _unknown(
            f"The document stores its values in an unknown way ({', '.join(sorted(others))})."
        )
    return storage


def _chunk_shape(storage: Element, shape: tuple[int, ...]) -> tuple[int, ...]:
    sizes = [part.text or "" for part in _of(storage, "dmrpp:chunkDimensionSizes")]
    size = _whole_numbers(sizes[0].split()) if sizes else shape
    if len(size) != len(shape) or (sizes and 0 in size):
        raise _unknown(f"Its chunks have the shape {list(size)}.")
    return size


def _size_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return -1 if dtype.hasobject else math.prod(shape) * dtype.itemsize


def _decoded(storage: Element) -> bytes:
    try:
        return base64.b64decode("".join((storage.text or "").split()), validate=True)
    except binascii.Error:
        raise _unknown("Its values in the document are not base64.") from None


def _texts(storage: Element, count: int) -> list[str]:
    """Return the strings in a document; repeated ones are stored once."""
    if storage.tag != "dmrpp:vlsa":
        if count != 1:
            raise _unknown("The document has several strings in one element.")
        return [_decoded(storage).rstrip(b"\0").decode("utf-8", "replace")]
    texts = list[str]()
    for each in _of(storage, "dmrpp:v"):
        text, size = each.text or "", each.get("s")
        if size is not None:
            (length,) = _whole_numbers([size])
            if length > INLINE_BYTES:
                raise _unknown(f"One of its strings has {length:,} bytes.")
            try:
                data = zlib.decompressobj().decompress(_decoded(each), length + 1)
            except zlib.error:
                raise _unknown("One of its strings cannot be decompressed.") from None
            if len(data) != length:
                raise _unknown("The length of one of its strings differs from the document.")
            text = data.decode("utf-8", "replace")
        (repeats,) = _whole_numbers([each.get("c", "1")])
        if len(texts) + repeats > count:
            raise _unknown("The document has more strings for it than its shape allows.")
        texts += [text] * repeats
    if len(texts) != count:
        raise _unknown("The document has fewer strings for it than its shape requires.")
    return texts


def _whole_numbers(texts: Any) -> tuple[int, ...]:
    found = list(texts)
    if not all(isinstance(text, str) and text.isdecimal() and len(text) < 20 for text in found):
        raise _unknown("It has an offset or a length that is not a whole number.")
    numbers = tuple(map(int, found))
    if max(numbers, default=0) > LARGEST:
        raise _unknown("It has an offset or a length of more than 63 bits.")
    return numbers


def _indices(parts: list[Element], array: FileArray) -> np.ndarray:
    """Return the indices of chunks in their grid, int64, shape ``(n, rank)``."""
    rank = len(array.shape)
    rows = []
    for part in parts:
        text = part.get("chunkPositionInArray")
        row = (0,) * rank if text is None else _whole_numbers(text.strip("[] ").split(","))
        rows.append(row)
        if len(row) != rank:
            raise _unknown(f"A chunk is at {text}, which is not one number per dimension.")
    places = np.array(rows, np.int64).reshape(len(rows), rank)
    sizes = np.maximum(np.array(array.chunks, np.int64), 1).reshape(rank)
    if np.any(places % sizes) or np.any(places >= np.array(array.shape, np.int64).reshape(rank)):
        raise _unknown("It has a chunk that is not aligned with its grid.")
    return places // sizes


def _filters(attributes: Mapping[str, str], dtype: np.dtype[Any]) -> Iterator[FileFilter]:
    level = attributes.get("deflateLevel", "").split()
    for name in attributes.get("compressionType", "").split():
        if name == "shuffle":
            yield FileFilter(name, {"elementsize": dtype.itemsize})
        elif name == "deflate":
            text = level.pop(0) if level else ""
            yield FileFilter("zlib", {"level": int(text) if text in _LEVELS else _LEVEL})
        elif name == "fletcher32":
            yield FileFilter(name)
        else:
            raise _unknown(f"Its chunks are stored with the filter {escape(name, 100)}.")


_LEVELS = tuple("0123456789")
_LEVEL = 6  # Of deflate, if the document has none; decoding does not need it


def _fill_value(text: str | None, dtype: np.dtype[Any]) -> Any:
    """Return the fill value of missing chunks; None if it cannot be read."""
    if text is None or dtype.kind not in "iuf":
        return None
    try:
        if dtype.kind == "f":
            return float(text)
        number = int(text)
    except ValueError:
        return None
    info = np.iinfo(dtype)
    return number if info.min <= number <= info.max else None


def _attributes(element: Element) -> dict[str, Any]:
    """Return attributes by name; a container becomes a dictionary."""
    found: dict[str, Any] = {}
    for each in _of(element, "Attribute"):
        kind, name = each.get("type", "String"), each.get("name", "")
        if kind == "Container":
            found[name] = _attributes(each)
        elif kind != "OtherXML":
            values = [_value(part, kind) for part in _of(each, "Value")]
            found[name] = values[0] if len(values) == 1 else values
    return found


def _value(element: Element, kind: str) -> Any:
    text = element.get("value", element.text or "")
    dtype = np.dtype(_TYPES[kind]) if kind in _TYPES else None
    try:
        if dtype is None or len(text) > 100:
            return text
        return float(text) if dtype.kind == "f" else int(text)
    except ValueError:
        return text
