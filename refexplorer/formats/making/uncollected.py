"""What keeps the lock of h5py from stopping a process for good."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside: list[bool] = []
"""One for each who is inside; the first one holds whether garbage was collected before."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Let no thread collect garbage meanwhile.

    kerchunk (0.2.10) holds h5py's lock in `visititems` while it waits for the thread of Zarr, and
    h5py holds it while a file of a server is read by another thread. If that thread happens to
    collect objects of h5py it waits for the lock, and both stand still.
    """
    with _lock:
        _inside.append(_inside[0] if _inside else gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            was_enabled = _inside.pop()
            if was_enabled and not _inside:
                gc.enable()
