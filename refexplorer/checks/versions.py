"""Versions of targets: as stores report them, and as earlier runs kept them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from refexplorer.core.text import escape, masked_url
from refexplorer.formats.icechunk.history import RecordedVersion
from refexplorer.io.fetch.answers import Facts

METADATA_KEY = b"refexplorer.targets"
TargetVersion = tuple[int | None, str | None, str | None]
"""Size in bytes, ETag and time of the last change, as its store reports them."""

_SHOWN = 60  # characters of an ETag: a server may send any text


def difference(
    recorded: Sequence[RecordedVersion], facts: Facts, has_other_tags: bool = False
) -> tuple[bool | None, str | None]:
    """Say whether a target is still what it was, and what is different."""
    etag = None if has_other_tags else _plain(facts.etag)
    now = seconds_of(facts.modified)
    compared = True
    for version in recorded:
        if version.etag is not None and etag is not None:
            if _plain(version.etag) != etag:
                return False, (
                    f"It changed since references to it were written: its ETag was "
                    f"{_shown(version.etag)} and is {_shown(etag)} now."
                )
        elif version.modified is not None and now is not None:
            if int(now) > version.modified:
                return False, (
                    "It changed since references to it were written: it was last modified at "
                    f"{_time(now)}, after {_time(version.modified)}."
                )
        else:
            compared = False
    if compared:
        return True, None
    return None, "Its store does not tell what Icechunk recorded, so the version is not compared."


def version_change(then: TargetVersion, now: TargetVersion | None) -> tuple[bool | None, str]:
    """Say whether a target is as it was, None where nobody knows, and what is different."""
    if now is None:
        return None, ""
    (size, etag, modified), (size_now, etag_now, modified_now) = then, now
    if size is not None and size_now is not None and size != size_now:
        return False, f"its size was {size:,} bytes, and is {size_now:,}"
    if etag is not None and etag_now is not None:
        if _plain(etag) == _plain(etag_now):
            return True, ""
        return False, f"its ETag was {_shown(etag)}, and is {_shown(etag_now)}"
    time, time_now = seconds_of(modified), seconds_of(modified_now)
    if time is None or time_now is None:
        return None, ""
    if time == time_now:
        return True, ""
    return False, f"it was last modified at {_time(time)}, and is of {_time(time_now)}"


def seconds_of(modified: str | None) -> float | None:
    """Return a time as a store writes it in seconds since 1970; None if it cannot be read."""
    if modified is None:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(modified)
        except ValueError:
            continue
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return None


def _plain(etag: str | None) -> str | None:
    """Return an ETag without quotes and without the mark of a weak one."""
    return None if etag is None else etag.removeprefix("W/").strip('"')


def _shown(etag: str) -> str:
    return escape(_plain(etag) or "", _SHOWN)


def _time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat(" ", "seconds")
    except (OverflowError, ValueError, OSError):
        return f"second {seconds:.0f}"


def as_metadata(versions: Mapping[str, TargetVersion | None]) -> dict[bytes, bytes]:
    """Return versions as metadata of a table."""
    return {METADATA_KEY: json.dumps({masked_url(url): v for url, v in versions.items()}).encode()}


def from_metadata(metadata: Mapping[bytes, bytes]) -> dict[str, TargetVersion | None] | None:
    """Return what `as_metadata` wrote; None if there is nothing of it."""
    try:
        found = json.loads(metadata[METADATA_KEY])
        return {url: None if kept is None else tuple(kept) for url, kept in found.items()}
    except (KeyError, ValueError, AttributeError, TypeError):
        return None


def is_same(kept: TargetVersion | None, now: TargetVersion | None) -> bool:
    """Say whether a target is known to be as it was; a store without versions does not tell."""
    if kept is None or now is None:
        return kept is now
    return kept == now and any(kept[1:])
