"""Files that cost a reader much: deep, long, of many errors, compressed."""

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
    path = folder / "bomb.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"a": "')
        for _ in range(450):
            file.write(b"x" * 10**6)
        file.write(b'"}')
    return path


COSTLY: dict[str, Callable[[Path], Path]] = {
    "nested": _nested,
    "long key": _long_key,
    "many errors": _many_errors,
    "bomb": bomb,
}
