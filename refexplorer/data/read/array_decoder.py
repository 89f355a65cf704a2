"""The chunks of one array as values: decoded here where that is the same, else by Zarr."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.data.decode.chunk_arithmetic import Index, check_size, region
from refexplorer.data.decode.decoding import Step, steps
from refexplorer.data.decode.inflating import is_bounded
from refexplorer.data.decode.pipelines import VALUES
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.data.open.refusals import sentence_of, undecodable
from refexplorer.data.open.stores import DecodedView, store
from refexplorer.errors import DecodeError, RefexplorerError
from refexplorer.refset.queries.internals import SetLike
from refexplorer.spec.core.references import Reference

if TYPE_CHECKING:
    import zarr

    from refexplorer.spec.core.zarr_metadata import ArrayMeta

ArrayValues = np.ndarray[Any, Any]
_PLAIN = frozenset("biufcmMSU")
"""Kinds of data types whose bytes are the values, so that Zarr adds nothing to the codecs."""


class ArrayDecoder:
    """Decodes the chunks of one array, from several threads.

    Zarr takes a millisecond or so for a chunk, more than most take to be decoded. What the steps
    here cannot decode Zarr is asked for, and its words are the ones that are said.

    Parameters
    ----------
    refs, array
        The opened set, and an array of it.
    targets
        Reads what references point to.

    Attributes
    ----------
    view
        The keys of the set.

    Raises
    ------
    DecodeError
        If Zarr cannot open the array.
    LimitError
        If its chunks are larger than the limits.
    """

    def __init__(self, refs: SetLike, array: ArrayMeta, targets: Targets) -> None:
        check_size(array, refs.limits)
        self.array = array
        self.targets = targets
        self._given = _GivenBytes(targets, refs)
        self.view = DecodedView(refs, self._given)
        self._opened = _open(self.view, array)
        self._steps = self._own_steps(refs)
        self._lock = threading.Lock()
        self._filled: object = None
        self._is_filled = False

    @property
    def fill_value(self) -> object:
        """The fill value, as Zarr gives it."""
        return self._opened.fill_value

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of the values."""
        return self._opened.dtype

    @property
    def is_plain(self) -> bool:
        """Whether the bytes are the values, so that the steps here decode as Zarr does."""
        return self.dtype.kind in _PLAIN

    def decode(self, index: Index, data: bytes) -> ArrayValues:
        """Return the values of a chunk, cut to the shape of the array.

        Raises
        ------
        RefexplorerError
            If its bytes cannot be decoded, or would inflate beyond the limits.
        """
        if self._steps:
            try:
                values: Any = data
                for step in self._steps:
                    values = step.run(values)
                return np.asarray(values[self._inside(index)], self.dtype)
            except Exception:  # Zarr meets the same, and says it
                pass
        with self._given.holding(self.array.chunk_key(index), data):
            return self._by_zarr(index)

    def fill(self, index: Index) -> ArrayValues:
        """Return the values of a chunk that the set has no reference for."""
        with self._lock:
            if not self._is_filled:
                found = self._by_zarr(index)
                if not found.size:
                    return found
                self._filled, self._is_filled = found.flat[0], True
        shape = tuple(part.stop - part.start for part in region(self.array, index))
        return np.full(shape, self._filled, self.dtype)

    def _by_zarr(self, index: Index) -> ArrayValues:
        try:
            return np.asarray(self._opened[region(self.array, index)])
        except RefexplorerError:
            raise
        except Exception as error:
            key = self.array.chunk_key(index)
            raise undecodable(self.view.references, key, sentence_of(error)) from error

    def _inside(self, index: Index) -> tuple[slice, ...]:
        return tuple(slice(0, part.stop - part.start) for part in region(self.array, index))

    def _own_steps(self, refs: SetLike) -> list[Step]:
        """Return the steps that decode as Zarr does, none of which needs a process of its own."""
        if not self.is_plain:
            return []
        try:
            found = steps(self.array, refs.limits)
        except RefexplorerError:
            return []
        is_known = all(each.stage.name == VALUES or is_bounded(each.stage.name) for each in found)
        return found if is_known else []


class _GivenBytes(Targets):
    """Gives the bytes that are here, and asks for all else."""

    def __init__(self, targets: Targets, refs: SetLike) -> None:
        super().__init__(targets.policy, None, refs.limits)
        self._targets = targets
        self._held: dict[str, bytes] = {}

    def holding(self, key: str, data: bytes) -> _Holding:
        """Have the bytes of a key inside a ``with``."""
        return _Holding(self._held, key, data)

    def fetch(
        self, key: str, reference: Reference, start: int = 0, end: int | None = None
    ) -> bytes:
        """Return bytes that are here; read those that are not."""
        found = self._held.get(key)
        if found is None:
            return self._targets.fetch(key, reference, start, end)
        return found[start:end]


class _Holding:
    def __init__(self, held: dict[str, bytes], key: str, data: bytes) -> None:
        self._held, self._key, self._data = held, key, data

    def __enter__(self) -> None:
        self._held[self._key] = self._data

    def __exit__(self, *_: object) -> None:
        self._held.pop(self._key, None)


def _open(view: DecodedView, array: ArrayMeta) -> zarr.Array[Any]:
    import zarr

    try:
        return zarr.open_array(
            store(view), path=array.path, mode="r", zarr_format=3 if array.zarr_format == 3 else 2
        )
    except RefexplorerError:
        raise
    except Exception as error:
        raise DecodeError(
            f"Zarr cannot open {array.path or 'the root array'}: {sentence_of(error)}"
        ) from error
