"""The health table, and the comparison of the set with its files."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from refexplorer.spec.codes import Severity
from refexplorer.views.wire.messages import Count, Request

HealthSort = Literal[
    "trouble",
    "path",
    "bytes",
    "chunks",
    "referenced",
    "absent",
    "rejected",
    "failed",
    "unread",
    "differing",
    "overlapping",
    "times",
]
"""What the health table is sorted by: all that is wrong together, or one of its columns."""


class HealthCounts(Struct, frozen=True):
    """Chunks by state; null where it is not known.

    Attributes
    ----------
    chunks
        Of the grid.
    absent
        Without a reference.
    rejected
        With a reference that an error keeps out of the set.
    failed
        Of those that were tried in this session or in the last audit; null if none was.
    unread
        With a reference that was not tried.
    differing
        Of those that the last verification compared with their files; null if it compared none.
    overlapping
        Whose byte range shares bytes with another one; null until the references were sorted by
        their targets.
    """

    chunks: Count
    referenced: Count | None
    absent: Count | None
    rejected: Count | None
    failed: Count | None
    unread: Count | None
    differing: Count | None
    overlapping: Count | None


class TimeRange(Struct, frozen=True):
    """The time that an array covers.

    Attributes
    ----------
    first, last
        ISO dates; null where it is not known.
    source
        What they are from: a time coordinate, or the dates in the names of targets.
    said
        One sentence: where they are from, or why they are not known.
    """

    first: str | None
    last: str | None
    source: Literal["coordinate", "names"] | None
    said: str


class HealthRow(Struct, frozen=True):
    """An array in the health table.

    Attributes
    ----------
    chunks
        The shape of a chunk.
    bytes
        Of all its references; null where it is not known.
    errors, warnings
        Notes that name it or a key of it; null until those of the whole set are known.
    inner_chunks, inner_count
        Of an array of shards: the shape of the chunks in them, and how many there are in all; null
        for others.
    """

    path: str
    shape: tuple[Count, ...]
    chunks: tuple[Count, ...]
    dtype: str
    bytes: Count | None
    counts: HealthCounts
    errors: Count | None
    warnings: Count | None
    times: TimeRange
    inner_chunks: tuple[Count, ...] | None = None
    inner_count: Count | None = None


class HealthPage(Struct, frozen=True):
    """Some of the arrays, how many there are, and the sums over all of them."""

    start: Count
    total: Count
    rows: tuple[HealthRow, ...]
    sums: HealthCounts


class HealthRows(Request, frozen=True, tag="health.rows"):
    """List the arrays with their chunks by state; what is not known comes last."""

    reply = HealthPage
    is_later = True

    start: int
    n: int
    sort: HealthSort
    descending: bool


class VerifiedFinding(Struct, frozen=True):
    """A cause by which a set differs from some of its files.

    Attributes
    ----------
    key
        The metadata, or the first chunk; null if the set has no such key.
    files, file_count
        The first files, and how many there are.
    """

    severity: Severity
    code: str
    message: str
    array: str
    key: str | None
    files: tuple[str, ...]
    file_count: Count


class SetVerified(Struct, frozen=True):
    """What comparing a set with its files found.

    Attributes
    ----------
    good
        Whether references were compared and none differs.
    summary
        The counts, and what was not compared, as sentences.
    findings, finding_count
        The first findings, errors first, and how many there are.
    grants
        What `allow` needs for the files that were not read.
    """

    verdict: str
    good: bool
    summary: tuple[str, ...]
    findings: tuple[VerifiedFinding, ...]
    finding_count: Count
    grants: tuple[str, ...]


class VerifySet(Request, frozen=True, tag="verify"):
    """Compare the set with what its files say; then `health.rows` knows what differs.

    Attributes
    ----------
    values
        Whether ten chunks of each array are decoded and compared, too.
    """

    reply = SetVerified
    is_later = True

    values: bool


class LastVerified(Struct, frozen=True):
    """What the last comparison with the files found; null if there was none."""

    found: SetVerified | None


class ShowVerified(Request, frozen=True, tag="verify.last"):
    """Show the last comparison with the files, also one that Python made."""

    reply = LastVerified
