"""Columns that grow in place: a large one is moved by the system, and is never held twice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refexplorer.formats.buffers.spans import spans_of


class GrowingNumbers:
    """A column of numbers of one type."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = kind
        # grows in place like an array, whose resize would write zeros first
        self._data = bytearray()

    def append(self, values: np.ndarray) -> None:
        """Put values, shape ``(m,)``, behind the others."""
        self._data += np.ascontiguousarray(values, self._kind).data

    def finish(self) -> np.ndarray:
        """Return the column, shape ``(n,)``; nothing may be appended after that."""
        return np.frombuffer(self._data, self._kind)


class GrowingTexts:
    """A column of texts."""

    def __init__(self) -> None:
        self._data = GrowingNumbers(np.uint8)
        self._offsets = GrowingNumbers(np.int64)
        self._offsets.append(np.zeros(1, np.int64))
        self._count = 0
        self._bytes = 0

    def append(self, texts: pa.LargeStringArray) -> None:
        """Put texts behind the others."""
        if len(texts):
            spans = spans_of(texts)
            size = int(spans.ends[-1])
            self._data.append(spans.data[:size])
            self._offsets.append(spans.ends + self._bytes)
            self._bytes += size
            self._count += len(texts)

    def __len__(self) -> int:
        return self._count

    def finish(self) -> pa.LargeStringArray:
        """Return the column; nothing may be appended after that."""
        buffers = [None, pa.py_buffer(self._offsets.finish()), pa.py_buffer(self._data.finish())]
        return pa.Array.from_buffers(pa.large_string(), self._count, buffers)
