"""A lock goes whenever Ctrl-C comes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from refexplorer.core.errors import SourceError
from refexplorer.core.files import writing_alone

STEPS = ("_lock", "_release")
"""The functions that take the lock and give it back."""


def interrupting(step: int) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that interrupts these functions at some step of the interpreter."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = frame.f_code.co_name in STEPS
        if event == "opcode":
            count += 1
            if count == step:
                raise KeyboardInterrupt
        return trace

    return trace


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")
def test_the_lock_is_gone_wherever_it_was_interrupted(tmp_path: Path) -> None:
    before, interruptions = sys.gettrace(), 0
    for step in range(1, 200):
        with suppress(KeyboardInterrupt):
            sys.settrace(interrupting(step))
            try:
                with writing_alone(tmp_path / "set.json"):
                    pass
                continue
            finally:
                sys.settrace(before)
        interruptions += 1
        assert list(tmp_path.iterdir()) == []
    assert 50 < interruptions < 199


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")
def test_the_lock_is_gone_where_the_body_was_never_entered(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from refexplorer.core.files import writing_alone\n"
        "writing = writing_alone(Path(sys.argv[1]))\nwriting.__enter__()\n"
        "writing.itself = writing  # as a traceback holds it\nassert Path(sys.argv[2]).exists()"
    )
    path = tmp_path / "set.json"
    subprocess.run([sys.executable, "-c", code, path, f"{path}.lock"], check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")
def test_a_refused_writer_leaves_the_lock_of_the_other(tmp_path: Path) -> None:
    with writing_alone(tmp_path / "set.json"):
        with pytest.raises(SourceError), writing_alone(tmp_path / "set.json"):
            pass
        assert [path.name for path in tmp_path.iterdir()] == ["set.json.lock"]
    assert list(tmp_path.iterdir()) == []
