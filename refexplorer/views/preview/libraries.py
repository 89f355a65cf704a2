"""Libraries that take a while to load, loaded by one thread at a time."""

from __future__ import annotations

import threading

_loading = threading.Lock()


def load_array_libraries() -> None:
    """Import what reads and shows arrays.

    Its packages import each other in circles: of two threads that begin at once, one may see a
    module half made.
    """
    with _loading:
        import xarray  # noqa: F401
        import zarr.storage  # noqa: F401
