"""Errors of Zarr and xarray, as a sentence that names the array.

Their own errors come from deep inside and seldom name an array. Some would even pass for a result:
a `KeyError` tells Zarr that there is no such array, so that one whose metadata lack a field would
be missing from the dataset silently.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context
from typing import Any

from refexplorer.core.errors import (
    DecodeError,
    LeftOutWarning,
    RefexplorerError,
    warn,
    without_warnings,
)
from refexplorer.core.limits import is_out_of_memory, memory_message
from refexplorer.core.text import escape
from refexplorer.io.access import shown
from refexplorer.refset.opened_set import SetLike
from refexplorer.spec.lint_metadata import undecoded_structure
from refexplorer.spec.references import Range, Url
from refexplorer.spec.zarr_metadata import (
    ArrayMeta,
    BadMetadata,
    is_metadata,
    parse_metadata,
    read_array,
)


class SyncLoop(asyncio.SelectorEventLoop):
    """An event loop that runs callbacks from other threads immediately."""

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call a function, and run everything that it schedules."""
        handle = self.call_soon(callback, *args, context=context)
        if not self.is_running() and callback != self.stop:
            outer = asyncio._get_running_loop()
            asyncio._set_running_loop(None)  # the loop of a notebook's kernel waits meanwhile
            try:
                self.run_until_complete(asyncio.sleep(0))
                while tasks := asyncio.all_tasks(self):
                    self.run_until_complete(asyncio.wait(tasks))
            finally:
                asyncio._set_running_loop(outer)
        return handle

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call a function immediately, whatever the executor."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # passed to the waiting caller
            future.set_exception(error)
        return future


_START = 5  # Seconds within which a started thread runs


def ensure_loop() -> None:
    """Let Zarr start its thread, or work without it."""
    from zarr.core import sync

    if isinstance(sync.loop[0], SyncLoop):
        return
    started = asyncio.sleep(0)
    try:
        sync.sync(started, timeout=_START)
        return
    except sync.SyncError:  # this is that thread
        return
    except (RuntimeError, TimeoutError):  # no thread can be started
        pass
    finally:
        started.close()
    if sync.loop[0] is not None:
        sync.loop[0].close()
    sync.loop[0], sync.iothread[0] = SyncLoop(), None


_REQUIRED = {
    ".zgroup": ("zarr_format",),
    ".zarray": ("zarr_format", "shape", "chunks", "dtype", "order", "fill_value"),
    "group": ("zarr_format",),
    "array": (
        "zarr_format", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value",
        "codecs",
    ),
}  # fmt: skip
"""Fields that Zarr requires in metadata, by the name of the key or the type of the node."""
RECTILINEAR = "array.rectilinear_chunks"  # The setting of Zarr 3.2 that enables such grids
_EDGES = 10**6  # Chunks of varying lengths along a dimension; Zarr lists all of them
_NUMBERS = ("scale_factor", "add_offset")
_SHOWN = 300  # characters of a URL or a foreign message


def check_metadata(key: str, text: bytes) -> None:
    """Reject the text of a metadata key that Zarr would not read."""
    document = _document(key, text)
    name = key.rpartition("/")[2]
    if name == ".zmetadata":
        members = document.get("metadata")
        if not isinstance(members, Mapping):
            raise _refused(key, "`metadata` must be an object.")
        for member, value in members.items():
            if is_metadata(member):
                check_metadata(member, json.dumps(value).encode())
    elif name != ".zattrs":
        _check_node(key, document, document.get("node_type") if name == "zarr.json" else name)


def _check_node(key: str, document: Mapping[str, object], kind: object) -> None:
    if not isinstance(kind, str) or kind not in _REQUIRED:
        raise _refused(key, '`node_type` must be "array" or "group".')
    for field in _REQUIRED[kind]:
        if field not in document:
            raise _refused(key, f"The field `{field}` is missing.")
    if not isinstance(document.get("attributes", {}), dict | None):
        raise _refused(key, "`attributes` must be an object.")
    if kind in (".zarray", "array"):
        refusal = array_refusal(document)
    else:
        from zarr.core.group import GroupMetadata

        copies = document.get("consolidated_metadata") or {}
        if not isinstance(copies, Mapping):
            raise _refused(key, "`consolidated_metadata` must be an object.")
        members = copies.get("metadata")
        for path, copy in members.items() if isinstance(members, Mapping) else ():
            check_metadata(f"{path}/zarr.json", json.dumps(copy).encode())
        refusal = _refusal(GroupMetadata, document)
    if refusal is not None:
        raise _refused(key, refusal)


def array_refusal(document: Mapping[str, object]) -> str | None:
    """Return why Zarr rejects the metadata of an array, as a sentence; None if it does not."""
    from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata

    broken = None
    try:
        if (refusal := _grid_refusal(read_array("", document))) is not None:
            return refusal
    except BadMetadata as bad:
        if bad.code == "bad-chunks":  # Zarr would divide by a length of 0
            return str(bad)
        broken = str(bad)
    refusal = _refusal(
        ArrayV3Metadata if document.get("zarr_format") == 3 else ArrayV2Metadata, document
    )
    return refusal and (broken or refusal)


def _refusal(kind: Any, document: Mapping[str, object]) -> str | None:
    try:
        with without_warnings():
            kind.from_dict(dict(document))
    except Exception as error:  # it raises whatever its parts raise
        return sentence_of(error)
    return None


def _grid_refusal(array: ArrayMeta) -> str | None:
    """Return why this Zarr cannot use variable-sized chunks, or that there are too many."""
    if array.varying is None:
        return None
    import zarr

    if zarr.config.get(RECTILINEAR, None) is None:
        return (
            "Its chunks have varying lengths (`rectilinear`), which Zarr reads from version 3.2 "
            f"on, with Python 3.12 or newer; Zarr {zarr.__version__} is installed."
        )
    zarr.config.set({RECTILINEAR: True})
    most = max(axis.written for axis in array.varying)
    if most > _EDGES:
        return (
            f"It has {most:,} chunks of varying lengths along a dimension, more than the "
            f"{_EDGES:,} that Zarr is given."
        )
    return None


def check_array(key: str, text: bytes) -> None:
    """Reject the text of a metadata key of an array that breaks a rule."""
    document = _document(key, text)
    if document.get("node_type") == "group":
        return
    try:
        read_array("", document)
    except BadMetadata as bad:
        raise _refused(key, str(bad)) from None


def _document(key: str, text: bytes) -> Mapping[str, object]:
    try:
        document = parse_metadata(text.decode())
    except UnicodeDecodeError:
        raise _refused(key, "It is not UTF-8 text.") from None
    if document is None:
        raise _refused(key, "It is not a JSON object.")
    return document


def check_for_xarray(array: ArrayMeta, decoded: bool) -> None:
    """Reject an array for which xarray would raise an uninformative error."""
    if max(array.shape, default=0) > sys.maxsize:
        raise DecodeError(
            f"xarray cannot open {array.path}: one of its dimensions has {max(array.shape):,} "
            f"elements, more than {sys.maxsize:,}."
        )
    if not isinstance(array.attributes.get("coordinates", ""), str):
        raise DecodeError(
            f"xarray cannot open {array.path}: its attribute `coordinates` must be a string."
        )
    if decoded and (why := undecoded_structure(array)):
        does = "open" if array.fill_value is not None else "read the values of"
        said = f"xarray cannot {does} {array.path}: it decodes no {why}; "
        said += f"refs.to_zarr()[{array.path!r}] reads them."
        if array.fill_value is not None:
            raise DecodeError(said)
        warn(said, LeftOutWarning)  # the other arrays can be read
    for name in _NUMBERS if decoded else ():
        value = array.attributes.get(name, 1)
        if isinstance(value, list) and len(value) == 1:  # as from HDF5; xarray accepts it
            value = value[0]
        if not isinstance(value, int | float):
            raise DecodeError(
                f"xarray cannot unpack {array.path}: its attribute `{name}` must be a number; "
                "mask_and_scale=False opens the values as they are stored."
            )


@contextmanager
def saying_refusals(package: str, refs: SetLike) -> Iterator[None]:
    """Convert errors of a package about a set into a `DecodeError`."""
    try:
        yield
    except (RefexplorerError, ImportError):
        raise
    except Exception as error:  # as above
        name = refs.source.name
        raise DecodeError(f"{package} cannot open {name}: {sentence_of(error)}") from error


def undecodable(
    refs: SetLike, key: str, why: str, kind: type[RefexplorerError] = DecodeError
) -> RefexplorerError:
    """Return the error for a chunk whose bytes are rejected, with its key and target."""
    return kind(f"{key} could not be decoded: {why.rstrip('. ')}{_origin_text(refs, key)}.")


def _origin_text(refs: SetLike, key: str) -> str:
    """Return in brackets where the bytes of a key are from."""
    try:
        reference = refs.get(key)
    except (LookupError, RefexplorerError):
        return ""
    if not isinstance(reference, Range | Url):
        return " (inline)"
    url = escape(shown(reference.url or ""), _SHOWN)
    if isinstance(reference, Url):
        return f" ({url})"
    end = reference.offset + reference.length
    return f" (bytes {reference.offset:,} to {end:,} of {url})"


def sentence_of(error: BaseException) -> str:
    """Return the first line of another package's message, with a full stop."""
    if is_out_of_memory(error):
        return memory_message()
    text = str(error).strip().partition("\n")[0]
    return escape(text or type(error).__name__, _SHOWN).rstrip(".:") + "."


def _refused(key: str, why: str) -> DecodeError:
    return DecodeError(f"{key} cannot be used: {why}")
