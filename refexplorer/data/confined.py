"""Runs one codec in a process of its own, under limits of memory and time.

For codecs whose output cannot be known before they make it. `python -m
refexplorer.data.confined` is the child: it reads a line of JSON and the encoded bytes, and
writes a line of JSON and the decoded bytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.pipelines import as_bytes, stages
from refexplorer.errors import DecodeError, LimitError
from refexplorer.spec.arrays import read_array

if TYPE_CHECKING:
    from refexplorer.spec.arrays import ArrayMeta

SECONDS = 60
_OWN_MEMORY = 2**30
"""What Python with numpy and a codec's library takes for itself, in bytes."""


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
    if os.name != "posix":
        raise LimitError("What this codec decodes to cannot be limited on this system.")
    head = {"metadata": dict(array.metadata), "stage": number, "limit": limit}
    request = json.dumps(head).encode() + b"\n" + as_bytes(data)
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        run = subprocess.run(
            command, input=request, capture_output=True, timeout=SECONDS, env=environment
        )
    except subprocess.TimeoutExpired:
        raise LimitError(f"It took longer than {SECONDS} s and was stopped.") from None
    return _answer(run)


def _answer(run: subprocess.CompletedProcess[bytes]) -> Any:
    head, _, data = run.stdout.partition(b"\n")
    if run.returncode or not head:
        raise LimitError("It took more memory than a chunk may, or crashed, and was stopped.")
    said = json.loads(head)
    if said["error"] is not None:
        raise DecodeError(said["error"])
    if said["dtype"] is None:
        return data
    return np.frombuffer(data, np.dtype(said["dtype"])).reshape(said["shape"])


def main() -> None:
    """Decode what comes on stdin."""
    request = json.loads(sys.stdin.buffer.readline())
    _limit_memory(request["limit"])
    said: dict[str, Any] = {"error": None, "dtype": None, "shape": None}
    decoded: Any = b""
    try:
        array = read_array("", request["metadata"])
        stage = stages(array)[request["stage"]]
        decoded = stage.decode(sys.stdin.buffer.read())
        if isinstance(decoded, np.ndarray):
            if decoded.dtype.hasobject:
                raise DecodeError("Values of varying length are not shown step by step here.")
            said |= {"dtype": decoded.dtype.str, "shape": decoded.shape}
    except MemoryError:
        sys.exit(1)
    except Exception as error:
        said["error"] = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        decoded = b""
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + as_bytes(decoded))


def _limit_memory(limit: int) -> None:
    import resource

    most = _OWN_MEMORY + 3 * limit
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


if __name__ == "__main__":
    main()
