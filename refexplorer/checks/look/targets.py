"""Doing one part of an audit: a pure function of the part, the targets and what may be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.look.asking import Answer, ask_all, past_end
from refexplorer.checks.look.audit_states import GOOD, PAST_END, STATES
from refexplorer.checks.look.chunks import DecodedChunk, decoded
from refexplorer.checks.look.target_versions import (
    TargetVersion,
    as_metadata,
    version_of,
    versions_asked,
)
from refexplorer.checks.plan.overlaps import OVERLAPS
from refexplorer.checks.plan.parts import Part
from refexplorer.formats.columns.references import LARGEST, RANGE, URL
from refexplorer.io.access.policy import AccessPolicy
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.failures import Facts
from refexplorer.io.fetch.targets import Targets
from refexplorer.limits import Limits

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
that of the target, -1 without one; ``target`` the URL, null if the reader names it; ``offset`` and
``length`` are null for whole files; ``target_size`` is null where the ranges were not compared with
it; these are at most 2^63 - 1; ``grant`` is what `allow` needs."""


@dataclass(frozen=True)
class Auditor:
    """Everything a part needs besides itself; small, so that it can be sent along with each."""

    location: str | None  # The folder that relative targets are resolved against
    allow: tuple[str, ...]  # What may be read besides it
    limits: Limits  # What reading and decoding may cost
    # For fsspec; never shown and never written
    storage_options: Mapping[str, Any] = field(repr=False)
    # What the URLs of chunks begin with that may never have been written
    unlisted: str | None = None

    def audit(self, part: Part, keep_on: Callable[[], bool] = lambda: True) -> pa.Table:
        """Ask the targets of a part, compare the ranges with them, decode what was chosen."""
        targets = Targets(
            AccessPolicy(self.location, self.allow), self.storage_options, self.limits
        )
        rows = part.rows()
        numbers, first, codes = np.unique(
            rows["number"].to_numpy(), return_index=True, return_inverse=True
        )
        urls = rows["target"].take(pa.array(first)).to_pylist()
        # the chunks that the set itself has are as if they were of one target, which answers None
        answers: list[Answer | None] = [None] * len(urls)
        asked = [
            (urls[place], partial(answers.__setitem__, place))
            for place in np.flatnonzero(numbers >= 0).tolist()
        ]
        wait_for(ask_all(targets, asked, unlisted=self.unlisted), keep_on)
        found = _Answered(rows, codes, answers)
        chosen = np.flatnonzero(rows["chosen"].to_numpy() & (found.states == GOOD))
        wanted = rows.take(pa.array(chosen))
        results = found.table(
            chosen, list(decoded(wanted, part.arrays, targets, self.limits, keep_on))
        )
        pairs = zip(urls, answers, strict=True)
        versions = {url: version_of(each) for url, each in pairs if url and each is not None}
        return results.replace_schema_metadata(as_metadata(versions))

    def versions(
        self, urls: Sequence[str], keep_on: Callable[[], bool]
    ) -> dict[str, TargetVersion | None]:
        """Ask for the versions that targets have now."""
        policy = AccessPolicy(self.location, self.allow)
        targets = Targets(policy, self.storage_options, self.limits)
        return versions_asked(targets, urls, keep_on, self.unlisted)


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
        states = [GOOD if answer is None else STATES.index(answer.state) for answer in answers]
        self.states = np.array(states, np.int8)[codes]
        past = past_end(rows["offset"].to_numpy(), rows["length"].to_numpy(), self._sizes)
        self.states[past & (self._kinds == RANGE) & (self._sizes >= 0)] = PAST_END

    def table(self, chosen: np.ndarray, outcomes: Sequence[DecodedChunk]) -> pa.Table:
        """Return the results; `outcomes` are those of the `chosen` rows, shape ``(m,)``."""
        states, places = self.states.copy(), np.full(len(self.states), -1)
        states[chosen] = [outcome.state for outcome in outcomes]
        places[chosen] = np.arange(len(chosen))
        at = pa.array(places, mask=places < 0)
        columns = {
            "offset": _masked(self._rows["offset"], self._kinds != RANGE),
            "length": _masked(self._rows["length"], self._kinds == URL),
            "state": _words(STATES, states),
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
        codes = np.where(self.states == PAST_END, len(said) + self._codes, self._codes)
        codes = np.where(places < 0, codes, len(said) + len(past) + places)
        return _words([*said, *past, *(outcome.message for outcome in outcomes)], codes)


def _fact(answer: Answer | None, name: str) -> str | None:
    found = None if answer is None or answer.facts is None else getattr(answer.facts, name)
    return None if found is None else str(found)


def _past(facts: Facts | None) -> str | None:
    if facts is None or facts.size is None:
        return None
    return f"The range reaches past the end of the target, which has {facts.size:,} bytes."


def _words(words: Sequence[str | None], codes: np.ndarray) -> pa.DictionaryArray:
    """Return words by their places; equal words become one, those that do not occur none."""
    places: dict[str, int] = {}
    used = np.unique(codes)
    table = np.full(len(words), -1, np.int32)
    for code in used.tolist():
        word = words[code]
        if word is not None:
            table[code] = places.setdefault(word, len(places))
    found = table[codes]
    return pa.DictionaryArray.from_arrays(
        pa.array(found, mask=found < 0), pa.array(list(places), pa.string())
    )


def _masked(column: pa.ChunkedArray, missing: np.ndarray) -> pa.Array:
    return pa.array(column.to_numpy(), mask=missing)
