"""What a run is asked to do: which checks, for which share of the set, for how long."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.core.text import array_text, escape
from refexplorer.formats.icechunk.facts import RepositoryFacts
from refexplorer.formats.icechunk.history import Recorded
from refexplorer.formats.source import LeftOut, Source
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, suggest


class CheckLook(StrEnum):
    """One kind of check, from the cheapest to the most expensive."""

    SET = "set"
    TARGETS = "targets"
    FILES = "files"
    DECODE = "decode"
    VALUES = "values"


PRESETS: dict[str, frozenset[CheckLook]] = {
    "check": frozenset({CheckLook.SET}),
    "check --targets": frozenset({CheckLook.SET, CheckLook.TARGETS}),
    "audit": frozenset({CheckLook.SET, CheckLook.TARGETS, CheckLook.DECODE}),
    "verify": frozenset({CheckLook.SET, CheckLook.TARGETS, CheckLook.FILES}),
    "verify --values": frozenset(CheckLook),
}  # The looks of each verb


@dataclass(frozen=True)
class Share:
    """One of `of` equal parts of a set, independent of the machine."""

    number: int  # From 1
    of: int  # How many there are
    n_more: int = 0  # Others whose results earlier runs left in the folder

    @classmethod
    def parse(cls, text: str) -> Share:
        """Parse ``"3/30"``."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise RefexplorerError(
                f"Write the part to check as 3/30 (the third of thirty parts), not {text!r}."
            )
        return cls(int(number), int(of))

    def __str__(self) -> str:
        more = f" and {self.n_more:,} more" if self.n_more else ""
        return f"{self.number}/{self.of}{more}"

    def number_of(self, url: str | None) -> int:
        """Return the share that a file belongs to: the same for the same URL on any machine."""
        # References without a named file are in every share: 0.
        if url is None:
            return 0
        digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "little") % self.of + 1


def seconds_of(text: str | float) -> float:
    """Parse a duration such as ``"30m"``, ``"2h"``, ``"90s"`` or a number of seconds."""
    found = _TIME.fullmatch(str(text).strip())
    if found is None or not float(found[1]):
        raise RefexplorerError(f"Write a time as 90s, 30m or 2h, not {text!r}.")
    return float(found[1]) * _UNITS[found[2]]


_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Waiver(NamedTuple):
    """Findings of one code that do not fail a run: for one array, or for all."""

    code: str
    array: str | None = None

    @classmethod
    def parse(cls, text: str) -> Waiver:
        """Parse ``"axis-gap"`` or ``"axis-gap:time"``."""
        code, colon, array = text.partition(":")
        if code not in CODES:
            near = suggest(code, CODES, len(CODES))
            raise RefexplorerError(
                f"{escape(code, 100)!r} is not a code of a check.{near} "
                "Write CODE or CODE:ARRAY, such as no-reference:sst."
            )
        return cls(code, array.strip("/") if colon else None)

    def __str__(self) -> str:
        return self.code if self.array is None else f"{self.code} of {array_text(self.array)}"

    def has(self, finding: Finding) -> bool:
        """Return whether a finding is accepted."""
        return finding.code == self.code and self.array in (None, array_of(finding))


def array_of(finding: Finding) -> str:
    """Return the array that a finding is about, empty if about the set or several arrays."""
    if finding.array or finding.is_spread:
        return finding.array
    return (finding.key or "").rpartition("/")[0]


@dataclass(frozen=True)
class CheckTerms:
    """What was requested.

    Attributes
    ----------
    verb
        The name of the command.
    looks
        See `CheckLook`.
    share
        The part of the set; None: all of it.
    seconds
        Time after which no further part is started; None for no limit.
    threshold
        The lowest severity that counts as a failure.
    accept
        Findings that do not count as failures.
    reads_coordinates
        Whether coordinates in files are read.
    is_of_file
        Whether the source is a data file from which the references were generated.
    is_comparable
        Whether the set refers to files, and no file was opened.
    """

    verb: str
    looks: frozenset[CheckLook]
    share: Share | None = None
    seconds: float | None = None
    threshold: Severity = Severity.ERROR
    accept: tuple[Waiver, ...] = ()
    reads_coordinates: bool = False
    is_of_file: bool = False
    is_comparable: bool = False

    @classmethod
    def of_verb(
        cls, verb: str, only: str | None = None, within: float | str | None = None
    ) -> CheckTerms:
        """Return the terms of a command, for a share such as ``"3/30"`` and a time like ``"30m"``.

        Raises
        ------
        RefexplorerError
            If they have another format.
        """
        share = None if only is None else Share.parse(only)
        return cls(verb, PRESETS[verb], share, None if within is None else seconds_of(within))

    def judging(self, fail_on: Severity | str, accept: Iterable[str]) -> CheckTerms:
        """Return the terms with another threshold and accepted findings."""
        if fail_on not in list(Severity):
            raise RefexplorerError(
                f"fail_on must be error, warning or info, not {escape(str(fail_on), 100)!r}."
            )
        waivers = tuple(Waiver.parse(text) for text in accept)
        return replace(self, threshold=Severity(fail_on), accept=waivers)

    def asks(self, look: CheckLook) -> bool:
        """Return whether a kind of check was requested."""
        return look in self.looks


RECORDED_UNREAD = (
    "versions that Icechunk may have recorded (only those of a commit on disk or a server are read)"
)


@dataclass(frozen=True)
class ReadTerms:
    """What may be read, and how; and what is known of the set without reading it."""

    location: str | None  # The folder that relative targets are resolved against
    allow: Collection[str]  # Other locations that may be read
    limits: Limits  # What reading and decoding may cost
    storage_options: Mapping[str, Any] = field(repr=False)  # For fsspec; never shown or written
    base: str = ""  # What pointers of keys start with
    served: bool = False  # As `AccessPolicy` has it
    # The versions that targets had when their references were written
    recorded: Recorded = field(default_factory=dict)
    # The objects of data files that opening could not make references to
    left_out: tuple[LeftOut, ...] = ()
    repository: RepositoryFacts | None = None  # Of Icechunk
    endpoints: Mapping[str, str] = field(default_factory=dict)  # As `AccessPolicy` has them
    written: float | None = None  # When a local set was, in seconds since 1970

    def is_native(self, url: str) -> bool:
        """Return whether a file is a chunk that Icechunk itself stores."""
        return self.repository is not None and url.startswith(("chunks/", "icechunk:///chunks/"))

    def lacks_recorded(self, url: str) -> bool:
        """Return whether the version that Icechunk recorded of a file cannot be read."""
        facts = self.repository
        is_unread = facts is not None and (facts.uncommitted or facts.place is None)
        return is_unread and not self.is_native(url)

    def of(self, source: Source) -> ReadTerms:
        """Return the terms with what a source says about itself."""
        return replace(
            self,
            base=source.key_base,
            recorded=source.recorded() if source.recorded else {},
            left_out=source.left_out,
            repository=source.repository,
            endpoints=source.endpoints,
            written=_written(source),
        )

    def targets(self) -> Targets:
        """Return the reader of the targets."""
        policy = AccessPolicy(
            self.location, tuple(self.allow), served=self.served, endpoints=self.endpoints
        )
        return Targets(policy, self.storage_options, self.limits)


def _written(source: Source) -> float | None:
    """Return when a local set was written, in seconds since 1970."""
    try:
        path = Path(source.place or Path(source.location or "", source.name))
        return path.stat().st_mtime
    except (OSError, ValueError):
        return None
