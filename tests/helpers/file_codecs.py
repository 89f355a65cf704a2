"""The chunk codecs of files, decoded without numcodecs' registry."""

from __future__ import annotations

from typing import Any

import imagecodecs.numcodecs
import numcodecs

from refexplorer.formats.datafiles.data_file import FileFilter

_OTHERS: dict[str, Any] = {
    getattr(kind, "codec_id", None) or "": kind
    for kind in vars(imagecodecs.numcodecs).values()
    if isinstance(kind, type)
}


def decoded(used: FileFilter, data: Any) -> Any:
    """Decode a filter with the codec of its name and settings."""
    if used.name in _OTHERS:
        return _OTHERS[used.name](**used.settings).decode(data)
    return numcodecs.get_codec({"id": used.name, **used.settings}).decode(data)
