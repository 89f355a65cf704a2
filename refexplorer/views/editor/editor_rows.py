"""The rows of the editor's table: the keys of the last valid text, and removed keys."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace

from refexplorer.core.errors import RefexplorerError
from refexplorer.io.reading.trace import Trace
from refexplorer.readers.running import KeysRead
from refexplorer.refset.differences import removed_keys
from refexplorer.refset.opened_set import internals
from refexplorer.spec.derivation import TraceStep
from refexplorer.spec.findings import parts_of
from refexplorer.spec.gen.dimensions import Dimension
from refexplorer.spec.gen.item import FIELDS, BadField
from refexplorer.spec.references import BASE64_PREFIX, Kind, Reference
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import compile_template, is_template
from refexplorer.views.text.positions import TextPositions
from refexplorer.views.wire.requests import SENT_AS, Count, named

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

_TEXT_SHOWN = 500  # characters of an inline value in a row


RowState = Annotated[
    str, named("RowState", "same", "added", "changed", "removed", "different", "absent", "unknown")
]


class EditorRow(Struct, frozen=True):
    """A row of the editor's table."""

    key: str
    kind: Kind
    url: str | None
    offset: Count | None
    length: Count | None
    text: str | None  # Of inline data; cut
    origin: str
    # Compared with the last valid text; for a reader, with the specification
    state: RowState
    why: str | None  # Why the reader differs, in one sentence


class TemplateField(Struct, frozen=True):
    """A template as written, and the text tried in its place; null if none."""

    name: str
    written: str
    given: str | None


class Axis(Struct, frozen=True):
    """A dimension of a gen item: a range of `size` values, or the first listed ones."""

    name: str
    size: Count
    start: Count | None
    step: Count | None
    listed: tuple[Count, ...] | None


class Generator(Struct, frozen=True):
    """A gen item, by index, with its dimensions."""

    number: int
    axes: tuple[Axis, ...]


class Piece(Struct, frozen=True, rename=SENT_AS):
    """A part of a step's source text."""

    text: str  # As written
    result: str | None  # The value of an expression; null for literal text
    # from, to: Its place in the document; null where that is not known
    from_: int | None
    to: int | None


class Derived(Struct, frozen=True, rename=SENT_AS):
    """One step of a derivation, and the position of its source in the document."""

    name: str
    pointer: str
    variables: tuple[tuple[str, str], ...]  # Each name with its value as text
    pieces: tuple[Piece, ...]  # The source, in order
    result: str
    # from, to: Null where the place is not known
    from_: int | None
    to: int | None


class Derivation(Struct, frozen=True):
    """The derivation of a row."""

    key: str
    number: Count  # Of the key, from 0
    row: Count  # Where the table shows it, from 0
    origin: str
    steps: tuple[Derived, ...]
    places: tuple[tuple[str, Count], ...]  # Which value of each dimension made it, from 0


class Uses(Struct, frozen=True):
    """The rows that a part of the document generates or contributes to."""

    # The part, as in ``gen[0]`` or ``templates/u``; null for a part that makes no rows
    what: str | None
    # Numbers of the rows: first, and last exclusive; sorted
    ranges: tuple[tuple[Count, Count], ...]


class EditorRows:
    """Rows of a set, compared with the previous set; removed keys stay at their position."""

    def __init__(self, refs: ReferenceSet, before: ReferenceSet | None = None) -> None:
        self._refs = refs
        self._before = before
        gone = None
        if before is not None:
            gone = removed_keys(internals(before).opened, internals(refs).opened)
        self.removed = 0 if gone is None else gone.count
        self.is_exact = gone is None or gone.is_exact
        self._gone = () if gone is None else tuple(key for _, key in gone.positions)
        self._places = [] if gone is None else [place for place, _ in gone.positions]
        self._shown = [place + earlier for earlier, place in enumerate(self._places)]

    @property
    def total(self) -> int:
        """The number of rows, including removed keys."""
        return self._refs.count + len(self._gone)

    def index(self, number: int) -> int:
        """Return the row of a key, by its number in the set."""
        return number + bisect_right(self._places, number)

    def window(self, start: int, stop: int, reader: KeysRead | None = None) -> list[EditorRow]:
        """Return some rows."""
        stop = min(stop, self.total)
        first, last = bisect_left(self._shown, start), bisect_left(self._shown, stop)
        entries = iter(internals(self._refs).entries_at(start - first, stop - last))
        near = self._before_at(start - first, stop - last)
        gone = {self._shown[place]: self._gone[place] for place in range(first, last)}
        rows = (self._row(index, gone, entries, near) for index in range(start, stop))
        found = [row for row in rows if row is not None]
        return found if reader is None else [self._as_read(row, reader) for row in found]

    def _before_at(self, start: int, stop: int) -> dict[str, Reference]:
        """Return the previous rows at these numbers, which are mostly the ones to compare."""
        entries = [] if self._before is None else internals(self._before).entries_at(start, stop)
        return {key: reference for key, reference, _ in entries}

    def _row(
        self,
        index: int,
        gone: dict[int, str],
        entries: Iterator[tuple[str, Reference, str]],
        near: dict[str, Reference],
    ) -> EditorRow | None:
        if index in gone:
            assert self._before is not None
            key = gone[index]
            return _entry(key, self._before[key], self._before.origin(key), "removed")
        entry = next(entries, None)
        if entry is None:
            return None  # a generated key that fails is counted and has no row
        key, reference, origin = entry
        return _entry(key, reference, origin, self._compare(key, reference, near))

    def _compare(self, key: str, reference: Reference, near: dict[str, Reference]) -> str:
        if self._before is None:
            return "same"
        before = near.get(key) or self._before.get(key)
        if before is None:
            return "added"
        return "same" if before == reference else "changed"

    def _as_read(self, row: EditorRow, reader: KeysRead) -> EditorRow:
        """Return a row as read by a reader; differences are marked."""
        if row.state == "removed":
            return row
        if row.key not in reader.expected:
            return _blank(row, "unknown", "The reader was not run on this key.")
        if reader.is_same(row.key):
            return replace(row, state="same")
        if row.key not in reader.values:
            return _blank(row, "absent", reader.refusal or "The reader does not have the key.")
        blank = _blank(row, "different", "The reader has a different value.")
        return _of_value(blank, reader.values[row.key])


def _entry(key: str, reference: Reference, origin: str, state: str) -> EditorRow:
    names = ("url", "offset", "length", "text")
    url, offset, length, text = (getattr(reference, name, None) for name in names)
    shown = None if text is None else text[:_TEXT_SHOWN]
    return EditorRow(key, reference.kind, url, offset, length, shown, origin, state, None)


def _blank(row: EditorRow, state: str, why: str | None) -> EditorRow:
    return replace(row, url=None, offset=None, length=None, text=None, state=state, why=why)


def _of_value(row: EditorRow, value: object) -> EditorRow:
    """Fill a row with a value that may not be representable in V0."""
    if isinstance(value, str):
        kind = Kind.BASE64 if value.startswith(BASE64_PREFIX) else Kind.INLINE
        return replace(row, kind=kind, text=value[:_TEXT_SHOWN])
    if isinstance(value, list) and value and isinstance(value[0], str):
        if len(value) == 1:
            return replace(row, kind=Kind.URL, url=value[0])
        if len(value) == 3 and all(type(number) is int for number in value[1:]):
            return replace(row, kind=Kind.RANGE, url=value[0], offset=value[1], length=value[2])
    text = json.dumps(value, ensure_ascii=False, default=str)
    return replace(row, kind=Kind.INLINE, text=text[:_TEXT_SHOWN])


_FIELDS = 50  # templates in one answer
_ITEMS = 50  # gen items in one answer
_LISTED = 1_000  # values of a dimension in one answer
_TRIED_SHOWN = 1_000  # characters of a template that is tried


def template_fields(
    positions: TextPositions, given: Mapping[str, str]
) -> tuple[TemplateField, ...]:
    """Return the first templates of a document, and the values passed in their place."""
    written = positions.section("templates")
    return tuple(
        TemplateField(name, _text(source), given.get(name))
        for name, source in list(written.items())[:_FIELDS]
    )


def generators(refs: ReferenceSet) -> tuple[Generator, ...]:
    """Return the first gen items of a set with their dimensions."""
    return tuple(
        Generator(item.number, tuple(_axis(d) for d in item.dimensions))
        for item in internals(refs).generated[:_ITEMS]
    )


def key_of(refs: ReferenceSet, number: int, places: Mapping[str, int]) -> str:
    """Return a key generated by a gen item."""
    item = next((one for one in internals(refs).generated if one.number == number), None)
    if item is None:
        raise RefexplorerError(f"gen[{number}] generates no keys.")
    try:
        values = {d.name: d.values[int(places.get(d.name, 0))] for d in item.dimensions}
        return item.rendered("key", values)
    except (IndexError, OverflowError):
        raise RefexplorerError(f"gen[{number}] has no such combination of dimensions.") from None
    except BadField as bad:
        raise RefexplorerError(str(bad)) from None


def places_of(refs: ReferenceSet, key: str) -> tuple[tuple[str, int], ...]:
    """Return the index of the value of each dimension for a key, from 0; none if not generated."""
    origin = refs.origin(key)
    for item in internals(refs).generated:
        if origin == f"gen[{item.number}]" and (number := item.find(key)) is not None:
            values = item.values(number)
            return tuple((d.name, d.index(values[d.name]) or 0) for d in item.dimensions)
    return ()


def _axis(dimension: Dimension) -> Axis:
    values, name = dimension.values, dimension.name
    if isinstance(values, range):
        return Axis(name, dimension.size, values.start, values.step, None)
    return Axis(name, dimension.size, None, None, values[:_LISTED])


def _text(source: str) -> str:
    """Return a template's text; one that is not text is shown as written."""
    try:
        value = json.loads(source)
    except ValueError:
        value = source
    return (value if isinstance(value, str) else source)[:_TRIED_SHOWN]


TEXT_SHOWN = 600  # Characters of a source or a result that one step carries
_PIECES_SHOWN = 100  # substitutions of one step


def derive(
    refs: ReferenceSet, key: str, positions: TextPositions | None, rows: EditorRows
) -> Derivation:
    """Explain a key of a set."""
    trace = refs.explain(key)
    steps = steps_of(trace, positions)
    number = refs.number(key)
    made_at = places_of(refs, key)
    return Derivation(key, number, rows.index(number), str(trace.origin), steps, made_at)


def steps_of(
    trace: Trace, positions: TextPositions | None = None, seen: Callable[[str], str] = str
) -> tuple[Derived, ...]:
    """Return the steps of a trace for display."""
    return tuple(_derived(step, positions, seen) for step in trace.steps)


def _derived(
    step: TraceStep, positions: TextPositions | None, seen: Callable[[str], str]
) -> Derived:
    place = None if positions is None else positions.value(step.pointer)
    first, last = place or (None, None)
    variables = tuple((name, _cut(seen(str(value)))) for name, value in step.variables.items())
    pieces = tuple(_pieces(step, positions, seen))
    return Derived(step.name, step.pointer, variables, pieces, _cut(seen(step.result)), first, last)


def _pieces(
    step: TraceStep, positions: TextPositions | None, seen: Callable[[str], str]
) -> Iterator[Piece]:
    """Yield the source of a step in pieces, one per expression."""
    shown = step.substitutions[:_PIECES_SHOWN]
    parts = [(one.start, one.end) for one in shown]
    found = None if positions is None or not parts else positions.inside(step.pointer, parts)
    done = 0
    for number, one in enumerate(shown):
        if one.start > done:
            yield Piece(_cut(seen(step.source[done : one.start])), None, None, None)
        first, last = found[number] if found else (None, None)
        yield Piece(_cut(seen(one.text)), _cut(seen(one.result)), first, last)
        done = one.end
    if done < len(step.source):
        yield Piece(_cut(seen(step.source[done:])), None, None, None)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN else text[:TEXT_SHOWN] + "…"


_RANGES = 200  # Runs of rows that one answer carries, from the first one on
_NOTHING = Uses(None, ())


def uses(refs: ReferenceSet, pointer: str) -> Uses:
    """Return the rows derived from the node at a JSON pointer."""
    parts = parts_of(pointer)
    if refs.source.form == "V0":
        return _of_key(refs, parts[0]) if parts else _NOTHING
    if len(parts) < 2:
        return _NOTHING
    section, name = parts[:2]
    if section == "refs":
        return _of_key(refs, name)
    if section == "gen":
        return Uses(f"gen[{name}]", _ranges([refs.numbers(f"gen[{name}]")]))
    if section == "templates":
        return Uses(f"templates/{name}", _ranges(_of_template(refs, name)))
    return _NOTHING


def _of_key(refs: ReferenceSet, key: str) -> Uses:
    try:
        number = refs.number(key)
    except KeyError:
        return _NOTHING
    # a gen item may have made the same key again: then the entry is not what the row shows
    return _NOTHING if refs.origin(key) != "refs" else Uses(key, ((number, number + 1),))


def _of_template(refs: ReferenceSet, name: str) -> Iterator[range]:
    document = json.loads(refs.source.text or "{}")
    entries, items = document.get("refs"), document.get("gen")
    explicit = refs.numbers("refs")
    using: dict[str, bool] = {}
    for number, key in enumerate(refs.keys_at(explicit.start, explicit.stop), explicit.start):
        written = entries.get(key)
        url = written[0] if isinstance(written, list) and written else None
        if isinstance(url, str):
            if url not in using:
                using[url] = _names(url, name)
            if using[url]:
                yield range(number, number + 1)
    for place, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and any(_names(item.get(field), name) for field in FIELDS):
            yield refs.numbers(f"gen[{place}]")


def _names(text: object, name: str) -> bool:
    """Return whether a jinja-str uses a name."""
    if not isinstance(text, str) or name not in text or not is_template(text):
        return False
    try:
        return name in compile_template(text).names
    except TemplateProblem:
        return False


def _ranges(found: Iterable[range]) -> tuple[tuple[int, int], ...]:
    """Merge adjacent ranges; sorted."""
    joined: list[tuple[int, int]] = []
    for one in sorted((r.start, r.stop) for r in found if r.start < r.stop):
        if joined and one[0] <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], one[1]))
        else:
            joined.append(one)
    return tuple(joined[:_RANGES])
