"""Libraries that take a while to load, loaded by one thread at a time."""

from __future__ import annotations

import threading

_loading = threading.Lock()


def load_array_libraries() -> None:
    """Import what reads arrays.

    Its packages import each other in circles: of two threads that begin at once, one may see a
    module half made.
    """
    with _loading:
        import zarr.storage  # noqa: F401


def load_xarray() -> None:
    """Import xarray, which takes longer than what reads arrays."""
    with _loading:
        import xarray  # noqa: F401
        import zarr.storage  # noqa: F401


def load_http() -> None:
    """Import what reads over HTTP."""
    with _loading:
        import refexplorer.io.fetch.http  # noqa: F401
