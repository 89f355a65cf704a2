"""Codecs that must not run on a stranger's file."""

from __future__ import annotations

import json
from collections.abc import Iterator

from refexplorer.errors import DecodeError

METADATA_NAMES = frozenset({".zarray", "zarr.json", ".zmetadata"})
"""Last parts of the keys whose text names codecs."""

_UNSAFE = frozenset({"pickle", "numcodecs.pickle"})


def refuse_unsafe(key: str, text: bytes) -> None:
    """Refuse array metadata that asks for a codec which runs code from the data.

    Raises
    ------
    DecodeError
        If pickle is among the codecs. Text that is not JSON passes: its reader will say so.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    for name in _names(document):
        if name in _UNSAFE:
            raise DecodeError(
                f"{key} asks for the codec {name}, which can run any code while it decodes; "
                "it is never used."
            )


def _names(document: object) -> Iterator[str]:
    """Yield every codec id or name; without recursion, since the text may be nested deeply."""
    queue = [document]
    while queue:
        item = queue.pop()
        if isinstance(item, dict):
            yield from (str(item[key]).lower() for key in ("id", "name") if key in item)
            queue.extend(item.values())
        elif isinstance(item, list):
            queue.extend(item)
