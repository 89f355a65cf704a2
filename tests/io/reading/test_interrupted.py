"""Ctrl-C ends a program although a server says nothing: no thread keeps it waiting."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.forking import COMMAND, LOAD_COMMANDS, Forked, Interpreter, preloaded
from tests.helpers.servers import RangeServer

pytestmark = pytest.mark.child
LOAD = LOAD_COMMANDS + "import aiohttp, dask.array, distributed, xarray, zarr"
CHUNKS = 30
PROGRAMS = {
    "zarr": "refs.allowing(url).to_zarr()['x'][:]",
    "xarray": "refs.allowing(url).to_xarray()['x'].values",
    "dask": "refs.allowing(url).to_xarray(chunks={})['x'].values",
    "a chunk": "refs.allowing(url).chunk('x', (0,))",
    "files": "refs.allowing(url).filesystem().cat(['x/0', 'x/1'])",
    "targets": "refs.allowing(url).check_targets()",
    "an audit": "refs.allowing(url).audit(decode='all')",
    "inlining": "rx.convert(refs, 'a.json', rx.Conversion(inline=100, allow=[url]))",
    "the set itself": "rx.open_references(f'{url}/0')",
}
COMMANDS = {
    "audit": ["audit", "{path}", "--allow", "{url}"],
    "check": ["check", "{path}", "--targets", "--allow", "{url}"],
    "convert": ["convert", "{path}", "{path}.copy", "--inline", "100", "--allow", "{url}"],
    "ls": ["ls", "{url}/0"],
}


@pytest.fixture(scope="module")
def programs() -> Iterator[Interpreter]:
    with preloaded(LOAD) as interpreter:
        yield interpreter


@pytest.fixture
def stalled(server: RangeServer, tmp_path: Path) -> Path:
    """A set all of whose targets let their readers wait."""
    array = {"zarr_format": 2, "shape": [CHUNKS], "chunks": [1], "dtype": "|u1", "order": "C"}
    array |= {"compressor": None, "filters": None, "fill_value": 0}
    refs: dict[str, object] = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    refs["x/.zattrs"] = '{"_ARRAY_DIMENSIONS": ["x"]}'
    refs |= {f"x/{n}": [f"{server.url}/{n}", 0, 1] for n in range(CHUNKS)}
    server.stalled = {f"/{n}" for n in range(CHUNKS)} | {"/0/.zmetadata"}
    path = tmp_path / "set.json"
    path.write_text(json.dumps(refs))
    return path


def interrupted(started: Forked, server: RangeServer) -> tuple[str, str]:
    """Interrupt a program when it waits for the server; return what it wrote until its end.

    One that does not end is ended before a read is given up, after four times 30 s of silence.
    """
    while started.poll() is None and not server.requests:
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    return started.communicate()


def program(programs: Interpreter, path: Path, server: RangeServer, last: str) -> Forked:
    lines = ["import refexplorer as rx", f"refs = rx.open_references({str(path)!r})"]
    return programs.start("\n".join([*lines, f"url = {server.url!r}", last]), cwd=path.parent)


@pytest.mark.parametrize("last", PROGRAMS.values(), ids=PROGRAMS)
def test_a_script_ends(
    stalled: Path, server: RangeServer, last: str, programs: Interpreter
) -> None:
    running = program(programs, stalled, server, last)
    _, err = interrupted(running, server)
    assert running.returncode == -signal.SIGINT
    assert "\nKeyboardInterrupt" in err


def test_a_script_that_catches_the_interrupt_ends(
    stalled: Path, server: RangeServer, programs: Interpreter
) -> None:
    last = f"try: {PROGRAMS['zarr']}\nexcept KeyboardInterrupt: print('stopped')"
    running = program(programs, stalled, server, last)
    assert interrupted(running, server) == ("stopped\n", "")
    assert running.returncode == 0


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_command_ends(
    stalled: Path, server: RangeServer, arguments: list[str], programs: Interpreter
) -> None:
    filled = [each.format(path=stalled, url=server.url) for each in arguments]
    running = programs.start(COMMAND, *filled)
    assert interrupted(running, server) == ("", "")
    assert running.returncode == 130
    assert list(stalled.parent.iterdir()) == [stalled]


def test_threads_that_outlive_the_program_go_on(
    server: RangeServer, tmp_path: Path, programs: Interpreter
) -> None:
    """Of a chunk by ourselves: Zarr from 3.2 on decodes in a thread that cannot start any more."""
    server.files = {"/f": bytes(range(4))}
    array = {"zarr_format": 2, "shape": [4], "chunks": [1], "dtype": "|u1", "order": "C"}
    array |= {"compressor": None, "filters": None, "fill_value": 0}
    refs: dict[str, object] = {"x/.zarray": json.dumps(array)}
    refs |= {f"x/{n}": [f"{server.url}/f", n, 1] for n in range(4)}
    (tmp_path / "set.json").write_text(json.dumps(refs))
    last = f"""
import concurrent.futures.thread as threads
import threading
import time
def later():
    while not threads._shutdown:  # Python waits for this thread alone then
        time.sleep(0.01)
    found = refs.allowing({server.url!r}).chunk("x", [3])
    print(found.values or found.message)
threading.Thread(target=later).start()
"""
    running = program(programs, tmp_path / "set.json", server, last)
    out, err = running.communicate()
    assert (running.returncode, err) == (0, "")
    if sys.version_info[:2] == (3, 12):  # starts no thread any more then
        assert "threads cannot be started" in out
    else:
        assert out == "[3]\n"
