"""The decode ladder of a key: reference, raw bytes, each codec, values, and where it breaks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.decode.chunk_arithmetic import Index
from refexplorer.data.decode.decoding import Step, said, steps
from refexplorer.data.decode.pipelines import VALUES
from refexplorer.data.fetch.failures import said_of
from refexplorer.data.fetch.fetch_many import Advance, fetch_many
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.data.open.filesystem import NoReference, of_unlisted
from refexplorer.data.protocol import Opened
from refexplorer.data.read.readings import ChunkState
from refexplorer.errors import AccessError, FetchError, RefexplorerError
from refexplorer.markup import escape, size_text
from refexplorer.masking import masks_repr

if TYPE_CHECKING:
    from refexplorer.spec.core.references import Reference
    from refexplorer.spec.core.zarr_metadata import ArrayMeta

HEAD = 64
"""Bytes that a step keeps from the start of what came of it."""
_SHOWN = 120


@masks_repr
@dataclass(frozen=True, slots=True)
class Rung:
    """One step of a ladder.

    Attributes
    ----------
    name
        ``"reference"``, ``"raw bytes"``, a codec with its settings, or ``"values"``.
    size
        Bytes that came of it; None if it failed, or for the reference.
    seconds
        Processor time of this process; for the raw bytes the time that passed until they came.
    head
        The first bytes of what came of it.
    form
        What it is: the reference as JSON, or dtype and shape, such as ``"<i2 [2, 96, 96]"``.
    message
        Why it failed, in one sentence; None if it did not.
    """

    name: str
    size: int | None
    seconds: float
    head: bytes
    form: str
    message: str | None = None

    def __str__(self) -> str:
        size = "" if self.size is None else size_text(self.size)
        said = f"FAILED: {self.message}" if self.message else self.form or self.head[:16].hex(" ")
        name = escape(self.name, 40)
        return f"{name:<28}  {size:>8}  {self.seconds * 1000:8.2f} ms  {escape(said, 300)}"


@dataclass(frozen=True, slots=True)
class Ladder:
    """The decoding of a key, step by step.

    Attributes
    ----------
    key
        The key.
    array, index
        The chunk that it stands for; None if it is no chunk.
    state
        ``fetched`` if all steps went well, ``fill`` for a chunk without a reference.
    rungs
        From the reference on; after one that failed there are none.
    values
        The whole chunk, not cut at the edge of the array; None if there are none.
    """

    key: str
    array: str | None
    index: Index | None
    state: ChunkState
    rungs: tuple[Rung, ...]
    values: np.ndarray | None

    @property
    def message(self) -> str | None:
        """Why it broke, in one sentence; None if it did not."""
        return self.rungs[-1].message

    def __str__(self) -> str:
        head = f"{escape(self.key, _SHOWN)}: {self.state}"
        return "\n".join([head, *(f"  {rung}" for rung in self.rungs)])


def ladder(
    refs: Opened, key: str, targets: Targets, advance: Advance = lambda progress: True
) -> Ladder:
    """Read a key and decode it, a step at a time.

    No step may make more bytes than the chunk has, with some room for the codecs after it: what
    would is stopped, and codecs that do not say beforehand are run in a process of their own.

    Parameters
    ----------
    refs
        The opened set.
    key
        A key; that of a chunk without a reference gives a ladder of one step, and one whose
        reference cannot be used fails at it.
    targets
        Reads the bytes.
    advance
        Is told how far reading is, as in `fetch_many`; if it returns False, the raw bytes fail.

    Raises
    ------
    KeyError
        If there is no such key, and no chunk that would have it.
    AccessError
        If the target may not be read yet.
    """
    owner = refs.array_of(key)
    array = None if owner is None else refs.array(owner[0])
    index = None if owner is None else owner[1]
    if array is not None and not array.contains(index or ()):
        array = index = None
    path = None if array is None else array.path
    reference = refs.get(key)
    if reference is None:
        return _without(refs, key, path, index)
    return _climbed(refs, key, path, index, array, reference, targets, advance)


def climb(
    refs: Opened,
    key: str,
    path: str,
    index: Index,
    array: ArrayMeta,
    reference: Reference | None,
    targets: Targets,
) -> Ladder:
    """Do as `ladder` for a part of a chunk, which has no key of its own.

    Parameters
    ----------
    refs
        The opened set.
    key
        What to call the part.
    path, index
        Of the chunk.
    array
        The parts as chunks of an array.
    reference
        Of the part; None without one.
    targets
        Reads the bytes.

    Raises
    ------
    AccessError
        If the target may not be read yet.
    """
    if reference is None:
        return _of_fill_value(key, path, index)
    return _climbed(refs, key, path, index, array, reference, targets, lambda progress: True)


def _climbed(
    refs: Opened,
    key: str,
    path: str | None,
    index: Index | None,
    array: ArrayMeta | None,
    reference: Reference,
    targets: Targets,
    advance: Advance,
) -> Ladder:
    steps_taken = _Climb()
    try:
        values = steps_taken.all(
            refs, array, reference, lambda: _raw(refs, key, reference, targets, advance)
        )
    except NoReference:
        said = "no such file (404): it was never written, and reads as the fill value"
        rungs = (*steps_taken.rungs, Rung("raw bytes", None, 0.0, b"", said))
        return Ladder(key, path, index, ChunkState.FILL, rungs, None)
    state = ChunkState.FAILED if steps_taken.failed else ChunkState.FETCHED
    return Ladder(key, path, index, state, tuple(steps_taken.rungs), values)


def _without(refs: Opened, key: str, path: str | None, index: Index | None) -> Ladder:
    """Return the ladder of a key without a reference, or with one that cannot be used."""
    error = refs.left_out(key)
    if error is not None:
        rung = Rung("reference", None, 0.0, b"", "", said_of(error))
        return Ladder(key, path, index, ChunkState.FAILED, (rung,), None)
    if path is None:
        raise KeyError(key)
    return _of_fill_value(key, path, index)


def _of_fill_value(key: str, path: str, index: Index | None) -> Ladder:
    rung = Rung("reference", None, 0.0, b"", "no reference: this chunk reads as the fill value")
    return Ladder(key, path, index, ChunkState.FILL, (rung,), None)


class _Climb:
    """Takes steps until one fails."""

    def __init__(self) -> None:
        self.rungs: list[Rung] = []
        self.failed = False

    def all(
        self,
        refs: Opened,
        array: ArrayMeta | None,
        reference: Reference,
        read: Callable[[], bytes],
    ) -> np.ndarray | None:
        """Take every step; the values, if it gets there."""
        written = json.dumps(reference.to_v0(), ensure_ascii=False)[:_SHOWN]
        self.rungs.append(Rung("reference", None, 0.0, b"", written))
        raw = self._step("raw bytes", read, time.perf_counter)
        if raw is None or array is None:
            return None
        data: Any = raw
        for step in self._step_list(refs, array):
            data = self._step(step.label, partial(step.run, data), time.process_time)
            if data is None:
                return None
        return data if isinstance(data, np.ndarray) else None

    def _step_list(self, refs: Opened, array: ArrayMeta) -> list[Step]:
        try:
            return steps(array, refs.limits)
        except RefexplorerError as error:
            self._add(VALUES, 0.0, b"", str(error))
            return []

    def _step(self, name: str, run: Callable[[], Any], clock: Callable[[], float]) -> Any:
        started = clock()
        try:
            data = run()
        except (AccessError, NoReference):
            raise
        except Exception as error:  # a codec raises what it likes
            self._add(name, clock() - started, b"", said(error))
            return None
        self._add(name, clock() - started, data)
        return data

    def _add(self, name: str, seconds: float, data: Any, message: str | None = None) -> None:
        self.failed = self.failed or message is not None
        size = None if message else data.nbytes if isinstance(data, np.ndarray) else len(data)
        self.rungs.append(Rung(name, size, seconds, _head(data), _form(data), message))


def _raw(refs: Opened, key: str, reference: Reference, targets: Targets, advance: Advance) -> bytes:
    found = fetch_many(targets, {key: reference}, advance).get(key)
    if isinstance(found, bytes):
        return found
    if found is None:
        raise FetchError(f"{key} was not read: the read was stopped.")
    raise of_unlisted(refs, key, reference, found)


def _head(data: Any) -> bytes:
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            return b""
        return data.reshape(-1)[:HEAD].tobytes()[:HEAD]
    return bytes(data[:HEAD])


def _form(data: Any) -> str:
    if not isinstance(data, np.ndarray):
        return ""
    return f"{data.dtype if data.dtype.names else data.dtype.str} {list(data.shape)}"
