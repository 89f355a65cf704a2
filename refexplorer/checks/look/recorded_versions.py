"""Comparing a target with the version it had when the references to it were written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from refexplorer.formats.icechunk.recorded import RecordedVersion
from refexplorer.io.fetch.failures import Facts
from refexplorer.markup import escape

_SHOWN = 60


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
