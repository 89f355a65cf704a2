"""The dates that names of targets hold, such as ``sst_2025-07.nc`` or ``s20210011601``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

LOOKED_AT = 1_000
"""Names that a way of writing dates is chosen by."""
_SHARE = 0.9
"""Of these, how many must be written in that way."""
_YEAR = r"((?:18|19|20|21)\d\d)"
_MONTH = r"(0[1-9]|1[0-2])"
_DAY = r"(0[1-9]|[12]\d|3[01])"
_OF_YEAR = r"(00[1-9]|0[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6])"
_TIME = r"([01]\d|2[0-3]):?_?([0-5]\d)?:?_?([0-5]\d)?"
_PATTERNS = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"_s(?P<y>{_YEAR})(?P<n>{_OF_YEAR})(?P<t>\d\d\d\d\d\d)\d?(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})[-_.]?(?P<m>{_MONTH})[-_.]?(?P<d>{_DAY})[T_.-]?(?P<t>{_TIME})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})[-_.]?(?P<m>{_MONTH})[-_.]?(?P<d>{_DAY})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})/(?P<m>{_MONTH})/(?P<d>{_DAY})/(?:[^/]*[tz_.](?P<t>{_TIME})(?!\d))?",
        rf"(?<!\d)(?P<y>{_YEAR})[-_./]?(?P<n>{_OF_YEAR})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})[-_./]?(?P<m>{_MONTH})(?!\d)",
        rf"(?<!\d)(?P<y>{_YEAR})(?!\d)",
    )
)
NONE = np.datetime64("NaT", "s")


def dates_of(urls: Sequence[str | None]) -> np.ndarray:
    """Return the date that each name holds, datetime64[s]; NaT where it holds none.

    All names are read in one way: the most exact one in which nine of ten are written. If all of
    them hold the same date, or there is only one name, it tells nothing, and there are none.
    """
    found = np.full(len(urls), NONE)
    pattern = _pattern([url for url in urls[:LOOKED_AT] if url is not None])
    if pattern is None:
        return found
    for row, url in enumerate(urls):
        found[row] = _date(pattern, url or "")
    return found if len(np.unique(found[~np.isnat(found)])) > 1 else np.full(len(urls), NONE)


def _pattern(names: Sequence[str]) -> re.Pattern[str] | None:
    for pattern in _PATTERNS:
        dates = [_date(pattern, name) for name in names]
        known = [date for date in dates if not np.isnat(date)]
        if names and len(known) >= _SHARE * len(names) and len(set(known)) > 1:
            return pattern
    return None


def _date(pattern: re.Pattern[str], name: str) -> np.datetime64:
    """Return the first date of the file's own name, else the last one of its folders."""
    date: np.datetime64 = NONE
    own = [*pattern.finditer(name, name.rfind("/") + 1)][:1]
    for match in own or pattern.finditer(name):
        parts = match.groupdict()
        text = f"{parts['y']}-{parts.get('m') or '01'}-{parts.get('d') or '01'}"
        clock = re.sub(r"\D", "", parts.get("t") or "").ljust(6, "0")
        time = f"{clock[:2]}:{clock[2:4]}:{clock[4:6]}"
        try:
            date = np.datetime64(f"{text}T{time}", "s")
        except ValueError:  # the 31st of April, or 25 o'clock
            continue
        if parts.get("n"):
            date += np.timedelta64(int(parts["n"]) - 1, "D")
    return date


def folders_of(urls: Sequence[str | None], whole_host: bool) -> list[str]:
    """Return the folder of each URL, or the protocol with the host; empty where it has none."""
    return [_host(url or "") if whole_host else _folder(url or "") for url in urls]


_HOST = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/]*)?", re.ASCII)


def _host(url: str) -> str:
    match = _HOST.match(url)
    return (match[1] or "") if match else ""


def _folder(url: str) -> str:
    head = url[: url.rfind("/") + 1]
    return _host(url) or head if head.endswith("://") else head
