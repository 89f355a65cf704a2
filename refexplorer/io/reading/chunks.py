"""Chunks of an array as they arrive: ranges merged, fetched together, decoded in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cached_property
from queue import Empty, Full, Queue
from typing import Any

import numpy as np
import zarr

from refexplorer.core.errors import AccessError, DecodeError, RefexplorerError
from refexplorer.io.decode.sizes import Index, check_size, is_bounded, region
from refexplorer.io.decode.steps import VALUES, Step, steps
from refexplorer.io.fetch.background import POLL, Stopped
from refexplorer.io.fetch.failures import NoReference, internal_error
from refexplorer.io.fetch.many import Advance, FetchProgress, fetch_many
from refexplorer.io.fetch.targets import Targets, inline_bytes, reference_of
from refexplorer.io.reading.readings import ChunkState, Reading
from refexplorer.io.reading.zarr_refusals import check_array, sentence_of, undecodable
from refexplorer.io.reading.zarr_store import ReferenceStore
from refexplorer.refset.opened_set import SetLike, internals
from refexplorer.spec.references import Base64, Inline, Reference
from refexplorer.spec.zarr_metadata import ArrayMeta

ArrayValues = np.ndarray[Any, Any]
_PLAIN = frozenset("biufcmMSU")  # Kinds of data types whose bytes are the values


class ArrayDecoder:
    """Decodes the chunks of one array from several threads, faster than Zarr where possible."""

    # Zarr takes about a millisecond per chunk, longer than decoding most of them. Chunks that the
    # steps here cannot decode are passed to Zarr, and its errors are reported.

    def __init__(self, refs: SetLike, array: ArrayMeta, targets: Targets) -> None:
        check_size(array, refs.limits)
        self.refs, self.array, self.targets = refs, array, targets
        self._given: dict[str, bytes] = {}
        self._metadata = _metadata_of(array)
        self._steps = [] if self._metadata is None else self._own_steps(array)
        if not self._steps:  # let Zarr report an invalid array before chunks are fetched
            self._metadata = self._opened.metadata
        self._lock = threading.Lock()
        self._filled: object = None
        self._is_filled = False

    @property
    def fill_value(self) -> object:
        """The fill value, as given by Zarr."""
        return self._metadata.fill_value

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of the values."""
        return self._metadata.dtype.to_native_dtype()

    @property
    def is_plain(self) -> bool:
        """Whether the bytes are the values, so that the steps here decode as Zarr does."""
        return self.dtype.kind in _PLAIN

    def decode(self, index: Index, data: bytes) -> ArrayValues:
        """Return the values of a chunk, clipped to the shape of the array."""
        if self._steps:
            chunk = self.array.chunk_array(index)
            own = self._steps if chunk is self.array else self._own_steps(chunk)
            try:
                values: Any = data
                for step in own:
                    values = step.run(values)
                inside = (slice(0, p.stop - p.start) for p in region(self.array, index))
                return np.asarray(values[tuple(inside)], self.dtype)
            except Exception:  # Zarr raises the same error and reports it
                pass
        key = self.array.chunk_key(index)
        self._given[key] = data
        try:
            return self._by_zarr(index)
        finally:
            self._given.pop(key, None)

    def fill(self, index: Index) -> ArrayValues:
        """Return the values of a chunk without a reference."""
        with self._lock:
            if self.array.varying is not None:
                self._filled, self._is_filled = self.fill_value, True
            if not self._is_filled:
                found = self._by_zarr(index)
                if not found.size:
                    return found
                self._filled, self._is_filled = found.flat[0], True
        shape = tuple(part.stop - part.start for part in region(self.array, index))
        return np.full(shape, self._filled, self.dtype)

    @cached_property
    def _opened(self) -> zarr.Array[Any]:
        """The array as opened by Zarr, which takes longer than many chunks."""
        return _open(ReferenceStore(self.refs, self.targets, self._given), self.array)

    def _by_zarr(self, index: Index) -> ArrayValues:
        try:
            return np.asarray(self._opened[region(self.array, index)])
        except RefexplorerError:
            raise
        except Exception as error:
            key = self.array.chunk_key(index)
            raise undecodable(self.refs, key, sentence_of(error)) from error

    def _own_steps(self, array: ArrayMeta) -> list[Step]:
        """Return the steps that decode as Zarr does, if none needs a separate process."""
        if not self.is_plain:
            return []
        try:
            found = steps(array, self.refs.limits)
        except RefexplorerError:
            return []
        is_known = all(each.stage.name == VALUES or is_bounded(each.stage.name) for each in found)
        return found if is_known else []


def _metadata_of(array: ArrayMeta) -> Any:
    """Return the metadata as parsed by Zarr; None if it rejects them."""
    from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata

    kind: Any = ArrayV3Metadata if array.zarr_format == 3 else ArrayV2Metadata
    try:  # one chunk: Zarr before 3.2 decodes chunks of varying lengths, but has no such grid
        return kind.from_dict(dict(array.chunk_array((0,) * len(array.shape)).metadata))
    except Exception:  # opening the array raises the same error, with a sentence
        return None


def _open(store: ReferenceStore, array: ArrayMeta) -> zarr.Array[Any]:
    try:
        return zarr.open_array(
            store, path=array.path, mode="r", zarr_format=3 if array.zarr_format == 3 else 2
        )
    except RefexplorerError:
        raise
    except Exception as error:
        raise DecodeError(
            f"Zarr cannot open {array.path or 'the root array'}: {sentence_of(error)}"
        ) from error


DECODERS = 2  # Threads that decode; most machines of Binder have two cores
_BATCH_BYTES = 2**26  # Encoded bytes that are fetched before those before them are decoded
_UNKNOWN = 2**20  # Bytes assumed for a whole file of unknown size
_WAITING = 16  # Decoded chunks that wait for the reader


def read_chunk(refs: SetLike, path: str, index: Index, targets: Targets) -> Reading:
    array = array_at(refs, path)
    if not array.contains(index):
        raise DecodeError(f"{path} has no chunk {list(index)}; its grid is {list(array.grid)}.")
    try:
        (found,) = read_chunks(ArrayDecoder(refs, array, targets), [index])
    except AccessError:
        raise
    except RefexplorerError as error:
        return failed(index, error)
    return found


def array_at(refs: SetLike, path: str) -> ArrayMeta:
    """Return the metadata of an array; raise an error that explains invalid metadata."""
    if (array := internals(refs).opened.arrays.get(path)) is not None:  # without reading the others
        return array
    for name in (".zarray", "zarr.json"):
        key = f"{path}/{name}".lstrip("/")
        reference = refs.get(key)
        if isinstance(reference, Inline | Base64):
            check_array(key, inline_bytes(key, reference))
    return refs.array(path)


def read_chunks(
    decoder: ArrayDecoder, indices: Sequence[Index], advance: Advance = lambda progress: True
) -> Iterator[Reading]:
    """Yield chunks in order of arrival, each with its state."""
    wanted: dict[str, tuple[Index, Reference]] = {}
    opened = internals(decoder.refs).opened
    for index in indices:
        key = decoder.array.chunk_key(index)
        try:
            found = opened.lookup(key)
            wanted[key] = index, found[1] if found else reference_of(decoder.refs, key)
        except NoReference:
            yield _filled(decoder, index)
        except RefexplorerError as error:
            yield failed(index, error)
        except Stopped:
            raise
        except Exception as error:  # else a bug would look like a missing chunk
            yield failed(index, internal_error(key, error))
    if wanted:
        yield from _ChunkStream(decoder, wanted, advance).readings()


def _filled(decoder: ArrayDecoder, index: Index) -> Reading:
    try:
        values = decoder.fill(index)
    except RefexplorerError as error:
        return failed(index, error)
    state = ChunkState.FILL
    return Reading(index, values, state, None, {index: state}, decoder.fill_value)


def failed(index: Index, error: RefexplorerError) -> Reading:
    """Return the placeholder for a chunk that could not be read."""
    state = ChunkState.FAILED
    return Reading(index, None, state, str(error), {index: state})


class _ChunkStream:
    """One call of `read_chunks`: one thread fetches, others decode, the caller gets the results."""

    def __init__(
        self, decoder: ArrayDecoder, wanted: Mapping[str, tuple[Index, Reference]], advance: Advance
    ) -> None:
        self._decoder, self._targets, self._wanted = decoder, decoder.targets, wanted
        self._advance = advance
        self._made: Queue[Reading | BaseException] = Queue(_WAITING)
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(DECODERS, "refexplorer-decode")
        self._progress: FetchProgress | None = None

    def readings(self) -> Iterator[Reading]:
        """Yield results until all are done or it is stopped."""
        context = copy_context()
        thread = threading.Thread(
            target=context.run, args=[self._fetch], name="refexplorer-fetch", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # no thread can be started, as in a browser
            yield from self._readings_here()
            return
        left = len(self._wanted)
        try:
            while left:
                if self._progress is not None and not self._advance(self._progress):
                    return
                try:
                    found = self._made.get(timeout=POLL)
                except Empty:
                    continue
                if isinstance(found, BaseException):
                    raise found
                left -= 1
                yield found
        finally:
            self._stop.set()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _readings_here(self) -> Iterator[Reading]:
        """Yield results one after the other, without threads."""
        for batch in self._batches():
            came: list[tuple[str, bytes | RefexplorerError]] = []
            fetch_many(
                self._targets, batch, self._advance, lambda *each, into=came: into.append(each)
            )
            for key, data in came:
                found = self._found(key, data)
                if isinstance(found, BaseException):
                    raise found
                yield found
            if len(came) < len(batch):  # it was stopped
                return

    def _fetch(self) -> None:
        def going_on(progress: FetchProgress) -> bool:
            self._progress = progress
            return not self._stop.is_set()

        try:
            for batch in self._batches():
                decoding: list[Future[None]] = []

                def arrived(
                    key: str, data: bytes | RefexplorerError, into: list[Future[None]] = decoding
                ) -> None:
                    if self._stop.is_set():
                        return
                    try:
                        into.append(self._pool.submit(self._decode, key, data))
                    except RuntimeError:  # the program is at its end: no thread takes more work
                        self._decode(key, data)

                fetch_many(self._targets, batch, going_on, arrived)
                # polled: a future that is cancelled before it runs is never done here
                while not self._stop.is_set() and wait(decoding, timeout=POLL).not_done:
                    pass
                if self._stop.is_set():
                    return
        except BaseException as error:  # passed to the waiting caller
            if not self._stop.is_set():
                self._put(error)

    def _batches(self) -> Iterator[dict[str, Reference]]:
        """Yield the batches to fetch, so that few bytes are waiting at any time."""
        most = min(_BATCH_BYTES, self._targets.limit)
        batch: dict[str, Reference] = {}
        size = 0
        for key, (_, reference) in self._wanted.items():
            more = _UNKNOWN if reference.size is None else reference.size
            if batch and size + more > most:
                yield batch
                batch, size = {}, 0
            batch[key] = reference
            size += more
        yield batch

    def _decode(self, key: str, data: bytes | RefexplorerError) -> None:
        self._put(self._found(key, data))

    def _found(self, key: str, data: bytes | RefexplorerError) -> Reading | BaseException:
        index, _ = self._wanted[key]
        try:
            if isinstance(data, RefexplorerError):
                raise data
            values = self._decoder.decode(index, data)
        except AccessError as error:
            return error
        except RefexplorerError as error:
            return failed(index, error)
        except BaseException as error:  # passed to the waiting caller
            return error
        state = ChunkState.FETCHED
        return Reading(index, values, state, None, {index: state}, self._decoder.fill_value)

    def _put(self, found: Reading | BaseException) -> None:
        while not self._stop.is_set():
            try:
                self._made.put(found, timeout=POLL)
            except Full:
                continue
            return
