"""Reading ahead for Zarr, which asks a store for ten chunks at a time: too few to merge ranges."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import ContextVar

from refexplorer.data.fetch.background import Stopped, beside, goes_on
from refexplorer.data.fetch.fetch_many import fetch_many
from refexplorer.data.open.filesystem import ReferenceView
from refexplorer.errors import RefexplorerError
from refexplorer.spec.core.references import Range, Reference

AHEAD_BYTES = 2**24
"""Encoded bytes of a window that is read ahead; two windows may be on their way."""
_AHEAD_KEYS = 4096
_FEW = 2
"""So many chunks are not worth a thread."""


class SelectionPlan:
    """The chunks of one selection, in the order in which Zarr asks for them, read by windows."""

    def __init__(self, view: ReferenceView, keys: Sequence[str]) -> None:
        self._view = view
        self._window_of: dict[str, int] = {}
        self._coming: dict[str, Future[bytes | RefexplorerError]] = {}
        self._started = 0
        self._left = deque(keys if len(keys) > _FEW else ())

    def begin(self, asked: str) -> None:
        """Start to read the window of a key, and the one after it."""
        while self._left and self._window_of.get(asked, self._started) + 2 > self._started:
            self._start(self._next_window())
            self._started += 1

    def peek(self, key: str) -> bytes | None:
        """Return the bytes of a key if they are here; they are still to be taken."""
        future = self._coming.get(key)
        if future is None or not future.done() or future.exception() is not None:
            return None
        found = future.result()
        return found if isinstance(found, bytes) else None

    def take(self, key: str) -> bytes | RefexplorerError | None:
        """Wait for the bytes of a key, or why there are none; None if it is not read ahead."""
        future = self._coming.pop(key, None)
        return None if future is None else future.result()

    def _next_window(self) -> dict[str, Reference]:
        """Return the references of the next window."""
        window: dict[str, Reference] = {}
        size = 0
        while self._left and size < AHEAD_BYTES and len(window) < _AHEAD_KEYS:
            key = self._left.popleft()
            self._window_of[key] = self._started
            reference = self._view.references.get(key)
            if isinstance(reference, Range):  # the set holds others, or their size is not known
                window[key] = reference
                size += reference.length
        return window

    def _start(self, references: dict[str, Reference]) -> None:
        self._coming.update((key, Future()) for key in references)
        waiting = {key: self._coming[key] for key in references}

        def arrived(key: str, found: bytes | RefexplorerError) -> None:
            waiting.pop(key).set_result(found)

        def read() -> None:
            error: BaseException = Stopped()
            try:
                fetch_many(self._view.targets, references, lambda progress: goes_on(), arrived)
            except BaseException as raised:  # it is for who waits
                error = raised
            for future in waiting.values():
                future.set_exception(error)

        beside(read, "refexplorer-ahead")


current_plan: ContextVar[SelectionPlan | None] = ContextVar("current_plan", default=None)
"""What the key that is read now belongs to."""
