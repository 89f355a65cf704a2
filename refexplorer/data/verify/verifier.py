"""Verifying one part: a pure function of the part, the targets and what may be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.access.urls import protocol_of
from refexplorer.data.audit.plan.audit_parts import Part
from refexplorer.data.audit.report.word_columns import coded
from refexplorer.data.check.asking import UNWRITTEN, ask
from refexplorer.data.check.recorded_check import difference
from refexplorer.data.fetch.background import Stopped, wait_for
from refexplorer.data.fetch.failures import NotThere
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.data.sources.opening import open_native
from refexplorer.data.verify.causes import CAUSES
from refexplorer.data.verify.compare.file_compared import FileComparison
from refexplorer.data.verify.compare.grouping import FileReferences
from refexplorer.data.verify.compare.held_values import HeldValues
from refexplorer.data.verify.compare.messages.messages_compared import FORM as GRIB
from refexplorer.data.verify.compare.messages.messages_compared import MessageComparison
from refexplorer.data.verify.compare.set_array import SetArray
from refexplorer.data.verify.compare.values_compared import compare_values
from refexplorer.data.verify.results import (
    DIFFERS,
    FAILED,
    FORBIDDEN,
    HELD,
    STATES,
    UNCOMPARED,
    WHOLE,
    Finding,
    Record,
    table,
)
from refexplorer.errors import AccessError, RefexplorerError
from refexplorer.formats.datafiles.data_file import DataFile, Unread
from refexplorer.formats.icechunk.recorded import Recorded
from refexplorer.limits import Limits
from refexplorer.refset.columns.reference_columns import RANGE
from refexplorer.spec.core.catalogue import Severity

_FAILED, _DIFFERS = STATES.index(FAILED), STATES.index(DIFFERS)


@dataclass(frozen=True)
class Verifier:
    """What verifying a part needs besides the part; sent along with each.

    Attributes
    ----------
    location
        The folder that relative targets are resolved against.
    allow
        What may be read besides it.
    limits
        What reading and decoding may cost.
    storage_options
        For fsspec; never shown and never written.
    arrays
        All arrays of the set, by path.
    held
        The values that the set holds itself.
    bare
        The arrays that have no reference at all.
    remake
        Say of what is wrong how it should be.
    served
        As `AccessPolicy` has it.
    recorded
        The versions that targets had when their references were written.
    unlisted
        What the URLs of chunks begin with that may never have been written.
    """

    location: str | None
    allow: tuple[str, ...]
    limits: Limits
    storage_options: Mapping[str, Any] = field(repr=False)
    arrays: Mapping[str, SetArray]
    held: HeldValues
    bare: frozenset[str] = frozenset()
    remake: bool = False
    served: bool = False
    recorded: Recorded = field(default_factory=dict)
    unlisted: str | None = None

    def verify(self, part: Part, keep_on: Callable[[], bool] = lambda: True) -> pa.Table:
        """Compare the references of a part with the files that they lead to.

        Returns
        -------
        pyarrow.Table
            As `refexplorer.data.verify.results.RESULTS`.

        Raises
        ------
        Stopped
            If `keep_on` returned False.
        """
        policy = AccessPolicy(self.location, self.allow, served=self.served)
        targets = Targets(policy, self.storage_options, self.limits)
        rows = _PartRows(part.rows())
        numbers = rows.columns["number"]
        bounds = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])).tolist()
        records: list[Record] = []
        for start, stop in zip(bounds, [*bounds[1:], len(numbers)], strict=True):
            if not keep_on():
                raise Stopped
            found = list(self._of_target(targets, rows.of(start, stop)))
            self._note_version(targets, found)
            records += found
        return table(records)

    def _note_version(self, targets: Targets, records: Sequence[Record]) -> None:
        """Compare what the store says of a target with what was recorded of it."""
        read = [each for each in records if each.state not in (FAILED, FORBIDDEN)]
        url = read[0].target if read else None
        versions = self.recorded.get(url or "")
        if url is None or not versions:
            return
        answer = wait_for(ask(targets, url))
        same, said = None, None
        if answer.facts is not None:
            same, said = difference(versions, answer.facts, protocol_of(url) == "gs")
        for each in read:
            if same is None:
                each.unchecked.append("the versions that Icechunk recorded")
            elif said is not None and each.references and each.array is not None:
                what = f"{url.rpartition('/')[2]}: {said.partition(': ')[2].rstrip('.')}"
                # of several versions of one file it is not known which references have which
                count = each.references if len(versions) == 1 else 0
                each.findings.append(Finding("changed", message=what, count=count))
                each.state = DIFFERS

    def _of_target(self, targets: Targets, rows: _OfTarget) -> Iterator[Record]:
        number, url = rows.number, rows.url
        if number < 0:
            yield from _uncompared(rows, HELD, None)
        elif url is None:
            text = "The references name no target: the reader of the set gives it."
            yield from _uncompared(rows, FAILED, text)
        else:
            try:
                file = open_native(targets, url)
            except NotThere as error:
                is_unwritten = self.unlisted is not None and url.startswith(self.unlisted)
                yield from (
                    _uncompared(rows, UNCOMPARED, UNWRITTEN)
                    if is_unwritten
                    else _unopened(rows, error)
                )
                return
            except Exception as error:  # the libraries of the formats raise what they like
                yield from _unopened(rows, error)
                return
            try:
                yield from self._of_file(targets, file, rows, Record(number, url, None))
            except Exception as error:
                yield from _unopened(rows, error)
            finally:
                file.close()

    def _of_file(
        self, targets: Targets, file: DataFile, rows: _OfTarget, base: Record
    ) -> list[Record]:
        """Return the rows of a file that is open; all or none."""
        of_array = {path: places for path, places in rows.arrays if path is not None}
        references = {path: rows.references(places) for path, places in of_array.items()}
        comparison: FileComparison | MessageComparison
        given = file, self.arrays, self.held, base, references, self.remake
        comparison = (
            MessageComparison(*given) if file.form == GRIB else FileComparison(*given, self.bare)
        )
        chosen = rows.column("chosen")
        found = []
        for record, states in comparison.compare():
            assert record.array is not None
            places = of_array.get(record.array)
            if record.native is None or not len(states):
                places = None  # the second row of an array that the set also holds
            if places is not None and chosen[places].any():
                compare_values(
                    comparison, file, targets, self.arrays[record.array], self.limits,
                    rows.taken(places[chosen[places]]), record,
                    states, np.flatnonzero(chosen[places]),
                )  # fmt: skip
            _count(record, states)
            if record.differs:
                numbers = references[record.array].numbers[states == _DIFFERS]
                record.different = numbers[numbers >= 0].tolist()
            found.append(record)
        text = "These keys are chunks of no array."
        found += (each for each in _uncompared(rows, UNCOMPARED, text) if each.array is None)
        return found


@dataclass(frozen=True)
class _OfTarget:
    """The references of one target, in a part."""

    number: int
    url: str | None
    arrays: tuple[tuple[str | None, np.ndarray], ...]
    _rows: _PartRows
    _place: slice

    def column(self, name: str) -> np.ndarray:
        """Return a column of numbers."""
        return self._rows.columns[name][self._place]

    def references(self, places: np.ndarray) -> FileReferences:
        """Return some references as columns."""
        whole = self.column("kind")[places] != RANGE
        return FileReferences(
            self.column("chunk")[places],
            np.where(whole, 0, self.column("offset")[places]),
            np.where(whole, WHOLE, self.column("length")[places]),
        )

    def taken(self, places: np.ndarray) -> pa.Table:
        """Return some rows as `Part.rows` has them."""
        return self._rows.table.take(pa.array(places + self._place.start))


class _PartRows:
    """The references of a part, as numpy has them: there are few of most targets."""

    def __init__(self, rows: pa.Table) -> None:
        names = ("number", "chunk", "kind", "offset", "length", "chosen")
        self.table = rows
        self.columns: dict[str, np.ndarray] = {name: rows[name].to_numpy() for name in names}
        self._paths, self._of_array = coded(rows["array"])
        self._urls, self._of_url = coded(rows["target"])

    def of(self, start: int, stop: int) -> _OfTarget:
        """Return the references from one row to another, which have the same target."""
        codes = self._of_array[start:stop]
        arrays = ((self._paths[code], np.flatnonzero(codes == code)) for code in np.unique(codes))
        number, url = int(self.columns["number"][start]), self._urls[self._of_url[start]]
        return _OfTarget(number, url, tuple(arrays), self, slice(start, stop))


def _count(record: Record, states: np.ndarray) -> None:
    """Count the states of references, and take the worst for the row."""
    counts = np.bincount(states, minlength=len(STATES)).tolist()
    record.same, record.differs, record.uncompared, record.failed = counts
    if any(CAUSES[each.cause].severity is Severity.ERROR for each in record.findings):
        record.state = STATES[1]
    elif record.failed:
        record.state = FAILED
    elif record.uncompared or record.state == UNCOMPARED:
        record.state = UNCOMPARED


def _unopened(rows: _OfTarget, error: Exception) -> Iterator[Record]:
    """Yield rows for a file that could not be read."""
    if isinstance(error, Stopped):
        raise error
    if isinstance(error, Unread):
        yield from _uncompared(rows, UNCOMPARED, str(error))
    elif isinstance(error, AccessError):
        yield from _uncompared(rows, FORBIDDEN, str(error), error.grant)
    else:
        text = str(error)
        if not isinstance(error, RefexplorerError):
            text = f"The file could not be compared: {type(error).__name__}: {text.rstrip('.')}."
        yield from _uncompared(rows, FAILED, text)


def _uncompared(
    rows: _OfTarget, state: str, message: str | None, grant: str | None = None
) -> Iterator[Record]:
    for path, places in rows.arrays:
        found = Record(rows.number, rows.url, path, state=state, message=message, grant=grant)
        found.references = len(places)
        if state == FAILED:
            found.failed = len(places)
        elif state in (UNCOMPARED, FORBIDDEN):
            found.uncompared = len(places)
        yield found
