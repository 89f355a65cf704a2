"""The codecs of an array as steps, and the check of chunks before Zarr's unbounded decoding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any

import numpy as np

from refexplorer.core.errors import DecodeError, RefexplorerError, without_warnings
from refexplorer.core.limits import Limits, is_out_of_memory, memory_message
from refexplorer.core.text import counted, size_text
from refexplorer.io.decode.codecs import is_installed, missing
from refexplorer.io.decode.sizes import (
    POINTER,
    ZLIB,
    check_inflation,
    check_size,
    inflated,
    is_bounded,
    keeps_size,
    most,
    recompressed,
)
from refexplorer.spec.zarr_metadata import ArrayMeta, BadMetadata, read_array

_TO_ARRAY = frozenset({"bytes", "endian"})
VALUES = "values"


@dataclass(frozen=True, slots=True)
class Stage:
    """One codec, or the step from bytes to array values."""

    name: str  # As numcodecs names the codec; ``"values"`` for the step without one
    label: str  # The codec with its settings, as in the metadata
    settings: Mapping[str, Any]  # Its configuration
    # From bytes or an array to bytes or an array; raises what the codec raises, and `DecodeError`
    # if the codec is not installed
    decode: Callable[[Any], Any]


def stages(array: ArrayMeta) -> tuple[Stage, ...]:
    """Return the decoding stages of an array, Zarr v2 or v3."""
    return tuple(_stages_v3(array) if array.zarr_format == 3 else _stages_v2(array))


def as_bytes(data: Any) -> bytes:
    """Return bytes, or the contents of a numeric array, in C order."""
    return data.tobytes() if isinstance(data, np.ndarray) else bytes(data)


def _stages_v2(array: ArrayMeta) -> Iterator[Stage]:
    pairs = list(zip(array.codecs, array.pipeline, strict=True))
    for label, (name, settings) in reversed(pairs):
        codec = {"id": name, **settings}
        yield Stage(name or "?", label, codec, _numcodec(array, name or "?", codec))
    yield Stage(VALUES, VALUES, {}, lambda data: _shaped(array, data))


def _numcodec(array: ArrayMeta, name: str, codec: Mapping[str, Any]) -> Callable[[Any], Any]:
    @cache
    def made() -> Any:
        import numcodecs

        with suppress(ValueError):  # it may have to be registered first
            return numcodecs.get_codec(dict(codec))
        if not is_installed(name, 2):
            raise DecodeError(
                f"{array.path or 'the root array'} {missing(name, array.zarr_format)}"
            )
        return numcodecs.get_codec(dict(codec))

    return lambda data: made().decode(data)


def _numpy_dtype(array: ArrayMeta) -> np.dtype[Any]:
    written: Any = array.metadata.get("dtype")
    if isinstance(written, list):
        written = [tuple(field) if isinstance(field, list) else field for field in written]
    try:
        dtype: np.dtype[Any] = np.dtype(written)
    except (TypeError, ValueError) as error:
        raise DecodeError(f"{written!r} is not a valid data type: {error}.") from None
    return dtype


def _shaped(array: ArrayMeta, data: Any) -> np.ndarray:
    """Interpret bytes as elements in the shape of a chunk; report the expected length."""
    dtype = _numpy_dtype(array)
    order: Any = "F" if array.metadata.get("order") == "F" else "C"
    if isinstance(data, np.ndarray) and dtype.kind in "OSU" and data.dtype.kind in "OSU":
        return data.astype(dtype, copy=False).reshape(array.chunks, order=order)
    if dtype.kind == "O":
        raise DecodeError("The data type is object, but no filter decodes the bytes to objects.")
    flat = np.frombuffer(as_bytes(data), np.uint8)
    check_decoded_length(flat.size, array.chunks, dtype.itemsize, dtype.str)
    return flat.view(dtype).reshape(array.chunks, order=order)


def check_decoded_length(size: int, shape: tuple[int, ...], itemsize: int, dtype: str) -> None:
    """Reject bytes whose number differs from the size of a chunk."""
    elements = math.prod(shape)
    if size == elements * itemsize:
        return
    sentence = (
        f"{size_text(size)} ({size:,} bytes) were decoded, but {counted(elements, 'element')} "
        f"of {dtype} take {elements * itemsize:,}"
    )
    if elements and size and size % elements == 0:
        sentence += f": elements of {counted(size // elements, 'byte')} would fit"
    elif size % max(itemsize, 1):
        sentence += f", and {size:,} is not a multiple of {itemsize}"
    raise DecodeError(sentence + ".")


def _stages_v3(array: ArrayMeta) -> Iterator[Stage]:
    """Ask Zarr for each codec separately, so that a missing one does not hide others."""
    spec = _chunk_spec(array)
    found: list[Stage] = []
    for label, (name, written) in zip(array.codecs, array.pipeline, strict=True):
        settings = dict(written) if isinstance(written, Mapping) else {}
        decode, spec = _zarr_codec(array, name, settings, spec)
        found.append(Stage(name.removeprefix("numcodecs."), label, settings, decode))
    yield from reversed(found)
    yield Stage(VALUES, VALUES, {}, lambda data: data)


def _chunk_spec(array: ArrayMeta) -> Any:
    from zarr.core.array_spec import ArrayConfig, ArraySpec
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.dtype import get_data_type_from_json

    written: Any = array.metadata
    try:
        dtype = get_data_type_from_json(written["data_type"], zarr_format=3)
        fill = dtype.from_json_scalar(written.get("fill_value"), zarr_format=3)
    except Exception as error:  # Zarr's data types raise any error
        raise DecodeError(f"Zarr cannot read the data type {array.dtype}: {error}.") from None
    config = ArrayConfig.from_dict({})
    return ArraySpec(array.chunks, dtype, fill, config, default_buffer_prototype())


def _zarr_codec(
    array: ArrayMeta, name: str, settings: dict[str, Any], spec: Any
) -> tuple[Callable[[Any], Any], Any]:
    """Return a decoder for a Zarr codec, and the array specification for later codecs."""
    from zarr.registry import get_codec_class

    if not is_installed(name, 3):

        def fail(data: Any) -> Any:
            raise DecodeError(
                f"{array.path or 'the root array'} {missing(name, array.zarr_format)}"
            )

        return fail, spec
    try:
        written: Any = {"name": name, "configuration": settings}
        with without_warnings():
            codec = get_codec_class(name).from_dict(written).evolve_from_array_spec(spec)
        after = codec.resolve_metadata(spec)
    except Exception as error:  # Zarr's codecs raise any error
        raise DecodeError(f"Zarr cannot create the codec {name}: {error}.") from None
    return (lambda data: _decode_v3(codec, data, spec, name in _TO_ARRAY)), after


def _decode_v3(codec: Any, data: Any, spec: Any, to_array: bool) -> Any:
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync

    prototype = default_buffer_prototype()
    if isinstance(data, np.ndarray):
        given: Any = prototype.nd_buffer.from_numpy_array(data)
    else:
        given = prototype.buffer.from_bytes(data)
    if to_array:
        native = spec.dtype.to_native_dtype()
        check_decoded_length(len(data), spec.shape, native.itemsize, native.str)
    (decoded,) = sync(codec.decode([(given, spec)]))
    if hasattr(decoded, "as_ndarray_like"):
        return np.asarray(decoded.as_ndarray_like())
    return decoded.to_bytes()


SHARDING = "sharding_indexed"  # The codec
ABSENT = 2**64 - 1  # The offset, and the length, of an inner chunk that a shard does not have
_ENTRY = 16  # Bytes of an entry of the index: an offset and a length
# CRC-32C
_CHECKSUM = 4


@dataclass(frozen=True)
class ShardCodec:
    """The subdivision of an array's chunks."""

    inner: ArrayMeta  # The parts as chunks of an array
    grid: tuple[int, ...]  # Inner chunks of a shard along each dimension
    order: str  # Of the bytes of a number of the index
    is_summed: bool  # Whether a checksum follows the index
    leads: bool  # Whether the index comes first

    @cached_property
    def size(self) -> int:
        """Bytes of the index."""
        return _ENTRY * prod(self.grid) + (_CHECKSUM if self.is_summed else 0)

    def parts(self, data: bytes) -> list[bytes]:
        """Return the encoded parts; none if there are too few bytes for an index."""
        start = 0 if self.leads else len(data) - self.size
        if not 0 <= start <= len(data) - self.size:
            return []
        index = self._numbers(data[start : start + self.size])
        present = index[index[:, 0] != ABSENT].tolist()
        return [data[offset : offset + length] for offset, length in present]

    def read(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets and lengths of the inner chunks, uint64, in the shape of `grid`."""
        if len(data) != self.size:
            raise DecodeError(
                f"The shard index has {len(data):,} bytes, but an index of "
                f"{prod(self.grid):,} inner chunks has {self.size:,}."
            )
        if self.is_summed:
            import google_crc32c

            expected = int.from_bytes(data[-_CHECKSUM:], "little")
            if int(google_crc32c.value(data[:-_CHECKSUM])) != expected:
                raise DecodeError("The checksum of the shard index is wrong.")
        index = self._numbers(data)
        absent = index == ABSENT
        if np.any(absent[:, 0] != absent[:, 1]):
            raise DecodeError("The shard index lacks an offset or a length of a chunk.")
        return index[:, 0].reshape(self.grid), index[:, 1].reshape(self.grid)

    def _numbers(self, data: bytes) -> np.ndarray:
        found: np.ndarray = np.frombuffer(data, f"{self.order}u8", 2 * prod(self.grid))
        return found.astype(np.uint64).reshape(-1, 2)


def shard_layout(array: ArrayMeta) -> ShardCodec | None:
    """Parse the sharding codec."""
    try:
        return _layout(array)
    except (BadMetadata, TypeError, ValueError, LookupError, AttributeError):
        return None


def _layout(array: ArrayMeta) -> ShardCodec | None:
    codecs: Any = array.metadata.get("codecs")
    settings = next(
        (each["configuration"] for each in codecs or () if each["name"] == SHARDING), None
    )
    if settings is None:
        return None
    by_name = {each["name"]: each.get("configuration") or {} for each in settings["index_codecs"]}
    if not by_name.keys() <= {"bytes", "crc32c"}:
        return None
    shape = tuple(settings["chunk_shape"])
    if len(shape) != len(array.chunks) or any(
        size < 1 or chunk % size for chunk, size in zip(array.chunks, shape, strict=True)
    ):
        return None
    chunk_grid = {"name": "regular", "configuration": {"chunk_shape": list(shape)}}
    inner = dict(array.metadata) | {"chunk_grid": chunk_grid, "codecs": settings["codecs"]}
    return ShardCodec(
        read_array(f"{array.path}/{SHARDING}", inner),
        tuple(chunk // size for chunk, size in zip(array.chunks, shape, strict=True)),
        ">" if by_name.get("bytes", {}).get("endian") == "big" else "<",
        "crc32c" in by_name,
        settings.get("index_location") == "start",
    )


_SLACK = 2**20  # bytes that a codec may add to the size of a chunk, such as headers
_WIDEST = 16  # How much a filter may shrink: one byte for a number of sixteen


@dataclass(frozen=True, slots=True)
class Step:
    """One decoding stage with a byte limit."""

    array: ArrayMeta
    number: int
    stage: Stage
    limit: int

    def run(self, data: Any) -> Any:
        """Decode bytes or an array; raise codec errors, or `LimitError` for too much output."""
        if self.stage.name == VALUES:
            return self.stage.decode(data)
        if not is_bounded(self.stage.name):
            from refexplorer.io.decode.confined import decode_confined  # which imports `stages`

            return decode_confined(self.array, self.number, data, self.limit)
        if self.stage.name == ZLIB:  # to count first would inflate twice
            found = inflated(as_bytes(data), self.limit)
            if found is not None:
                return found
        self.check(data)
        return self.stage.decode(data)

    def check(self, data: Any) -> None:
        """Reject input that would decode to too many bytes; the output is discarded."""
        if not is_bounded(self.stage.name):
            from refexplorer.io.decode.confined import check_confined

            check_confined(self.array, self.number, data, self.limit)
        else:
            check_inflation(self.stage.name, self.stage.settings, as_bytes(data), self.limit)


def steps(array: ArrayMeta, limits: Limits) -> list[Step]:
    """Return the decoding steps of an array's chunks."""
    check_size(array, limits)
    found = stages(array)
    return [
        Step(array, number, stage, _room(array, found[number + 1 :], limits))
        for number, stage in enumerate(found)
    ]


def decoded(array: ArrayMeta, data: Any, limits: Limits) -> np.ndarray:
    """Return the values of a chunk; raise codec errors, or `LimitError` for too much output."""
    for step in steps(array, limits):
        data = step.run(data)
    return np.asarray(data).reshape(array.chunks)


def error_text(error: Exception) -> str:
    """Return a codec error as one sentence."""
    text = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else ""
    if isinstance(error, RefexplorerError):
        return f"{text}."
    if is_out_of_memory(error):
        return memory_message()
    if "checksum" in text:
        return f"The checksum does not match, so the bytes are not those that were written: {text}."
    return (
        f"The codec cannot decode the bytes: {type(error).__name__}{': ' + text if text else ''}."
    )


def _room(array: ArrayMeta, later: tuple[Stage, ...], limits: Limits) -> int:
    """Return how many bytes a stage may produce, so that later codecs can yield the chunk."""
    size = math.prod(array.chunks) * (array.itemsize or POINTER)
    varies = array.itemsize is None or "O" in array.dtype
    room = limits.chunk_bytes if varies else _SLACK
    widens = any(stage.name != VALUES and not keeps_size(stage.name) for stage in later)
    return size * (_WIDEST if widens else 2) + room


_UNCHECKED = 2**26
"""Most decoded bytes for which a chunk needs no further check: an array may have chunks
of `Limits.chunk_bytes`, far more, and Zarr rejects chunks that are too large for their array."""


_KINDS = 1_000  # Shapes of chunks whose steps are kept
_ChunkKind = tuple[str, tuple[int, ...]]


class ChunkGuard:
    """Rejects encoded chunks that would decode to far more than a chunk of their array."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._unchecked = min(_UNCHECKED, limits.chunk_bytes)
        self._steps: dict[_ChunkKind, list[Step]] = {}
        self._shards: dict[_ChunkKind, ShardCodec | None] = {}

    def is_free(self, array: ArrayMeta, data: bytes) -> bool:
        """Return whether a chunk is already known to be decodable without checks."""
        found = self._steps_of(array)
        return bool(found) and self._fits(found, data)

    def chunk(self, array: ArrayMeta, data: bytes) -> bytes:
        """Check a chunk's bytes, decoding them only as far as a later step needs."""
        found = self._steps_of(array)
        if self._fits(found, data):
            return data
        first = found[0]
        again = recompressed(first.stage.name, data, first.limit)
        if again is not None and self._fits(found[1:], again.inside):
            return again.packed
        names = [step.stage.name for step in found]
        risky = [at for at, name in enumerate(names) if name != VALUES and not keeps_size(name)]
        decoded: Any = data
        for at, step in enumerate(found[: risky[-1] + 1 if risky else 0]):
            shard = self._shard_of(array) if step.stage.name == SHARDING else None
            if shard is not None:
                for part in shard.parts(data):
                    self.chunk(shard.inner, part)
                break
            step.check(decoded)
            if at == risky[-1]:
                break
            try:
                decoded = step.stage.decode(decoded)
            except Exception:  # Zarr raises the same error and reports it
                break
        return data

    def _fits(self, found: list[Step], data: bytes) -> bool:
        """Return whether no step can produce too much, before any is run."""
        size, given = len(data), data if data else None
        for step in found:
            if step.stage.name == VALUES:
                continue
            made = most(step.stage.name, step.stage.settings, size, given)
            if made is None or made > max(step.limit, self._unchecked):
                return False
            size, given = made, None
        return True

    def part(self, array: ArrayMeta, data: bytes, start: int) -> None:
        """Check a part of a shard: an inner chunk, or the index at its start."""
        shard = self._shard_of(array)
        is_index = shard is not None and shard.leads and not start and len(data) == shard.size
        if shard is not None and not is_index:
            self.chunk(shard.inner, data)

    def _steps_of(self, array: ArrayMeta) -> list[Step]:
        kind = array.path, array.chunks
        if kind not in self._steps:
            if len(self._steps) > _KINDS:
                self._steps.clear()
            try:
                self._steps[kind] = steps(array, self._limits)
            except RefexplorerError:  # Zarr rejects the array with its own message
                self._steps[kind] = []
        return self._steps[kind]

    def _shard_of(self, array: ArrayMeta) -> ShardCodec | None:
        kind = array.path, array.chunks
        if kind not in self._shards:
            if len(self._shards) > _KINDS:
                self._shards.clear()
            self._shards[kind] = shard_layout(array)
        return self._shards[kind]
