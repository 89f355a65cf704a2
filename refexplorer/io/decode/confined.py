"""Runs single codecs in a process of their own, under limits of memory and time.

For codecs whose output cannot be known before they make it. `python -m
refexplorer.io.decode.confined` is the child.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.core.errors import DecodeError, LimitError
from refexplorer.core.limits import memory_limit
from refexplorer.core.processes import (
    OWN_MEMORY,
    Answering,
    Children,
    LateError,
    LostError,
    limit_memory,
    serve,
)
from refexplorer.core.text import size_text
from refexplorer.io.decode.steps import as_bytes, stages
from refexplorer.spec.zarr_metadata import read_array

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta

SECONDS = 60  # time for one chunk; then its child is stopped
CHILDREN = 2
"""Processes at a time; who wants one more waits."""
_NAME = __spec__.name if __spec__ else __name__


def decode_confined(array: ArrayMeta, number: int, data: Any, limit: int) -> Any:
    """Run one stage of an array in a child process."""
    reply, decoded = _asked(array, number, as_bytes(data), limit, keep=True)
    if reply["dtype"] is None:
        return decoded
    return np.frombuffer(decoded, np.dtype(reply["dtype"])).reshape(reply["shape"])


def check_confined(array: ArrayMeta, number: int, data: Any, limit: int) -> None:
    """Do as `decode_confined`, and leave the result where it is."""
    _asked(array, number, as_bytes(data), limit, keep=False)


def _asked(
    array: ArrayMeta, number: int, data: bytes, limit: int, keep: bool
) -> tuple[dict[str, Any], bytes]:
    reply: dict[str, Any]
    if os.name != "posix":
        raise LimitError(
            "the memory of this codec cannot be limited on this system, so it is not run"
        )
    head = {
        "path": array.path, "metadata": dict(array.metadata),
        "stage": number, "limit": limit, "keep": keep,
    }  # fmt: skip
    try:
        with _children.lend() as child:
            reply, decoded = child.ask(head, data, SECONDS)
    except LateError:
        raise LimitError(f"decoding took longer than {SECONDS} s and was stopped") from None
    except LostError:
        raise LimitError(
            f"decoding took more memory than {_most_memory(limit)}, or crashed, and was stopped"
        ) from None
    if reply["error"] is not None:
        raise DecodeError(reply["error"])
    if reply["made"] > limit:
        raise LimitError(
            f"decoding gives {size_text(reply['made'])}, more than the limit of "
            f"{size_text(limit)} at this step"
        )
    return reply, decoded


def _most_memory(limit: int) -> str:
    limit_of_process = memory_limit()
    if limit_of_process is None or limit_of_process >= _memory_for(limit):
        return "a chunk may take"
    return f"the {size_text(limit_of_process)} that this process may take (`ulimit -v`)"


def _memory_for(limit: int) -> int:
    return OWN_MEMORY + 3 * limit


_children = Children(_NAME, CHILDREN)


def _work(request: dict[str, Any], data: bytes, answering: Answering) -> None:
    limit_memory(_memory_for(request["limit"]))
    answering.answer(*_decoded(request, data))


def _decoded(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    reply: dict[str, Any] = {"error": None, "made": 0, "dtype": None, "shape": None}
    try:
        array = read_array(request["path"], request["metadata"])
        found = stages(array)[request["stage"]].decode(data)
        reply["made"] = found.nbytes if isinstance(found, np.ndarray) else len(found)
        if not request["keep"] or reply["made"] > request["limit"]:
            return reply, b""
        if isinstance(found, np.ndarray):
            if found.dtype.hasobject:
                raise DecodeError("Values of varying length are not shown step by step here.")
            reply |= {"dtype": found.dtype.str, "shape": found.shape}
        return reply, as_bytes(found)
    except MemoryError:
        raise
    except Exception as error:  # a codec raises what it likes
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return reply | {"error": words}, b""


if __name__ == "__main__":
    serve(_work)
