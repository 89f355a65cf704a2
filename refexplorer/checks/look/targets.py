"""Doing one part of an audit: a pure function of the part, the targets and what may be read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.checks.look.chunks import DecodedChunk, decoded
from refexplorer.checks.parts import OVERLAPS, Part
from refexplorer.checks.states import CHUNK_NAMES, FileState, LedgerState
from refexplorer.checks.terms import ReadTerms
from refexplorer.core.errors import AccessError
from refexplorer.core.text import escape, masked_url
from refexplorer.formats.columns.references import LARGEST, RANGE, URL
from refexplorer.formats.icechunk.history import RecordedVersion
from refexplorer.io.fetch.answers import Facts
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.failures import AS_S3, DeniedByServer, NotFoundError, cause
from refexplorer.io.fetch.targets import Targets

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


CONCURRENCY = 16
"""Targets that are asked at a time."""
NO_SIZE = "The store does not report its size."
NO_RANGES = "The server does not support byte ranges: every read begins at the start of the file."
UNWRITTEN = "There is no such file (404): the chunk reads as the fill value."
_NO_NAME = "The set does not name this target: it has to be given when the set is opened."


class Answer(NamedTuple):
    """The answer of a store about a target."""

    facts: Facts | None  # None if there are none
    cause: str | None = None  # Why there are none, in a sentence
    forbidden: bool = False  # Whether it was not asked, since it is not allowed
    grant: str | None = None  # What to pass in ``allow=`` so that it is asked
    # Whether it is a chunk that was never written, where nobody could list those that were
    unwritten: bool = False

    @property
    def file_state(self) -> FileState:
        """The state of the file."""
        if self.facts is not None or self.unwritten:
            return FileState.ASKED
        return FileState.NOT_ALLOWED if self.forbidden else FileState.UNREACHABLE

    @property
    def chunk_state(self) -> LedgerState:
        """The state of its chunks, before their ranges are compared with its size."""
        if self.facts is not None:
            return LedgerState.INSIDE
        if self.unwritten:
            return LedgerState.EMPTY
        return LedgerState.NOT_ALLOWED if self.forbidden else LedgerState.UNREACHABLE

    @property
    def message(self) -> str | None:
        """A sentence on a fault, or on something worth knowing."""
        if self.facts is None:
            return self.cause
        if self.facts.size is None:
            return NO_SIZE
        return None if self.facts.ranges else NO_RANGES


AskedTarget = tuple[str | None, Callable[[Answer], None]]
"""A target, as in the references (None is the one that the reader names), and what takes its
answer."""


async def ask_all(
    targets: Targets,
    wanted: Iterable[AskedTarget],
    concurrency: int = CONCURRENCY,
    unlisted: str | None = None,
) -> None:
    """Ask for size and version of many targets; runs on fsspec's event loop."""
    wanted = iter(wanted)

    async def work() -> None:
        for url, take in wanted:
            take(await ask(targets, url, unlisted))

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, concurrency)):
            group.create_task(work())


async def ask(targets: Targets, url: str | None, unlisted: str | None = None) -> Answer:
    """Ask for size and version of a target, as `ask_all`."""
    if url is None:
        return Answer(None, _NO_NAME)
    try:
        place = targets.policy.place(url)
        try:
            return Answer(await targets.facts(place))
        except AccessError:
            raise
        except Exception as error:  # each protocol has errors of its own
            words = cause(error, place, url)
            said = f"{words[:1].upper()}{words[1:]}."
            if unlisted is None or not url.startswith(unlisted):
                return Answer(None, said)
            if isinstance(error, NotFoundError):
                return Answer(None, UNWRITTEN, unwritten=True)
            return Answer(None, f"{said} {AS_S3}" if isinstance(error, DeniedByServer) else said)
    except AccessError as error:
        return Answer(None, str(error), forbidden=True, grant=error.grant or None)


def past_end(offsets: np.ndarray, lengths: np.ndarray, sizes: np.ndarray | int) -> np.ndarray:
    """Say which ranges reach past the ends of their targets, shape ``(n,)`` bool."""
    if isinstance(sizes, int) and sizes > LARGEST:
        offsets = offsets.astype(object)
    found: np.ndarray = lengths > sizes - offsets  # a sum might not fit into 64 bits
    return found


METADATA_KEY = b"refexplorer.targets"
TargetVersion = tuple[int | None, str | None, str | None]
"""Size in bytes, ETag and time of the last change, as its store reports them."""


def versions_asked(
    targets: Targets,
    urls: Sequence[str],
    keep_on: Callable[[], bool] | None = None,
    unlisted: str | None = None,
) -> dict[str, TargetVersion | None]:
    """Ask for the versions of targets, several at a time; None for those without an answer."""
    answers: dict[str, Answer] = {}
    asked = [(url, partial(answers.__setitem__, url)) for url in urls]
    if asked:
        wait_for(ask_all(targets, asked, unlisted=unlisted), keep_on)
    return {url: version_of(answer) for url, answer in answers.items()}


def version_of(answer: Answer) -> TargetVersion | None:
    """Return the version of a target that answered."""
    facts = answer.facts
    return None if facts is None else (facts.size, facts.etag, facts.modified)


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


_WORD = pa.dictionary(pa.int32(), pa.string())
RESULTS = pa.schema(
    {
        "key": pa.large_string(),
        "array": _WORD,
        "chunk": pa.int64(),
        "number": pa.int64(),
        "target": _WORD,
        "offset": pa.int64(),
        "length": pa.int64(),
        "state": _WORD,
        "file": _WORD,
        "overlap": _WORD,
        "checksum": pa.string(),
        "decoded_bytes": pa.int64(),
        "message": _WORD,
        "target_size": pa.int64(),
        "etag": _WORD,
        "modified": _WORD,
        "grant": _WORD,
    }
)
"""A row for each reference: ``chunk`` is its number in the grid, C order, -1 for none; ``number``
that of the target, -1 without one; ``state`` that of the chunk, ``file`` that of the target;
``target`` the URL, null if the reader names it; ``offset`` and
``length`` are null for whole files; ``target_size`` is null where the ranges were not compared with
it; these are at most 2^63 - 1; ``grant`` is what `allow` needs."""


@dataclass(frozen=True)
class Auditor:
    """Everything a part needs besides itself; small, so that it can be sent along with each."""

    reading: ReadTerms  # What may be read, and how
    keeps_versions: bool = False  # Whether results have them, for a run that goes on with these

    def audit(self, part: Part, keep_on: Callable[[], bool] = lambda: True) -> pa.Table:
        """Ask the targets of a part, compare the ranges with them, decode what was chosen."""
        targets = self.reading.targets()
        rows = part.rows
        each = rows["number"].to_numpy()  # in order, so that equal ones follow each other
        is_new = np.append(True, each[1:] != each[:-1])
        first, codes = np.flatnonzero(is_new), np.cumsum(is_new) - 1
        numbers = each[first]
        urls = rows["target"].take(pa.array(first)).to_pylist()
        # the chunks that the set itself has are as if they were of one target, which answers None
        answers: list[Answer | None] = [None] * len(urls)
        asked = [
            (urls[place], partial(answers.__setitem__, place))
            for place in np.flatnonzero(numbers >= 0).tolist()
        ]
        wait_for(ask_all(targets, asked, unlisted=self.reading.unlisted), keep_on)
        found = _Answered(rows, codes, answers)
        chosen = np.flatnonzero(rows["chosen"].to_numpy() & found.is_there)
        wanted = rows.take(pa.array(chosen))
        results = found.table(
            chosen, list(decoded(wanted, part.arrays, targets, self.reading.limits, keep_on))
        )
        if not self.keeps_versions:
            return results
        pairs = zip(urls, answers, strict=True)
        versions = {url: version_of(each) for url, each in pairs if url and each is not None}
        return results.replace_schema_metadata(as_metadata(versions))

    def versions(
        self, urls: Sequence[str], keep_on: Callable[[], bool]
    ) -> dict[str, TargetVersion | None]:
        """Ask for the versions that targets have now."""
        return versions_asked(self.reading.targets(), urls, keep_on, self.reading.unlisted)


class _Answered:
    """The references of a part beside what their targets said."""

    def __init__(self, rows: pa.Table, codes: np.ndarray, answers: Sequence[Answer | None]) -> None:
        self._rows = rows
        self._codes = codes
        self._answers = answers
        self._facts = [None if answer is None else answer.facts for answer in answers]
        sizes = [None if fact is None else fact.size for fact in self._facts]
        known = [-1 if size is None else min(size, LARGEST) for size in sizes]
        self._sizes = np.array(known, np.int64)[codes]
        self._kinds = rows["kind"].to_numpy()
        held = LedgerState.HELD
        states = [held if answer is None else answer.chunk_state for answer in answers]
        self.states = np.array(states, np.uint8)[codes]
        self.is_there = (self.states == held) | (self.states == LedgerState.INSIDE)
        past = past_end(rows["offset"].to_numpy(), rows["length"].to_numpy(), self._sizes)
        is_range, is_measured = self._kinds == RANGE, self._sizes >= 0
        is_unknown = is_range & ~is_measured & (self.states == LedgerState.INSIDE)
        self.states[is_unknown] = LedgerState.REFERENCED
        self.states[past & is_range & is_measured] = LedgerState.PAST_END
        self.is_there &= self.states != LedgerState.PAST_END

    def table(self, chosen: np.ndarray, outcomes: Sequence[DecodedChunk]) -> pa.Table:
        """Return the results; `outcomes` are those of the `chosen` rows, shape ``(m,)``."""
        states, places = self.states.copy(), np.full(len(self.states), -1)
        states[chosen] = [outcome.state for outcome in outcomes]
        places[chosen] = np.arange(len(chosen))
        at = pa.array(places, mask=places < 0)
        columns = {
            "offset": _masked(self._rows["offset"], self._kinds != RANGE),
            "length": _masked(self._rows["length"], self._kinds == URL),
            "state": _words(CHUNK_NAMES, states),
            "file": _words([each and each.file_state for each in self._answers], self._codes),
            "overlap": _words(OVERLAPS, self._rows["overlap"].to_numpy()),
            "checksum": pa.array([o.checksum for o in outcomes], pa.string()).take(at),
            "decoded_bytes": pa.array([o.size for o in outcomes], pa.int64()).take(at),
            "message": self._messages(places, outcomes),
            "target_size": pa.array(self._sizes, mask=self._sizes < 0),
            "etag": _words([_fact(each, "etag") for each in self._answers], self._codes),
            "modified": _words([_fact(each, "modified") for each in self._answers], self._codes),
            "grant": _words([answer and answer.grant for answer in self._answers], self._codes),
        }
        given = {name: self._rows[name] for name in RESULTS.names if name not in columns}
        return pa.table({**given, **columns}).select(RESULTS.names).cast(RESULTS)

    def _messages(self, places: np.ndarray, outcomes: Sequence[DecodedChunk]) -> pa.DictionaryArray:
        """Return the sentence of each chunk: its own, else that of its target."""
        said = [answer and answer.message for answer in self._answers]
        past = [_past(fact) for fact in self._facts]
        codes = np.where(self.states == LedgerState.PAST_END, len(said) + self._codes, self._codes)
        codes = np.where(places < 0, codes, len(said) + len(past) + places)
        return _words([*said, *past, *(outcome.message for outcome in outcomes)], codes)


def _fact(answer: Answer | None, name: str) -> str | None:
    found = None if answer is None or answer.facts is None else getattr(answer.facts, name)
    return None if found is None else str(found)


def _past(facts: Facts | None) -> str | None:
    if facts is None or facts.size is None:
        return None
    return f"The range reaches past the end of the file, which has {facts.size:,} bytes."


def _words(words: Sequence[str | None], codes: np.ndarray) -> pa.DictionaryArray:
    """Return words by their places; equal words become one, those that do not occur none."""
    places: dict[str, int] = {}
    is_used, table = np.zeros(len(words), np.bool_), np.full(len(words), -1, np.int32)
    is_used[codes] = True
    for code in np.flatnonzero(is_used).tolist():
        word = words[code]
        if word is not None:
            table[code] = places.setdefault(word, len(places))
    found = table[codes]
    return pa.DictionaryArray.from_arrays(
        pa.array(found, mask=found < 0), pa.array(list(places), pa.string())
    )


def _masked(column: pa.ChunkedArray, missing: np.ndarray) -> pa.Array:
    return pa.array(column.to_numpy(), mask=missing)
