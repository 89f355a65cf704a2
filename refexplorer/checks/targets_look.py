"""Checking targets: ranges against sizes, versions, and whether chunks decode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.engine import CheckRun
from refexplorer.checks.ledger import Counts
from refexplorer.checks.look.targets import NO_SIZE, Auditor, ask
from refexplorer.checks.parts import OVERLAPS, PARTLY, Doing, coded, places_of
from refexplorer.checks.records import NAMED_KEYS, FileDifference, FindingGroups, Reasons
from refexplorer.checks.references import AuditedBlock
from refexplorer.checks.results import PARQUET, ResultStore
from refexplorer.checks.sorting import Decode, PlanSizes, wanted_of
from refexplorer.checks.states import (
    CHUNK_NAMES,
    CHUNK_TERMS,
    FileState,
    KeyState,
    LedgerState,
    Rank,
)
from refexplorer.checks.terms import RECORDED_UNREAD, ReadTerms
from refexplorer.core.text import masked_url
from refexplorer.formats.columns.references import LARGEST
from refexplorer.io.access import protocol_of
from refexplorer.io.fetch.answers import Facts
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.changes import TargetVersion, difference
from refexplorer.io.sources.opening import installed_packages
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.findings import Finding

ASKING_SIZES = PlanSizes(part_cost=400_000, asking_cost=4_000)
"""Where nothing is decoded a part has a hundred files: a stop loses little."""
COLUMNS = ("array", "chunk", "number", "target", "state", "file", "overlap", "message",
           "target_size", "etag", "modified", "grant")  # fmt: skip
"""The columns of results that are read."""
_ODD = np.array(
    [
        term.rank is Rank.BAD
        or state
        in (
            LedgerState.REFERENCED,
            LedgerState.NOT_ALLOWED,
            LedgerState.UNREAD_FILE,
            LedgerState.NO_CODEC,
        )
        for state, term in CHUNK_TERMS.items()
    ]
)
_SINCE = "It changed since the earlier run."
_MEANWHILE = "It changed during this run."


class TargetsLook:
    """Requests the size and version of each target, and decodes chunks."""

    encoding: Mapping[str, Any] = PARQUET

    def __init__(
        self, reading: ReadTerms, decode: Decode | str = "sample", is_check: bool = False
    ) -> None:
        self.wanted = wanted_of(decode)
        self.sizes = ASKING_SIZES if is_check else PlanSizes()
        self.has_unlisted, self.has_keys = is_check, not is_check
        self._reading = reading
        self._earlier: dict[str, TargetVersion] = {}

    def see(self, block: AuditedBlock) -> None:
        """Do nothing: the engine itself records what follows from the references alone."""

    def begin(self, opened: OpenedSet, store: ResultStore) -> Doing:
        """Return the function that requests the targets of a part and decodes its chunks."""
        store.manner = repr(installed_packages())
        if self.has_unlisted:
            self._earlier = store.earlier_versions()
        return Auditor(self._reading, store.keeps_versions).audit

    def gather(self, run: CheckRun) -> tuple[Sequence[Finding], Counts]:
        """Bring the results of all parts into the ledger."""
        gatherer = TargetGatherer(run, self._reading, self._earlier)
        for number in sorted(run.store.finished):
            keys = partial(run.store.table, number, ["key"])
            gatherer.add(run.store.table(number, COLUMNS), keys)
        found = gatherer.finish(run)
        return found, Counts(
            files=dict(gatherer.n_files), changed=gatherer.changed, **gatherer.reasons.as_counts()
        )


class TargetGatherer:
    """Collects the results of parts, in order: all rows of a target are consecutive."""

    def __init__(
        self, run: CheckRun, reading: ReadTerms, earlier: dict[str, TargetVersion]
    ) -> None:
        self.reasons = Reasons()
        self.n_files: Counter[str] = Counter()
        self.changed: dict[str, str] = {}
        self._read_keys: Callable[[], pa.Table]
        self._reading = reading
        self._ledger, self._arrays = run.ledger, {meta.path: meta for meta in run.metas}
        self._groups = FindingGroups(self._arrays, reading.base)
        self._recorded = {masked_url(url): each for url, each in reading.recorded.items()}
        self._earlier = earlier
        self._followed = 0
        self._unsized: Counter[str] = Counter()
        # Of the last target: its number, state and version, and the arrays that it has chunks of
        self._last: tuple[int, FileState, tuple[Any, ...]] | None = None
        self._last_arrays: set[str] = set()

    def add(self, results: pa.Table, read_keys: Callable[[], pa.Table]) -> None:
        """Add the results of a part; chunk keys follow from their numbers."""
        self._read_keys = read_keys
        states = places_of(results["state"], CHUNK_NAMES).astype(np.uint8)
        paths, arrays = coded(results["array"])
        numbers, chunks = (results[name].to_numpy() for name in ("number", "chunk"))
        is_chunk = chunks >= 0
        for code in np.unique(arrays[is_chunk]).tolist():
            if (path := paths[code]) is not None:
                mine = np.flatnonzero((arrays == code) & is_chunk)
                self._ledger.mark(path, chunks[mine], states[mine])
                self._followed += len(mine)
        is_held = numbers < 0
        self._ledger.decoded_inline += int((is_held & (states == LedgerState.DECODED)).sum())
        self._take_files(results, numbers, paths, arrays)
        self._note_odd(results, numbers, paths, arrays, states)
        overlap = places_of(results["overlap"], OVERLAPS) == PARTLY
        self._note_overlaps(results, np.flatnonzero(overlap), numbers, paths, arrays)

    def finish(self, run: CheckRun) -> list[Finding]:
        """Add what all parts together show, and return the findings."""
        self._end_file()
        if run.is_listed:
            for path in self._ledger.paths:
                if not run.ledger.keys.counts[KeyState.UNLISTED]:
                    self._ledger.mark_untouched(path, LedgerState.FILES_UNREAD)
                if run.is_complete and run.terms.share is not None:
                    left = self._ledger.counts(path).get(LedgerState.REFERENCED, 0)
                    self._ledger.unchosen[path] += left - self._unsized[path]
        if run.is_complete and run.terms.share is None:
            self._ledger.followed = self._followed
        return list(self._groups.findings(self.n_files.__getitem__))

    def _take_files(
        self, results: pa.Table, numbers: np.ndarray, paths: list[str | None], arrays: np.ndarray
    ) -> None:
        """Add each target with its store's response; one may have started in the previous part."""
        is_new = np.append(True, numbers[1:] != numbers[:-1]) & (numbers >= 0)
        starts = np.flatnonzero(is_new)
        names = ["target", "file", "target_size", "etag", "modified"]
        rows = results.take(pa.array(starts)).select(names).to_pylist()
        bounds = pairwise([*starts.tolist(), len(numbers)])
        for (start, end), row in zip(bounds, rows, strict=True):
            url, state, *version = row.values()
            number, of = int(numbers[start]), arrays[start:end]
            mine = {paths[code]: int(n) for code, n in enumerate(np.bincount(of)) if n}
            if self._last is None or self._last[0] != number:
                self._end_file()
                self._last_arrays = set()
                self._last = number, FileState(state), tuple(version)
            is_other = self._last[2] != tuple(version)
            said = _MEANWHILE if is_other else self._difference(url, version, mine)
            if said is not None:
                self._last = number, FileState.CHANGED, self._last[2]
                self.changed[masked_url(url or "")] = said
                for path, count in mine.items():
                    change = FileDifference("changed", None, None, said.rstrip("."), count, [])
                    self._groups.note(path, number, url, change)
            new = {path for path in mine if path is not None} - self._last_arrays
            self._last_arrays |= new
            self.n_files.update(new)

    def _difference(
        self, url: str | None, version: Sequence[Any], arrays: dict[str | None, int]
    ) -> str | None:
        """Return how a target differs from when references to it were written."""
        if self._reading.lacks_recorded(url or ""):
            self._note_uncompared(arrays, RECORDED_UNREAD)
        if not (self._recorded or self._earlier):
            return None
        seen = masked_url(url or "")
        if seen in self._recorded and any(each is not None for each in version):
            facts = Facts(*version)
            if protocol_of(seen) == "file":  # results have no ETag of a disk
                facts = wait_for(ask(self._reading.targets(), url)).facts or facts
            same, said = difference(self._recorded[seen], facts, protocol_of(seen) == "gs")
            if same is False:
                return said
            if same is None:
                self._note_uncompared(arrays, "the versions that Icechunk recorded")
        if seen in self._earlier and any(version):
            size, *rest = self._earlier[seen]
            if [None if size is None else min(size, LARGEST), *rest] != list(version):
                return _SINCE
        return None

    def _note_uncompared(self, arrays: Iterable[str | None], what: str) -> None:
        for path in arrays:
            self.reasons.unchecked[path or "", what] += 1

    def _end_file(self) -> None:
        """Enter a target into the ledger after all of its rows."""
        if self._last is not None:
            self._ledger.files.counts[self._last[1]] += 1
        self._last = None

    def _note_odd(
        self,
        results: pa.Table,
        numbers: np.ndarray,
        paths: list[str | None],
        arrays: np.ndarray,
        states: np.ndarray,
    ) -> None:
        """Group chunks of one array and target that have the same fault."""
        rows = np.flatnonzero(_ODD[states])
        marks = np.stack([numbers[rows], arrays[rows], states[rows]])
        for some, keys, row in self._grouped(results, rows, marks):
            first = int(some[0])
            state, path = LedgerState(int(states[first])), paths[arrays[first]]
            number, url, message = row["number"], row["target"], row["message"] or ""
            if state is LedgerState.REFERENCED:
                self.reasons.add(path, NO_SIZE, len(some))
                self._unsized[path or ""] += len(some)
            elif state in (LedgerState.NO_CODEC, LedgerState.UNREAD_FILE):
                self.reasons.add(path, message, len(some))
            elif state is LedgerState.NOT_ALLOWED:
                self.reasons.forbid(path, row["grant"], message, len(some))
            else:
                code = _code_of(state, number, row["file"])
                if code == "range-past-end":
                    message = f"which has {row['target_size']:,} bytes"
                elif code == "unreachable":
                    self.reasons.fail(url, message)
                found = FileDifference(code, None, None, message.rstrip("."), len(some), keys)
                self._groups.note(path, number, url, found, code == "range-past-end")

    def _note_overlaps(
        self,
        results: pa.Table,
        rows: np.ndarray,
        numbers: np.ndarray,
        paths: list[str | None],
        arrays: np.ndarray,
    ) -> None:
        for some, keys, row in self._grouped(
            results, rows, np.stack([numbers[rows], arrays[rows]])
        ):
            found = FileDifference("overlapping-ranges", None, None, None, len(some), keys)
            self._groups.note(paths[arrays[some[0]]], row["number"], row["target"], found)

    def _grouped(
        self, results: pa.Table, rows: np.ndarray, marks: np.ndarray
    ) -> Iterator[tuple[np.ndarray, list[str], dict[str, Any]]]:
        """Yield rows with the same marks, shape ``(k, n)``; their first keys; the first row."""
        if not len(rows):
            return
        order = np.lexsort((rows, *marks[::-1]))
        rows, marks = rows[order], marks[:, order]
        is_new = (marks[:, 1:] != marks[:, :-1]).any(axis=0)
        groups = np.split(rows, 1 + np.flatnonzero(is_new))
        firsts = results.take(pa.array([int(some[0]) for some in groups]))
        named = np.concatenate([some[:NAMED_KEYS] for some in groups])
        keys = iter(self._keys(results, named))
        for some, first in zip(groups, firsts.select(_NAMED).to_pylist(), strict=True):
            yield some, list(islice(keys, min(len(some), NAMED_KEYS))), first

    def _keys(self, results: pa.Table, rows: np.ndarray) -> list[str]:
        """Return the keys of rows; chunk keys follow from their numbers."""
        named = results.take(pa.array(rows)).select(["array", "chunk"]).to_pylist()
        written = self._read_keys()["key"] if any(row["chunk"] < 0 for row in named) else None
        found = []
        for at, row in zip(rows.tolist(), named, strict=True):
            if written is not None and row["chunk"] < 0:
                found.append(str(written[at].as_py()))
            else:
                meta = self._arrays[row["array"]]
                found.append(meta.key_at(row["chunk"]))
        return found


_NAMED = ["number", "target", "file", "target_size", "message", "grant"]


def _code_of(state: LedgerState, number: int, file: str | None) -> str:
    """Return the code for the fault of a chunk."""
    if state is LedgerState.PAST_END:
        return "range-past-end"
    if file == FileState.UNREACHABLE or state is LedgerState.UNREACHABLE:
        return "unreachable"
    return "undecodable-inline" if number < 0 else "unreadable"
