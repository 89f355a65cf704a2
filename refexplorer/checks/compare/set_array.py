"""One array of a set in the words of files: numpy's data type, filters by numcodecs' names."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from refexplorer.formats.datafiles.data_file import FileFilter
from refexplorer.spec.zarr_metadata import ArrayMeta

_SAME_FILTERS = {"deflate": "zlib", "adobe_deflate": "zlib"}
"""Other names of a filter that decode the same bytes."""
_NEUTRAL = {"bytes", "endian"}
"""Codecs of Zarr that are no filters of a file, or said by the data type."""


@dataclass(frozen=True)
class SetArray:
    """One array of a set."""

    meta: ArrayMeta  # Its metadata

    @cached_property
    def dtype(self) -> np.dtype[Any] | None:
        """With the byte order of the chunks; None if numpy has no word for it."""
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
    def filters(self) -> tuple[FileFilter, ...] | None:
        """In the order of encoding; None if some codec is none that a file could have."""
        return _filters_v3(self.meta) if self.meta.zarr_format == 3 else _filters_v2(self.meta)

    @property
    def order(self) -> str | None:
        """How the values of a chunk follow each other, C or F; None if both are the same."""
        if sum(size > 1 for size in self.meta.chunks) < 2:
            return None
        return str(self.meta.metadata.get("order", "C"))

    @property
    def is_text(self) -> bool:
        """Whether its elements are objects, such as texts of varying length."""
        return self.dtype is None or self.dtype.kind in "OSUV"

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.meta.path.rpartition("/")[2]

    def attribute(self, name: str) -> Any:
        """Return an attribute; a `_FillValue` that xarray wrote as base64 as a number."""
        value = self.meta.attributes.get(name)
        if name == "_FillValue" and isinstance(value, str) and not self.is_text:
            return _number(value, self.dtype)
        return value

    @cached_property
    def missing(self) -> Any:
        """What xarray takes for missing: `_FillValue`, in Zarr v2 the fill value without one."""
        found = self.attribute("_FillValue")
        return self.fill_value if found is None and self.meta.zarr_format == 2 else found

    @cached_property
    def fill_value(self) -> Any:
        """The fill value, as a number where it is written as text or as two numbers."""
        value = self.meta.fill_value
        if isinstance(value, list) and len(value) == 2 and self.dtype and self.dtype.kind == "c":
            return complex(*(_number(str(part), self.dtype) for part in value))
        if isinstance(value, str) and not self.is_text:
            return _number(value, self.dtype)
        return value

    @property
    def _endian(self) -> Literal["<", ">"]:
        for codec in _codecs(self.meta):
            if isinstance(codec, Mapping) and codec.get("name") in ("bytes", "endian"):
                settings = codec.get("configuration")
                if isinstance(settings, Mapping) and settings.get("endian") == "big":
                    return ">"
        return "<"


def plain_name(name: str) -> str:
    """Return the name of a codec without its registry: ``imagecodecs_delta`` is ``delta``."""
    short = name.removeprefix("numcodecs.").removeprefix("imagecodecs_")
    return _SAME_FILTERS.get(short, short)


def _filters_v2(meta: ArrayMeta) -> tuple[FileFilter, ...] | None:
    filters = meta.metadata.get("filters") or []
    written = [*(filters if isinstance(filters, list) else []), meta.metadata.get("compressor")]
    found = []
    for codec in written:
        if isinstance(codec, Mapping):
            settings = {name: value for name, value in codec.items() if name != "id"}
            found.append(FileFilter(plain_name(str(codec.get("id"))), settings))
    return tuple(found)


def _filters_v3(meta: ArrayMeta) -> tuple[FileFilter, ...] | None:
    found = []
    for codec in _codecs(meta):
        named = {"name": codec} if isinstance(codec, str) else codec
        if not isinstance(named, Mapping):
            return None
        name, settings = str(named.get("name")), named.get("configuration")
        if name in ("sharding_indexed", "transpose"):
            return None
        if name not in _NEUTRAL:
            kept = dict(settings) if isinstance(settings, Mapping) else {}
            found.append(FileFilter(plain_name(name), kept))
    return tuple(found)


def _codecs(meta: ArrayMeta) -> list[Any]:
    found = meta.metadata.get("codecs")
    return found if isinstance(found, list) else []


def _number(text: str, dtype: np.dtype[Any] | None) -> Any:
    """Read ``"NaN"``, a number, or xarray's base64 of little-endian bytes."""
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
