"""Advice on a set, from what it holds; no target is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from refexplorer.checks.advice.connections import DEFAULT_PLACE, READERS, Connection, connection
from refexplorer.checks.advice.costs import (
    AccessCost,
    ArrayCosts,
    groups_of,
    has_consolidated,
    is_time_dimension,
    metadata_elsewhere,
    opening_cost,
)
from refexplorer.checks.advice.requests import ReaderCost
from refexplorer.checks.advice.rules import (
    MANY_KEYS,
    AdviceFinding,
    LayoutBound,
    RecordTally,
    asked_apart,
    few_at_a_time,
    groups_apart,
    inline_coordinates,
    json_to_parquet,
    large_chunks,
    large_manifest,
    layout_bound,
    one_host,
    repeated_urls,
    small_chunks,
    subchunk,
)
from refexplorer.checks.advice.selections import (
    PartOfArray,
    Places,
    TaskChunks,
    TasksOfArray,
    part_of,
    tasks_of,
)
from refexplorer.core.text import counted, escape, size_text
from refexplorer.formats.columns.table import Table
from refexplorer.formats.source import DOCUMENTS, Source
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.zarr_metadata import ArrayMeta

_SHOWN = 20  # lines of each list in the text; the HTML and `findings` have all
_UNKNOWN = "?"


@dataclass(frozen=True)
class Advice:
    """What reading a set costs, and what would make it cheaper.

    Nothing was read for it but what `asked` says.

    Attributes
    ----------
    name
        Of the set.
    place
        The connection that times are computed for.
    opening
        What `xarray.open_dataset` of each group costs.
    accesses
        What accesses to each array cost.
    findings
        What would be cheaper, by the seconds gained; where they are not known, at the end.
    bounds
        What the layout of the files does not allow to be cheaper, the most requests first.
    notes
        What was not looked at, or costs nothing.
    asked
        Which requests measured the place; None if its numbers are assumed.
    """

    name: str
    place: Connection
    opening: tuple[AccessCost, ...]
    accesses: tuple[AccessCost, ...]
    findings: tuple[AdviceFinding, ...]
    bounds: tuple[LayoutBound, ...]
    notes: tuple[str, ...]
    asked: str | None = None

    @property
    def readers(self) -> dict[str, str]:
        """The readers whose requests are told apart, and whose reads are like that."""
        return {rules.name: rules.says for rules in READERS}

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON takes it; what is not known is None."""
        return {
            "source": self.name,
            "place": asdict(self.place),
            "asked": self.asked,
            "readers": self.readers,
            "opening": list(map(asdict, self.opening)),
            "accesses": list(map(asdict, self.accesses)),
            "findings": list(map(asdict, self.findings)),
            "bounds": list(map(asdict, self.bounds)),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"<Advice on {self.name!r}: {counted(len(self.findings), 'finding')}>"

    def __str__(self) -> str:
        return "\n".join(map(escape, self._lines()))

    def _lines(self) -> Iterator[str]:
        known = "assumed" if self.asked is None else f"measured by {self.asked}"
        yield f"{self.name}, as read from {self.place} ({known})"
        yield from _listed("What would be cheaper:", self.findings)
        yield from _listed("What the layout of the files does not allow:", self.bounds)
        yield "What it costs:"
        for cost in (*self.opening, *self.accesses):
            yield from _cost_lines(cost)
        yield from _listed("Notes:", self.notes)
        yield "Requests are told apart by reader:"
        yield from (f"  {name}: {says}" for name, says in self.readers.items())


def _listed(title: str, items: tuple[object, ...]) -> Iterator[str]:
    if not items:
        return
    yield title
    yield from (f"  {item}" for item in items[:_SHOWN])
    if len(items) > _SHOWN:
        yield f"  and {len(items) - _SHOWN:,} more"


def _cost_lines(cost: AccessCost) -> Iterator[str]:
    what = cost.path or ("the root group" if cost.name == "open" else "the root array")
    chunks = _UNKNOWN if cost.chunks is None else counted(cost.chunks, "chunk")
    parts = [f"{chunks} from {_count(cost.files, 'file')}"]
    if cost.held:
        parts.append(f"{cost.held:,} held in the set")
    if cost.absent:
        parts.append(f"{cost.absent:,} without a reference")
    if cost.decoded is not None and cost.used is not None:
        parts.append(f"{size_text(cost.decoded)} decoded for {size_text(cost.used)}")
    yield f"  {what}, {cost.name} ({cost.selection}): {', '.join(parts)}"
    if cost.chunks != 0:
        readers: dict[str, list[str]] = {}
        for each in cost.readers:
            readers.setdefault(_reader_text(each), []).append(each.reader)
        yield from (f"    {', '.join(names)}: {text}" for text, names in readers.items())
    yield from (f"    not known: {why}" for why in cost.unknown)


def _reader_text(cost: ReaderCost) -> str:
    size = f"{_UNKNOWN} bytes" if cost.bytes is None else size_text(cost.bytes)
    text = f"{_count(cost.requests, 'request')}, {size}"
    if cost.smallest is not None and cost.largest is not None and cost.smallest != cost.largest:
        text += f" ({size_text(cost.smallest)} to {size_text(cost.largest)} each)"
    return text if cost.seconds is None else f"{text}, about {cost.seconds:.2g} s"


def _count(number: int | None, what: str) -> str:
    return f"{_UNKNOWN} {what}s" if number is None else counted(number, what)


Accesses = Sequence["tuple[str, Places | TaskChunks]"]
"""Arrays, with an index or slice for each dimension, or lengths of tasks by their names."""

_BLOCK = 2**20  # bytes that are read at a time to measure a written copy
_LOOKED_AT = 100_000
"""URLs that are looked at one by one."""
_WEB = re.compile(r"https?://([^/]+)/", re.IGNORECASE)
MAP, SERIES, WHOLE, GIVEN = "one map", "one time series", "all of it", "as given"
SLICE, ALONG = "one slice", "along the first dimension"
"""Of an array whose first dimension is not one of time; `MAP` takes two more besides."""


def advise(
    source: Source,
    opened: OpenedSet,
    given: Accesses,
    place: str | Connection,
) -> Advice:
    """Return the costs of standard accesses and of those that are given, and what to change."""
    return _Advising(source, opened, connection(place)).advice(given)


def standard_accesses(opened: OpenedSet, array: ArrayMeta) -> dict[str, PartOfArray]:
    """Return one index of the first dimension, all of it at one point, and all, by their names."""
    found = {}
    if (rank := len(array.shape)) > 1 and all(array.shape):
        begins_with_time = is_time_dimension(opened, array, 0)
        one = MAP if begins_with_time and rank > 2 else SLICE
        found[one] = part_of(array, (0,))
        along = SERIES if begins_with_time else ALONG
        found[along] = part_of(array, (slice(None), *[0] * (rank - 1)))
    return found | {WHOLE: part_of(array, ())}


def best_record_size(opened: OpenedSet, place: str | Connection = DEFAULT_PLACE) -> int:
    """Return the record size with which parts of one index and along it take least time."""
    where, records = connection(place), RecordTally()
    for array in filter(None, map(opened.arrays.get, opened.arrays.paths)):
        standard = standard_accesses(opened, array)
        parts = [part for name, part in standard.items() if name != WHOLE]
        costs = ArrayCosts(opened, array, where, parts, parts)
        for part in parts:
            records.add(costs, part)
    return records.best(where)


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
        self._findings += one_host(_web_hosts(self._opened.table), accesses)
        if (facts := self._source.repository) is not None and facts.manifests is not None:
            self._findings += large_manifest(facts.manifests, self._place)
        self._findings += self._of_document(len(groups))
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
        self._findings += inline_coordinates(cost, read, arrays, self._source.name)
        return cost

    def _costs(
        self, array: ArrayMeta, given: Sequence[PartOfArray | TasksOfArray]
    ) -> list[AccessCost]:
        """Return the costs of accesses to an array, and keep what was found."""
        standard = standard_accesses(self._opened, array)
        accesses: list[tuple[str, PartOfArray | TasksOfArray]] = [
            *standard.items(),
            *((GIVEN, part) for part in given),
        ]
        in_records = [part for name, part in standard.items() if name != WHOLE]
        parts = [part for _, part in accesses]
        costs = ArrayCosts(self._opened, array, self._place, parts, in_records)
        found = [(costs.cost(name, part), part) for name, part in accesses]
        whole = next(cost for cost, _ in found if cost.name == WHOLE)
        if array.dimensions != (array.path.rpartition("/")[2],):  # of coordinates opening tells
            self._findings += small_chunks(whole, self._place)
        for cost, part in found:
            self._findings += asked_apart(cost)
            self._findings += few_at_a_time(cost, self._place)
            if not isinstance(part, PartOfArray) or cost.name == WHOLE:
                continue
            divided = [*subchunk(costs, cost, part, self._source.name)]
            self._findings += divided or large_chunks(cost, whole, self._place)
            self._bounds += layout_bound(cost, whole, costs.decoded_size, self._place)
            if cost.name != GIVEN:
                self._records.add(costs, part)
        return [cost for cost, _ in found]

    def _of_document(self, groups: int) -> Iterator[AdviceFinding]:
        """Yield what is found about a JSON document."""
        if self._source.form not in DOCUMENTS:
            return
        table, name = self._opened.table, self._source.name
        is_read = table.count >= MANY_KEYS or groups > 1
        size = _document_size(self._source) if is_read else None
        yield from groups_apart(groups, size, self._place, name)
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


def _document_size(source: Source) -> int | None:
    """Return the bytes of the JSON text; None where reading it again would take long."""
    if source.content is None or source.is_large or source.part is not None:
        return None
    with source.content() as stream:
        return sum(map(len, iter(lambda: stream.read(_BLOCK), b"")))


def _web_hosts(table: Table) -> list[str]:
    """Return the web servers that a set refers to; none if not all of its targets are on some."""
    columns = table.columns
    if len(columns.urls) > _LOOKED_AT:
        return []
    is_used = np.zeros(len(columns.urls) + 1, np.bool_)
    for start in range(0, len(columns), _LOOKED_AT):  # numpy widens narrow numbers of places
        is_used[columns.targets[start : start + _LOOKED_AT]] = True  # the last place is that of -1
    used = np.flatnonzero(is_used[:-1])
    matches = [_WEB.match(url or "") for url in columns.urls_at(used)]
    return list({match[1].lower() for match in matches if match}) if all(matches) else []


def _gained(finding: AdviceFinding) -> float:
    """Return what sorts a finding: the largest gain first, an unknown one last."""
    return math.inf if finding.seconds_gained is None else -finding.seconds_gained
