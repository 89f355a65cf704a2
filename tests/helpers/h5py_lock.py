"""What keeps h5py's lock from stopping the tests for good."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Let no thread collect garbage meanwhile.

    kerchunk holds h5py's lock (`visititems`) while it waits for the thread of Zarr. If that thread
    happens to collect objects of h5py, it waits for the lock: both stand still. Seen now and then,
    in tests that leave such garbage.
    """
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
