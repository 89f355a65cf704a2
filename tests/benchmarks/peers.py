"""Peers as their users call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def imported_fsspec(protocol: str = "s3") -> Callable[..., Any]:
    """Return what opens references by fsspec: its imports are not what is measured.

    It takes a path or a document, and more options. No target is read, so an anonymous
    filesystem does for S3.
    """
    import fsspec.implementations.reference
    import ujson

    # kerchunk installs it; without it fsspec would parse by the standard library
    assert fsspec.implementations.reference.json is ujson
    options = {"anon": True} if protocol == "s3" else {}
    fsspec.filesystem(protocol, **options)

    def opened(references: Any, **more: Any) -> Any:
        return fsspec.filesystem(
            "reference", fo=references, remote_protocol=protocol, remote_options=options, **more
        )

    return opened
