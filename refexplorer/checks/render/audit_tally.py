"""Counting the results of an audit, part after part, so that none has to stay in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from refexplorer.checks.look.audit_states import (
    CHANGED,
    STATES,
    TARGET_STATE_OF,
    TARGET_STATES,
    UNREACHABLE,
    UNWRITTEN,
)
from refexplorer.checks.parts import OVERLAPS, coded, places_of
from refexplorer.checks.render.audit_summary import ArrayAudit, AuditProblem
from refexplorer.formats.columns.arrow import flags_of
from refexplorer.formats.columns.references import LARGEST, exact_sum

KEPT_PROBLEMS = 1000  # problems with their message; the rest are counted
KEPT_GRANTS = 100  # places that the advice names; the rest are counted
COUNTED = (
    "key", "array", "number", "target", "offset", "length", "state", "overlap", "decoded_bytes",
    "message", "target_size", "etag", "modified", "grant",
)  # fmt: skip
"""The columns that are read."""


@dataclass
class Tally:
    """The counts of an audit."""

    grids: Mapping[str, int]  # Chunks of the grid of each array, by path
    audited: int = 0
    bytes: int | None = 0  # Of the audited ranges; None if a length does not fit into 64 bits
    decoded_bytes: int = 0
    same: int = 0
    partly: int = 0
    # compared, uncompared: Byte ranges that were compared with the size of their target, and those
    # of targets that were reached but do not say how large they are
    compared: int = 0
    uncompared: int = 0
    grants: dict[str, None] = field(default_factory=dict)
    _arrays: dict[str | None, np.ndarray] = field(default_factory=dict)
    _targets: np.ndarray = field(default_factory=lambda: np.zeros(len(TARGET_STATES), np.int64))
    _last: tuple[int, int, object] | None = None
    _problems: dict[tuple[int, int], AuditProblem] = field(default_factory=dict)
    _more_problems: int = 0

    def add(self, results: pa.Table) -> None:
        """Count the results of the next part."""
        self.audited += results.num_rows
        states = places_of(results["state"], STATES)
        lengths = _known(results["length"])
        if self.bytes is not None:  # a length that 64 bits do not hold was cut to the largest
            is_cut = lengths.max(initial=0) == LARGEST
            self.bytes = None if is_cut else self.bytes + exact_sum(lengths)
        self.decoded_bytes += exact_sum(_known(results["decoded_bytes"]))
        self._count_compared(results, states)
        _, same, partly = np.bincount(places_of(results["overlap"], OVERLAPS), minlength=3)
        self.same, self.partly = self.same + int(same), self.partly + int(partly)
        self._count_arrays(results["array"], states)
        self._count_targets(results, states)
        self._note_problems(results, states)

    def arrays(self) -> tuple[ArrayAudit, ...]:
        """Return the counts of each array, in the order of the set; other keys come last."""
        none = np.zeros(len(STATES), np.int64)
        found = [
            ArrayAudit(path, chunks, _named(STATES, self._arrays.get(path, none)))
            for path, chunks in self.grids.items()
        ]
        if None in self._arrays:
            found.append(ArrayAudit(None, None, _named(STATES, self._arrays[None])))
        return tuple(found)

    @property
    def changed(self) -> int:
        """How many targets changed during the audit."""
        return self.targets().get(TARGET_STATES[CHANGED], 0)

    def states(self) -> dict[str, int]:
        """Return how many references are in each state."""
        total = sum(self._arrays.values(), np.zeros(len(STATES), np.int64))
        return _named(STATES, total)

    def targets(self) -> dict[str, int]:
        """Return how many targets are in each state."""
        counts = self._targets.copy()
        if self._last is not None:
            counts[self._last[1]] += 1
        return _named(TARGET_STATES, counts)

    def problems(self) -> tuple[tuple[AuditProblem, ...], int]:
        """Return the first problems, and how many there are."""
        return tuple(self._problems.values()), len(self._problems) + self._more_problems

    def _count_compared(self, results: pa.Table, states: np.ndarray) -> None:
        """Count the ranges of reached targets, by whether these say how large they are."""
        is_range = _is_there(results["offset"]) & (states < UNREACHABLE)
        is_measured = _is_there(results["target_size"])
        self.compared += int(np.count_nonzero(is_range & is_measured))
        self.uncompared += int(np.count_nonzero(is_range & ~is_measured))

    def _count_arrays(self, arrays: pa.ChunkedArray, states: np.ndarray) -> None:
        paths, codes = coded(arrays)
        counts = np.bincount(codes * len(STATES) + states, minlength=len(paths) * len(STATES))
        for path, of_array in zip(paths, counts.reshape(-1, len(STATES)), strict=True):
            if of_array.any():
                self._arrays[path] = self._arrays.get(path, 0) + of_array

    def _count_targets(self, results: pa.Table, states: np.ndarray) -> None:
        """Take each target in its worst state; one may begin in the part before."""
        numbers = results["number"].to_numpy()
        rows = np.flatnonzero(numbers >= 0)
        if not len(rows):
            return
        numbers, found = numbers[rows], np.array(TARGET_STATE_OF)[states[rows]]
        starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
        worst = np.maximum.reduceat(found, starts)
        first, last = (_version(results, int(rows[starts[place]])) for place in (0, -1))
        if self._last is not None:
            number, state, version = self._last
            if number == numbers[0]:
                worst[0] = max(worst[0], state, CHANGED if version != first else 0)
            else:
                self._targets[state] += 1
        self._targets += np.bincount(worst[:-1], minlength=len(TARGET_STATES))
        self._last = int(numbers[-1]), int(worst[-1]), last

    def _note_problems(self, results: pa.Table, states: np.ndarray) -> None:
        """Take what is wrong in the same way with references to one target as one problem."""
        rows = np.flatnonzero(states > UNWRITTEN)
        if not len(rows):
            return
        marks = results["number"].to_numpy()[rows] * len(STATES) + states[rows]
        marks, first, counts = np.unique(marks, return_index=True, return_counts=True)
        room = KEPT_PROBLEMS - len(self._problems)
        self._more_problems += max(len(marks) - room, 0)
        for mark, row, count in zip(
            marks[:room].tolist(), rows[first[:room]].tolist(), counts.tolist(), strict=False
        ):
            known = self._problems.get(mark)  # a target that began in the part before
            self._problems[mark] = (
                _problem(results, row, count)
                if known is None
                else replace(known, references=known.references + count)
            )
        granted = results["grant"].combine_chunks().dictionary.to_pylist()
        self.grants.update(dict.fromkeys(granted[: KEPT_GRANTS - len(self.grants)]))


def _problem(results: pa.Table, row: int, count: int) -> AuditProblem:
    (found,) = results.slice(row, 1).select(["target", "state", "key", "message"]).to_pylist()
    return AuditProblem(
        found["target"], found["state"], count, found["key"], found["message"] or ""
    )


def _version(results: pa.Table, row: int) -> tuple[object, ...]:
    """Return the version of a target as a store told it."""
    (found,) = results.slice(row, 1).select(["target_size", "etag", "modified"]).to_pylist()
    return tuple(found.values())


def _named(names: Sequence[str], counts: np.ndarray) -> dict[str, int]:
    return {name: n for name, n in zip(names, counts.tolist(), strict=True) if n}


def _is_there(column: pa.ChunkedArray) -> np.ndarray:
    return flags_of(column.combine_chunks().is_valid())


def _known(column: pa.ChunkedArray) -> np.ndarray:
    """Return the numbers of a column that are not null."""
    numbers: np.ndarray = column.drop_null().to_numpy()
    return numbers
