"""The keys of chunks, as Zarr names them by the metadata of their array."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.arrow import number_column, text_scalar
from refexplorer.formats.json.writer import joined


@dataclass(frozen=True, slots=True)
class KeyEncoding:
    """How an array calls its chunks: what keys begin with, and what joins the numbers."""

    start: str  # What every key begins with
    is_default: bool  # Whether the numbers follow a ``c``
    separator: str  # Between numbers

    @classmethod
    def of(cls, folder: str, metadata: str) -> KeyEncoding:
        """Return that of the array in a folder, by the text of its ``zarr.json``.

        Where that cannot be read it is Zarr's default: the metadata is told to be wrong later.
        """
        try:
            found = json.loads(metadata).get("chunk_key_encoding", {})
            is_default = found.get("name") != "v2"
            separator = found.get("configuration", {}).get("separator", "/" if is_default else ".")
        except (ValueError, AttributeError, RecursionError):
            is_default, separator = True, "/"
        prefix = f"{folder}/" if folder else ""
        separator = separator if isinstance(separator, str) else "/"
        return cls(f"{prefix}c" if is_default else prefix, is_default, separator)

    def keys(self, indices: np.ndarray) -> pa.LargeStringArray:
        """Return the keys of chunks by their indices, shape ``(n, rank)``."""
        if not indices.shape[1]:
            key = self.start if self.is_default else f"{self.start}0"
            return pa.repeat(text_scalar(key), len(indices))
        parts: list[pa.LargeStringArray | str] = []
        for column in indices.T:
            parts += [self.separator, number_column(column).cast(pa.large_string())]
        return joined(self.start, *(parts if self.is_default else parts[1:]))
