"""Parquet stores as other writers write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Write = Callable[[Path, Mapping[str, Any]], None]


def write_with_pyarrow(path: Path, columns: Mapping[str, Any]) -> None:
    urls = pa.array(columns["path"], pa.string())
    table = {
        "path": urls.dictionary_encode() if columns.get("path_categorical") else urls,
        "offset": pa.array(columns["offset"], pa.int64()),
        "size": pa.array(columns["size"], pa.int64()),
        "raw": pa.array(_raw(columns["raw"]), pa.binary()),
    }
    pq.write_table(pa.table(table), path)


def write_store(folder: Path, store: Mapping[str, Any], write: Write) -> Path:
    (folder / ".zmetadata").write_text(json.dumps(store["zmetadata"]))
    for name, columns in store.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(columns, str):
            path.write_text(columns.removeprefix("text:"))
        else:
            write(path, columns)
    return folder


def _raw(values: list[str | None]) -> list[bytes | None]:
    return [None if value is None else bytes.fromhex(value[4:]) for value in values]


TYPES = {"path": pa.string(), "offset": pa.int64(), "size": pa.int64(), "raw": pa.binary()}


def write_files(folder: Path, files: Mapping[str, Any]) -> None:
    """Write a store as the catalogue of diagnostics describes it: JSON, tables, and texts."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == ".zmetadata":
            path.write_text(json.dumps(content))
        elif isinstance(content, str):
            path.write_text(content)
        else:
            columns = {each: pa.array(content[each], TYPES[each]) for each in content}
            pq.write_table(pa.table(columns), path)
