"""Children: what happens between their answer and the end of the one who asked."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.processes import Child, Head
from refexplorer.io.sources import confined as confined_file

pytestmark = pytest.mark.child
ASKED = {"do": "describe", "form": "HDF5", "path": None, "bytes": 8, "limit": 2**28}


def test_a_child_that_is_ended_as_it_answers_is_not_used_again() -> None:
    """Else the next question would find a process that has gone, and call it a crash."""
    child = Child(confined_file.__name__)
    looking, answered = threading.Event(), threading.Event()

    def hear(said: Head) -> bytes:
        return b"\x89HDF\r\n\x1a\n"[slice(*said["read"])]

    def check() -> None:
        looking.set()
        if answered.wait(60):
            raise RefexplorerError("Nobody waits any more.")

    ask = child._next_line

    def heard(answers: object) -> Head:
        said = ask(answers)  # type: ignore[arg-type]
        if "size" in said:
            assert looking.wait(60)
            answered.set()
        return said

    child._next_line = heard  # type: ignore[method-assign]
    try:
        with pytest.raises(RefexplorerError, match="Nobody waits"):
            child.ask(ASKED, b"", 60, hear, check)
    finally:
        child.end()


def test_a_process_that_reads_files_loads_neither_sets_nor_arrow() -> None:
    """Of these there are eight at a time, and what they load takes longer than most files."""
    code = f"import sys, {confined_file.__name__}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert confined_file.__name__ in loaded
    assert not {"pyarrow", "refexplorer.refset", "zarr"} & loaded
