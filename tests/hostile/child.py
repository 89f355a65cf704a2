"""Runs hostile cases, each in a process of its own, and writes what came of it as JSON.

``python -m tests.hostile.child`` reads lines ``CASE FOLDER`` and answers each with the exit status
of a fork that left ``found.json`` in the folder: what every case imports is imported once.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import refexplorer as rx
from refexplorer.views.explorer.explorer_controller import ExplorerController
from tests.cases import hostile

SECONDS = 600
"""After which a case that hangs is ended; where ten others want the processor, one takes 200."""
FEW = 10_000
"""Keys that are all written out."""
ARRAY: dict[str, Any] = {
    "shape": [4],
    "chunks": [1],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
}
ARRAY |= {"filters": None, "order": "C", "zarr_format": 2, "fill_value": -9}


def _doubling(folder: Path) -> Any:
    url = "{{" + "f(c=" * 26 + "'aaaaaaaaaa'" + ")" * 26 + "}}"
    return {"version": 1, "templates": {"f": "{{c}}{{c}}"}, "refs": {"x/0": [url, 0, 1]}}


def _gen(key: str, dimensions: Any) -> Any:
    return {"version": 1, "gen": [{"key": key, "url": "http://h", "dimensions": dimensions}]}


def _twelve_dimensions(folder: Path) -> Any:
    names = [f"d{number}" for number in range(12)]
    key = ".".join("{{" + name + "}}" for name in names)
    return _gen(key, {name: {"stop": 10} for name in names})


def _nested_object(folder: Path) -> Any:
    return '{"x/.zattrs": ' + '{"a": ' * 990 + "1" + "}" * 991


def _bomb(folder: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _store(folder, 4)
    rows = 1_000_000
    nothing = {"path": pa.nulls(rows, pa.string()), "raw": pa.nulls(rows, pa.binary())}
    zeros = {name: pa.repeat(pa.scalar(0, pa.int64()), rows) for name in ("offset", "size")}
    table = pa.table({**nothing, **zeros})
    with pq.ParquetWriter(folder / "x/refs.0.parq", table.schema, compression="zstd") as writer:
        for _ in range(50):
            writer.write_table(table)
    return folder


def _repeated(column: str, rows: int = 2000, letters: int = 500_000) -> Callable[[Path], Any]:
    """Fill a column of the first of two record files with one text, which is written once."""

    def build(folder: Path) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        _store(folder, rows, shape=rows + 1)
        columns = {"path": pa.nulls(rows, pa.string()), "raw": pa.nulls(rows, pa.binary())}
        nought = np.zeros(rows, np.int64)
        one = pa.array(["a" * letters]).cast(columns[column].type)
        columns[column] = pa.DictionaryArray.from_arrays(pa.array(nought), one)
        table = pa.table({**columns, "offset": nought, "size": nought})
        path = folder / "x/refs.0.parq"
        pq.write_table(table, path, compression="zstd", dictionary_pagesize_limit=2**30)
        last = {"path": ["http://h/f"], "offset": [0], "size": [4], "raw": pa.nulls(1, pa.binary())}
        pq.write_table(pa.table(last), folder / "x/refs.1.parq")
        return folder

    return build


def _html_record(folder: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _store(folder, 2)
    table = {"path": ["http://h/f"] * 2, "offset": [0, 4], "size": [4, 4]}
    raw = pa.nulls(2, pa.binary())
    pq.write_table(pa.table({**table, "raw": raw}), folder / "x/refs.0.parq")
    (folder / "x/refs.1.parq").write_text("<html>503</html>")
    return folder


def _store(folder: Path, record_size: int, shape: int = 4) -> None:
    (folder / "x").mkdir()
    array = {**ARRAY, "shape": [shape]}
    document = {"metadata": {"x/.zarray": array}, "record_size": record_size}
    (folder / ".zmetadata").write_text(json.dumps(document))


def _zmetadata(case: dict[str, Any]) -> Callable[[Path], Any]:
    def build(folder: Path) -> Any:
        (folder / ".zmetadata").write_text(json.dumps(case["input"]["zmetadata"]))
        return folder

    return build


def _huge_items(folder: Path) -> Any:
    structured = [[f"f{number}", "<i4"] for number in range(100_000)]
    return {
        "x/.zarray": {**ARRAY, "dtype": "|V1000000000"},
        "y/.zarray": {**ARRAY, "dtype": structured},
    }


def _many_keys(folder: Path) -> Any:
    """Two million keys, of numbers of eight digits: blocks that differ in the first three."""
    row = b', "x/%d": ["http://h/f", %d, 1]'
    rows = [row % (number, number) for number in range(10**7, 10**7 + 10**5)]
    block = np.array(rows).view(np.uint8).reshape(len(rows), -1)
    places = [match.start() for match in re.finditer(b"10000000", rows[0])]
    with (folder / "many.json").open("wb") as file:
        file.write(b'{"version": 1, "refs": {"first": "x"')
        for number in range(100, 120):
            for place in places:
                block[:, place : place + 3] = list(b"%d" % number)
            file.write(block.tobytes())
        file.write(b"}}")
    return folder / "many.json"


def _text(start: str, part: str, end: str, letters: int = 10_000_000) -> Callable[[Path], Any]:
    """Write a document of one long text, as gzip: few bytes hold any number of letters."""

    def build(folder: Path) -> Any:
        document = start + part * (letters // len(part)) + end
        path = folder / "long.json.gz"
        path.write_bytes(gzip.compress(document.encode(), 1))
        return path

    return build


def _long_metadata_key(folder: Path) -> Any:
    metadata = {".zgroup": {"zarr_format": 2}, "a/" * 10**7 + ".zattrs": {}}
    (folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 4}))
    return folder


def _many_long_keys(folder: Path) -> Any:
    keys = (f"{number}/{'a/' * 30_000}{number}" for number in range(300))
    return json.dumps({key: ["http://h/f", at, 1] for at, key in enumerate(keys)})


_GEN_AROUND = '","url":"http://h","dimensions":{"i":{"stop":3}}}]}'


RECIPES: dict[str, Callable[[Path], Any]] = {
    "tpl-doubling-calls": _doubling,
    "gen-12-dims": _twelve_dimensions,
    "gen-long-list": lambda folder: _gen("x/{{i}}", {"i": list(range(1_000_000))}),
    "gen-all-collide": lambda folder: _gen("x", {"i": {"stop": 1_000_000}}),
    "json-deep": lambda folder: "[" * 100_000 + "]" * 100_000,
    "json-deep-object": _nested_object,
    "json-long-key": lambda folder: {"a" * 10**7: "x"},
    "json-key-of-letters": _text('{"', "a", '": "x", "b": "y"}'),
    "json-key-of-slashes": _text('{"', "a/", '": ["http://h/f", 0, 1], "b": "y"}'),
    "json-key-of-dots": _text('{"x/', "0.", '0": "x", "b": "y"}'),
    "json-key-of-quotes": _text('{"', '\\"', '": "x", "b": "y"}'),
    "json-key-of-cuts": _text('{"', "],", '": "x", "b": "y"}'),
    "json-key-of-braces": _text('{"version": 1, "refs": {"', "{{", '": "x", "b": "y"}}'),
    "json-keys-of-60-kB": _many_long_keys,
    "json-long-url": _text('{"b": ["http://h/', "a/", '", 0, 1]}'),
    "json-long-text": _text('{"b": "', "a", '"}'),
    "template-long-name": _text('{"version":1,"templates":{"', "a", '":1},"refs":{"b":"y"}}'),
    "gen-long-key": _text('{"version":1,"refs":{"b":"y"},"gen":[{"key":"', "a/", _GEN_AROUND),
    "parquet-long-key": _long_metadata_key,
    "json-many-keys": _many_keys,
    "json-duplicate-flood": lambda folder: "{" + ",".join('"a":"x"' for _ in range(10**6)) + "}",
    "parquet-rle-bomb": _bomb,
    "parquet-dictionary-bomb": _repeated("raw"),
    "parquet-path-bomb": _repeated("path"),
    "parquet-corrupt-as-missing": _html_record,
    "dtype-structured": _huge_items,
}


def build(name: str, folder: Path) -> Any:
    case = hostile()[name]
    if name in RECIPES:
        return RECIPES[name](folder)
    if case["layer"] == "parquet":
        return _zmetadata(case)(folder)
    return case["input"]


def look(source: Any) -> dict[str, Any]:
    """Open a source and look at it in every way that does not ask for a target."""
    refs = rx.open_references(source)
    shown = str(refs) + repr(refs) + refs._repr_html_()
    page = refs.children("", 0, 50)
    keys = refs.keys_at(0, 3)
    explained = [str(refs.explain(key)) for key in keys]
    arrays = [refs.array(path) for path in refs.arrays()]
    controller = ExplorerController(refs)
    for op in ("tree.reveal", "key.show"):
        for key in keys:
            controller.handle({"id": f"{op}:1", "op": op, "path": key})
    if refs.count < FEW:
        refs.to_v0()
    return {
        "keys": refs.count,
        "first": [key[:100] for key in keys],
        "rows": len(page.rows) + len(explained) + len(arrays),
        "shown": len(shown),
        "control": any(ord(letter) < 32 and letter != "\n" for letter in shown),
        "codes": [[found.code, found.severity, found.count] for found in refs.diagnostics],
        "missing": refs.summary().missing,
    }


def peak() -> int:
    """Return the most memory that this process had, in kB.

    Linux counts what the process before had when it started this one, so its own count is used,
    which begins anew with each process.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    own = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return own[0] if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    for line in sys.stdin:
        name, folder = line.rstrip("\n").split(" ", 1)
        child = os.fork()
        if not child:
            run(name, Path(folder))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def run(name: str, folder: Path) -> NoReturn:
    """Do what a process of its own does for a case; its end is that of the process."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was asked for")

    status = 1
    try:
        signal.alarm(SECONDS)
        socket.socket.connect = refuse  # type: ignore[method-assign]
        written = json.dumps(found_in(name, folder))
        (folder / "found.json").write_text(written)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def found_in(name: str, folder: Path) -> dict[str, Any]:
    source = build(name, folder)
    before = time.process_time()
    try:
        found = look(source)
    except rx.RefexplorerError as refusal:
        found = {"refused": str(refusal), "code": getattr(refusal, "code", None)}
    found["seconds"] = time.process_time() - before
    found["megabytes"] = peak() / 1024
    found["modules"] = [name for name in ("s3fs", "gcsfs", "aiohttp") if name in sys.modules]
    return found


if __name__ == "__main__":
    main()
