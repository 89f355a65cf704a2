"""Files that are expensive to read: deep, long, with many errors, compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path


def _nested(folder: Path) -> Path:
    path = folder / "nested.json"
    path.write_text('{"a/.zattrs": ' + '{"a": ' * 1_000_000 + "1" + "}" * 1_000_001)
    return path


def _long_key(folder: Path) -> Path:
    path = folder / "key.json"
    path.write_text(json.dumps({"k" * 20_000_000: "text"}))
    return path


def _many_errors(folder: Path) -> Path:
    path = folder / "errors.json"
    path.write_text(json.dumps({f"x/{number}": [1, "a", None] for number in range(100_000)}))
    return path


def bomb(folder: Path) -> Path:
    """Make 450 MB of a text, of which a part is compressed once: gzip may have many members."""
    path = folder / "bomb.json.gz"
    start, part, end = (gzip.compress(each, 1) for each in (b'{"a": "', b"x" * 10**6, b'"}'))
    path.write_bytes(start + part * 450 + end)
    return path


COSTLY: dict[str, Callable[[Path], Path]] = {
    "nested": _nested,
    "long key": _long_key,
    "many errors": _many_errors,
    "bomb": bomb,
}
