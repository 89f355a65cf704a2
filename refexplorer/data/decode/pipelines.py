"""The codecs of a chunk as stages, in the order of decoding, each to be run by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.decode.codecs import is_installed, missing
from refexplorer.errors import DecodeError
from refexplorer.markup import counted, size_text

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

_TO_ARRAY = frozenset({"bytes", "endian"})
VALUES = "values"


@dataclass(frozen=True, slots=True)
class Stage:
    """One codec, or the step from bytes to the values of an array.

    Attributes
    ----------
    name
        As numcodecs names the codec; ``"values"`` for the step without one.
    label
        The codec with its settings, as the metadata has it.
    settings
        Its configuration.
    decode
        From bytes or an array to bytes or an array; raises what the codec raises, and
        `DecodeError` if the codec is not installed.
    """

    name: str
    label: str
    settings: Mapping[str, Any]
    decode: Callable[[Any], Any]


def stages(array: ArrayMeta) -> tuple[Stage, ...]:
    """Return how a chunk of an array is decoded, Zarr v2 or v3.

    Raises
    ------
    DecodeError
        If the data type is none that numpy or Zarr knows.
    """
    return tuple(_stages_v3(array) if array.zarr_format == 3 else _stages_v2(array))


def as_bytes(data: Any) -> bytes:
    """Return bytes, or what an array of numbers holds, in C order."""
    return data.tobytes() if isinstance(data, np.ndarray) else bytes(data)


def _stages_v2(array: ArrayMeta) -> Iterator[Stage]:
    written = array.metadata
    filters = written.get("filters") or []
    codecs = [*(filters if isinstance(filters, list) else []), written.get("compressor")]
    used = [codec for codec in codecs if isinstance(codec, Mapping)]
    for label, codec in zip(reversed(array.codecs), reversed(used), strict=True):
        name = str(codec.get("id", "?"))
        yield Stage(name, label, codec, _numcodec(array, name, codec))
    yield Stage(VALUES, VALUES, {}, lambda data: _shaped(array, data))


def _numcodec(array: ArrayMeta, name: str, codec: Mapping[str, Any]) -> Callable[[Any], Any]:
    def decode(data: Any) -> Any:
        import numcodecs

        if not is_installed(name, 2):
            raise DecodeError(f"{array.path or 'the root array'} {missing(name)}")
        return numcodecs.get_codec(dict(codec)).decode(data)

    return decode


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
    """Take bytes as elements, in the shape of a chunk; say which length they should have."""
    dtype = _numpy_dtype(array)
    order: Any = "F" if array.metadata.get("order") == "F" else "C"
    if isinstance(data, np.ndarray) and dtype.kind in "OSU" and data.dtype.kind in "OSU":
        return data.astype(dtype, copy=False).reshape(array.chunks, order=order)
    if dtype.kind == "O":
        raise DecodeError("The data type is object, but no filter decodes the bytes to objects.")
    flat = np.frombuffer(as_bytes(data), np.uint8)
    check_length(flat.size, array.chunks, dtype.itemsize, dtype.str)
    return flat.view(dtype).reshape(array.chunks, order=order)


def check_length(size: int, shape: tuple[int, ...], itemsize: int, dtype: str) -> None:
    """Refuse bytes that are not as many as a chunk takes.

    Raises
    ------
    DecodeError
        With both numbers, and with the size of an element that would fit, if one would.
    """
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
    """Ask Zarr for each codec by itself, so that a missing one does not hide the others."""
    written: Any = array.metadata.get("codecs")
    spec = _chunk_spec(array)
    found: list[Stage] = []
    for label, codec in zip(
        array.codecs, written if isinstance(written, list) else [], strict=True
    ):
        named = codec if isinstance(codec, Mapping) else {"name": str(codec)}
        name, settings = str(named.get("name")), _mapping(named.get("configuration"))
        short = name.removeprefix("numcodecs.")
        decode, after = _zarr_codec(array, name, settings, spec)
        found.append(Stage(short, label, settings, decode))
        spec = after
    yield from reversed(found)
    yield Stage(VALUES, VALUES, {}, lambda data: data)


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _chunk_spec(array: ArrayMeta) -> Any:
    from zarr.core.array_spec import ArrayConfig, ArraySpec
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.dtype import get_data_type_from_json

    written: Any = array.metadata
    try:
        dtype = get_data_type_from_json(written["data_type"], zarr_format=3)
        fill = dtype.from_json_scalar(written.get("fill_value"), zarr_format=3)
    except Exception as error:  # Zarr's data types raise what they like
        raise DecodeError(f"Zarr cannot read the data type {array.dtype}: {error}.") from None
    config = ArrayConfig.from_dict({})
    return ArraySpec(array.chunks, dtype, fill, config, default_buffer_prototype())


def _zarr_codec(
    array: ArrayMeta, name: str, settings: dict[str, Any], spec: Any
) -> tuple[Callable[[Any], Any], Any]:
    """Return a decoder for a Zarr codec, and the array specification for the codecs after it."""
    from zarr.registry import get_codec_class

    if not is_installed(name, 3):

        def fail(data: Any) -> Any:
            raise DecodeError(f"{array.path or 'the root array'} {missing(name)}")

        return fail, spec
    try:
        written: Any = {"name": name, "configuration": settings}
        codec = get_codec_class(name).from_dict(written).evolve_from_array_spec(spec)
        after = codec.resolve_metadata(spec)
    except Exception as error:  # Zarr's codecs raise what they like
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
        check_length(len(data), spec.shape, native.itemsize, native.str)
    (decoded,) = sync(codec.decode([(given, spec)]))
    if hasattr(decoded, "as_ndarray_like"):
        return np.asarray(decoded.as_ndarray_like())
    return decoded.to_bytes()
