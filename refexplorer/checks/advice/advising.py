"""Advice on a set, based on its contents only; no target is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from refexplorer.checks.advice.accesses import (
    Access,
    AccessCost,
    ArrayCosts,
    PartOfArray,
    begins_with_time,
    groups_of,
    has_consolidated,
    metadata_elsewhere,
    opening_cost,
    part_of,
    value_bytes,
)
from refexplorer.checks.advice.requests import (
    DEFAULT_PLACE,
    READERS,
    Connection,
    ReaderCost,
    connection_of,
)
from refexplorer.checks.advice.rules import (
    LEAST_SECONDS,
    MANY_KEYS,
    AdviceFinding,
    LayoutBound,
    asked_apart,
    few_at_a_time,
    groups_apart,
    inline_coordinates,
    json_to_parquet,
    large_chunks,
    layout_bound,
    records_read,
    small_chunks,
    subchunk,
)
from refexplorer.core.text import counted, escape, items, shown, size_text, table
from refexplorer.formats.source import DOCUMENTS, Source
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.zarr_metadata import ArrayMeta

_SHOWN = 20  # lines of each list in the text; the HTML and `findings` have all
_UNKNOWN = "?"


@dataclass(frozen=True)
class Advice:
    """The cost of reading a set, and how to reduce it.

    No file is read to compute it.

    Attributes
    ----------
    name
        The name of the set.
    place
        The connection to the files for which times are computed.
    opening
        The cost of `xarray.open_dataset` for each group.
    accesses
        The cost of the access patterns of each array.
    findings
        How to reduce the cost, sorted by the seconds gained; unknown gains are at the end.
    bounds
        Limits of the file layout, the most requests first.
    notes
        What was not examined or costs nothing.
    """

    name: str
    place: Connection
    opening: tuple[AccessCost, ...]
    accesses: tuple[AccessCost, ...]
    findings: tuple[AdviceFinding, ...]
    bounds: tuple[LayoutBound, ...]
    notes: tuple[str, ...]

    @property
    def readers(self) -> dict[str, str]:
        """The readers whose requests differ, and the libraries that read like each of them."""
        return {rules.name: rules.description for rules in READERS}

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON values; unknown values are None."""
        facts = asdict(self)
        return {"source": facts.pop("name"), **facts, "readers": self.readers}

    def __repr__(self) -> str:
        return f"<Advice on {self.name!r}: {counted(len(self.findings), 'finding')}>"

    def __str__(self) -> str:
        costs = [line for cost in (*self.opening, *self.accesses) for line in _cost_lines(cost)]
        readers = [f"{name}: {says}" for name, says in self.readers.items()]
        *lists, notes = self._lists()
        sections = (*lists, ("What it costs", costs), notes, ("Requests by reader", readers))
        lines = [self._title]
        for title, found in sections:
            lines += [f"{title}:", *(f"  {each}" for each in found)] if found else []
        return "\n".join(map(escape, lines))

    @property
    def _title(self) -> str:
        return f"{self.name}, as read from {self.place} (assumed)"

    def _lists(self) -> Iterator[tuple[str, list[str]]]:
        """Yield titles, each with the first lines of its list."""
        lists: tuple[tuple[str, tuple[object, ...]], ...] = (
            ("What would be cheaper", self.findings),
            ("Limits of the file layout", self.bounds),
            ("Notes", self.notes),
        )
        for title, found in lists:
            more = [f"and {len(found) - _SHOWN:,} more"] * (len(found) > _SHOWN)
            yield title, [*map(str, found[:_SHOWN]), *more]

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{shown(self._title)}</b></p>"]
        parts += [f"<p>{t}</p>{items(map(shown, found))}" for t, found in self._lists() if found]
        rows = [
            [shown(cost.path or "the root"), shown(f"{cost.name} ({cost.selection})"),
             _UNKNOWN if cost.chunks is None else f"{cost.chunks:,}",
             "<br>".join(f"{shown(each.reader)}: {shown(_reader_text(each))}"
                         for each in cost.readers)]
            for cost in (*self.opening, *self.accesses)
        ]  # fmt: skip
        costs = table(("Array", "Access", "Chunks", "Requests and bytes by reader"), rows)
        parts.append(f"<details><summary>What it costs</summary>{costs}</details>")
        return f'<div class="refexplorer">{"".join(parts)}</div>'


def _cost_lines(cost: AccessCost) -> Iterator[str]:
    what = cost.path or ("the root group" if cost.name == "open" else "the root array")
    chunks = _UNKNOWN if cost.chunks is None else counted(cost.chunks, "chunk")
    parts = [f"{chunks} from {_count_text(cost.files, 'file')}"]
    if cost.held:
        parts.append(f"{cost.held:,} inline")
    if cost.absent:
        parts.append(f"{cost.absent:,} without a reference")
    if cost.rejected:
        parts.append(f"{cost.rejected:,} rejected")
    if cost.decoded is not None and cost.used is not None:
        parts.append(f"{size_text(cost.decoded)} decoded for {size_text(cost.used)}")
    yield f"{what}, {cost.name} ({cost.selection}): {', '.join(parts)}"
    if cost.chunks != 0:
        readers: dict[str, list[str]] = {}
        for each in cost.readers:
            readers.setdefault(_reader_text(each), []).append(each.reader)
        yield from (f"  {', '.join(names)}: {text}" for text, names in readers.items())
    yield from (f"  not known: {why}" for why in cost.unknown)


def _reader_text(cost: ReaderCost) -> str:
    size = f"{_UNKNOWN} bytes" if cost.bytes is None else size_text(cost.bytes)
    text = f"{_count_text(cost.requests, 'request')}, {size}"
    if cost.smallest is not None and cost.largest is not None and cost.smallest != cost.largest:
        text += f" ({size_text(cost.smallest)} to {size_text(cost.largest)} each)"
    return text if cost.seconds is None else f"{text}, about {cost.seconds:.2g} s"


def _count_text(number: int | None, what: str) -> str:
    return f"{_UNKNOWN} {what}s" if number is None else counted(number, what)


Accesses = Sequence["tuple[str, Access]"]
_BLOCK = 2**20  # bytes that are read at a time to measure a written copy
MAP, SERIES, WHOLE, GIVEN = "one map", "one time series", "all of it", "as given"
SLICE, ALONG = "one slice", "along the first dimension"
"""For an array whose first dimension is not time; `MAP` needs two more dimensions."""


def standard_accesses(opened: OpenedSet, array: ArrayMeta) -> dict[str, PartOfArray]:
    """Return the standard access patterns by name: first index, all of one point, and all."""
    accesses = {}
    if (rank := len(array.shape)) > 1 and all(array.shape):
        has_time = begins_with_time(opened, array)
        one = MAP if has_time and rank > 2 else SLICE
        accesses[one] = part_of(array, (0,))
        along = SERIES if has_time else ALONG
        accesses[along] = part_of(array, (slice(None), *[0] * (rank - 1)))
    return accesses | {WHOLE: part_of(array, ())}


def best_record_size(opened: OpenedSet, place: str = DEFAULT_PLACE) -> int:
    """Return the record size with the least time for reading one index and along the dimension."""
    return records_read(_arrays(opened), connection_of(place))[0]


def _arrays(opened: OpenedSet) -> Iterator[ArrayMeta]:
    return filter(None, map(opened.arrays.get, opened.arrays.paths))


def advise(
    source: Source, opened: OpenedSet, accesses: Accesses, place: str | Connection
) -> Advice:
    """Return the costs of standard and given access patterns, and recommended changes."""
    further: dict[str, list[PartOfArray]] = {}
    for path, access in accesses:
        if (array := opened.arrays.get(path)) is None:
            raise KeyError(path)
        further.setdefault(path, []).append(part_of(array, access))
    where, groups = connection_of(place), groups_of(opened)
    findings: list[AdviceFinding] = []
    bounds: list[LayoutBound] = []
    opening: list[AccessCost] = []
    costs: list[AccessCost] = []
    for group, arrays in groups.items():
        cost, read = opening_cost(opened, group, arrays, where)
        opening.append(cost)
        findings += inline_coordinates(cost, read, arrays, source.name)
    for array in _arrays(opened):
        parts = [
            *standard_accesses(opened, array).items(),
            *((GIVEN, part) for part in further.get(array.path, ())),
        ]
        of_array = ArrayCosts(opened, array, where, parts)
        costs += of_array.costs
        full = next(cost for cost in of_array.costs if cost.name == WHOLE)
        _, size = value_bytes(array, 0, math.prod(array.shape))
        if array.dimensions != (array.path.rpartition("/")[2],):  # else in the cost of opening
            findings += small_chunks(full, where)
        for cost, (_, part) in zip(of_array.costs, parts, strict=True):
            findings += asked_apart(cost)
            findings += few_at_a_time(cost, where)
            if cost.name != WHOLE:
                divided = [*subchunk(of_array, cost, part, source.name)]
                findings += divided or large_chunks(cost, full, where)
                bounds += layout_bound(cost, full, size, where)
    findings += _document_findings(source, opened, len(groups), where)
    findings = [
        each
        for each in findings
        if each.seconds_gained is None or each.seconds_gained >= LEAST_SECONDS
    ]
    # the largest gain first, unknown gains last
    findings.sort(key=lambda each: -(-math.inf if (s := each.seconds_gained) is None else s))
    bounds.sort(key=lambda bound: -bound.requests)
    lists = (opening, costs, findings, bounds, _notes(source, opened, groups))
    return Advice(source.name, where, *map(tuple, lists))  # type: ignore[arg-type]


def _document_findings(
    source: Source, opened: OpenedSet, n_groups: int, place: Connection
) -> Iterator[AdviceFinding]:
    """Yield the findings about a JSON document."""
    if source.form in DOCUMENTS:
        count = opened.table.count
        size = _document_size(source) if count >= MANY_KEYS or n_groups > 1 else None
        yield from groups_apart(n_groups, size, place, source.name)
        yield from json_to_parquet(count, size, _arrays(opened), place, source.name)


def _notes(
    source: Source, opened: OpenedSet, groups: Mapping[str, Sequence[ArrayMeta]]
) -> Iterator[str]:
    if source.form == "Icechunk":
        yield (
            "Icechunk 2.3 sends 5 requests for each virtual chunk (icechunk#2256); the numbers "
            "here are those of readers that send 1."
        )
    if elsewhere := metadata_elsewhere(opened):
        yield (
            f"{counted(elsewhere, 'key')} of metadata are in targets; each needs another "
            "request when the set is opened, and its contents are not known here."
        )
    elif any(
        arrays[0].zarr_format == 2 and not has_consolidated(opened, group)
        for group, arrays in groups.items()
    ):
        yield (
            "There are no consolidated metadata. The metadata are in the set itself, so this "
            "needs no request."
        )
    yield "Times are of transport only, from a model; decoding is not included."


def _document_size(source: Source) -> int | None:
    """Return the size of the JSON text in bytes; None if reading it again would take long."""
    if source.content is None or source.is_large or source.part is not None:
        return None
    with source.content() as stream:
        return sum(map(len, iter(lambda: stream.read(_BLOCK), b"")))
