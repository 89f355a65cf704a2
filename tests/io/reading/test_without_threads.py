"""What reads local and inline data starts no thread and no process: so it may run in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.forking import Interpreter, preloaded

REFUSE = """
import _thread, faulthandler, multiprocessing.process, os, subprocess, threading

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's and scipy's, from their import on


def refuse(*_, **__):
    raise RuntimeError("can't start new thread")


for module, names in {
    _thread: ["start_new_thread", "start_joinable_thread"],
    threading: ["_start_new_thread", "_start_joinable_thread"],
    threading.Thread: ["start"],
    subprocess.Popen: ["__init__"],
    multiprocessing.process.BaseProcess: ["start"],
    os: ["fork", "forkpty", "posix_spawn", "posix_spawnp"],
}.items():
    for name in names:
        if hasattr(module, name):
            setattr(module, name, refuse)

import asyncio
import numpy as np
import refexplorer as rx
from refexplorer import demo
from refexplorer.views.editor.editor_controller import EditorController
from refexplorer.views.explorer.explorer_controller import ExplorerController

path = demo.path("sst.v1.json")
refs = rx.open_references(path)
TASKS = "/proc/self/task"  # of the system: libraries in C++ start theirs without Python
"""
BEFORE = """
faulthandler.dump_traceback_later(60, exit=True)  # Zarr would wait for good
running = len(os.listdir(TASKS)) if os.path.exists(TASKS) else 0
"""
AFTER = """
assert not running or len(os.listdir(TASKS)) <= running, "a library started a thread"
"""
READS = {
    "texts": """
refs.explain("wind/7.0.0"), refs.diagnostics, str(refs), refs._repr_html_()
assert rx.dialects(demo.path("spec.v1.json")).verdicts
assert rx.infer(demo.path("sst.v0.json")).generated
assert rx.diff(demo.path("sst.v0.json"), path).equal == 60
assert refs.to_v0()["wind/7.0.0"]
for form in (demo.path("sst.parq"), {"a": "text"}, b'{"a": "text"}'):
    rx.open_references(form).explain(rx.open_references(form).keys_at(0, 1)[0])
assert refs.chunk_grid("sst") and refs.layout(refs.targets()[0].url)
""",
    "chunks": """
reading = refs.chunk("sst", (6, 0, 0))
assert reading.state == "fetched", reading
assert refs.read("sst").values.shape == (18, 96, 192)
assert refs.trace("sst/6.0.0").state == "fetched"
assert refs.why("sst", (0, 0, 0)).cause
""",
    "zarr": """
import xarray
array = refs.to_zarr()["sst"]
values = array[:]
expected = refs.read("sst").values
np.testing.assert_array_equal(values, expected)
dataset = refs.to_xarray(coordinates=True)
assert np.isfinite(dataset["sst"].values).any()
assert dataset["lat"].values[0] != dataset["lat"].values[-1]


async def in_a_kernel():  # whose loop runs meanwhile
    return refs.to_zarr()["sst"][3, 4, 5]


assert asyncio.run(in_a_kernel()) == expected[3, 4, 5]
v3 = rx.open_references({
    "zarr.json": '{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int8", '
    '"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}, '
    '"chunk_key_encoding": {"name": "default"}, "fill_value": 7, "attributes": {}, '
    '"codecs": [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}]}',
    "c/0": ["missing.bin", 0, 1],
})
assert v3.to_zarr()[1] == 7
try:
    v3.to_zarr()[0]
except Exception as error:
    assert "missing.bin" in str(error), error
else:
    raise AssertionError("a chunk that failed is no fill value")
""",
    "views": """
def ask(controller, **message):
    told = []
    controller.post = lambda message, buffers: told.append(message)
    told += [reply for reply, _ in controller.handle({"id": "1", **message})]
    (answer,) = [each for each in told if each.get("id") == "1" and "ev" not in each]
    assert "error" not in answer, (message, answer)
    return answer


explorer = ExplorerController(refs)
for message in (
    {"op": "hello"},
    {"op": "tree.rows", "start": 0, "n": 60},
    {"op": "tree.find", "text": "sst", "mode": "substring", "kinds": []},
    {"op": "notes"},
    {"op": "key.show", "path": "sst/6.0.0"},
    {"op": "key.explain", "path": "wind/7.0.0"},
    {"op": "key.trace", "path": "sst/6.0.0"},
        {"op": "targets.summary"},
    {"op": "overview"},
    {"op": "slice.plan", "array": "sst", "slices": ["3", "0:9", "0:9"]},
):
    ask(explorer, **message)
editor = EditorController(path.read_text())
ask(editor, op="edit", document='{"a": "text"}')
ask(editor, op="rows", start=0, n=5, reader="")
ask(editor, op="readers")
refs.to_html("page.html")
""",
}


@pytest.fixture(scope="module")
def programs() -> Iterator[Interpreter]:
    """Start what has imported the package without a thread, and goes on without."""
    with preloaded(REFUSE, "-W", "error") as interpreter:
        yield interpreter


@pytest.mark.child
@pytest.mark.parametrize("reads", READS.values(), ids=READS)
def test_nothing_starts_a_thread_or_a_process(
    reads: str, tmp_path: Path, programs: Interpreter
) -> None:
    ran = programs.start(BEFORE + reads + AFTER, cwd=tmp_path)
    assert ran.communicate() == ("", "")
    assert ran.returncode == 0
