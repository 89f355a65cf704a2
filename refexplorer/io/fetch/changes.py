"""Whether a target changed since references to it were written, or since it was last read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from refexplorer.core.text import escape
from refexplorer.formats.icechunk.history import RecordedVersion
from refexplorer.formats.source import Source
from refexplorer.io.access import protocol_of
from refexplorer.io.fetch.answers import Facts
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.targets import Targets

TargetVersion = tuple[int | None, str | None, str | None]
"""Size in bytes, ETag and time of the last change, as its store reports them."""

_SHOWN = 60  # characters of an ETag: a server may send any text


def difference(
    recorded: Sequence[RecordedVersion], facts: Facts, has_other_tags: bool = False
) -> tuple[bool | None, str | None]:
    """Return whether a target is unchanged, and what changed."""
    etag = facts.disk_tag or (None if has_other_tags else facts.etag)
    now = seconds_of(facts.modified)
    if now is not None and facts.disk_tag is None:  # servers report and compare whole seconds
        now = int(now)
    compared = True
    for version in recorded:
        if version.etag is not None and etag is not None:
            if _plain(version.etag) != _plain(etag):
                return False, (
                    f"It changed since references to it were written: its ETag was "
                    f"{_shown(version.etag)} and is {_shown(etag)} now."
                )
        elif version.modified is not None and now is not None:
            if now > version.modified:
                same_second = int(now) == version.modified
                return False, (
                    "It changed since references to it were written: it was last modified at "
                    f"{_time(now, same_second)}, after {_time(version.modified)}."
                )
        else:
            compared = False
    if compared:
        return True, None
    return None, "Its store does not report what Icechunk recorded, so the version is not compared."


def version_change(then: TargetVersion, now: TargetVersion | None) -> tuple[bool | None, str]:
    """Return whether a target is unchanged, None if unknown, and what changed."""
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
    """Parse a store's timestamp as seconds since 1970; None if invalid."""
    if modified is None:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(modified)
        except ValueError:
            continue
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return None


def _plain(etag: str) -> str:
    """Return an ETag without quotes and without the weak marker."""
    return etag.removeprefix("W/").strip('"')


def _shown(etag: str) -> str:
    return escape(_plain(etag), _SHOWN)


def _time(seconds: float, is_exact: bool = False) -> str:
    try:
        part = "milliseconds" if is_exact else "seconds"
        return datetime.fromtimestamp(seconds, UTC).isoformat(" ", part)
    except (OverflowError, ValueError, OSError):
        return f"second {seconds:.0f}"


def changed_since_recorded(source: Source, path: str, url: str, targets: Targets) -> str | None:
    """Return how a target of an array differs from what Icechunk recorded; None if it does not."""
    try:
        recorded = source.recorded(path) if source.recorded else {}
        versions = recorded.get(url, ())
        if not versions:
            return None
        facts = wait_for(targets.facts(targets.policy.place(url)))
    except Exception:  # each protocol has its own errors, and the bytes were read
        return "The version that Icechunk recorded could not be compared with that of the file."
    same, said = difference(versions, facts, protocol_of(url) == "gs")
    if same is not False:
        return said
    if len(versions) > 1:  # each chunk has its own, and the others are not told apart here
        return f"{said} Icechunk recorded other versions of it, too, and may refuse this chunk."
    return f"{said} Icechunk refuses to read this chunk."
