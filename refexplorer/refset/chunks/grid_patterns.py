"""Regular expressions of the chunks of a grid, so that whole columns of keys are counted."""

from __future__ import annotations

import re

from refexplorer.spec.core.zarr_metadata import ArrayMeta


def pattern_of_grid(array: ArrayMeta) -> str:
    """Return an RE2 pattern of the keys of chunks inside a grid without a length of 0."""
    return re.escape(array.folder) + pattern_of_names(array)


def pattern_of_names(array: ArrayMeta) -> str:
    """Return the same without the folder."""
    numbers = re.escape(array.separator).join(f"(?:{_below(size)})" for size in array.grid)
    return re.escape(array.prefix) + numbers


def _below(count: int) -> str:
    """Return a pattern of the whole numbers below a count, without zeros in front."""
    last = str(count - 1)
    if len(last) == 1:
        return f"[0-{last}]"
    parts = [f"[0-9]|[1-9][0-9]{{1,{len(last) - 2}}}" if len(last) > 2 else "[0-9]"]
    for position, digit in enumerate(last):
        low = 0 if position else 1
        if int(digit) > low:
            rest = len(last) - position - 1
            parts.append(f"{last[:position]}[{low}-{int(digit) - 1}][0-9]{{{rest}}}")
    return "|".join([*parts, last])
