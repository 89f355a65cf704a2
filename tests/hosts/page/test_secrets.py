"""A page that is served to others shows no folder of the machine that serves it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import refexplorer as rx
from refexplorer.hosts.page.library import Library
from refexplorer.hosts.page.page import ExplorerView
from refexplorer.views.explorer.explorer_controller import ExplorerController


def test_no_message_names_a_folder(tmp_path: Path) -> None:
    chunk = {"version": 1, "refs": {"x/.zarray": json.dumps(
        {"shape": [2], "chunks": [1], "dtype": "<f8", "fill_value": 0, "order": "C",
         "compressor": None, "filters": None, "zarr_format": 2}
    ), "x/0": ["there.bin", 0, 8], "x/1": ["gone.bin", 0, 8]}}  # fmt: skip
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "there.bin").write_bytes(bytes(8))
    (tmp_path / "mine.json").write_text(json.dumps(chunk))
    library = Library(allow=[str(other), "s3://bucket"])
    name = library.offer(rx.open_references(tmp_path / "mine.json"))
    references = library.open(name)
    posted: list[Any] = []
    view = ExplorerView(references, allow=library.grants(references))
    view._controller.post = lambda message, buffers: posted.append(message)
    asked: list[dict[str, Any]] = [
        {"op": "hello"},
        {"op": "tree.rows", "start": 0, "n": 100},
        *({"op": "key.show", "path": path} for path in ("", "x", "x/0", "x/1")),
        *({"op": "chunk.read", "array": "x", "index": [index]} for index in (0, 1)),
        {"op": "targets.rows", "start": 0, "n": 10},
        {"op": "target.show", "url": "there.bin", "window": None},
        {"op": "targets.check"},
        {"op": "grid.show", "array": "x", "axes": None, "window": None},
        {"op": "overview"},
        {"op": "allow", "grant": "https://example.org"},
        *({"op": "key.code", "path": path} for path in ("", "x", "x/0")),
        *({"op": "key.explain", "path": path} for path in ("x/0", "x/1")),
        *({"op": "key.trace", "path": path} for path in ("x/0", "x/1")),
        *({"op": "key.bytes", "path": path, "start": 0, "n": 8} for path in ("x/0", "x/1")),
    ]
    for number, message in enumerate(asked):
        for reply, _ in view._controller.handle({"id": f"a:{number}", **message}, None):
            posted.append(reply)
    while len([message for message in posted if "id" in message and "ev" not in message]) < len(
        asked
    ):
        time.sleep(0.01)
    assert isinstance(view._controller, ExplorerController)
    assert '"s3://bucket", "https://example.org"' in json.dumps([*view._controller.policy.granted])
    assert not [message for message in posted if str(tmp_path) in json.dumps(message)]
