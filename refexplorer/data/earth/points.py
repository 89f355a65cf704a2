"""Points on the earth as people write them: ``52.5, 13.4`` or ``52°30'N 13.4E``."""

from __future__ import annotations

import re

from refexplorer.errors import RefexplorerError

_PART = r"(\d+(?:\.\d*)?)\s*"
_NUMBER = rf"([+-]?\d+(?:\.\d*)?)\s*°?\s*(?:{_PART}['\u2032]\s*)?(?:{_PART}[\"\u2033]\s*)?"
_POINT = re.compile(
    rf"\s*(?:{_NUMBER}([NSEW])?)\s*[,;\s]\s*(?:{_NUMBER}([NSEW])?)\s*", re.ASCII | re.IGNORECASE
)
"""Degrees, minutes, seconds and direction, twice."""


def parse_point(text: str) -> tuple[float, float]:
    """Return latitude and longitude; without letters latitude comes first.

    Raises
    ------
    RefexplorerError
        If the text is no point of the earth.
    """
    found = _POINT.fullmatch(text)
    wanted = "write latitude and longitude, such as 52.5, 13.4 or 52.5N 13.4E"
    if found is None:
        raise RefexplorerError(f"{text.strip()!r} is no place: {wanted}.")
    groups = found.groups()
    first, second = _value(*groups[:4]), _value(*groups[4:])
    one, two = ((each or "").upper() for each in (groups[3], groups[7]))
    if one in ("E", "W") or two in ("N", "S"):
        first, second, one, two = second, first, two, one
    if one in ("E", "W") or two in ("N", "S"):
        raise RefexplorerError(f"{text.strip()!r} has one direction twice: {wanted}.")
    if abs(first) > 90 or abs(second) > 360:
        raise RefexplorerError(
            f"{text.strip()!r} is no place: latitude is -90 to 90, longitude -180 to 360."
        )
    return first, second


def _value(degrees: str, minutes: str | None, seconds: str | None, letter: str | None) -> float:
    size = abs(float(degrees)) + float(minutes or 0) / 60 + float(seconds or 0) / 3600
    sign = -1 if degrees.startswith("-") else 1
    return size * (-sign if (letter or "").upper() in ("S", "W") else sign)
