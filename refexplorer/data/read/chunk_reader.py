"""Chunks of an array as they come: their ranges merged, fetched together, decoded in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING

from refexplorer.data.decode.chunk_arithmetic import Index
from refexplorer.data.fetch.background import POLL
from refexplorer.data.fetch.fetch_many import Advance, FetchProgress, fetch_many
from refexplorer.data.fetch.target_reader import Targets, held
from refexplorer.data.open.filesystem import NoReference, naming_bugs, of_unlisted
from refexplorer.data.open.refusals import check_array
from refexplorer.data.read.array_decoder import ArrayDecoder
from refexplorer.data.read.readings import ChunkState, Reading
from refexplorer.errors import AccessError, DecodeError, RefexplorerError
from refexplorer.refset.queries.internals import SetLike
from refexplorer.spec.core.references import Base64, Inline, Reference

if TYPE_CHECKING:
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

DECODERS = 2
"""Threads that decode: codecs let others run, and more would not help the two cores that most
machines of visitors and Binder have."""
_BATCH_BYTES = 2**26
"""Encoded bytes that are fetched before those before them are decoded."""
_UNKNOWN = 2**20
"""What a whole file counts for, whose size is not known."""
_WAITING = 16
"""Decoded chunks that wait for who reads them."""


def read_chunk(refs: SetLike, path: str, index: Index, targets: Targets) -> Reading:
    """Read and decode one chunk.

    Returns
    -------
    Reading
        The state is ``fill`` if the source has no reference for the chunk, and ``failed``, with a
        sentence, if its bytes cannot be read or decoded, or if its reference cannot be used.

    Raises
    ------
    KeyError
        If there is no such array.
    DecodeError
        If its metadata cannot be used, or its grid has no such chunk.
    AccessError
        If the target may not be read yet.
    """
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
    """Return the metadata of an array; say what is wrong where there is some that is none.

    Raises
    ------
    KeyError
        If there is no such array.
    DecodeError
        If its metadata cannot be used.
    """
    if path not in refs.arrays():
        for name in (".zarray", "zarr.json"):
            key = f"{path}/{name}".lstrip("/")
            reference = refs.get(key)
            if isinstance(reference, Inline | Base64):
                check_array(key, held(key, reference))
    return refs.array(path)


def read_chunks(
    decoder: ArrayDecoder,
    indices: Sequence[Index],
    advance: Advance = lambda progress: True,
) -> Iterator[Reading]:
    """Yield chunks in the order in which they come, each with its state.

    Parameters
    ----------
    decoder
        Of the array; ranges that touch, or nearly, share a request to its targets.
    indices
        In the grid of chunks.
    advance
        Is told how far fetching is, about ten times a second, in the thread that asks for the next
        chunk; if it returns False, open requests end and nothing more comes.

    Raises
    ------
    AccessError
        If a target may not be read yet.
    """
    wanted: dict[str, tuple[Index, Reference]] = {}
    for index in indices:
        key = decoder.array.chunk_key(index)
        try:
            with naming_bugs(key):
                wanted[key] = index, decoder.view.reference(key)
        except NoReference:
            yield _filled(decoder, index)
        except RefexplorerError as error:
            yield failed(index, error)
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
    """Return what stands for a chunk that could not be read."""
    state = ChunkState.FAILED
    return Reading(index, None, state, str(error), {index: state})


class _ChunkStream:
    """One call of `read_chunks`: a thread fetches, some decode, one is given what they made."""

    def __init__(
        self,
        decoder: ArrayDecoder,
        wanted: Mapping[str, tuple[Index, Reference]],
        advance: Advance,
    ) -> None:
        self._decoder = decoder
        self._targets = decoder.targets
        self._wanted = wanted
        self._advance = advance
        self._made: Queue[Reading | BaseException] = Queue(_WAITING)
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(DECODERS, "refexplorer-decode")
        self._progress: FetchProgress | None = None

    def readings(self) -> Iterator[Reading]:
        """Yield what is made, until all is or it is stopped."""
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
        """Yield them one after the other, without threads."""
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

                fetch_many(self._targets, batch, self._fetching, arrived)
                wait(decoding)
                if self._stop.is_set():
                    return
        except BaseException as error:  # it is for who waits
            if not self._stop.is_set():
                self._put(error)

    def _batches(self) -> Iterator[dict[str, Reference]]:
        """Yield what is fetched at a time, so that the bytes that wait stay few."""
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

    def _fetching(self, progress: FetchProgress) -> bool:
        self._progress = progress
        return not self._stop.is_set()

    def _decode(self, key: str, data: bytes | RefexplorerError) -> None:
        self._put(self._found(key, data))

    def _found(self, key: str, data: bytes | RefexplorerError) -> Reading | BaseException:
        index, reference = self._wanted[key]
        if isinstance(data, AccessError):
            return data
        if not isinstance(data, RefexplorerError):
            return self._decoded(index, data)
        error = of_unlisted(self._decoder.view.references, key, reference, data)
        return (
            _filled(self._decoder, index)
            if isinstance(error, NoReference)
            else failed(index, error)
        )

    def _decoded(self, index: Index, data: bytes) -> Reading | BaseException:
        try:
            values = self._decoder.decode(index, data)
        except AccessError as error:
            return error
        except RefexplorerError as error:
            return failed(index, error)
        except BaseException as error:  # it is for who waits
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
