"""Verifying one part: a pure function of the part, the targets and what may be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.audit.plan.audit_parts import Part
from refexplorer.data.decode.decoding import said
from refexplorer.data.fetch.background import Stopped
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.data.verify.causes import CAUSES
from refexplorer.data.verify.compare.file_compared import FileComparison, References
from refexplorer.data.verify.compare.held_values import Held
from refexplorer.data.verify.compare.set_array import SetArray
from refexplorer.data.verify.compare.values_compared import compare_values
from refexplorer.data.verify.native.native_file import NativeFile, NotComparableError
from refexplorer.data.verify.native.opening import open_native
from refexplorer.data.verify.results import (
    FAILED,
    FORBIDDEN,
    HELD,
    STATES,
    UNCOMPARED,
    Record,
    table,
)
from refexplorer.errors import AccessError, RefexplorerError
from refexplorer.limits import Limits
from refexplorer.refset.columns.reference_columns import RANGE
from refexplorer.spec.core.catalogue import Severity

_FAILED = STATES.index(FAILED)


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
    """

    location: str | None
    allow: tuple[str, ...]
    limits: Limits
    storage_options: Mapping[str, Any] = field(repr=False)
    arrays: Mapping[str, SetArray]
    held: Held

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
        policy = AccessPolicy(self.location, self.allow)
        targets = Targets(policy, self.storage_options, self.limits)
        rows = part.rows()
        numbers = rows["number"].to_numpy()
        bounds = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])).tolist()
        records: list[Record] = []
        for start, stop in zip(bounds, [*bounds[1:], len(numbers)], strict=True):
            if not keep_on():
                raise Stopped
            records += self._of_target(targets, rows.slice(start, stop - start))
        return table(records)

    def _of_target(self, targets: Targets, rows: pa.Table) -> Iterator[Record]:
        number, url = int(rows["number"][0].as_py()), rows["target"][0].as_py()
        if number < 0:
            yield from _uncompared(rows, number, url, HELD, None)
        elif url is None:
            text = "The references name no target: the reader of the set gives it."
            yield from _uncompared(rows, number, url, FAILED, text)
        else:
            try:
                file = open_native(targets, url)
            except Exception as error:  # the libraries of the formats raise what they like
                yield from _unopened(rows, number, url, error)
                return
            try:
                yield from self._of_file(targets, file, rows, Record(number, url, None))
            except Exception as error:
                yield from _unopened(rows, number, url, error)
            finally:
                file.close()

    def _of_file(
        self, targets: Targets, file: NativeFile, rows: pa.Table, base: Record
    ) -> list[Record]:
        """Return the rows of a file that is open; all or none."""
        comparison = FileComparison(file, self.arrays, self.held, base)
        of_array = {path: places for path, places in _by_array(rows) if path is not None}
        others = [places for path, places in _by_array(rows) if path is None]
        references = {path: _references(rows, places) for path, places in of_array.items()}
        chosen = rows["chosen"].to_numpy()
        found = []
        for record, states in comparison.compare(references):
            assert record.array is not None
            places = of_array.get(record.array)
            if record.native is None or not len(states):
                places = None  # the second row of an array that the set also holds
            if places is not None and chosen[places].any():
                compare_values(
                    comparison, file, targets, self.arrays[record.array], self.limits,
                    rows.take(pa.array(places[chosen[places]])), record,
                    states, np.flatnonzero(chosen[places]),
                )  # fmt: skip
            _count(record, states)
            found.append(record)
        text = "These keys are chunks of no array."
        for places in others:
            found += _uncompared(rows.take(pa.array(places)), base.number, base.target,
                                 UNCOMPARED, text)  # fmt: skip
        return found


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


def _by_array(rows: pa.Table) -> Iterator[tuple[str | None, np.ndarray]]:
    """Yield the arrays of some references, None for other keys, and the places of each."""
    column = rows["array"].combine_chunks()
    column = column.unify_dictionaries() if isinstance(column, pa.ChunkedArray) else column
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    for code in np.unique(codes).tolist():
        path = None if code < 0 else column.dictionary[code].as_py()
        yield path, np.flatnonzero(codes == code)


def _references(rows: pa.Table, places: np.ndarray) -> References:
    def column(name: str) -> np.ndarray:
        found: np.ndarray = rows[name].to_numpy()[places]
        return found

    whole = column("kind") != RANGE
    return References(
        column("chunk"),
        np.where(whole, 0, column("offset")),
        np.where(whole, -1, column("length")),
    )


def _unopened(rows: pa.Table, number: int, url: str, error: Exception) -> Iterator[Record]:
    """Yield rows for a file that could not be read."""
    if isinstance(error, Stopped):
        raise error
    if isinstance(error, NotComparableError):
        yield from _uncompared(rows, number, url, UNCOMPARED, str(error))
    elif isinstance(error, AccessError):
        yield from _uncompared(rows, number, url, FORBIDDEN, str(error), error.grant)
    else:
        text = str(error) if isinstance(error, RefexplorerError) else said(error)
        yield from _uncompared(rows, number, url, FAILED, text)


def _uncompared(
    rows: pa.Table, number: int, url: str | None, state: str, message: str | None,
    grant: str | None = None,
) -> Iterator[Record]:  # fmt: skip
    for path, places in _by_array(rows):
        found = Record(number, url, path, state=state, message=message, grant=grant)
        found.references = len(places)
        if state in (FAILED, FORBIDDEN):
            found.failed = len(places)
        elif state == UNCOMPARED:
            found.uncompared = len(places)
        yield found
