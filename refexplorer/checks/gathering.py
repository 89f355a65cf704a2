"""Combine the results of all parts into the ledger, and group similar findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add, lt
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.axes import AxisValues, FileAxis, axis_findings, is_axis
from refexplorer.checks.compare.files import ZARR
from refexplorer.checks.compare.inline import InlineValues
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.ledger import Counts, Ledger
from refexplorer.checks.records import (
    BY_LENGTH,
    DIFFERS,
    FAILED,
    FORBIDDEN,
    HELD,
    NAMED_FILES,
    NAMED_KEYS,
    UNCOMPARED,
    FileDifference,
    FileObjects,
    FindingGroups,
    Reasons,
    first_keys,
    numbers_of,
)
from refexplorer.checks.states import (
    CHUNK_TERMS,
    FILE_RANKS,
    FileState,
    LedgerState,
    ObjectState,
    Rank,
)
from refexplorer.core.text import array_text, counted, masked_url
from refexplorer.io.decode.codecs import missing_codec
from refexplorer.spec.codes import CODES
from refexplorer.spec.findings import Finding, pointer

_ORDER = {code: place for place, code in enumerate(CODES)}
_OF_OTHERS = (LedgerState.HELD, LedgerState.UNCOVERED, LedgerState.FILES_UNREAD)
"""Chunks still in these states after the files of a share were compared are in none of them."""
_OF_FILES = (
    LedgerState.INSIDE, LedgerState.PLACED, LedgerState.NO_CODEC, LedgerState.DECODED,
    LedgerState.EQUAL, LedgerState.WRONG_VALUES, LedgerState.WRONG_METADATA,
)  # fmt: skip
"""States of chunks at the same position in the file and in the set."""
_OF_ANOTHER = "the set refers to another file or message for it"
_OF_OTHER_FILES = frozenset({"offset", "length", "range-past-end"})
"""Differences that occur if references were created from another version of a file."""
_UNREAD_CAUSES = {
    FileState.DAMAGED: "damaged-file", FileState.UNREACHABLE: "unreachable",
}  # fmt: skip
_OBJECTS_BY_WORTH = [
    ObjectState.IN_SET, ObjectState.EQUAL, ObjectState.STRUCTURE, ObjectState.UNREAD,
    ObjectState.LACKING, ObjectState.LEFT_OUT, ObjectState.NOT_TAKEN,
]  # fmt: skip
"""If parts disagree about an object, the first of these: a part knows only its references."""


@dataclass
class _Joined:
    """The regions of an array that its files fill."""

    files: int = 0
    last: int | None = None
    starts: set[tuple[int, ...]] = field(default_factory=set)
    stops: list[int] | None = None
    axis: FileAxis = field(default_factory=FileAxis)


class _OpenFile:
    """A file whose rows are being added."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.state = FileState.READ
        self.objects = FileObjects(0, [])
        self.change = ""  # What is different, if it changed
        self.n_away = self.n_others = 0  # References to other bytes than the chunk's, and others
        self.is_other = False  # Whether references point to no chunk at all

    def add(self, row: dict[str, Any]) -> None:
        """Add a row: the worst state counts, and for each object the best."""
        states = np.frombuffer(row["states"] or b"", np.uint8)
        away = np.isin(states, (LedgerState.WRONG_RANGE, LedgerState.PAST_END))
        self.n_away += int(np.count_nonzero(away))
        self.n_others += int(np.count_nonzero(~away))
        self.is_other |= any(f["cause"] in _OF_OTHER_FILES for f in row["findings"] or ())
        state = FileState(row["file"])
        if FILE_RANKS[state] < FILE_RANKS[self.state]:
            self.state = state
        for found in row["findings"] or ():
            if found["cause"] == "changed":
                self.state, self.change = FileState.CHANGED, found["message"] or ""
        if row["objects"]:
            found = FileObjects.parse(row["objects"])
            if self.objects.rows:
                pairs = zip(self.objects.rows, found.rows, strict=True)
                best = [min(each, key=lambda o: _OBJECTS_BY_WORTH.index(o.state)) for each in pairs]
                found = FileObjects(found.declared, best)
            self.objects = found


class ReportBuilder:
    """Combines the results of parts, in order."""

    def __init__(
        self,
        arrays: Mapping[str, SetArray],
        held: InlineValues,
        ledger: Ledger,
        urls: Sequence[str | None],
        base: str,
    ) -> None:
        self.counts = Counts()
        self.followed = 0
        self.away: set[str] = set()  # Files in which no reference is right
        self._reasons = Reasons()
        self._arrays, self._held, self._ledger, self._base = arrays, held, ledger, base
        self._urls = urls
        metas = {path: each.meta for path, each in arrays.items()}
        self._groups = FindingGroups(metas, base)
        self._joined: dict[str, _Joined] = {path: _Joined() for path in arrays}
        self._covered: dict[str, np.ndarray] = {
            path: np.zeros(h.values.shape, np.int8) for path, h in held.arrays.items()
        }
        self._differing: dict[str, set[int]] = {}  # Numbers of inline chunks with other values
        self._lacking: list[tuple[str, int, np.ndarray, int | None]] = []
        self._regions: list[tuple[str, list[int], list[int], bool]] = []
        self._other_units: list[tuple[str, int, list[str]]] = []
        self._file: _OpenFile | None = None
        self._lacking_objects: dict[tuple[str, str], list[int]] = {}
        self._incomplete: set[str] = set()
        self._unlisted: set[str] = set()

    def add(self, results: pa.Table) -> None:
        """Add the results of a part."""
        for batch in results.to_batches(max_chunksize=4096):
            for row in batch.to_pylist():
                self._add(row)

    def finish(
        self, is_complete: bool, is_joined: Callable[[str], bool] | None = None
    ) -> tuple[Finding, ...]:
        """Add what only all files together show, and return all findings, in order."""
        self._end_file()
        unread = sum(self._ledger.files.counts.values()) - self._ledger.files.counts[FileState.READ]
        is_read = is_complete and not unread and is_joined is None
        self._finish_held(is_read)
        self._finish_lacking()
        for path, start, shape, is_alike in self._regions:
            self._fill(path, start, shape, is_alike)
        for path in self._ledger.paths:
            is_known = is_read and path not in self._unlisted
            state = LedgerState.HOLE if is_known else LedgerState.FILES_UNREAD
            self._ledger.mark_untouched(path, state)
        self._finish_objects(is_joined)
        for path, number, (ours, theirs) in self._other_units:
            if self._groups.has("units", path):  # else their values were converted, too
                units = FileDifference("units", ours, theirs, None, 0, [])
                self._groups.note(path, number, self._urls[number], units)
        self._note_undecoded()
        if is_joined is None:
            self._finish_shapes()
        elif is_complete:
            self._leave_out()
        odd = [*(self._odd() if is_joined is None else ()), *self._undecodable()]
        files = {path: joined.files for path, joined in self._joined.items()}
        self._groups.drop_doubtful("same-variable")  # wrong references lead to other values
        found = list(self._groups.findings(files.__getitem__, ("damaged-file", "unreachable")))
        self.counts = replace(self.counts, files=files, **self._reasons.as_counts())
        place = {path: number for number, path in enumerate(self._arrays)}
        both = sorted([*found, *odd], key=lambda f: (place.get(f.array, -1), _ORDER[f.code]))
        return tuple(both)

    def _add(self, row: dict[str, Any]) -> None:
        path, state = row["array"], row["state"]
        chunks = numbers_of(row["chunks"])
        if path is not None and len(chunks):
            self._ledger.mark(path, chunks, np.frombuffer(row["states"], np.uint8))
            self.followed += len(chunks)
            self._ledger.seen = list(map(add, self._ledger.seen, row["seen"]))
        if state == HELD:
            if path is not None:
                self._incomplete.add(path)  # where the set has values no file says where it ends
            if path not in self._held.arrays:
                self._reasons.add(path, self._held.reasons.get(path, "Unknown."), row["references"])
            return
        self._take_file(row)
        if state == FORBIDDEN:
            self._reasons.forbid(path, row["grant"], row["message"], row["references"])
        elif state == FAILED:
            self._fail(row)
        elif row["uncompared"] and row["message"]:
            self._reasons.add(path, row["message"], row["uncompared"])
            self._ledger.by_length += row["uncompared"] * (row["message"] == BY_LENGTH)
        elif row["message"] and path in self._held.arrays:
            self._held.reasons.setdefault(path, row["message"])
        if path is not None:
            self._add_to_array(path, row)

    def _add_to_array(self, path: str, row: dict[str, Any]) -> None:
        if row["failed"] or row["uncompared"]:
            self._incomplete.add(path)
        for what in set(row["unchecked"] or ()):
            self._reasons.unchecked[path, what] += 1
        self._join(path, row)
        for found in row["findings"] or ():
            difference = FileDifference(**found)
            is_apart = difference.cause == "range-past-end"
            self._groups.note(path, row["number"], row["target"], difference, is_apart)
        if row["form"] == ZARR:  # each chunk is a separate file, and the store is not listed
            self._unlisted.add(path)
        if row["other_units"]:
            self._other_units.append((path, row["number"], row["other_units"]))
        if row["lacking"]:
            count = None if row["form"] == ZARR else row["references"]
            self._lacking.append((path, row["number"], numbers_of(row["lacking"]), count))
        if row["is_filled_alike"] is not None and row["start"] is not None and row["form"] != ZARR:
            region = path, row["start"], row["shape"], row["is_filled_alike"]
            self._regions.append(region)
        counts, largest = self.counts, row["largest"]
        counts.values += row["values"]
        counts.false_nan += row["false_nan"]
        if largest is not None and (counts.largest is None or largest > counts.largest):
            counts.largest, counts.largest_at = largest, row["largest_at"]

    def _take_file(self, row: dict[str, Any]) -> None:
        """Record the state of a file; its rows are consecutive, possibly across parts."""
        number = row["number"]
        if number < 0:
            return
        if self._file is None or self._file.number != number:
            self._end_file()
            self._file = _OpenFile(number)
            if form := row["form"]:
                self.counts.forms[form] = self.counts.forms.get(form, 0) + 1
        self._file.add(row)

    def _end_file(self) -> None:
        """Enter a file into the ledger after all of its rows."""
        file, self._file = self._file, None
        if file is None:
            return
        self._ledger.files.counts[file.state] += 1
        if file.n_away > 1 and not file.n_others and file.is_other:
            self.away.add(self._urls[file.number] or "")
        if file.state is FileState.CHANGED:
            self.counts.changed[masked_url(self._urls[file.number] or "")] = file.change
        self._ledger.objects.declared += file.objects.declared
        for name, state, why in file.objects.rows:
            if state is ObjectState.LACKING:
                self._lacking_objects.setdefault((name, why), []).append(file.number)
            else:
                self._ledger.objects.add(name, state, why)

    def _fail(self, row: dict[str, Any]) -> None:
        message = row["message"] or ""
        self._reasons.fail(row["target"], message)
        if row["array"] is not None and row["file"] in _UNREAD_CAUSES:
            meta, chunks = self._arrays[row["array"]].meta, numbers_of(row["chunks"])
            cause = _UNREAD_CAUSES[row["file"]]
            found = FileDifference.of_chunks(cause, meta, chunks, message.rstrip("."))
            found.count = row["references"]
            self._groups.note(row["array"], row["number"], row["target"], found)

    def _join(self, path: str, row: dict[str, Any]) -> None:
        joined = self._joined[path]
        is_new = joined.last != row["number"]
        if is_new and row["native"] is not None and row["state"] not in (UNCOMPARED, FAILED):
            joined.files += 1
            joined.last = row["number"]
        if row["start"] is None or row["shape"] is None:
            return
        start = row["start"]  # lists: arrays of so few numbers took four times as long
        stops = list(map(add, start, row["shape"]))
        if len(joined.starts) < 2:
            joined.starts.add(tuple(start))
        joined.stops = stops if joined.stops is None else list(map(max, joined.stops, stops))
        if is_new and row["axis"] is not None:
            joined.axis.add(self._arrays[path], row["number"], row["axis_start"], row["axis"])
        if path in self._covered and row["state"] != UNCOMPARED:
            region = tuple(map(slice, start, stops))
            state = 2 if row["state"] == DIFFERS and row["differing"] is None else 1
            self._covered[path][region] = np.maximum(self._covered[path][region], state)
            self._differing.setdefault(path, set()).update(numbers_of(row["differing"]).tolist())

    def _finish_lacking(self) -> None:
        """Record file chunks that the set neither references nor stores inline."""
        taken: dict[tuple[str, int], np.ndarray] = {}
        for path, number, chunks, references in self._lacking:
            others = chunks[np.isin(self._ledger.at(path, chunks), _OF_FILES)]
            others = others[~self._is_inline(path, others)]  # in no other file
            if references == 0 and len(others) == len(chunks) and path not in self._held.arrays:
                self._reasons.unchecked[path, "the values in other files"] += 1
                self._ledger.of_one_file.add(path)
            if references:
                # what one part of a file lacks, another part of it may have
                taken[path, number] = np.intersect1d(others, taken.get((path, number), others))
            free = self._ledger.mark_free(path, chunks, LedgerState.LACKING)
            if not len(free):
                continue
            found = FileDifference.of_chunks("no-reference", self._arrays[path].meta, free)
            self._groups.note(path, number, self._urls[number], found)
        for (path, number), others in taken.items():
            if len(others):
                self._ledger.overlapping += len(others)
                found = FileDifference.of_chunks("overlap", self._arrays[path].meta, others)
                self._groups.note(path, number, self._urls[number], found)

    def _is_inline(self, path: str, chunks: np.ndarray) -> np.ndarray:
        """Return which chunks are inline in the set, shape ``(n,)`` bool."""
        held = self._held.arrays.get(path)
        if held is None or held.is_lent:
            return np.zeros(len(chunks), np.bool_)
        found: np.ndarray = held.known.reshape(-1)[chunks]
        return found

    def _note_undecoded(self) -> None:
        """Record arrays at the right position whose chunks no installed codec decodes."""
        for path, ours in self._arrays.items():
            if LedgerState.PLACED not in self._ledger.counts(path):
                continue
            if (reason := missing_codec(ours.meta)) is not None:
                self._reasons.unchecked[path, f"values ({reason.rstrip('.')})"] += 1
                self._ledger.undecoded.add(path)

    def _fill(self, path: str, start: list[int], shape: list[int], is_alike: bool) -> None:
        """Record chunks never written to a file; they read as the fill value of the set."""
        axes = self._arrays[path].meta.axes
        first = [
            at and axis.number_at(at - 1) + 1 for at, axis in zip(start, axes, strict=True)
        ]  # chunks that begin there or later
        stop = [
            axis.count if end >= axis.extent else axis.number_at(end)
            for end, axis in zip(map(add, start, shape), axes, strict=True)
        ]
        state = LedgerState.EMPTY if is_alike else LedgerState.OTHER_FILL
        self._ledger.mark_region(path, first, stop, state)

    def _leave_out(self) -> None:
        """Exclude chunks that no file of the share has."""
        for path in self._ledger.paths:
            for state in _OF_OTHERS:
                self._ledger.mark_untouched(path, LedgerState.UNTOUCHED, state)
            counts = self._ledger.counts(path)
            left = (LedgerState.UNTOUCHED, LedgerState.REFERENCED)
            self._ledger.unchosen[path] += sum(counts.get(state, 0) for state in left)

    def _finish_objects(self, is_joined: Callable[[str], bool] | None = None) -> None:
        """Return objects missing from the set that it has from another file."""
        for (name, path), numbers in self._lacking_objects.items():
            states = self._ledger.counts(path) if path in self._arrays else {}
            is_whole = bool(states) and all(
                CHUNK_TERMS[state].rank is Rank.GOOD or state is LedgerState.OWN for state in states
            )
            keys: list[str] = []
            if path in self._arrays:
                chunks = self._ledger.chunks_in(path, LedgerState.HOLE, NAMED_KEYS)
                keys = first_keys(self._arrays[path].meta, chunks)
            if set(states) == {LedgerState.HOLE} and len(numbers) == 1:  # no other file has values
                self._ledger.mark_untouched(path, LedgerState.LACKING, LedgerState.HOLE)
            is_lacking = path in self._joined and len(self._joined[path].starts) > 1
            if is_joined is not None:
                is_lacking = is_joined(path)
                is_whole = True  # other shares know of the rest
            for number in numbers:
                if is_whole and not is_lacking:
                    self._ledger.objects.add(name, ObjectState.NOT_TAKEN, _OF_ANOTHER)
                    continue
                self._ledger.objects.add(name, ObjectState.LACKING)
                found = FileDifference("lacking-object", None, None, None, 0, keys)
                self._groups.note(path, number, self._urls[number], found)

    def _finish_held(self, is_read: bool) -> None:
        """Give inline chunks the state of the values that were compared with files."""
        for path, held in self._held.arrays.items():
            if held.is_lent:
                continue
            states = self._covered[path]
            for axis, along in enumerate(self._arrays[path].meta.axes):
                if states.shape[axis]:
                    starts = along.starts_of(np.arange(along.count))
                    worst = np.maximum.reduceat(states, starts, axis=axis)
                    least = np.minimum.reduceat(states, starts, axis=axis)
                    states = np.where(worst == 2, 2, least).astype(np.int8)
            # in an array that files have, too, they come from a file that the set does not name
            is_own = is_read and not (path in self._joined and self._joined[path].files)
            alone = LedgerState.OWN if is_own else LedgerState.UNCOVERED
            word = np.array([alone, LedgerState.HELD_EQUAL, LedgerState.WRONG_VALUES], np.uint8)
            known = np.flatnonzero(held.known)
            found = states.reshape(-1)[known]
            found[np.isin(known, list(self._differing.get(path, ())))] = 2
            n_wrong = int(np.count_nonzero(found == 2))
            self._ledger.seen = list(map(add, self._ledger.seen, (0, n_wrong, n_wrong)))
            reason = self._held.reasons.get(path)
            if reason is not None and (found == 0).any():
                self._reasons.add(path, reason, int(np.count_nonzero(found == 0)))
                known, found = known[found != 0], found[found != 0]
            self._ledger.restate(path, known, word[found])
        for path, reasons in self._held.broken.items():
            broken = np.array(sorted(reasons), np.int64)
            state = np.full(len(broken), LedgerState.UNDECODABLE, np.uint8)
            self._ledger.restate(path, broken, state)

    def _finish_shapes(self) -> None:
        """Compare the end of the last file with the shape, if all files were compared."""
        for path, joined in self._joined.items():
            whole = self._arrays[path].meta.shape
            if joined.stops is None or path in self._incomplete or path in self._covered:
                continue
            is_misplaced = LedgerState.WRONG_RANGE in self._ledger.counts(path)
            if self._groups.has("shape", path) or is_misplaced:  # which region a file fills
                continue
            if any(map(lt, joined.stops, whole)):
                said = str(tuple(joined.stops))
                found = FileDifference("shape", str(whole), said, None, 0, [])
                group = self._groups.note(path, -1, None, found)
                group.file_count = joined.files

    def _odd(self) -> Iterator[Finding]:
        for path, ours in self._arrays.items():
            if path in self._held.arrays:
                held = self._held.arrays[path]
                if is_axis(ours) and held.known.all():
                    there = np.ones(held.values.shape, np.bool_)
                    values = AxisValues(ours, held.values, there)
                    yield from axis_findings(values, self._base)
            elif is_axis(ours):
                axis = self._joined[path].axis
                for finding, numbers in axis.findings(ours, self._base):
                    files = tuple(self._urls[n] or "" for n in numbers[:NAMED_FILES])
                    yield replace(finding, files=files, file_count=len(files))
                if axis.is_partial:
                    self._reasons.unchecked[path, "the order of values"] += 1

    def _undecodable(self) -> Iterator[Finding]:
        """Yield the inline chunks that cannot be decoded."""
        for path, reasons in self._held.broken.items():
            meta, numbers = self._arrays[path].meta, sorted(reasons)
            keys = tuple(map(meta.key_at, numbers[:NAMED_KEYS]))
            what = counted(len(numbers), "inline chunk")
            message = f"{array_text(path)}: {what} cannot be decoded"
            message += f" ({keys[0]}: {reasons[numbers[0]].rstrip('.')})"
            code = "undecodable-inline"
            yield Finding(
                code, CODES[code].severity, self._base + pointer(keys[0]), message, key=keys[0],
                array=path, keys=keys, reference_count=len(numbers),
            )  # fmt: skip
