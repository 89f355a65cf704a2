"""From the elements of a DMR++ document to references, with metadata of Zarr v2.

A variable whose layout is not known here is left out, and said to be: half of one would be wrong.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.parsers import expat

import numpy as np

from refexplorer.core.errors import LimitError, SpecError
from refexplorer.core.files import Readable
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.columns.entries import LARGEST, EntriesBuilder
from refexplorer.formats.datafiles.zarr_terms import base64_text, index_text, json_fill

_PIECE = 2**20  # bytes that the XML parser gets at a time
DAP = "http://xml.opendap.org/ns/DAP/4.0#"
DMRPP = "http://xml.opendap.org/dap/dmrpp/1.0.0#"


@dataclass(slots=True)
class Element:
    """An element of the document."""

    # space, name: Its namespace and its name in that
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
        space, _, name = tag.rpartition(" ")
        element = Element(space, name, attributes)
        self._open[-1].children.append(element)
        self._open.append(element)
        self._texts.append([])

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
_OTHER_TYPES = ("String", "URL", "Url", "Structure", "Sequence", "Enum", "Opaque")
_PLACEHOLDER = "OPeNDAP_DMRpp_DATA_ACCESS_URL"
"""What stands for the URL of the data file until a server puts it in."""
_HREF = f"{DMRPP} href"
_UNWRAPPED = "HDF5_GLOBAL"
"""The container that holds the attributes of the file."""
_LEVELS = tuple("0123456789")
_LEVEL = 6
"""Of deflate, where none is told; decoding does not need it."""


class _UnknownStorage(Exception):
    """A variable has what is not known; the reason in some words."""


@dataclass(frozen=True, slots=True)
class _VariableChunks:
    """The chunks of a variable."""

    shape: tuple[int, ...]  # Of a chunk
    filters: list[dict[str, Any]]  # As Zarr v2 has them, in the order of encoding
    fill_value: Any  # Of the array
    order: Literal["<", ">"]  # Of bytes, as numpy writes it
    indices: np.ndarray  # Of each chunk, shape ``(n, rank)``
    # urls, offsets, lengths: Of each chunk
    urls: list[str]
    offsets: np.ndarray
    lengths: np.ndarray
    inline: bytes | None = None  # The bytes of a variable that has them in the document


def is_dataset(root: Element) -> bool:
    """Say whether a document is one of DMR++ by its first element."""
    return root.is_a(DAP, "Dataset")


def add_dataset(builder: EntriesBuilder, root: Element) -> dict[str, str]:
    """Append the references of a document; return why variables were left out, by path."""
    left_out: dict[str, str] = {}
    href = root.attributes.get(_HREF, "")
    target = href if href and href != _PLACEHOLDER else root.attributes.get("name", "")
    _add_group(builder, root, "", _sizes(root), target, left_out)
    return left_out


def _sizes(root: Element) -> Mapping[str, int]:
    """Return the lengths of shared dimensions by their full names."""
    found: dict[str, int] = {}
    waiting = [(root, "")]
    while waiting:
        group, path = waiting.pop()
        for each in group.of(DAP, "Dimension"):
            size = each.attributes.get("size", "")
            if size.isdecimal() and int(size) <= LARGEST:
                found[f"{path}/{each.attributes.get('name', '')}"] = int(size)
        waiting += [(each, f"{path}/{_name(each)}") for each in group.of(DAP, "Group")]
    return found


def _add_group(
    builder: EntriesBuilder,
    group: Element,
    path: str,
    sizes: Mapping[str, int],
    target: str,
    left_out: dict[str, str],
) -> None:
    prefix = f"{path}/" if path else ""
    attributes = _attributes(group)
    for each in group.of(DAP, "Attribute"):
        if each.attributes.get("name") == _UNWRAPPED:
            attributes |= _attributes(each)
    builder.add_values(
        {f"{prefix}.zgroup": '{"zarr_format":2}', f"{prefix}.zattrs": _json(attributes)}
    )
    for each in group.of(DAP, *_TYPES, *_OTHER_TYPES):
        name = f"{prefix}{_name(each)}"
        try:
            _add_variable(builder, each, name, sizes, target)
        except _UnknownStorage as unknown:
            left_out[name] = str(unknown)
    for each in group.of(DAP, "Group"):
        _add_group(builder, each, f"{prefix}{_name(each)}", sizes, target, left_out)


def _name(element: Element) -> str:
    return element.attributes.get("name", "").strip("/")


def _add_variable(
    builder: EntriesBuilder, element: Element, name: str, sizes: Mapping[str, int], target: str
) -> None:
    if element.name not in _TYPES:
        raise _UnknownStorage(f"values of type {element.name}")
    if not _name(element):
        raise _UnknownStorage("no name")
    dimensions = list(_dimensions(element, sizes))
    shape = tuple(size for _, size in dimensions)
    chunks = _chunks(element, shape, np.dtype(_TYPES[element.name]), target)
    metadata = {
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks.shape,
        "dtype": np.dtype(_TYPES[element.name]).newbyteorder(chunks.order).str,
        "fill_value": chunks.fill_value,
        "order": "C",
        "filters": chunks.filters or None,
        "compressor": None,
        "dimension_separator": ".",
    }
    attributes = _attributes(element) | {"_ARRAY_DIMENSIONS": [each for each, _ in dimensions]}
    builder.add_values({f"{name}/.zarray": _json(metadata), f"{name}/.zattrs": _json(attributes)})
    if chunks.inline is not None:
        key = f"{name}/{index_text((0,) * len(shape))}"
        builder.add_values({key: base64_text(chunks.inline)})
        return
    keys = [f"{name}/{index_text(index)}" for index in chunks.indices.tolist()]
    builder.add_ranges(keys, chunks.urls, chunks.offsets, chunks.lengths)


def _dimensions(element: Element, sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield names and lengths."""
    for number, each in enumerate(element.of(DAP, "Dim")):
        full, size = each.attributes.get("name"), each.attributes.get("size", "")
        if full is not None:
            if full not in sizes:
                raise _UnknownStorage(f"the dimension {full}, which is not declared")
            yield full.rpartition("/")[2], sizes[full]
        elif size.isdecimal() and int(size) <= LARGEST:
            yield f"phony_dim_{number}", int(size)
        else:
            raise _UnknownStorage("a dimension without a length")


def _chunks(
    element: Element, shape: tuple[int, ...], dtype: np.dtype[Any], target: str
) -> _VariableChunks:
    found = [child for child in element.children if child.space == DMRPP]
    if len(found) != 1 or found[0].name not in ("chunks", "compact"):
        names = ", ".join(sorted({child.name for child in found})) or "none"
        raise _UnknownStorage(f"storage of an unknown kind ({names})")
    (chunks,) = found
    if chunks.name == "compact":
        return _compact(chunks, shape, dtype)
    sizes = [part.text for part in chunks.of(DMRPP, "chunkDimensionSizes")]
    size = _whole_numbers(sizes[0].split()) if sizes else tuple(max(each, 1) for each in shape)
    if len(size) != len(shape) or 0 in size:
        raise _UnknownStorage(f"chunks of the shape {list(size)}")
    parts = [part for part in chunks.of(DMRPP, "chunk") if not _is_filled(part)]
    if len(parts) > 1 and not sizes:
        raise _UnknownStorage("several pieces of one chunk")
    filters = list(_filters(chunks.attributes, dtype))
    if any(int(part.attributes.get("fm", "0") or 0) for part in parts if _has_mask(part)):
        raise _UnknownStorage("chunks that skip a filter")
    return _VariableChunks(
        size,
        filters,
        _fill_value(chunks.attributes.get("fillValue"), dtype),
        ">" if chunks.attributes.get("byteOrder") == "BE" else "<",
        _indices(parts, shape, size),
        [part.attributes.get("href", part.attributes.get(_HREF, target)) for part in parts],
        np.array(_whole_numbers(part.attributes.get("offset") for part in parts), np.uint64),
        np.array(_whole_numbers(part.attributes.get("nBytes") for part in parts), np.uint64),
    )


def _is_filled(part: Element) -> bool:
    """Say whether a chunk is nowhere in the file, and has the fill value alone."""
    return "fillValue" in part.attributes and "offset" not in part.attributes


def _has_mask(part: Element) -> bool:
    mask = part.attributes.get("fm", "0")
    if not mask.isdecimal():
        raise _UnknownStorage("chunks that skip a filter")
    return True


def _compact(chunks: Element, shape: tuple[int, ...], dtype: np.dtype[Any]) -> _VariableChunks:
    """Read values that stand in the document."""
    try:
        data = base64.b64decode("".join(chunks.text.split()), validate=True)
    except binascii.Error:
        raise _UnknownStorage("compact values that are no base64") from None
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise _UnknownStorage(
            f"{len(data):,} bytes of compact values, which are not those of its shape"
        )
    empty = np.empty(0, np.uint64)
    size = tuple(max(each, 1) for each in shape)
    return _VariableChunks(
        size, [], None, "<", np.empty((0, len(shape)), np.int64), [], empty, empty, data
    )


def _whole_numbers(texts: Any) -> tuple[int, ...]:
    found = list(texts)
    if not all(isinstance(text, str) and text.isdecimal() and len(text) < 20 for text in found):
        raise _UnknownStorage("an offset or a length that is no whole number")
    numbers = tuple(map(int, found))
    if max(numbers, default=0) > LARGEST:
        raise _UnknownStorage("an offset or a length of more than 63 bits")
    return numbers


def _indices(parts: list[Element], shape: tuple[int, ...], size: tuple[int, ...]) -> np.ndarray:
    """Return the indices of chunks in their grid, int64, shape ``(n, rank)``."""
    rows = []
    for part in parts:
        text = part.attributes.get("chunkPositionInArray")
        row = (0,) * len(shape) if text is None else _whole_numbers(text.strip("[] ").split(","))
        rows.append(row)
        if len(row) != len(shape):
            raise _UnknownStorage(f"a chunk at {text}, which has another number of dimensions")
    found = np.array(rows, np.int64).reshape(len(rows), len(shape))
    sizes = np.array(size, np.int64).reshape(len(shape))
    if np.any(found % sizes) or np.any(found >= np.array(shape, np.int64).reshape(len(shape))):
        raise _UnknownStorage("a chunk that is not at a place of its grid")
    indices: np.ndarray = found // sizes
    return indices


def _filters(attributes: Mapping[str, str], dtype: np.dtype[Any]) -> Iterator[dict[str, Any]]:
    """Yield filters as numcodecs knows them."""
    level = attributes.get("deflateLevel", str(_LEVEL)).split()
    for name in attributes.get("compressionType", "").split():
        if name == "shuffle":
            yield {"id": "shuffle", "elementsize": dtype.itemsize}
        elif name == "deflate":
            text = level.pop(0) if level else str(_LEVEL)
            yield {"id": "zlib", "level": int(text) if text in _LEVELS else _LEVEL}
        elif name == "fletcher32":
            yield {"id": "fletcher32"}
        else:
            raise _UnknownStorage(f"the filter {name}")


def _fill_value(text: str | None, dtype: np.dtype[Any]) -> Any:
    """Return a fill value as Zarr v2 writes it; None where it is none or cannot be read."""
    if text is None:
        return None
    try:
        if dtype.kind != "f":
            number = int(text)
            info = np.iinfo(dtype)
            return number if info.min <= number <= info.max else None
        value = float(text)
    except ValueError:
        return None
    return json_fill(np.dtype(float), value)


def _attributes(element: Element) -> dict[str, Any]:
    """Return attributes by name; containers, which Zarr has none of, are left out."""
    found: dict[str, Any] = {}
    for each in element.of(DAP, "Attribute"):
        kind = each.attributes.get("type", "String")
        if kind not in ("Container", "OtherXML"):
            values = [_value(part, kind) for part in each.of(DAP, "Value")]
            found[each.attributes.get("name", "")] = values[0] if len(values) == 1 else values
    return found


def _value(element: Element, kind: str) -> Any:
    text = element.attributes.get("value", element.text)
    dtype = np.dtype(_TYPES[kind]) if kind in _TYPES else None
    try:
        if dtype is None or len(text) > 100:
            return text
        return float(text) if dtype.kind == "f" else int(text)
    except ValueError:
        return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
