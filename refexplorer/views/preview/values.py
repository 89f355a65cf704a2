"""From decoded values to those of a picture: CF decoding, numbers or texts, thinning."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from refexplorer.core.errors import AccessError, RefexplorerError
from refexplorer.core.text import escape
from refexplorer.io.decode.sizes import Index, overlap, place_count
from refexplorer.io.fetch.many import FetchProgress
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.cf import decode_as_xarray, decode_plainly, decode_times_plainly
from refexplorer.io.reading.chunks import ArrayDecoder, ArrayValues, failed, read_chunks
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.io.reading.selection import Assembled
from refexplorer.views.preview.regions import Region, chunks_touched
from refexplorer.views.wire.context import FailureLog
from refexplorer.views.wire.jobs import JobReport, unheard

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta
    from refexplorer.verbs.referenceset import ReferenceSet


class ChunkCache:
    """Decoded chunks by array and index."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._kept: dict[tuple[str, Index], Reading] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def holds(self, path: str, index: Index) -> bool:
        """Return whether a chunk is cached."""
        return (path, index) in self._kept

    def get(self, path: str, index: Index) -> Reading | None:
        """Return a cached chunk and mark it as recently used."""
        with self._lock:
            found = self._kept.pop((path, index), None)
            if found is not None:
                self._kept[path, index] = found
            return found

    def keep(self, path: str, index: Index, found: Reading) -> None:
        """Cache a chunk, and evict others as needed."""
        with self._lock:
            self._drop((path, index))
            self._kept[path, index] = found
            self.size += _size(found)
            while self.size > self.most and len(self._kept) > 1:
                self._drop(next(iter(self._kept)))

    def _drop(self, place: tuple[str, Index]) -> None:
        found = self._kept.pop(place, None)
        self.size -= 0 if found is None else _size(found)


def _size(found: Reading) -> int:
    return 0 if found.values is None else found.values.nbytes


_caches: WeakKeyDictionary[ReferenceSet, ChunkCache] = WeakKeyDictionary()
_making = threading.Lock()


def cache_of(refs: ReferenceSet) -> ChunkCache:
    """Return the cache shared by all views of a set."""
    with _making:
        return _caches.setdefault(refs, ChunkCache(refs.limits.kept_bytes))


_loading = threading.Lock()


def load_array_libraries() -> None:
    """Import Zarr in one thread at a time: its packages have circular imports."""
    # Their packages have circular imports: if two threads start at once, one may see a partly
    # initialized module.
    with _loading:
        import zarr.storage  # noqa: F401


def load_xarray() -> None:
    """Import xarray, which takes longer than the other libraries."""
    with _loading:
        import xarray  # noqa: F401
        import zarr.storage  # noqa: F401


def load_http() -> None:
    """Import the libraries for reading over HTTP."""
    with _loading:
        import refexplorer.io.fetch.http  # noqa: F401


_REPORTED = (
    0.05  # Seconds between two messages about how far it is: each has its cost on both sides
)


class DecodedChunks:
    """Decodes and caches chunks, so that moving through an array reads each only once."""

    def __init__(self, refs: ReferenceSet, targets: Targets, failure_log: FailureLog) -> None:
        self._refs = refs
        self._targets = targets
        self._failure_log = failure_log
        self.cache = cache_of(refs)

    def holds(self, path: str, index: Index) -> bool:
        """Return whether a chunk is cached."""
        return self.cache.holds(path, index)

    def read(self, array: ArrayMeta, places: Region, report: JobReport = unheard) -> Reading:
        """Read a selection of an array."""
        made = Assembled(array, places)
        for found in self.each(array, list(chunks_touched(array, places)), report):
            made.add(found)
        return made.reading()

    def each(
        self, array: ArrayMeta, indices: Sequence[Index], report: JobReport = unheard
    ) -> Iterator[Reading]:
        """Yield chunks, cached ones first, until stopped."""
        # cached chunks are not reported; the last fetched one always is
        is_here = all(self.holds(array.path, index) for index in indices)
        is_news, told = False, monotonic()
        try:
            for done, found in enumerate(self._kept_chunks(array, indices, report), 1):
                is_news |= self._is_news(array, found)
                yield found
                is_last = done == len(indices) and not is_here
                if monotonic() < told + _REPORTED and not is_last:
                    continue
                told = monotonic()
                if not report(done, len(indices), f"{done:,} of {len(indices):,} chunks"):
                    return
        finally:
            if is_news:
                self._failure_log.tell(array.path)

    def _kept_chunks(
        self, array: ArrayMeta, indices: Sequence[Index], report: JobReport
    ) -> Iterator[Reading]:
        held = {index: self.cache.get(array.path, index) for index in indices}
        yield from (found for found in held.values() if found is not None)
        missing = [index for index, found in held.items() if found is None]
        if not missing:
            return
        try:
            decoder = ArrayDecoder(self._refs, array, self._targets)
        except AccessError:
            raise
        except RefexplorerError as error:
            yield from (failed(index, error) for index in missing)
            return

        def advance(now: FetchProgress) -> bool:
            is_all = now.chunks == now.chunk_count
            return is_all or report(now.bytes, now.byte_count, f"{now} read")

        for found in read_chunks(decoder, missing, advance):
            if found.state is not ChunkState.FAILED and found.index is not None:
                self.cache.keep(array.path, found.index, found)
            yield found

    def _is_news(self, array: ArrayMeta, found: Reading) -> bool:
        """Record whether a chunk failed; return whether that is new."""
        assert found.index is not None
        reason = (found.message or "It failed.") if found.state is ChunkState.FAILED else None
        is_read = found.state is ChunkState.FETCHED
        return self._failure_log.note(array.path, found.index, reason, is_read)


def hide_unread(
    array: ArrayMeta, places: Region, states: dict[Index, ChunkState], values: ArrayValues
) -> None:
    """Set unfetched values to NaN, so that a fill value does not look like data."""
    values[hidden(array, places, states)] = np.nan


def hidden(array: ArrayMeta, places: Region, states: dict[Index, ChunkState]) -> ArrayValues:
    """Return where no chunk was fetched."""
    found = np.zeros(tuple(map(place_count, places)), bool)
    for index in chunks_touched(array, places):
        if states.get(index) is not ChunkState.FETCHED:
            found[overlap(array, places, index)[0]] = True
    return found


VALUES_SHOWN = 1_000_000
"""Each is eight bytes on the wire, and few screens have more points; more are thinned."""
TEXTS_SHOWN = 1_000
_TEXT_SHOWN = 200  # characters of such a value
_CHANGES = {"scale_factor", "add_offset", "_Unsigned"}
"""Attributes that make other numbers of integers."""
_POSITIONAL = 1e16  # From here on floats are written with an exponent, as Python does
_EXACT = 2**53  # Up to here float64 has every integer


@dataclass(frozen=True, slots=True)
class Decoding:
    """How values are displayed."""

    # scale, times: Of the CF conventions: scale, offset and missing values; times
    scale: bool = True
    times: bool = True
    # Of structured values; None for the first that has numbers, ``""`` for all as text
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Physical:
    """Decoded values."""

    # As xarray decodes them, but integers and booleans in their own type where only some of them
    # are masked: xarray makes floats of them, which have fewer digits
    decoded: ArrayValues
    # The same as float64, NaN where missing, times as milliseconds since 1970, of complex numbers
    # the magnitude; None where they are not numbers
    numbers: ArrayValues | None
    times: bool = False  # Whether they are times


def physical(array: ArrayMeta, found: Reading, decoding: Decoding) -> Physical:
    """Apply scale, offset, missing values and times; invalid attributes are ignored."""
    # Invalid attributes are ignored, as is a fill value of Zarr format 3, which is not a missing
    # value there. Times in a calendar that numpy does not support stay numbers.
    values = np.asarray(found.values)
    attributes = array.attributes
    if decoding.times and "since" in str(attributes.get("units", "")):
        decoded = _decoded(array, found, values, decoding)
        if decoded.dtype.kind == "M":
            stamps = decoded.astype("datetime64[ms]")
            numbers = np.where(np.isnat(stamps), np.nan, stamps.astype("<f8"))
            return Physical(decoded, numbers, times=True)
    decoded = _decoded(array, found, values, Decoding(decoding.scale, times=False))
    if values.dtype.kind in "iub" and decoded.dtype.kind in "fO" and not _CHANGES & set(attributes):
        # masked booleans are objects to xarray: true, false and NaN
        is_known = decoded == decoded
        return Physical(values, np.where(is_known.astype(bool), values, np.nan).astype("<f8"))
    if decoded.dtype.kind == "c":
        return Physical(decoded, np.abs(decoded).astype("<f8"))
    with np.errstate(invalid="ignore"):  # a signalling NaN of garbled bytes
        return Physical(decoded, decoded.astype("<f8") if decoded.dtype.kind in "biuf" else None)


def _decoded(
    array: ArrayMeta, found: Reading, values: ArrayValues, decoding: Decoding
) -> ArrayValues:
    """Decode as xarray does, and call xarray only if uncertain: importing it is slow."""
    if not decoding.scale:
        plain = None if decoding.times else values
    elif decoding.times:
        plain = decode_times_plainly(array, values, found.fill)
    else:
        plain = decode_plainly(array, values, found.fill)
    if plain is not None:
        return plain
    load_xarray()
    try:
        return decode_as_xarray(
            array, values, found.fill, scale=decoding.scale, times=decoding.times
        )
    except Exception:
        return values


def fields_of(values: ArrayValues) -> tuple[str, ...]:
    """Return the fields of structured values that have one value each."""
    fields = values.dtype.fields or {}
    return tuple(name for name, (dtype, *_) in fields.items() if not dtype.shape)


def field_of(values: ArrayValues, wanted: str | None) -> str | None:
    """Return the displayed field of structured values; None for all of them."""
    fields = fields_of(values)
    if wanted is None:
        return next((each for each in fields if values.dtype[each].kind in "biuf"), None)
    return wanted if wanted in fields else None


def shown_of(array: ArrayMeta, found: Reading, decoding: Decoding) -> tuple[Physical, str | None]:
    """Return decoded values, for structured ones those of a field, and its name."""
    values = np.asarray(found.values)
    field = field_of(values, decoding.field)
    if field is None:
        return physical(array, found, decoding), None
    own = values[field]  # what attributes say of scale and times is of plain values
    return Physical(own, own.astype("<f8") if own.dtype.kind in "biuf" else None), field


def texts(values: ArrayValues) -> tuple[str, ...]:
    """Return the first values as text."""
    first = values.reshape(-1)[:TEXTS_SHOWN]
    return tuple(escape(value_text(value), _TEXT_SHOWN) for value in first)


def value_text(value: Any) -> str:
    """Format a value with every digit of its type."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, np.complexfloating):
        return str(value).strip("()")
    text = str(value)
    if isinstance(value, np.datetime64) and not np.isnat(value):
        date, _, time = text.partition("T")
        time = time.rstrip("0").removesuffix(".") if "." in time else time
        return f"{date}T{time}" if time.replace(":", "").strip("0") else date
    return _float_text(value) if isinstance(value, np.floating) else text


def _float_text(value: Any) -> str:
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else str(value)
    size = abs(float(value))
    if size.is_integer() and size < _POSITIONAL:
        return f"{float(value):.0f}"
    if 1e-4 <= size < _POSITIONAL:
        return str(np.format_float_positional(value, trim="-"))
    return str(np.format_float_scientific(value, trim="-", exp_digits=2))


def extremes_of(known: ArrayValues) -> tuple[str, str] | None:
    """Return the minimum and maximum of known values, with every digit."""
    if not known.size:
        return None
    return value_text(known.min()), value_text(known.max())


def integers_of(values: ArrayValues, numbers: ArrayValues) -> ArrayValues | None:
    """Return integers and ticks of times; None if float64 represents all of them exactly."""
    if values.dtype.kind in "iu":
        return values if _is_beyond_float(values) else None
    if values.dtype.kind != "M":
        return None
    ticks = values.astype(values.dtype.newbyteorder("="), copy=False).view(np.int64)
    known = ~np.isnat(values)
    is_whole = values[known].astype("datetime64[ms]") == values[known]
    is_exact = is_whole.all() and (np.abs(numbers[known]) < _EXACT).all()
    return None if is_exact else ticks


def integer_bytes(values: ArrayValues, numbers: ArrayValues) -> bytes:
    """Return the result of `integers_of` as bytes; empty if None."""
    found = integers_of(values, numbers)
    if found is None:
        return b""
    return found.astype("<u8" if found.dtype.kind == "u" else "<i8").tobytes()


def subtract_integers(left: ArrayValues, right: ArrayValues) -> ArrayValues:
    """Return right minus left as float64, each difference rounded once."""
    gap = right.astype(object) - left.astype(object)
    return np.asarray(gap, "<f8")  # of scalars it is an int


def _is_beyond_float(values: ArrayValues) -> bool:
    if values.dtype.itemsize < 8 or not values.size:
        return False
    return int(values.max()) > _EXACT or int(values.min()) < -_EXACT


def thinning(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the step along each dimension that leaves at most `VALUES_SHOWN` values."""
    steps = [1] * len(shape)
    left = list(shape)
    while math.prod(left) > VALUES_SHOWN:
        axis = left.index(max(left))
        steps[axis] += 1
        left[axis] = -(-shape[axis] // steps[axis])
    return tuple(steps)
