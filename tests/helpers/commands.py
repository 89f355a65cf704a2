"""Commands, run in this process or started as a program."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from refexplorer.hosts.cli import main
from tests.helpers.servers import RangeServer


class Run(NamedTuple):
    status: int
    out: str
    err: str


def run(*arguments: str | Path, stdin: bytes = b"") -> Run:
    """Run a command in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2)]
    given = patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]), given:
        status = main([str(argument) for argument in arguments])
    return Run(status, *map(_written, streams))


def start(*arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
    """Start a program that an interrupt reaches, also where tests run in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "refexplorer", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def written(folder: Path, server: RangeServer, count: int) -> Path:
    server.files = {f"/{n}": bytes(100) for n in range(count)}
    path = folder / "set.json"
    array = {"zarr_format": 2, "shape": [90 * count], "chunks": [90], "dtype": "|u1", "order": "C",
             "compressor": None, "filters": None, "fill_value": 0}  # fmt: skip
    metadata = {".zgroup": {"zarr_format": 2}, "x/.zarray": array}
    chunks = {f"x/{n}": [f"{server.url}/{n}", 0, 90] for n in range(count)}
    path.write_text(json.dumps(metadata | chunks))
    return path


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
