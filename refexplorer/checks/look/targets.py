"""Processing one part of an audit: a pure function of the part, the targets and what is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.look.chunks import DecodedChunk, decoded
from refexplorer.checks.parts import OVERLAPS, Part, places_of
from refexplorer.checks.results import as_metadata
from refexplorer.checks.states import CHUNK_NAMES, CHUNK_TERMS, FileState, LedgerState, Rank
from refexplorer.checks.terms import ReadTerms
from refexplorer.core.errors import AccessError
from refexplorer.core.text import masked_url
from refexplorer.formats.columns.references import LARGEST, RANGE, URL
from refexplorer.io.fetch.answers import Facts
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.changes import TargetVersion
from refexplorer.io.fetch.failures import cause, is_denied
from refexplorer.io.fetch.targets import Targets

CONCURRENCY = 16  # Targets that are asked at a time
NO_SIZE = "The store does not report its size."
NO_RANGES = "The server does not support byte ranges: every read begins at the start of the file."
_NO_NAME = "The set does not name this target: pass it when you open the set."


class Answer(NamedTuple):
    """The response of a store about a target."""

    facts: Facts | None  # None if there are none
    cause: str | None = None  # Why there are none, in a sentence
    forbidden: bool = False  # Whether it was not asked, since it is not allowed
    denied: bool = False  # Whether its store requires a login
    grant: str | None = None  # What to pass in ``allow=`` so that it is asked

    @property
    def file_state(self) -> FileState:
        """The state of the file."""
        if self.facts is not None:
            return FileState.ASKED
        if self.denied:
            return FileState.DENIED
        return FileState.NOT_ALLOWED if self.forbidden else FileState.UNREACHABLE

    @property
    def chunk_state(self) -> LedgerState:
        """The state of its chunks, before their ranges are compared with its size."""
        if self.facts is not None:
            return LedgerState.INSIDE
        if self.denied:
            return LedgerState.UNREAD_FILE
        return LedgerState.NOT_ALLOWED if self.forbidden else LedgerState.UNREACHABLE

    @property
    def message(self) -> str | None:
        """A sentence about a fault, or other useful information."""
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
) -> None:
    """Request size and version of many targets; runs on fsspec's event loop."""
    wanted = iter(wanted)

    async def work() -> None:
        for url, take in wanted:
            take(await ask(targets, url))

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, concurrency)):
            group.create_task(work())


async def ask(targets: Targets, url: str | None) -> Answer:
    """Request size and version of one target, as `ask_all` does."""
    if url is None:
        return Answer(None, _NO_NAME)
    try:
        place = targets.policy.place(url)
        try:
            return Answer(await targets.facts(place))
        except AccessError:
            raise
        except Exception as error:  # each protocol has its own errors
            words = cause(error, place, url)
            said = f"{words[:1].upper()}{words[1:]}."
            return Answer(None, said, denied=is_denied(error))
    except AccessError as error:
        return Answer(None, str(error), forbidden=True, grant=error.grant or None)


def past_end(offsets: np.ndarray, lengths: np.ndarray, sizes: np.ndarray | int) -> np.ndarray:
    """Return which ranges reach past the ends of their targets, shape ``(n,)`` bool."""
    if isinstance(sizes, int) and sizes > LARGEST:
        offsets = offsets.astype(object)
    found: np.ndarray = lengths > sizes - offsets  # a sum might not fit into 64 bits
    return found


def versions_asked(
    targets: Targets,
    urls: Sequence[str],
    keep_on: Callable[[], bool] | None = None,
) -> dict[str, TargetVersion | None]:
    """Request the versions of targets, several at a time; None for those without a response."""
    answers: dict[str, Answer] = {}
    asked = [(url, partial(answers.__setitem__, url)) for url in urls]
    if asked:
        wait_for(ask_all(targets, asked), keep_on)
    return {url: version_of(answer) for url, answer in answers.items()}


def version_of(answer: Answer) -> TargetVersion | None:
    """Return the version of a target that responded."""
    facts = answer.facts
    return None if facts is None else (facts.size, facts.etag, facts.modified)


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
    """Everything that processing needs except the part."""

    reading: ReadTerms  # What may be read, and how
    keeps_versions: bool = False  # Whether results have them, for a run that goes on with these

    def audit(self, part: Part, keep_on: Callable[[], bool] = lambda: True) -> pa.Table:
        """Request the targets of a part, compare the ranges with them, decode the chosen chunks."""
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
        wait_for(ask_all(targets, asked), keep_on)
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


class _Answered:
    """The references of a part with the responses of their targets."""

    def __init__(self, rows: pa.Table, codes: np.ndarray, answers: Sequence[Answer | None]) -> None:
        self._rows = rows
        self._codes = codes
        self._answers = answers
        facts = [None if answer is None else answer.facts for answer in answers]
        self._exact = [None if fact is None else fact.size for fact in facts]
        known = [-1 if size is None else min(size, LARGEST) for size in self._exact]
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
        """Return the message of each chunk: its own, else that of its target."""
        said = [answer and answer.message for answer in self._answers]
        past = [
            None
            if size is None
            else f"The range reaches past the end of the file, which has {size:,} bytes."
            for size in self._exact
        ]
        codes = np.where(self.states == LedgerState.PAST_END, len(said) + self._codes, self._codes)
        codes = np.where(places < 0, codes, len(said) + len(past) + places)
        return _words([*said, *past, *(outcome.message for outcome in outcomes)], codes)


def _fact(answer: Answer | None, name: str) -> str | None:
    found = None if answer is None or answer.facts is None else getattr(answer.facts, name)
    return None if found is None else str(found)


def _words(words: Sequence[str | None], codes: np.ndarray) -> pa.DictionaryArray:
    """Return words by index; equal words are shared, unused ones are None."""
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


ROW_COLUMNS = ("key", "chunk", "number", "target", "offset", "length", "state", "file", "message",
               "target_size", "etag", "modified", "grant")  # fmt: skip
"""The columns of results that are read."""
TARGETS = pa.schema(
    {
        "target": pa.string(),
        "state": pa.string(),
        "size": pa.int64(),
        "etag": pa.string(),
        "modified": pa.string(),
        "references": pa.int64(),
        "end": pa.int64(),
        "past_end": pa.int64(),
        "failed": pa.int64(),
        "message": pa.string(),
        "grant": pa.string(),
    }
)
"""A row for each target: its URL (null is the one that the reader names); a `FileState`; what its
store reports; how many references lead to it (null for generated keys that were not listed), where
the last range ends (null for whole files, and past 64 bits), how many ranges reach past the end,
how many chunks cannot be read or decoded; what is wrong."""
_FAILED = np.array(
    [
        term.rank is Rank.BAD and state is not LedgerState.PAST_END
        for state, term in CHUNK_TERMS.items()
    ]
)


def target_table(parts: Iterable[pa.Table], changed: Mapping[str, str]) -> pa.Table:
    """Return `TARGETS`, in the order of first use in the set."""
    names = ["number", "worst", *TARGETS.names]
    found = pa.concat_tables([_of_part(part) for part in parts] or [_ROWS.empty_table()])
    sums = found.group_by("number", use_threads=False).aggregate(
        [(name, "sum") for name in _SUMMED] + [("end", "max"), ("worst", "max")]
    )
    # of a target in several parts, the message of the worst state is kept
    order = [("number", "ascending"), ("worst", "descending")]
    firsts = found.take(pc.sort_indices(found, order))
    numbers = firsts["number"].to_numpy()
    is_first = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
    firsts = firsts.filter(pa.array(is_first))
    sums = sums.take(pc.sort_indices(sums, [("number", "ascending")]))
    for name in (*_SUMMED, "end"):
        kind = "max" if name == "end" else "sum"
        at = firsts.column_names.index(name)
        firsts = firsts.set_column(at, name, sums[f"{name}_{kind}"].cast(pa.int64()))
    table = firsts.select(names).select(TARGETS.names).cast(TARGETS)
    return _with_changes(table, changed) if changed else table


_SUMMED = ("references", "past_end", "failed")
_ROWS = pa.schema([("number", pa.int64()), ("worst", pa.int64()), *TARGETS])


def _of_part(results: pa.Table) -> pa.Table:
    """Return a row for each target of a part, with the message about its worst reference."""
    numbers = results["number"].to_numpy()
    rows = np.flatnonzero(numbers >= 0)
    states = places_of(results["state"], CHUNK_NAMES)[rows]
    numbers = numbers[rows]
    if not len(rows):
        return _ROWS.empty_table()
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    ranks = _WORSE[states]
    worst = np.maximum.reduceat(ranks, starts)
    lengths = np.diff(np.append(starts, len(rows)))
    is_worst = ranks == np.repeat(worst, lengths)
    places = np.flatnonzero(is_worst)
    first = places[np.searchsorted(places, starts)]
    said = results.take(pa.array(rows[first]))
    offsets, sizes = (_numbers(results[name].take(pa.array(rows))) for name in ("offset", "length"))
    is_cut = (offsets == LARGEST) | (sizes > LARGEST - np.maximum(offsets, 0))
    ends = np.where(is_cut, LARGEST, np.where(offsets >= 0, offsets + sizes, -1))
    ends = np.maximum.reduceat(ends, starts)
    # the number of generated keys that were not listed is unknown
    has_key = np.array([key != "" for key in said["key"].to_pylist()], np.bool_)
    is_listed = has_key | (said["chunk"].to_numpy() >= 0)

    def count(flags: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.add.reduceat(flags.astype(np.int64), starts)
        return found

    columns = {
        "number": pa.array(numbers[starts]),
        "worst": pa.array(worst),
        "target": said["target"].cast(pa.string()),
        "state": said["file"].cast(pa.string()),
        "size": said["target_size"],
        "etag": said["etag"].cast(pa.string()),
        "modified": said["modified"].cast(pa.string()),
        "references": pa.array(lengths, mask=~is_listed),
        "end": pa.array(ends, mask=(ends < 0) | (ends == LARGEST)),
        "past_end": pa.array(count(states == LedgerState.PAST_END)),
        "failed": pa.array(count(_FAILED[states])),
        "message": said["message"].cast(pa.string()),
        "grant": said["grant"].cast(pa.string()),
    }
    return pa.table(columns, schema=_ROWS)


_WORSE = np.array(
    [int(state) if term.rank in (Rank.BAD, Rank.UNKNOWN) else 0
     for state, term in CHUNK_TERMS.items()]
)  # fmt: skip
"""Which state of a reference a target is described by: the largest."""


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    found: np.ndarray = column.fill_null(-1).to_numpy()
    return found


def _with_changes(table: pa.Table, changed: Mapping[str, str]) -> pa.Table:
    """Return a table with additional information on changed targets."""
    said = [None if url is None else changed.get(masked_url(url)) for url in (
        table["target"].to_pylist())]  # fmt: skip
    states, messages = table["state"].to_pylist(), table["message"].to_pylist()
    states = [FileState.CHANGED if why else state for state, why in zip(states, said, strict=True)]
    messages = [why or message for message, why in zip(messages, said, strict=True)]
    for name, values in (("state", states), ("message", messages)):
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(values, pa.string()))
    return table
