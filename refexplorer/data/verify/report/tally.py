"""Counting the results of all parts, and putting together what has the same cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.data.verify.causes import CAUSES
from refexplorer.data.verify.compare.file_compared import ZARR
from refexplorer.data.verify.compare.held_values import HeldValues
from refexplorer.data.verify.compare.set_array import SetArray
from refexplorer.data.verify.report.coordinates import FileAxis, OddSteps, of_files, of_held
from refexplorer.data.verify.report.finding import NAMED_FILES, VerifyFinding, named, sentence
from refexplorer.data.verify.results import (
    DIFFERS,
    FAILED,
    FORBIDDEN,
    HELD,
    NAMED_KEYS,
    NAMED_LACKING,
    SAME,
    STATES,
    UNCOMPARED,
)
from refexplorer.spec.core.diagnostics import pointer

KEPT_FINDINGS = 10_000
KEPT_REASONS = 1_000
"""Beyond it they are counted together."""
_ORDER = {code: place for place, code in enumerate(CAUSES)}
_SAME, _DIFFERS, _UNCOMPARED, _FAILED = range(len(STATES))

CauseKey = tuple[str, str, str | None, str | None]
"""Code, array, and what the set and the file say."""


@dataclass
class _Grouped:
    """What is known of one cause."""

    message: str | None = None
    references: int = 0
    keys: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    file_count: int = 0
    last: int | None = None


@dataclass
class _Joined:
    """What the files of an array fill of it."""

    files: int = 0
    last: int | None = None
    stops: np.ndarray | None = None
    axis: FileAxis = field(default_factory=FileAxis)


class VerifyTally:
    """The counts.

    Parameters
    ----------
    arrays, held
        Of the set.
    has
        Says whether the set has a reference for a key.
    present
        How many chunks of an array have a reference; None if that is not known.
    urls
        The targets, as results number them.
    base
        What pointers of keys start with.
    """

    def __init__(
        self,
        arrays: Mapping[str, SetArray],
        held: HeldValues,
        has: Callable[[str], bool],
        present: Callable[[SetArray], int | None],
        urls: Sequence[str | None],
        base: str,
    ) -> None:
        self.targets: Counter[str] = Counter()
        self.forms: Counter[str] = Counter()
        self.reasons: Counter[tuple[str | None, str]] = Counter()
        self.unchecked: Counter[tuple[str, str]] = Counter()
        self.failures: dict[str, str] = {}
        self.grants: dict[str, None] = {}
        self.unread: Counter[str] = Counter()
        self.values = self.false_nan = 0
        self.held_different: dict[str, np.ndarray] = {}
        self.largest: tuple[float, str] | None = None
        self._arrays, self._held, self._has, self._base = arrays, held, has, base
        self._present, self._urls = present, urls
        self._states: dict[str | None, np.ndarray] = {}
        self._groups: dict[CauseKey, _Grouped] = {}
        self._joined: dict[str, _Joined] = {path: _Joined() for path in arrays}
        self._covered: dict[str, np.ndarray] = {
            path: np.zeros(h.values.shape, np.int8) for path, h in held.arrays.items()
        }
        self._whole: dict[str, bool] = {}
        self._target: tuple[int, str] | None = None
        self._incomplete: set[str] = set()

    def add(self, results: pa.Table) -> None:
        """Take in the results of a part."""
        for batch in results.to_batches(max_chunksize=4096):
            for row in batch.to_pylist():
                self._add(row)

    def states(self) -> dict[str | None, dict[str, int]]:
        """Return how many references of each array are in each state, None for other keys."""
        found: dict[str | None, dict[str, int]] = {}
        paths: list[str | None] = [*self._arrays, None]
        for path in paths:
            counts = self._states.get(path)
            if counts is not None:
                found[path] = dict(zip(STATES, counts.tolist(), strict=True))
        return found

    def file_count(self, path: str) -> int:
        """Return how many files an array was compared with."""
        return self._joined[path].files

    def finish(self) -> tuple[VerifyFinding, ...]:
        """Take in what only all files together show, and return all findings, in order."""
        if self._target is not None:
            self.targets[self._target[1]] += 1
            self._target = None
        self._finish_held()
        self._finish_shapes()
        odd = list(self._odd())
        found = [self._finding(cause, group) for cause, group in self._groups.items()]
        place = {path: number for number, path in enumerate(self._arrays)}
        both = sorted([*found, *odd], key=lambda f: (place.get(f.array, -1), _ORDER[f.code]))
        return tuple(both)

    def _add(self, row: dict[str, Any]) -> None:
        path, state = row["array"], row["state"]
        counts = self._states.setdefault(path, np.zeros(len(STATES), np.int64))
        if state == HELD:
            if path is not None:
                self._incomplete.add(path)  # where the set has values no file says where it ends
            if path not in self._held.arrays:
                counts[_UNCOMPARED] += row["references"]
                self._reason(path, self._held.reasons.get(path, "Unknown."), row["references"])
            return
        counts += [row["same"], row["differs"], row["uncompared"], row["failed"]]
        self._count_target(row)
        if state == FORBIDDEN:
            self._forbid(row)
        elif state == FAILED:
            self._fail(row)
        elif row["uncompared"] and row["message"]:
            self._reason(path, row["message"], row["uncompared"])
        elif row["message"] and path in self._held.arrays:
            self._held.reasons.setdefault(path, row["message"])
        if path is not None:
            self._add_to_array(path, row)

    def _add_to_array(self, path: str, row: dict[str, Any]) -> None:
        if row["failed"] or row["uncompared"]:
            self._incomplete.add(path)
        for what in set(row["unchecked"] or ()):
            self.unchecked[path, what] += 1
        self._join(path, row)
        for found in row["findings"] or ():
            self._note(path, row, found)
        self._lack(path, row)
        if row["form"] == ZARR and not self._is_whole(path):  # each chunk is a file of its own
            self.unchecked[path, "whether the store has more chunks"] += 1
        self.values += row["values"]
        self.false_nan += row["false_nan"]
        if row["largest"] is not None and (not self.largest or row["largest"] > self.largest[0]):
            self.largest = row["largest"], row["largest_at"]

    def _count_target(self, row: dict[str, Any]) -> None:
        """Take each target in the worst state of its rows; one may begin in the part before."""
        order = [SAME, UNCOMPARED, DIFFERS, FAILED, FORBIDDEN]
        number, state = row["number"], row["state"]
        if number < 0:
            return
        if self._target is not None and self._target[0] == number:
            worst = max(self._target[1], state, key=order.index)
            self._target = number, worst
            return
        if self._target is not None:
            self.targets[self._target[1]] += 1
        if row["form"]:
            self.forms[row["form"]] += 1
        if row["unread"] and state == UNCOMPARED:
            self.unread[row["unread"]] += 1
        self._target = number, state

    def _fail(self, row: dict[str, Any]) -> None:
        if row["target"] is not None and len(self.failures) < KEPT_REASONS:
            self.failures.setdefault(row["target"], row["message"] or "")

    def _forbid(self, row: dict[str, Any]) -> None:
        if row["grant"]:
            if len(self.grants) < NAMED_FILES:
                self.grants[row["grant"]] = None
            self._reason(row["array"], "The file may not be read yet.", row["references"])
        else:
            self._reason(row["array"], row["message"], row["references"])

    def _reason(self, path: str | None, reason: str, count: int) -> None:
        if len(self.reasons) >= KEPT_REASONS and (path, reason) not in self.reasons:
            reason = "Other reasons."
        self.reasons[path, reason] += count

    def _join(self, path: str, row: dict[str, Any]) -> None:
        joined = self._joined[path]
        is_new = joined.last != row["number"]
        if is_new and row["native"] is not None and row["state"] not in (UNCOMPARED, FAILED):
            joined.files += 1
            joined.last = row["number"]
        if row["start"] is None or row["shape"] is None:
            return
        start, shape = np.array(row["start"], np.int64), np.array(row["shape"], np.int64)
        stops = start + shape
        joined.stops = stops if joined.stops is None else np.maximum(joined.stops, stops)
        if is_new and row["axis"] is not None:
            joined.axis.add(row["number"], int(start[0]), row["axis"])
        if path in self._covered and row["state"] != UNCOMPARED:
            region = tuple(slice(int(a), int(b)) for a, b in zip(start, stops, strict=True))
            state = 2 if row["state"] == DIFFERS else 1
            self._covered[path][region] = np.maximum(self._covered[path][region], state)

    def _note(self, path: str, row: dict[str, Any], found: dict[str, Any]) -> None:
        cause = found["cause"], path, found["ours"], found["theirs"]
        if cause not in self._groups and len(self._groups) >= KEPT_FINDINGS:
            cause = found["cause"], path, None, None
        group = self._groups.setdefault(cause, _Grouped(found["message"]))
        group.references += found["count"]
        group.keys += found["keys"][: NAMED_KEYS - len(group.keys)]
        if group.last != row["number"]:
            group.last = row["number"]
            group.file_count += 1
            if len(group.files) < NAMED_FILES:
                group.files.append(row["target"])

    def _lack(self, path: str, row: dict[str, Any]) -> None:
        """Note chunks that a file has and no key of the set refers to."""
        if not row["lacking_count"] or self._is_whole(path):
            return
        meta = self._arrays[path].meta
        keys = [meta.chunk_key(meta.index_at(number)) for number in row["lacking"]]
        keys = [key for key in keys if not self._has(key)]
        if keys:
            of = len(keys) + max(row["lacking_count"] - NAMED_LACKING, 0)
            self._note(
                path,
                row,
                {
                    "cause": "no-reference",
                    "ours": None,
                    "theirs": None,
                    "message": f"such as {keys[0]}",
                    "count": of,
                    "keys": keys[:NAMED_KEYS],
                },
            )
        elif row["lacking_count"] > NAMED_LACKING:
            text = "whether every chunk of the files has a reference"
            self.unchecked[path, text] += 1

    def _is_whole(self, path: str) -> bool:
        if path not in self._whole:
            ours = self._arrays[path]
            self._whole[path] = self._present(ours) == ours.meta.chunk_count
        return self._whole[path]

    def _finish_held(self) -> None:
        """Give the chunks that the set holds the state of the values that files compared."""
        for path, held in self._held.arrays.items():
            if held.is_lent:
                continue
            chunks = self._arrays[path].meta.chunks
            states = self._covered[path]
            for axis, size in enumerate(chunks):
                if states.shape[axis]:
                    starts = np.arange(0, states.shape[axis], size)
                    worst = np.maximum.reduceat(states, starts, axis=axis)
                    least = np.minimum.reduceat(states, starts, axis=axis)
                    states = np.where(worst == 2, 2, least).astype(np.int8)
            found = states[held.known]
            counts = self._states.setdefault(path, np.zeros(len(STATES), np.int64))
            counts[_SAME] += np.count_nonzero(found == 1)
            counts[_DIFFERS] += np.count_nonzero(found == 2)
            self.held_different[path] = np.flatnonzero(held.known & (states == 2))
            if left := int(np.count_nonzero(found == 0)):
                counts[_UNCOMPARED] += left
                why = "No file that was compared has these values under this name."
                self._reason(path, self._held.reasons.get(path, why), left)

    def _finish_shapes(self) -> None:
        """Compare the end of the last file with the shape, where all files were compared."""
        for path, joined in self._joined.items():
            whole = self._arrays[path].meta.shape
            if joined.stops is None or path in self._incomplete or path in self._covered:
                continue
            if any(code == "shape" and array == path for code, array, *_ in self._groups):
                continue
            if (joined.stops < np.array(whole, np.int64)).any():
                row = {"number": -1, "target": ""}
                said = str(tuple(joined.stops.tolist()))
                found = {"cause": "shape", "ours": str(whole), "theirs": said}
                self._note(path, row, found | {"message": None, "count": 0, "keys": []})
                group = self._groups["shape", path, str(whole), said]
                group.files, group.file_count = [], joined.files

    def _odd(self) -> Iterator[VerifyFinding]:
        for path, ours in self._arrays.items():
            if path in self._held.arrays:
                for odd in of_held(ours, self._held.arrays[path]):
                    yield self._of_coordinate(ours, odd, ())
            elif (axis := self._joined[path].axis).starts:
                for odd in of_files(ours, axis):
                    numbers = axis.files_at(odd.index)[:NAMED_FILES]
                    yield self._of_coordinate(ours, odd, [self._urls[n] for n in numbers])

    def _of_coordinate(self, ours: SetArray, odd: OddSteps, files: Any) -> VerifyFinding:
        meta = ours.meta
        what = {
            "duplicates": "the same value stands at two places",
            "not-monotonic": "values go back",
            "gap": "there is a gap",
        }[odd.cause]
        times = "" if odd.count == 1 else f", and {odd.count - 1:,} more"
        at = f"between elements {odd.index:,} and {odd.index + 1:,}"
        message = f"{named(meta.path)}: {what} {at} ({odd.between[0]}, {odd.between[1]}){times}"
        key = meta.chunk_key((odd.index // meta.chunks[0],))
        return VerifyFinding(
            odd.cause, CAUSES[odd.cause].severity, meta.path, message, key,
            self._base + pointer(key), (key,), None, tuple(files), len(files),
        )  # fmt: skip

    def _finding(self, cause: CauseKey, group: _Grouped) -> VerifyFinding:
        code, path, ours, theirs = cause
        meta = self._arrays[path].meta
        said = group.message
        if theirs is not None:
            field = code.replace("-", " ")
            said = f"{field} {theirs}, the set says {ours}"
        of = max(self._joined[path].files, group.file_count)
        message = sentence(code, path, said, group.files, group.file_count, of)
        key = group.keys[0] if group.keys else meta.metadata_key
        if not group.keys and meta.zarr_format == 2 and code not in _OF_ZARRAY:
            key = meta.folder + ".zattrs"
        return VerifyFinding(
            code, CAUSES[code].severity, path, message, key, self._base + pointer(key),
            tuple(group.keys), group.references or None, tuple(group.files), group.file_count,
            ours, theirs,
        )  # fmt: skip


_OF_ZARRAY = {
    "dtype", "byte-order", "rank", "shape", "ragged", "chunk-shape", "order", "filters",
    "fill_value",
}  # fmt: skip
"""What stands in ``.zarray``; the rest in ``.zattrs``."""
