"""Children: what happens between their answer and the end of the one who asked."""

from __future__ import annotations

import threading

import pytest

from refexplorer.data.children import Child, Head
from refexplorer.data.verify.native import confined_file
from refexplorer.errors import RefexplorerError

pytestmark = pytest.mark.child
ASKED = {"do": "describe", "form": "HDF5", "path": None, "bytes": 8, "limit": 2**28}


def test_a_child_that_is_ended_as_it_answers_is_not_used_again() -> None:
    """Else the next question would find a process that has gone, and call it a crash."""
    child, answered = Child(confined_file.__name__), threading.Event()

    def hear(said: Head) -> bytes:
        return b"\x89HDF\r\n\x1a\n"[slice(*said["read"])]

    def check() -> None:
        if answered.wait(60):
            raise RefexplorerError("Nobody waits any more.")

    ask = child._heard

    def heard(answers: object) -> Head:
        said = ask(answers)  # type: ignore[arg-type]
        if "size" in said:
            answered.set()
        return said

    child._heard = heard  # type: ignore[method-assign]
    try:
        with pytest.raises(RefexplorerError, match="Nobody waits"):
            child.ask(ASKED, b"", 60, hear, check)
    finally:
        child.end()
