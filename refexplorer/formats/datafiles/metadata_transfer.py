"""What a file says of itself, from one process to another: numbers, texts and bytes alone."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from refexplorer.core.text import size_text
from refexplorer.formats.datafiles.confined_references import plain_loads
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileFilter,
    FileObject,
    Unread,
)

METADATA_BYTES = 2**26
"""All that is said of the arrays of a file, beside the byte ranges of their chunks."""
CHUNKS = 2**20
"""Chunks of a file that are told of with its arrays; an array with more is asked by itself."""
COORDINATES = 2**20
"""Bytes of values of coordinates that are told with the arrays of a file; others are asked for."""
_PLAIN_FILTERS = frozenset({"zlib", "shuffle", "fletcher32"})
"""What a library does by itself: other filters, which may crash, are not to take the rest along."""

_PLAIN = frozenset({bool, int, float, str, bytes})


class FileMetadata:
    """What a file says of itself, as another process has read it."""

    def __init__(self, data: bytes) -> None:
        head, chunks, values = plain_loads(data)
        known = plain_loads(head)
        self.declared: int | None = known["declared"]
        self.groups: Mapping[str, Mapping[str, Any]] = known["groups"]
        self.objects = tuple(map(_object, known["objects"]))
        self.others: Mapping[str, str] = known["others"]
        self.arrays = {name: _array(name, each) for name, each in known["arrays"].items()}
        self.chunks = {name: chunks_of(each) for name, each in chunks.items()}
        self.values = {name: values_of(each) for name, each in values.items()}


def file_bytes(file: DataFile, with_values: bool) -> bytes:
    """Write all that a file says of itself."""
    arrays = {name: _array_fields(file, name) for name in file.names()}
    chunks, remaining = dict[str, bytes](), CHUNKS
    for name, fields in arrays.items():
        if remaining > 0 and "error" not in fields:
            count, table = _chunk_table(file, name)
            remaining -= count
            if remaining > 0:
                chunks[name] = table
    head = _dumped(
        {
            "arrays": arrays, "others": dict(file.other_names()), "declared": file.declared,
            "groups": dict(file.groups()), "objects": list(map(_object_fields, file.objects())),
        }
    )  # fmt: skip
    if len(head) > METADATA_BYTES:
        raise Unread(
            "cost",
            f"The file has {size_text(len(head))} of metadata, more than the "
            f"{size_text(METADATA_BYTES)} that are compared.",
        )
    return _dumped((head, chunks, dict(_coordinates(file, arrays)) if with_values else {}))


def _dumped(value: object) -> bytes:
    return pickle.dumps(_plain(value), pickle.HIGHEST_PROTOCOL)


def _plain(value: Any) -> Any:
    """Return numbers of numpy, lists of these, and what else is in a value, as plain Python."""
    kind = type(value)
    if value is None or kind in _PLAIN:
        return value
    if kind is list or kind is tuple:
        return value if _PLAIN.issuperset(map(type, value)) else kind(map(_plain, value))
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    for plain in (int, float, str):  # an enumeration, or a number of a package's own type
        if isinstance(value, plain):
            return plain(value)
    raise TypeError(f"{type(value).__name__} is no plain value")


def _object_fields(each: FileObject) -> tuple[Any, ...]:
    barrier = None if each.barrier is None else (each.barrier.why, each.barrier.sentence)
    return each.name, each.kind, each.shape, each.stored, barrier, each.title


def _object(fields: tuple[Any, ...]) -> FileObject:
    name, kind, shape, stored, barrier, title = fields
    unread = None if barrier is None else Unread(*barrier)
    return FileObject(name, kind, shape, stored, unread, title)


def _coordinates(
    file: DataFile, arrays: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, bytes]]:
    """Yield the values of coordinates that are numbers; of what cannot be read it is said later."""
    remaining = COORDINATES
    for name, fields in arrays.items():
        if fields.get("dimensions") != (name.rpartition("/")[2],) or fields["filters"] is None:
            continue
        dtype = np.lib.format.descr_to_dtype(fields["dtype"])
        size = dtype.itemsize * max(*fields["shape"], *fields["chunks"])
        is_plain = _PLAIN_FILTERS.issuperset(each for each, _ in fields["filters"])
        if is_plain and size <= remaining and not dtype.hasobject:
            remaining -= size
            with suppress(Unread):
                yield name, value_bytes(file.values(name, (slice(None),)))


def chunk_bytes(file: DataFile, name: str) -> bytes:
    """Write where the chunks of an array are, or why that cannot be told."""
    return _chunk_table(file, name)[1]


def _chunk_table(file: DataFile, name: str) -> tuple[int, bytes]:
    try:
        chunks = file.chunks(name)
    except Unread as error:
        return 0, _dumped((error.why, error.sentence))
    columns = [chunks.indices, chunks.offsets, chunks.lengths]
    tables = [column.astype("<i8").tobytes() for column in columns]
    masks = None if chunks.masks is None else chunks.masks.astype("<u4").tobytes()
    return len(chunks.offsets), _dumped((chunks.indices.shape, *tables, masks))


def chunks_of(data: bytes) -> FileChunks | Unread:
    """Read what `chunk_bytes` wrote."""
    fields = plain_loads(data)
    if len(fields) == 2:
        return Unread(*fields)
    shape, *tables, masks = fields
    indices, offsets, lengths = (np.frombuffer(table, "<i8") for table in tables)
    masks = None if masks is None else np.frombuffer(masks, "<u4")
    return FileChunks(indices.reshape(shape), offsets, lengths, masks)


def value_bytes(values: np.ndarray) -> bytes:
    """Write values: numbers as they are, texts and lists of varying length by themselves."""
    data: Any = values.tobytes()
    if values.dtype.hasobject:
        texts = (each.decode("utf-8", "replace") if isinstance(each, bytes) else each
                 for each in values.ravel().tolist())  # fmt: skip
        data = list(texts)
    return _dumped((np.lib.format.dtype_to_descr(values.dtype), values.shape, data))


def values_of(data: bytes) -> np.ndarray:
    """Read what `value_bytes` wrote."""
    descr, shape, items = plain_loads(data)
    dtype = np.lib.format.descr_to_dtype(descr)
    if not dtype.hasobject:
        return np.frombuffer(items, dtype).reshape(shape)
    values = np.empty(shape, object)
    values.ravel()[:] = items
    return values


def _array_fields(file: DataFile, name: str) -> dict[str, Any]:
    try:
        array = file.array(name)
        fill = None
        if array.fill_value is not None:
            fill = np.array(array.fill_value, array.dtype).tobytes()
    except Unread as error:
        return {"error": (error.why, error.sentence)}
    except (ValueError, TypeError, OverflowError) as error:
        return {"error": ("damaged", f"Its fill value is none of its type: {error}.")}
    filters = array.filters
    return {
        "shape": array.shape,
        "chunks": array.chunks,
        "dtype": np.lib.format.dtype_to_descr(array.dtype),
        "filters": None if filters is None else [(each.name, each.settings) for each in filters],
        "fill_value": fill,
        "dimensions": array.dimensions,
        "attributes": array.attributes,
        "unread": array.unread,
        "is_dimension": array.is_dimension,
        "unlimited": array.unlimited,
    }


def _array(name: str, fields: dict[str, Any]) -> FileArray | Unread:
    if "error" in fields:
        return Unread(*fields["error"])
    dtype, filters = np.lib.format.descr_to_dtype(fields["dtype"]), fields["filters"]
    fill = fields["fill_value"]
    own = {
        "dtype": dtype,
        "filters": None if filters is None else tuple(FileFilter(*each) for each in filters),
        "fill_value": None if fill is None else np.frombuffer(fill, dtype)[0].item(),
    }
    return FileArray(name, **fields | own)
