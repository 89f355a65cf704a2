"""The origin of one value: the steps from the values of its chunk to those of xarray."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from operator import gt, lt
from typing import Any, SupportsIndex

import numpy as np
from numcodecs.registry import get_codec

from refexplorer.core.errors import AccessError, DecodeError, RefexplorerError
from refexplorer.core.text import counted, escape
from refexplorer.io.decode.sizes import region
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.cf import decode_as_xarray, decoding_attributes
from refexplorer.io.reading.chunks import ArrayDecoder, array_at
from refexplorer.io.reading.readings import ChunkState
from refexplorer.io.reading.trace import Trace, Tracer
from refexplorer.refset.opened_set import SetLike
from refexplorer.spec.derivation import SHOWN, TraceStep
from refexplorer.spec.zarr_metadata import ArrayMeta


class ValueOrigin(StrEnum):
    """The reason for a value."""

    NO_REFERENCE = "no reference"
    REJECTED = "rejected"
    FAILED = "failed"
    FILL_VALUE = "fill value"
    MISSING_VALUE = "missing value"
    PACKED_FILL_VALUE = "packed fill value"
    NAN_IN_DATA = "NaN in the data"
    NOT_DECODED = "not decoded"
    SCALED = "scaled"
    AS_STORED = "as stored"


def trace_value(refs: SetLike, path: str, index: Sequence[int] | int, targets: Targets) -> Trace:
    """Trace one value from its chunk's reference; negative positions count from the end."""
    array = array_at(refs, path)
    return _ValueTracer(refs, array, _place(array, index), targets).value()


def _place(array: ArrayMeta, index: Any) -> tuple[int, ...]:
    """Return a position as non-negative numbers."""
    shape = array.shape
    index = index.tolist() if isinstance(index, np.ndarray) else index
    if isinstance(index, SupportsIndex):  # of an array of one dimension
        index = (index.__index__(),)
    if not isinstance(index, Sequence) or not all(
        isinstance(each, SupportsIndex) for each in index
    ):
        raise DecodeError(
            f"An index is one integer for each dimension, such as {(0,) * len(shape)}; these are "
            f"not all integers: {escape(str(index), SHOWN)}."
        )
    name = array.path or "The root array"
    if len(index) != len(shape):
        raise DecodeError(
            f"{name} has {counted(len(shape), 'dimension')}, so it needs an index of as many "
            f"integers, such as {(0,) * len(shape)}; this has {len(index)}."
        )
    if not all(-length <= place < length for place, length in zip(index, shape, strict=True)):
        raise DecodeError(
            f"{name} has no element {list(index)}; its shape is "
            f"{list(shape)}, so the last one is {[length - 1 for length in shape]}."
        )
    return tuple(int(place) % length for place, length in zip(index, shape, strict=True))


class _ValueTracer(Tracer):
    """Continues from the values of a chunk to one value as shown by xarray."""

    array: ArrayMeta

    def __init__(
        self, refs: SetLike, array: ArrayMeta, place: tuple[int, ...], targets: Targets
    ) -> None:
        chunk = array.chunk_at(place)
        super().__init__(refs, array.chunk_key(chunk), targets, array, chunk)
        parts = zip(place, region(array, chunk), strict=True)
        self.place, self.within = place, tuple(at - part.start for at, part in parts)
        self.fill: Any = None

    def value(self) -> Trace:
        """Run every step."""
        grid = " x ".join(f"{size:,}" for size in self.array.grid) or "1"
        where = f"`{self.key}` of the {grid} chunk grid contains it"
        self._say("chunk", f"{where}, at {list(self.within)} of the chunk.")
        self.chunk()
        if self.state is ChunkState.FAILED and self.raw is None:
            return self._failed(str(self.steps[-1].message))
        try:
            raw = self._raw_value()
        except AccessError:
            raise
        except RefexplorerError as error:
            return self._failed(str(error))
        masks = _Masks(self.array, raw.dtype, self.fill)
        raw = raw[()]
        shown = self._shown(raw)
        fill = _written(self.fill)
        if self.state is ChunkState.FILL:
            self._say("raw value", f"Zarr fills the chunk with {fill}, the fill value.")
            self._say_shown(shown)
            lacking = "no reference for" if self.reference is None else "the server has no file for"
            text = f"{lacking} the chunk, so Zarr shows the fill value {fill}"
            return self._result(ValueOrigin.NO_REFERENCE, f"{text}{_and(shown)}", raw, shown)
        self._say("raw value", f"The stored value is {_written(raw)} ({self.array.dtype}).")
        return self._of_value(raw, shown, masks)

    def _raw_value(self) -> np.ndarray:
        """Return the value from Zarr, which decodes what the steps here cannot."""
        decoder = ArrayDecoder(self.refs, self.array, self.targets)
        self.fill, index = decoder.fill_value, self.index or ()
        if self.state is ChunkState.FILL:
            return np.asarray(decoder.fill(index)[self.within], decoder.dtype)
        assert self.raw is not None
        if self.values is not None and decoder.is_plain:
            return np.asarray(self.values[self.within], decoder.dtype)
        values = decoder.decode(index, self.raw)
        if self.state is ChunkState.FAILED:
            self.steps[-1] = replace(self.steps[-1], name="values", message=None, result="by Zarr")
            self.state = ChunkState.FETCHED
        return np.asarray(values[self.within], values.dtype)

    def _failed(self, message: str) -> Trace:
        if self.rejection is not None:
            return self._result(
                ValueOrigin.REJECTED, f"the chunk has a rejected reference: {message}", None, None
            )
        if self.state is not ChunkState.FAILED:
            self._add("values", message=message)
        return self._result(
            ValueOrigin.FAILED, f"the chunk could not be read: {message}", None, None
        )

    def _of_value(self, raw: Any, shown: Any, masks: _Masks) -> Trace:
        for text in _outside_valid_range(self.array.attributes, raw):
            self._say("valid range", text)
        if isinstance(shown, _Undecoded):
            self._say("xarray", f"xarray cannot decode it: {shown}.")
            text = f"the stored value is {_written(raw)}, and xarray cannot decode it: {shown}"
            return self._result(ValueOrigin.NOT_DECODED, text, raw, None)
        name = masks.of(raw)
        if _is_missing(shown) and not _is_missing(raw):
            reason = f"it equals {name}" if name is not None else masks.quirk(raw)
            if reason is not None:
                return self._masked(raw, shown, reason, masks.is_fill(raw))
        elif name is not None:
            reason = f": {_SWAPPED}" if "_Unsigned" in self.array.attributes else ""
            text = f"{_written(raw)} equals {name}, but xarray does not mask it{reason}."
            self._say("missing value", text)
        return self._unmasked(raw, shown, masks)

    def _masked(self, raw: Any, shown: Any, reason: str, is_fill: bool) -> Trace:
        self._say("missing value", f"xarray masks {_written(raw)}: {reason}.")
        self._say_shown(shown)
        cause = ValueOrigin.FILL_VALUE if is_fill else ValueOrigin.MISSING_VALUE
        text = f"the stored value is {_written(raw)}, which xarray masks: {reason}{_and(shown)}"
        return self._result(cause, text, raw, shown)

    def _unmasked(self, raw: Any, shown: Any, masks: _Masks) -> Trace:
        packed = _packed(self.array, raw, masks)
        if packed is not None:
            self._say("packed value", f"{packed}. xarray compares unpacked values.")
        self._say_scaling(raw, shown)
        self._say_shown(shown)
        if packed is not None:
            text = f"{packed} before xarray compares it, so xarray does not mask it{_and(shown)}"
            return self._result(ValueOrigin.PACKED_FILL_VALUE, text, raw, shown)
        if _is_nan(raw):
            text = "the stored value is NaN"
            return self._result(ValueOrigin.NAN_IN_DATA, text, raw, shown)
        if _is_same(raw, shown):
            text = f"the stored value is {_written(raw)}, and nothing changes it"
            return self._result(ValueOrigin.AS_STORED, text, raw, shown)
        text = f"the stored value is {_written(raw)}, with attributes {_written(shown)}"
        return self._result(ValueOrigin.SCALED, text, raw, shown)

    def _shown(self, raw: Any) -> Any:
        """Return the value shown by xarray, or why there is none."""
        try:
            return decode_as_xarray(self.array, np.asarray(raw), self.fill)[()]
        except Exception as error:  # xarray raises any error
            return _Undecoded(str(error).strip().partition("\n")[0].rstrip("."))

    def _say(self, name: str, text: str) -> None:
        self.steps.append(TraceStep(name, self.key, text, reference=self.reference))

    def _say_shown(self, shown: Any) -> None:
        if isinstance(shown, _Undecoded):
            self._say("xarray", f"xarray cannot decode it: {shown}.")
        else:
            self._say("xarray", f"xarray shows {_written(shown)}.")

    def _say_scaling(self, raw: Any, shown: Any) -> None:
        attributes = self.array.attributes
        factor, offset = attributes.get("scale_factor"), attributes.get("add_offset")
        if factor is not None or offset is not None:
            times = f" x {factor}" if factor is not None else ""
            plus = f" + {offset}" if offset is not None else ""
            given = {"scale_factor": factor, "add_offset": offset}
            names = " and ".join(name for name, value in given.items() if value is not None)
            text = f"{_written(raw)}{times}{plus} = {_written(shown)}, with the set's {names}."
            self._say("scale", text)
        elif "since" in str(attributes.get("units", "")):
            self._say("time", f"{_written(raw)} {attributes['units']} is {_written(shown)}.")

    def _result(self, cause: ValueOrigin, sentence: str, raw: Any, shown: Any) -> Trace:
        return replace(
            self.trace(),
            index=self.place,
            cause=cause,
            sentence=f"{sentence[:1].upper()}{sentence[1:]}".rstrip(".") + ".",
            raw=raw,
            shown=None if isinstance(shown, _Undecoded) else shown,
        )


_SWAPPED = "for big-endian integers with `_Unsigned`, it swaps the bytes of the fill value"
_VALUE_FILTERS = {"fixedscaleoffset", "astype"}


def _packed(array: ArrayMeta, raw: Any, masks: _Masks) -> str | None:
    """Return whether a value is a missing value after unpacking by filters; None if not."""
    if not isinstance(raw, np.number) or _is_nan(raw):
        return None
    packed, names = np.asarray([raw]), list[str]()
    for written, settings in array.pipeline:
        name = written.removeprefix("numcodecs.")
        if name not in _VALUE_FILTERS:
            break
        try:
            with np.errstate(all="ignore"):
                packed = np.asarray(get_codec({"id": name, **settings}).encode(packed))
        except Exception:  # codecs raise any error
            return None
        names.append(name)
    missing = masks.of_packed(packed[0]) if names else None
    if missing is None:
        return None
    return (
        f"The stored value is {_written(packed[0])}, which equals {missing}; the filter "
        f"`{names[-1]}` turns it into {_written(raw)}"
    )


class _Undecoded(str):
    """The reason why xarray cannot decode a value."""


class _Masks:
    """The values that xarray treats as missing, with their names."""

    def __init__(self, array: ArrayMeta, dtype: np.dtype[Any], fill: Any) -> None:
        self._fill = fill if array.zarr_format == 2 else None
        try:
            attributes = decoding_attributes(array, dtype, fill)
        except (TypeError, ValueError):  # xarray cannot decode the array for the same reason
            attributes = dict(array.attributes)
        self._array, self._own_fill = array, fill
        names = {name: f"`{name}`" for name in ("_FillValue", "missing_value")}
        if self._fill is not None:
            names["_FillValue"] = "the fill value of the array"
        self._named = [
            (text, attributes[name]) for name, text in names.items() if name in attributes
        ]

    def of(self, raw: Any) -> str | None:
        """Return the name of the missing value equal to a raw value; None for NaN."""
        return next((name for name, value in self._named if _equals(raw, value)), None)

    def of_packed(self, value: Any) -> str | None:
        """Return the name of the missing value (or fill value) equal to a packed value."""
        if (name := self.of(value)) is not None:
            return name
        is_fill = self._own_fill is not None and _equals(value, self._own_fill)
        return "the fill value of the array" if is_fill else None

    def quirk(self, raw: Any) -> str | None:
        """Return why xarray masks a value that equals no missing value."""
        for text, value in self._named:
            try:
                if np.dtype(self._array.dtype).type(value).byteswap() == raw:
                    return _SWAPPED
                turn = 2**64 if self._array.attributes.get("_Unsigned") == "true" else 2**65
                if float(int(raw) % turn) == float(int(value) % turn):
                    return f"as float64 it is the same as {text}, {_written(value)}"
            except (TypeError, ValueError, OverflowError, AttributeError):
                continue
        return None

    def is_fill(self, raw: Any) -> bool:
        return self._fill is not None and _equals(raw, self._fill)


def _equals(raw: Any, value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    for each in values:
        try:
            if bool(np.asarray(raw) == np.asarray(each)):
                return True
        except (TypeError, ValueError, OverflowError):
            continue
    return False


def _is_same(raw: Any, shown: Any) -> bool:
    """Return whether values are the same, including an integer and an equal float."""
    try:
        return bool(np.all(raw == shown))
    except (TypeError, ValueError):
        return False


def _outside_valid_range(attributes: Mapping[str, Any], raw: Any) -> Iterator[str]:
    """Return whether a raw value is outside the valid range, which xarray ignores."""
    low, high = attributes.get("valid_min"), attributes.get("valid_max")
    limits = attributes.get("valid_range")
    if isinstance(limits, list) and len(limits) == 2:
        low, high = limits
    tests = (("below the minimum", low, lt), ("above the maximum", high, gt))
    for words, limit, is_outside in () if _is_nan(raw) else tests:
        if isinstance(limit, int | float) and is_outside(raw, limit):
            yield (
                f"{_written(raw)} is {words} valid value, {limit}: netCDF4 masks it, xarray does "
                "not."
            )


def _and(shown: Any) -> str:
    return "" if isinstance(shown, _Undecoded) else f"; xarray shows {_written(shown)}"


def _is_missing(value: Any) -> bool:
    return _is_nan(value) or (isinstance(value, np.datetime64) and bool(np.isnat(value)))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and math.isnan(value)


def _written(value: Any) -> str:
    if isinstance(value, np.datetime64 | np.timedelta64):
        is_plain = np.datetime_data(value.dtype)[0] == "generic"  # which NumPy cannot show
        return str(value.astype(np.int64)) if is_plain else str(value)
    if isinstance(value, bytes | np.bytes_):
        return repr(bytes(value))
    if isinstance(value, np.generic):
        return "NaN" if _is_nan(value) else str(value)
    return "NaN" if _is_nan(value) else repr(value) if isinstance(value, str) else str(value)
