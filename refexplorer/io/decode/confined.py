"""Runs single codecs in a separate process, with limits on memory and time.

For codecs whose output size cannot be predicted. `python -m
refexplorer.io.decode.confined` is the child.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from typing import Any

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
from refexplorer.io.decode.steps import stages
from refexplorer.spec.zarr_metadata import ArrayMeta, read_array

SECONDS = 60  # time for one chunk; then its child is stopped
CHILDREN = 2  # Processes at a time; further callers wait
_NAME = __spec__.name if __spec__ else __name__


def decode_confined(array: ArrayMeta, number: int, data: Any, limit: int) -> Any:
    """Run one stage of an array in a child process."""
    reply, decoded = _asked(array, number, data, limit, keep=True)
    return _unpacked(reply["form"], decoded)


def check_confined(array: ArrayMeta, number: int, data: Any, limit: int) -> None:
    """Do the same as `decode_confined`, without returning the result."""
    _asked(array, number, data, limit, keep=False)


def _asked(
    array: ArrayMeta, number: int, data: Any, limit: int, keep: bool
) -> tuple[dict[str, Any], bytes]:
    reply: dict[str, Any]
    if os.name != "posix":
        raise LimitError(
            "the memory of this codec cannot be limited on this system, so it is not run"
        )
    form, packed = _packed(data)
    head = {
        "path": array.path, "metadata": dict(array.metadata), "form": form,
        "stage": number, "limit": limit, "keep": keep,
    }  # fmt: skip
    try:
        with _children.lend() as child:
            reply, decoded = child.ask(head, packed, SECONDS)
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


_TEXTS, _BYTES = "texts", "bytes"  # Elements of varying length, as JSON
_ArrayForm = tuple[Any, Sequence[int]] | None


def _packed(data: Any) -> tuple[_ArrayForm, bytes]:
    """Return the representation of bytes or an array for sending between processes."""
    if not isinstance(data, np.ndarray):
        return None, bytes(data)
    if not data.dtype.hasobject:
        return (np.lib.format.dtype_to_descr(data.dtype), data.shape), data.tobytes()
    values = data.ravel().tolist()
    if all(isinstance(value, str) for value in values):
        return (_TEXTS, data.shape), json.dumps(values).encode()
    if all(isinstance(value, bytes) for value in values):
        texts = [base64.b64encode(value).decode() for value in values]
        return (_BYTES, data.shape), json.dumps(texts).encode()
    raise DecodeError("Values that are neither text nor bytes are not shown step by step.")


def _unpacked(form: _ArrayForm, data: bytes) -> Any:
    if form is None:
        return data
    dtype, shape = form
    if dtype not in (_TEXTS, _BYTES):
        return np.frombuffer(data, _dtype(dtype)).reshape(shape)
    values = json.loads(data)
    if dtype == _BYTES:
        values = list(map(base64.b64decode, values))
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape)


def _dtype(written: Any) -> np.dtype[Any]:
    """Parse a data type that JSON turned into lists."""
    if isinstance(written, str):
        return np.dtype(written)
    return np.dtype([(name, _dtype(kind), *map(tuple, more)) for name, kind, *more in written])


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
    reply: dict[str, Any] = {"error": None, "made": 0, "form": None}
    try:
        array = read_array(request["path"], request["metadata"])
        found = stages(array)[request["stage"]].decode(_unpacked(request["form"], data))
        reply["made"] = found.nbytes if isinstance(found, np.ndarray) else len(found)
        if not request["keep"] or reply["made"] > request["limit"]:
            return reply, b""
        reply["form"], packed = _packed(found)
        return reply, packed
    except MemoryError:
        raise
    except Exception as error:  # a codec raises any error
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return reply | {"error": words}, b""


if __name__ == "__main__":
    serve(_work)
