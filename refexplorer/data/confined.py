"""Runs single codecs in a process of their own, under limits of memory and time.

For codecs whose output cannot be known before they make it. `python -m
refexplorer.data.confined` is the child: it reads a line of JSON and the encoded bytes, writes a
line of JSON and the decoded bytes, and goes on so until its input ends.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.pipelines import as_bytes, stages
from refexplorer.errors import DecodeError, LimitError
from refexplorer.markup import size_text
from refexplorer.spec.arrays import read_array

if TYPE_CHECKING:
    from refexplorer.spec.arrays import ArrayMeta

SECONDS = 60
CHILDREN = 2
"""Processes at a time; who wants one more waits."""
_OWN_MEMORY = 2**30
"""What Python with numpy and a codec's library takes for itself, in bytes."""
_NAME = __spec__.name if __spec__ else __name__
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def decode_confined(array: ArrayMeta, number: int, data: Any, limit: int) -> Any:
    """Run one stage of an array in a child process.

    Parameters
    ----------
    array
        Whose metadata name the codec.
    number
        Of the stage, as `stages` lists them.
    data
        The encoded bytes.
    limit
        The most bytes that may come of them.

    Raises
    ------
    LimitError
        If they take more memory or time, or if this system cannot limit a process.
    DecodeError
        If the codec refuses them.
    """
    said, decoded = _asked(array, number, as_bytes(data), limit, keep=True)
    if said["dtype"] is None:
        return decoded
    return np.frombuffer(decoded, np.dtype(said["dtype"])).reshape(said["shape"])


def check_confined(array: ArrayMeta, number: int, data: Any, limit: int) -> None:
    """Do as `decode_confined`, and leave the result where it is."""
    _asked(array, number, as_bytes(data), limit, keep=False)


def _asked(
    array: ArrayMeta, number: int, data: bytes, limit: int, keep: bool
) -> tuple[dict[str, Any], bytes]:
    if os.name != "posix":
        raise LimitError(
            "what this codec decodes to cannot be limited on this system, so it is not tried"
        )
    head = {"metadata": dict(array.metadata), "stage": number, "limit": limit, "keep": keep}
    with _child() as child:
        said, decoded = child.ask(head | {"size": len(data)}, data)
    if said["error"] is not None:
        raise DecodeError(said["error"])
    if said["made"] > limit:
        raise LimitError(
            f"decoding makes {size_text(said['made'])}, and a chunk may take {size_text(limit)} at "
            "this step"
        )
    return said, decoded


class _Child:
    """A process that decodes one thing after the other."""

    def __init__(self) -> None:
        self._is_late = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", _NAME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _ONE_THREAD,
        )

    def ask(self, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return what it says, and the bytes that it made; LimitError if it had to be ended."""
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None
        assert answers is not None
        timer = threading.Timer(SECONDS, self._stop)
        timer.start()
        try:
            with suppress(BrokenPipeError):
                given.write(json.dumps(head).encode() + b"\n" + data)
                given.flush()
            said: dict[str, Any] = json.loads(answers.readline() or b'{"size": -1}')
            decoded = answers.read(max(said["size"], 0))
        finally:
            timer.cancel()
        if self._is_late:
            raise LimitError(f"decoding took longer than {SECONDS} s; it was stopped")
        if len(decoded) != said["size"]:
            raise LimitError(
                "decoding took more memory than a chunk may, or crashed; it was stopped"
            )
        return said, decoded

    def _stop(self) -> None:
        self._is_late = True
        self._process.kill()

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()


_turns = threading.BoundedSemaphore(CHILDREN)
_idle: list[_Child] = []


def _start_anew() -> None:
    """Leave the children to the process before, which they go on answering, and all turns too."""
    global _turns
    _idle.clear()
    _turns = threading.BoundedSemaphore(CHILDREN)


if os.name == "posix":
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def _child() -> Iterator[_Child]:
    """Lend a process that has nothing to do; one that failed is not lent again."""
    with _turns:
        try:
            child = _idle.pop()
        except IndexError:
            child = _Child()
        try:
            yield child
        except BaseException:
            child.end()
            raise
        _idle.append(child)


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


def main() -> None:
    """Decode what comes on stdin."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a codec prints is no answer
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        data = sys.stdin.buffer.read(request["size"])
        _limit_memory(request["limit"])
        said, decoded = _decoded(request, data)
        answers.write(json.dumps(said).encode() + b"\n" + decoded)
        answers.flush()


def _decoded(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    said: dict[str, Any] = {"error": None, "made": 0, "dtype": None, "shape": None, "size": 0}
    try:
        found = stages(read_array("", request["metadata"]))[request["stage"]].decode(data)
        said["made"] = found.nbytes if isinstance(found, np.ndarray) else len(found)
        if not request["keep"] or said["made"] > request["limit"]:
            return said, b""
        if isinstance(found, np.ndarray):
            if found.dtype.hasobject:
                raise DecodeError("Values of varying length are not shown step by step here.")
            said |= {"dtype": found.dtype.str, "shape": found.shape}
        decoded = as_bytes(found)
        return said | {"size": len(decoded)}, decoded
    except MemoryError:
        sys.exit(1)
    except Exception as error:  # a codec raises what it likes
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return said | {"error": words}, b""


def _limit_memory(limit: int) -> None:
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _OWN_MEMORY + 3 * limit
    wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


if __name__ == "__main__":
    main()
