"""JSON and buffers as one compressed text, which no HTML can be mistaken for."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

_LEVEL = 6
"""Level 9 takes four times as long for 2.5 % less."""


class Packer:
    """Takes buffers one by one, and writes them behind the JSON that names their places."""

    def __init__(self) -> None:
        self._buffers: dict[bytes, tuple[int, int]] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of the buffers so far."""
        return self._size

    def place(self, buffer: bytes) -> tuple[int, int]:
        """Keep a buffer, once, and return where it lies: start and length."""
        kept = bytes(buffer)
        if kept not in self._buffers:
            self._buffers[kept] = self._size, len(kept)
            self._size += len(kept)
        return self._buffers[kept]

    def packed(self, content: dict[str, Any]) -> str:
        """Return it all: the length of the JSON (4 bytes, little-endian), the JSON, the buffers."""
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        head = text.encode()
        return packed_text(b"".join([len(head).to_bytes(4, "little"), head, *self._buffers]))


def packed_text(content: bytes) -> str:
    """Return bytes as base64 of gzip; the same for the same bytes."""
    return base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode()
