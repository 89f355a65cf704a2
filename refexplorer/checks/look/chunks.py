"""Chunks of a part, fetched some at a time, decoded, and told by a checksum of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.checks.states import LedgerState
from refexplorer.core.errors import AccessError, DecodeError, LimitError, RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.formats.columns.references import BASE64, INLINE, URL
from refexplorer.io.decode.codecs import missing_codec
from refexplorer.io.decode.steps import Step, error_text, steps
from refexplorer.io.fetch.background import Stopped
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Base64, Inline, Range, Reference, Url
from refexplorer.spec.zarr_metadata import ArrayMeta

BATCH_BYTES = 2**26
"""Encoded bytes that are held at a time; a whole file, of unknown size, comes by itself."""
BATCH_CHUNKS = 256  # so that small chunks are reported and stopped in time, too
_STEPS = 256  # arrays, or chunks of varying lengths, whose steps are kept
# 128 bits, so that no two of millions of chunks meet by chance
_DIGEST = 16


class DecodedChunk(NamedTuple):
    """The result of decoding a chunk."""

    state: LedgerState
    size: int | None = None  # Of its values in bytes; None if there are none
    checksum: str | None = None  # BLAKE2b with 16 bytes of its values in C order, hexadecimal
    message: str | None = None  # Why there are none, in a sentence


def decoded(
    rows: pa.Table,
    arrays: dict[str, ArrayMeta],
    targets: Targets,
    limits: Limits,
    keep_on: Callable[[], bool],
) -> Iterator[DecodedChunk]:
    """Yield the results of decoding chunks, in order."""
    steps_of = lru_cache(_STEPS)(lambda path, at: steps(arrays[path].chunk_array(at), limits))
    most = min(BATCH_BYTES, limits.fetch_bytes)
    for batch in _batches(map(_chunk, rows.to_pylist()), most):
        found = _fetched(targets, {chunk.key: chunk.reference for chunk in batch}, keep_on)
        for chunk in batch:
            if not keep_on():
                raise Stopped
            data = found.pop(chunk.key)
            if isinstance(data, bytes):
                array = arrays[chunk.path]
                index = array.varying and array.chunk_index(chunk.key)
                yield _of_bytes(data, array, partial(steps_of, chunk.path, index))
            else:
                yield DecodedChunk(_state(data), message=str(data))


def checksum(values: np.ndarray) -> str:
    """Return the checksum of values, whatever their layout in memory."""
    digest = blake2b(digest_size=_DIGEST)
    if values.dtype.hasobject:
        for value in values.ravel().tolist():
            text = repr(value).encode("utf-8", "backslashreplace")
            digest.update(len(text).to_bytes(8, "little") + text)
    else:
        digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _of_bytes(data: bytes, array: ArrayMeta, steps_of: Callable[[], list[Step]]) -> DecodedChunk:
    values: object = data
    label = ""
    try:
        for step in steps_of():
            label = f"{step.stage.label}: "
            values = step.run(values)
    except Exception as error:  # a codec raises what it likes
        if (reason := missing_codec(array)) is not None:
            return DecodedChunk(LedgerState.NO_CODEC, message=reason)
        return DecodedChunk(LedgerState.UNDECODABLE, message=f"{label}{error_text(error)}")
    assert isinstance(values, np.ndarray)
    return DecodedChunk(LedgerState.DECODED, values.nbytes, checksum(values))


class _Chunk(NamedTuple):
    """A chunk to decode, and its encoded size; None of a whole file, which is not known."""

    key: str
    path: str
    reference: Reference
    size: int | None


def _chunk(row: dict[str, Any]) -> _Chunk:
    kind = row["kind"]
    reference: Reference
    if kind in (INLINE, BASE64):
        reference = (Inline if kind == INLINE else Base64)(row["text"])
    elif kind == URL:
        reference = Url(row["target"])
    else:
        reference = Range(row["target"], row["offset"], row["length"])
    return _Chunk(row["key"], row["array"], reference, None if kind == URL else row["length"])


def _batches(chunks: Iterable[_Chunk], most: int) -> Iterator[list[_Chunk]]:
    batch: list[_Chunk] = []
    held = 0
    for chunk in chunks:
        size = most if chunk.size is None else chunk.size
        if batch and (held + size > most or len(batch) == BATCH_CHUNKS):
            yield batch
            batch, held = [], 0
        batch.append(chunk)
        held += size
    if batch:
        yield batch


def _state(error: RefexplorerError) -> LedgerState:
    """Return the state of a chunk without bytes; its target was there when it was asked."""
    if isinstance(error, AccessError):
        return LedgerState.NOT_ALLOWED
    is_encoded = isinstance(error, DecodeError)
    return LedgerState.UNDECODABLE if is_encoded else LedgerState.UNREACHABLE


def _fetched(
    targets: Targets, references: dict[str, Reference], keep_on: Callable[[], bool]
) -> dict[str, bytes | RefexplorerError]:
    try:
        found = fetch_many(targets, references, lambda progress: keep_on())
    except LimitError as error:  # of a single file that is larger than it may be
        return dict.fromkeys(references, error)
    if len(found) < len(references):
        raise Stopped
    return found
