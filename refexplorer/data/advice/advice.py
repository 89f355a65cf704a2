"""The answer: costs, findings and bounds, as text and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from refexplorer.data.advice.access_costs import AccessCost
from refexplorer.data.advice.connections import READERS, Connection
from refexplorer.data.advice.findings import AdviceFinding, LayoutBound
from refexplorer.data.advice.running_reads import ReaderCost
from refexplorer.markup import counted, escape, size_text

_SHOWN = 20
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
