"""Advice on a set, from what it holds; no target is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from refexplorer.data.advice.access_costs import AccessCost, ArrayCosts
from refexplorer.data.advice.advice import Advice
from refexplorer.data.advice.connections import Connection, connection
from refexplorer.data.advice.opening_reads import (
    groups_of,
    has_consolidated,
    metadata_elsewhere,
    opening_cost,
)
from refexplorer.data.advice.rules import (
    MANY_KEYS,
    AdviceFinding,
    LayoutBound,
    RecordTally,
    asked_apart,
    few_at_a_time,
    inline_coordinates,
    json_to_parquet,
    layout_bound,
    repeated_urls,
    subchunk,
)
from refexplorer.data.advice.selections import (
    PartOfArray,
    Places,
    TaskChunks,
    TasksOfArray,
    part_of,
    tasks_of,
)
from refexplorer.formats.source import DOCUMENTS, Source
from refexplorer.markup import counted
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.zarr_metadata import ArrayMeta

Accesses = Sequence["tuple[str, Places | TaskChunks]"]
"""Arrays, with an index or slice for each dimension, or lengths of tasks by their names."""

_BLOCK = 2**20
MAP, SERIES, WHOLE, GIVEN = "one map", "one time series", "all of it", "as given"


def advise(
    source: Source,
    opened: OpenedSet,
    given: Accesses,
    place: str | Connection,
) -> Advice:
    """Return the costs of standard accesses and of those that are given, and what to change.

    Parameters
    ----------
    source, opened
        The set.
    given
        Further accesses.
    place
        Where the targets are.

    Raises
    ------
    KeyError
        If there is no such array.
    RefexplorerError
        If an array has no such part, or there is no such place.
    """
    return _Advising(source, opened, connection(place)).advice(given)


class _Advising:
    """One call of `advise`; the chunks of one array at a time are held."""

    def __init__(self, source: Source, opened: OpenedSet, place: Connection) -> None:
        self._source = source
        self._opened = opened
        self._place = place
        self._findings: list[AdviceFinding] = []
        self._bounds: list[LayoutBound] = []
        self._records = RecordTally()

    def advice(self, given: Sequence[tuple[str, Places | TaskChunks]]) -> Advice:
        """Return the advice."""
        further: dict[str, list[PartOfArray | TasksOfArray]] = {}
        for path, part in given:
            array = self._opened.arrays.get(path)
            if array is None:
                raise KeyError(path)
            found = tasks_of(array, part) if isinstance(part, Mapping) else part_of(array, part)
            further.setdefault(path, []).append(found)
        groups = groups_of(self._opened)
        opening = [self._opening(group, arrays) for group, arrays in groups.items()]
        arrays = map(self._opened.arrays.get, self._opened.arrays.paths)
        accesses = [
            cost
            for array in filter(None, arrays)
            for cost in self._costs(array, further.get(array.path, ()))
        ]
        self._findings += self._of_document()
        return Advice(
            self._source.name,
            self._place,
            tuple(opening),
            tuple(accesses),
            tuple(sorted(self._findings, key=_gained)),
            tuple(sorted(self._bounds, key=lambda bound: -bound.requests)),
            tuple(self._notes(groups)),
        )

    def _opening(self, group: str, arrays: Sequence[ArrayMeta]) -> AccessCost:
        cost, read = opening_cost(self._opened, group, arrays, self._place)
        self._findings += inline_coordinates(cost, read, arrays)
        return cost

    def _costs(
        self, array: ArrayMeta, given: Sequence[PartOfArray | TasksOfArray]
    ) -> Iterator[AccessCost]:
        """Yield the costs of accesses to an array, and keep what was found."""
        costs = ArrayCosts(self._opened, array, self._place)
        accesses: list[tuple[str, PartOfArray | TasksOfArray]] = [
            *_standard(array),
            *((GIVEN, part) for part in given),
        ]
        for name, part in accesses:
            cost = costs.cost(name, part)
            yield cost
            self._findings += asked_apart(cost)
            self._findings += few_at_a_time(cost, self._place)
            if isinstance(part, PartOfArray) and name != WHOLE:
                self._findings += subchunk(costs, cost, part)
                self._bounds += layout_bound(cost, costs.decoded_size)
                if name in (MAP, SERIES):
                    self._records.add(costs, part)

    def _of_document(self) -> Iterator[AdviceFinding]:
        """Yield what is found about a JSON document."""
        if self._source.form not in DOCUMENTS:
            return
        table, name = self._opened.table, self._source.name
        size = _document_size(self._source) if table.count >= MANY_KEYS else None
        yield from json_to_parquet(table, size, self._records, self._place, name)
        if self._source.form == "V0":
            yield from repeated_urls(table, size, name)

    def _notes(self, groups: Mapping[str, Sequence[ArrayMeta]]) -> Iterator[str]:
        if elsewhere := metadata_elsewhere(self._opened):
            yield (
                f"{counted(elsewhere, 'key')} of metadata lie in targets; each is a further "
                "request at opening, and what it describes is not known here."
            )
        separate = [
            group
            for group, arrays in groups.items()
            if arrays[0].zarr_format == 2 and not has_consolidated(self._opened, group)
        ]
        if separate and not elsewhere:
            yield (
                "There is no consolidated metadata. The set holds the metadata itself, so that "
                "costs no request."
            )
        yield "Times are of transport alone, by a model; decoding is not in them."


def _standard(array: ArrayMeta) -> Iterator[tuple[str, PartOfArray]]:
    """Yield the standard accesses; the first dimension is taken for that of time."""
    if len(array.shape) > 1 and all(array.shape):
        yield MAP, part_of(array, (0,))
        yield SERIES, part_of(array, (slice(None), *[0] * (len(array.shape) - 1)))
    yield WHOLE, part_of(array, ())


def _document_size(source: Source) -> int | None:
    """Return the bytes of the JSON text; None where reading it again would take long."""
    if source.content is None or source.is_large or source.part is not None:
        return None
    with source.content() as stream:
        return sum(map(len, iter(lambda: stream.read(_BLOCK), b"")))


def _gained(finding: AdviceFinding) -> float:
    """Return what sorts a finding: the largest gain first, an unknown one last."""
    return math.inf if finding.seconds_gained is None else -finding.seconds_gained
