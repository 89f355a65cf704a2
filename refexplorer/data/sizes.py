"""Sizes as people read them."""

from __future__ import annotations

_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")


def size_text(size: int) -> str:
    """Write a number of bytes in decimal units with three digits, such as ``"57.3 kB"``."""
    if abs(size) < 1000:
        return f"{size} B"
    value, units = size / 1000, iter(_UNITS)
    unit = next(units)
    while abs(value) >= 999.5 and (larger := next(units, None)):
        value, unit = value / 1000, larger
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f} {unit}"
