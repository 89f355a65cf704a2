"""What a file says of itself as bytes, from one process to another.

JSON and columns: nothing that is read can be more than numbers and texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from refexplorer.core.text import size_text
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

PassedHead = dict[str, Any]


class FileMetadata:
    """What a file says of itself, as another process has read it."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:8], "little")
        told = json.loads(data[8 : 8 + size])
        self.declared: int | None = told["declared"]
        self.groups: Mapping[str, Mapping[str, Any]] = told["groups"]
        self.objects = tuple(map(_object, told["objects"]))
        self.others: Mapping[str, str] = told["others"]
        self.arrays = {name: _array(name, each) for name, each in told["arrays"].items()}
        self.chunks: dict[str, FileChunks | Unread] = {}
        at = 8 + size
        for name, said in told["chunks"].items():
            self.chunks[name] = chunks_of(said, data[at : at + said.get("size", 0)])
            at += said.get("size", 0)
        self.values: dict[str, np.ndarray] = {}
        for name, said in told["values"].items():
            self.values[name] = values_of(said, data[at : at + said["size"]])
            at += said["size"]


def file_bytes(file: DataFile, with_values: bool = False) -> bytes:
    """Write all that a file says of itself."""
    arrays, chunks, tables = dict[str, PassedHead](), dict[str, PassedHead](), list[bytes]()
    left = CHUNKS
    for name in file.names():
        arrays[name] = _array_head(file, name)
        if left > 0 and "error" not in arrays[name]:
            said, table = chunk_bytes(file, name)
            left -= said.get("count", 0)
            if left > 0:
                chunks[name] = said
                tables.append(table)
    values = dict[str, PassedHead]()
    if with_values:
        for name, (said, table) in _coordinates(file, arrays):
            values[name] = said | {"size": len(table)}
            tables.append(table)
    others = dict(file.other_names())
    told = {
        "arrays": arrays, "chunks": chunks, "others": others, "values": values,
        "objects": [_object_head(each) for each in file.objects()],
        "declared": file.declared, "groups": dict(file.groups()),
    }  # fmt: skip
    head = json.dumps(told).encode()
    if len(head) > METADATA_BYTES:
        raise Unread(
            "cost",
            f"The file has {size_text(len(head))} of metadata, more than the "
            f"{size_text(METADATA_BYTES)} that are compared.",
        )
    return b"".join([len(head).to_bytes(8, "little"), head, *tables])


def _object_head(each: FileObject) -> list[Any]:
    barrier = None if each.barrier is None else [each.barrier.why, each.barrier.sentence]
    return [each.name, each.kind, each.shape, each.stored, barrier, each.title]


def _object(said: list[Any]) -> FileObject:
    name, kind, shape, stored, barrier, title = said
    return FileObject(
        name,
        kind,
        None if shape is None else tuple(shape),
        stored,
        None if barrier is None else Unread(*barrier),
        title,
    )


def _coordinates(
    file: DataFile, arrays: Mapping[str, PassedHead]
) -> Iterator[tuple[str, tuple[PassedHead, bytes]]]:
    """Yield the values of coordinates that are numbers; of what cannot be read it is said later."""
    left = COORDINATES
    for name, said in arrays.items():
        if said.get("dimensions") != (name.rpartition("/")[2],) or said["filters"] is None:
            continue
        dtype = _dtype(said["dtype"])
        size = dtype.itemsize * max(*said["shape"], *said["chunks"])
        is_plain = _PLAIN_FILTERS.issuperset(each for each, _ in said["filters"])
        if is_plain and size <= left and not dtype.hasobject:
            left -= size
            with suppress(Unread):
                yield name, value_bytes(file.values(name, (slice(None),)))


def chunk_bytes(file: DataFile, name: str) -> tuple[PassedHead, bytes]:
    """Write where the chunks of an array are, or why that cannot be told."""
    try:
        chunks = file.chunks(name)
    except Unread as error:
        return {"error": error.sentence, "why": error.why}, b""
    columns = [chunks.indices, chunks.offsets, chunks.lengths]
    table = b"".join(column.astype("<i8").tobytes() for column in columns)
    if chunks.masks is not None:
        table += chunks.masks.astype("<u4").tobytes()
    shape, masked = chunks.indices.shape, chunks.masks is not None
    return {"count": shape[0], "rank": shape[1], "masked": masked, "size": len(table)}, table


def chunks_of(said: PassedHead, table: bytes) -> FileChunks | Unread:
    """Read what `chunk_bytes` wrote."""
    if "error" in said:
        return Unread(said["why"], said["error"])
    count, rank = said["count"], said["rank"]
    numbers = np.frombuffer(table, "<i8", count * (rank + 2))
    indices, offsets, lengths = np.split(numbers, [count * rank, count * (rank + 1)])
    masks = np.frombuffer(table, "<u4", offset=numbers.nbytes) if said["masked"] else None
    return FileChunks(indices.reshape(count, rank), offsets, lengths, masks)


def value_bytes(values: np.ndarray) -> tuple[PassedHead, bytes]:
    """Write values: numbers as they are, texts and lists of varying length as JSON."""
    said = {"dtype": np.lib.format.dtype_to_descr(values.dtype), "shape": values.shape}
    if values.dtype.hasobject:
        return said, json.dumps(values.ravel().tolist(), default=_plain).encode()
    return said, values.tobytes()


def values_of(said: PassedHead, data: bytes) -> np.ndarray:
    """Read what `value_bytes` wrote."""
    dtype, shape = _dtype(said["dtype"]), tuple(said["shape"])
    if not dtype.hasobject:
        return np.frombuffer(data, dtype).reshape(shape)
    values = np.empty(shape, object)
    values.ravel()[:] = json.loads(data)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.tolist()


def _array_head(file: DataFile, name: str) -> PassedHead:
    try:
        array = file.array(name)
        fill = None
        if array.fill_value is not None:
            fill = np.array(array.fill_value, array.dtype).tobytes().hex()
    except Unread as error:
        return {"error": error.sentence, "why": error.why}
    except (ValueError, TypeError, OverflowError) as error:
        return {"error": f"Its fill value is none of its type: {error}.", "why": "damaged"}
    filters = array.filters
    return {
        "shape": array.shape,
        "chunks": array.chunks,
        "dtype": np.lib.format.dtype_to_descr(array.dtype),
        "filters": None if filters is None else [[each.name, each.settings] for each in filters],
        "fill": fill,
        "dimensions": array.dimensions,
        "attributes": array.attributes,
        "unread": array.unread,
        "is_dimension": array.is_dimension,
        "unlimited": array.unlimited,
    }


def _array(name: str, said: PassedHead) -> FileArray | Unread:
    if "error" in said:
        return Unread(said["why"], said["error"])
    dtype = _dtype(said["dtype"])
    filters = said["filters"]
    fill = said["fill"]
    return FileArray(
        name,
        tuple(said["shape"]),
        tuple(said["chunks"]),
        dtype,
        None if filters is None else tuple(FileFilter(*each) for each in filters),
        None if fill is None else np.frombuffer(bytes.fromhex(fill), dtype)[0].item(),
        None if said["dimensions"] is None else tuple(said["dimensions"]),
        said["attributes"],
        said["unread"],
        said["is_dimension"],
        unlimited=tuple(said["unlimited"]),
    )


def _dtype(descr: Any) -> np.dtype[Any]:
    """Read what JSON has made lists of."""

    def fields(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [(name, fields(kind), *map(tuple, shape)) for name, kind, *shape in value]

    return np.lib.format.descr_to_dtype(fields(descr))
