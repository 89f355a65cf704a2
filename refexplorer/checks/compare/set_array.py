"""An array of a set in terms used for files: numpy's data type, numcodecs' filter names."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from refexplorer.checks.compare.cf import attributes_of_bounds
from refexplorer.checks.records import WHOLE
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileFilter,
    Unread,
    with_used_filters,
)
from refexplorer.formats.datafiles.zarr_terms import at_full_length
from refexplorer.spec.zarr_metadata import ArrayMeta

NO_POSITION = -1  # in place of a position: no chunk of the file has this range


@dataclass(frozen=True)
class FoundChunks:
    """Where n byte ranges are located in a file."""

    # The array whose chunk has the start of the range, as a position in `FileLayout.arrays`, or
    # `NO_POSITION`; shape ``(n,)``
    owners: np.ndarray
    rows: np.ndarray  # The chunk, a row of the array's chunks; shape ``(n,)``
    inside: np.ndarray  # Bytes from the start of the chunk to that of the range, shape ``(n,)``


class FileLayout:
    """The arrays of a file and all their chunks."""

    def __init__(self, file: DataFile) -> None:
        self.form = file.form
        self.objects = tuple(file.objects())
        self.declared = len(self.objects) if file.declared is None else file.declared
        self.arrays: list[FileArray] = []
        self.chunks: list[FileChunks | None] = []
        self.not_read: dict[str, str] = {}
        self.damaged: set[str] = set()
        reasons: dict[int, Unread] = {}
        for name in file.names():
            try:
                self.arrays.append(file.array(name))
            except Unread as reason:
                self._note(name, reason)
                continue
            try:
                array, chunks = with_used_filters(self.arrays[-1], file.chunks(name))
                self.arrays[-1] = array
                self.chunks.append(chunks)
            except Unread as reason:
                reasons[len(self.chunks)] = reason
                self.chunks.append(None)
        bounds = attributes_of_bounds({array.name: array.attributes for array in self.arrays})
        self.arrays = [
            replace(array, attributes=bounds.get(array.name, array.attributes))
            for array in self.arrays
        ]
        self.places = {array.name: place for place, array in enumerate(self.arrays)}
        arrays = {array.name: array for array in self.arrays}
        self.full = at_full_length(arrays, file.names())
        for other, name in file.other_names().items():
            if name in self.places:
                self.places.setdefault(other, self.places[name])
        for name, at in self.places.items():
            if at in reasons:
                self._note(name, reasons[at])
        known = [(place, found) for place, found in enumerate(self.chunks) if found is not None]
        none = np.empty(0, np.int64)
        starts = np.concatenate([none, *(found.offsets for _, found in known)])
        order = np.argsort(starts, kind="stable")
        lengths = np.concatenate([none, *(found.lengths for _, found in known)])
        owners = [np.full(len(found.offsets), place) for place, found in known]
        rows = [np.arange(len(found.offsets)) for _, found in known]
        self._starts, self._ends = starts[order], (starts + lengths)[order]
        self._owners = np.concatenate([none, *owners])[order]
        self._rows = np.concatenate([none, *rows])[order]

    def _note(self, name: str, reason: Unread) -> None:
        self.not_read[name] = str(reason)
        if reason.why == "damaged":
            self.damaged.add(name)

    def find(self, offsets: np.ndarray, lengths: np.ndarray) -> FoundChunks:
        """Return the chunks that contain the first bytes of the given ranges."""
        # A shard and its first inner chunk may start at the same byte: the length distinguishes
        # them.
        if not len(self._starts):
            nowhere = np.full(len(offsets), NO_POSITION)
            return FoundChunks(nowhere, nowhere, np.zeros(len(offsets), np.int64))
        at = np.searchsorted(self._starts, offsets, "right") - 1
        held = np.maximum(at, 0)
        exact = self._starts[held] == offsets
        first = np.minimum(np.searchsorted(self._starts, offsets), len(self._starts) - 1)
        sizes = self._ends - self._starts
        is_first = exact & (sizes[held] != lengths)
        is_first &= (lengths == WHOLE) | (lengths == sizes[first])
        held = np.where(is_first, first, held)
        has = (at >= 0) & (exact | (offsets < self._ends[held]))
        return FoundChunks(
            np.where(has, self._owners[held], NO_POSITION),
            np.where(has, self._rows[held], NO_POSITION),
            np.where(has, offsets - self._starts[held], 0),
        )


_SAME_FILTERS = {"deflate": "zlib", "adobe_deflate": "zlib"}
"""Other names of a filter that decode the same bytes."""
_NEUTRAL = {"bytes", "endian"}
"""Codecs of Zarr that are not filters of a file, or said by the data type."""


@dataclass(frozen=True)
class SetArray:
    """One array of a set."""

    meta: ArrayMeta  # Its metadata

    @cached_property
    def dtype(self) -> np.dtype[Any] | None:
        """The data type with the byte order of the chunks; None if numpy has no such type."""
        written = self.meta.metadata.get("dtype", self.meta.metadata.get("data_type"))
        try:
            if isinstance(written, list):
                return np.dtype([(str(n), t, *map(tuple, more)) for n, t, *more in written])
            found = np.dtype(str(written))
        except (TypeError, ValueError):
            return None
        if self.meta.zarr_format == 3:
            return found.newbyteorder(self._endian)
        return found

    @cached_property
    def filters(self) -> tuple[FileFilter, ...]:
        """The filters in encoding order."""
        return tuple(
            FileFilter(plain_name(name), dict(settings) if isinstance(settings, Mapping) else {})
            for name, settings in self.meta.pipeline
            if name not in _NEUTRAL
        )

    @property
    def order(self) -> str | None:
        """The memory order of the values of a chunk, C or F; None if both are the same."""
        if sum(size > 1 for size in self.meta.chunks) < 2:
            return None
        return str(self.meta.metadata.get("order", "C"))

    @property
    def is_text(self) -> bool:
        """Whether elements are objects, such as strings of variable length."""
        return self.dtype is None or self.dtype.kind in "OSUV"

    @property
    def name(self) -> str:
        """The last component of its path."""
        return self.meta.path.rpartition("/")[2]

    def attribute(self, name: str) -> Any:
        """Return an attribute; a `_FillValue` that xarray wrote as base64 becomes a number."""
        value = self.meta.attributes.get(name)
        if name == "_FillValue" and isinstance(value, str) and not self.is_text:
            return _number(value, self.dtype)
        return value

    @cached_property
    def missing(self) -> Any:
        """The missing value for xarray: `_FillValue`, in Zarr v2 else the fill value."""
        found = self.attribute("_FillValue")
        return self.fill_value if found is None and self.meta.zarr_format == 2 else found

    @cached_property
    def fill_value(self) -> Any:
        """The fill value, as a number even if stored as text or as a pair of numbers."""
        value = self.meta.fill_value
        if isinstance(value, list) and len(value) == 2 and self.dtype and self.dtype.kind == "c":
            return complex(*(_number(str(part), self.dtype) for part in value))
        if isinstance(value, str) and not self.is_text:
            return _number(value, self.dtype)
        return value

    @property
    def _endian(self) -> Literal["<", ">"]:
        written = (settings for name, settings in self.meta.pipeline if name in _NEUTRAL)
        is_big = any(isinstance(s, Mapping) and s.get("endian") == "big" for s in written)
        return ">" if is_big else "<"


def set_arrays(metas: Iterable[ArrayMeta]) -> list[SetArray]:
    """Return the arrays of a set; bounds of times have the units of their coordinate."""
    arrays = {meta.path: meta for meta in metas}
    bounds = attributes_of_bounds({path: meta.attributes for path, meta in arrays.items()})
    for path, attributes in bounds.items():
        arrays[path] = replace(arrays[path], attributes=attributes)
    return [SetArray(meta) for meta in arrays.values()]


def plain_name(name: str) -> str:
    """Return the name of a codec without its registry: ``imagecodecs_delta`` is ``delta``."""
    short = name.removeprefix("numcodecs.").removeprefix("imagecodecs_")
    return _SAME_FILTERS.get(short, short)


def _number(text: str, dtype: np.dtype[Any] | None) -> Any:
    """Parse ``"NaN"``, a number, or xarray's base64 of little-endian bytes."""
    assert dtype is not None
    try:
        return float(text)
    except ValueError:
        pass
    try:
        data = base64.b64decode(text, validate=True)
        kind = np.dtype("<f8") if dtype.kind == "f" else np.dtype("<i8")
        kind = kind if len(data) == 8 else dtype.newbyteorder("<")
        return np.frombuffer(data, kind)[0].item()
    except (binascii.Error, ValueError, IndexError):
        return text
