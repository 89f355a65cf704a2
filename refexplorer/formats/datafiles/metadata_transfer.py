"""A file's metadata, passed between processes as numbers, strings and bytes only.

A process corrupted by a damaged file may send anything, so its messages cannot name classes: models
and arrays are sent as names with plain values, from which `loads` rebuilds them.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
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

METADATA_BYTES = 2**26  # Metadata of all arrays, without the byte ranges of chunks
CHUNKS = 2**20  # Chunks that are sent with the arrays; others are requested separately
COORDINATES = 2**20  # Bytes of coordinate values that are sent with the arrays
_PLAIN_FILTERS = frozenset({"zlib", "shuffle", "fletcher32"})  # Others may crash
_PLAIN = frozenset({bool, int, float, str, bytes, list, tuple, dict, type(None)})
_MODELS = frozenset({FileArray, FileChunks, FileFilter, FileObject})


def _texts(shape: tuple[int, ...], texts: list[Any]) -> np.ndarray:
    found = np.empty(shape, object)
    found.ravel()[:] = texts
    return found


def _array(descr: Any, shape: tuple[int, ...], data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.lib.format.descr_to_dtype(descr)).reshape(shape)


_MAKERS: dict[str, Callable[..., Any]] = {kind.__name__: kind for kind in _MODELS} | {
    "Unread": Unread, "array": _array, "texts": _texts, "plain": lambda value: value,
    "complex": complex, "dtype": np.lib.format.descr_to_dtype,
}  # fmt: skip


def _fields_of(values: np.ndarray) -> tuple[Any, ...]:
    if not values.dtype.hasobject:
        return "array", np.lib.format.dtype_to_descr(values.dtype), values.shape, values.tobytes()
    items = (each.decode("utf-8", "replace") if isinstance(each, bytes) else each
             for each in values.ravel().tolist())  # fmt: skip
    return "texts", values.shape, list(items)


class _PlainPickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the name of a constructor and its arguments; None for plain values."""
        kind = type(obj)
        if kind in _PLAIN:
            return None
        if kind in _MODELS:
            return kind.__name__, *(getattr(obj, name) for name in kind.__match_args__)
        if kind is Unread:
            return kind.__name__, obj.why, obj.sentence
        if isinstance(obj, np.dtype):
            return "dtype", np.lib.format.dtype_to_descr(obj)
        if isinstance(obj, np.ndarray):
            return _fields_of(obj)
        if isinstance(obj, np.generic):
            return "plain", obj.item()
        if kind is complex:
            return "complex", obj.real, obj.imag
        kinds: tuple[Any, ...] = (dict, int, float, str)
        for plain in kinds:  # also an enumeration, or a number of a package
            if isinstance(obj, Mapping if plain is dict else plain):
                return "plain", plain(obj)
        raise TypeError(f"{kind.__name__} is not a plain value")


class PlainUnpickler(pickle.Unpickler):
    """Rebuilds only what `dumps` wrote."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not a reference")

    def persistent_load(self, pid: Any) -> Any:
        name, *values = pid
        return _MAKERS[name](*values)


def dumps(value: object) -> bytes:
    """Serialize models, arrays and plain values."""
    data = io.BytesIO()
    _PlainPickler(data, pickle.HIGHEST_PROTOCOL).dump(value)
    return data.getvalue()


def loads(data: bytes) -> Any:
    """Deserialize the output of `dumps`; ValueError and others for anything else."""
    return PlainUnpickler(io.BytesIO(data)).load()


class FileMetadata:
    """The metadata of a file, as read by another process."""

    declared: int | None
    groups: Mapping[str, Mapping[str, Any]]
    objects: tuple[FileObject, ...]
    others: Mapping[str, str]
    arrays: Mapping[str, FileArray | Unread]

    def __init__(self, data: bytes) -> None:
        head, chunks, values = loads(data)
        self.declared, self.groups, self.objects, self.others, self.arrays = loads(head)
        self.chunks: dict[str, FileChunks | Unread] = chunks
        self.values: dict[str, np.ndarray] = values


def file_bytes(file: DataFile, with_values: bool) -> bytes:
    """Serialize all metadata of a file."""
    arrays = {name: _described(file, name) for name in file.names()}
    chunks, remaining = dict[str, FileChunks | Unread](), CHUNKS
    for name, array in arrays.items():
        if remaining > 0 and isinstance(array, FileArray):
            table = chunks_or_reason(file, name)
            remaining -= 0 if isinstance(table, Unread) else len(table.offsets)
            if remaining > 0:
                chunks[name] = table
    objects, others = tuple(file.objects()), dict(file.other_names())
    head = dumps((file.declared, dict(file.groups()), objects, others, arrays))
    if len(head) > METADATA_BYTES:
        raise Unread(
            "cost",
            f"The file has {size_text(len(head))} of metadata, more than the "
            f"{size_text(METADATA_BYTES)} that are compared.",
        )
    return dumps((head, chunks, dict(_coordinates(file, arrays)) if with_values else {}))


def _coordinates(
    file: DataFile, arrays: Mapping[str, FileArray | Unread]
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the numeric coordinate values; unreadable ones are reported later."""
    remaining = COORDINATES
    for name, array in arrays.items():
        if isinstance(array, Unread) or array.dimensions != (name.rpartition("/")[2],):
            continue
        size = array.dtype.itemsize * max(*array.shape, *array.chunks)
        filters = {each.name for each in array.filters or ()}
        is_plain = array.filters is not None and filters <= _PLAIN_FILTERS
        if is_plain and size <= remaining and not array.dtype.hasobject:
            remaining -= size
            with suppress(Unread):
                yield name, file.values(name, (slice(None),))


def chunks_or_reason(file: DataFile, name: str) -> FileChunks | Unread:
    """Return the chunk locations of an array, or why they are unknown."""
    try:
        return file.chunks(name)
    except Unread as error:
        return error


def _described(file: DataFile, name: str) -> FileArray | Unread:
    try:
        array = file.array(name)
        if array.fill_value is None or array.dtype.kind in "mM":  # counts of units, which fit
            return array
        return replace(array, fill_value=np.array(array.fill_value, array.dtype).item())
    except Unread as error:
        return error
    except (ValueError, TypeError, OverflowError) as error:
        return Unread("damaged", f"Its fill value is none of its type: {error}.")
