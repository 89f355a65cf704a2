"""The dimension of an array that holds red, green and blue, and perhaps how opaque each is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta

_COLOURS = frozenset({"rgb", "rgba", "color", "colour", "colors", "colours"})
_SAMPLES = frozenset({"band", "bands", "channel", "channels", "sample", "samples", "s", "c"})
"""Of bytes these are colours; of reflectances, say, they may be any bands."""


def channels_of(array: ArrayMeta) -> int | None:
    """Return the dimension of three or four that is drawn as colours, or None.

    Its name says so, or it is that of samples of bytes, or the last of bytes without a name.
    """
    names = array.dimensions or ()
    is_bytes = _is_bytes(array.dtype)
    for axis, size in enumerate(array.shape):
        others = [each for at, each in enumerate(array.shape) if at != axis and each > 1]
        if size not in (3, 4) or len(others) < 2:
            continue
        name = (names[axis] if axis < len(names) else "").lower()
        is_last = not name and axis == len(array.shape) - 1
        if name in _COLOURS or (is_bytes and (name in _SAMPLES or is_last)):
            return axis
    return None


def _is_bytes(dtype: str) -> bool:
    try:
        return np.dtype(dtype) == np.uint8
    except TypeError:
        return False
