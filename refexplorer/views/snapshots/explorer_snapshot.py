"""The state of a view as HTML and text for where no script runs: a saved notebook on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from refexplorer.display.difference import difference_html
from refexplorer.display.html import notes_html
from refexplorer.display.text import facts_text
from refexplorer.errors import RefexplorerError
from refexplorer.markup import (
    code,
    counted,
    escape,
    moment_text,
    number_text,
    shown,
    size_text,
    table,
)
from refexplorer.views.advice.cost_view import CostView
from refexplorer.views.compared import Comparison
from refexplorer.views.health.health_controller import HealthTable
from refexplorer.views.key.inspector import item
from refexplorer.views.maps.chunk_map import ChunkMap
from refexplorer.views.maps.target_map import TargetMapView
from refexplorer.views.preview.reader import PreviewReader
from refexplorer.views.snapshots import pictures
from refexplorer.views.tree.tree_controller import TreeController
from refexplorer.views.wire.context import PartController
from refexplorer.views.wire.explorer.chunks_messages import ShowGrid
from refexplorer.views.wire.explorer.cost_messages import CostBar
from refexplorer.views.wire.explorer.data_messages import ReadingModel
from refexplorer.views.wire.explorer.health_messages import HealthPage, HealthRow, HealthRows
from refexplorer.views.wire.explorer.targets_messages import ShowTarget
from refexplorer.views.wire.explorer.tree_messages import Row
from refexplorer.views.wire.notes import SOON, known

if TYPE_CHECKING:
    from refexplorer.data.access.policy import AccessPolicy
    from refexplorer.referenceset import ReferenceSet

LONGEST = 300_000
"""Most characters of the HTML of one widget."""
ROWS = 60
_TARGETS = 20
_ARRAYS = 40
_FINDINGS = 10
_NAME = 160
_TEXT = 2_000

C = TypeVar("C", bound=PartController)


class SnapshotExplorer(Protocol):
    """An explorer of which a snapshot is made: its set, what is chosen, and its controllers."""

    @property
    def references(self) -> ReferenceSet:
        """The set that is shown."""
        ...

    @property
    def policy(self) -> AccessPolicy:
        """The access policy."""
        ...

    @property
    def selection(self) -> str:
        """The path that is chosen."""
        ...

    @property
    def comparison(self) -> Comparison:
        """The set that this one is compared with."""
        ...

    def part(self, kind: type[C]) -> C:
        """Return the controller of a part."""
        ...


Section = Callable[[SnapshotExplorer], str]


def html(controller: SnapshotExplorer, sections: Iterable[Section]) -> str:
    """Return sections as one document; at most `LONGEST` characters, no script, no style needed."""
    document = _title(controller)
    for section in sections:
        try:
            more = section(controller)
        except RefexplorerError as error:
            more = f"<p>{shown(str(error))}</p>"
        if len(document) + len(more) < LONGEST - 100:
            document += more
    return f'<div class="refexplorer">{document}</div>'


def text(controller: SnapshotExplorer, name: str) -> str:
    """Return what is shown as one line of text; `name` is what it is."""
    refs = controller.references
    chosen = f", {controller.selection} chosen" if controller.selection else ""
    return escape(f"{name} of {refs.source.name}: {facts_text(refs.summary())}{chosen}")


def _title(controller: SnapshotExplorer) -> str:
    refs = controller.references
    facts = shown(facts_text(refs.summary()))
    return f"<p><b>{shown(refs.source.name, _NAME)}</b> ({refs.source.form}): {facts}</p>"


def complete(controller: SnapshotExplorer) -> None:
    """Find what the sections leave out of a large set, which would hold up its first look."""
    refs = controller.references
    _ = refs.diagnostics
    with suppress(RefexplorerError):
        controller.comparison.difference()
    with suppress(RefexplorerError):
        _draw_chunks(controller)
    with suppress(RefexplorerError):
        controller.part(TargetMapView).show(ShowTarget())


def health_section(controller: SnapshotExplorer) -> str:
    """Return the arrays that have most trouble, with their chunks by state."""
    if known(controller.references) is None:
        return ""  # counting would hold up the first look
    asked = HealthRows(start=0, n=_ARRAYS, sort="trouble", descending=True)
    page, _ = controller.part(HealthTable).rows(asked)
    if not isinstance(page, HealthPage) or not page.rows:
        return ""
    cells = [_health_cells(row) for row in page.rows]
    if page.total > len(cells):
        cells.append([f"… {page.total - len(cells):,} more", *[""] * 7])
    head = ("Array", "Shape", "Data type", "Chunks", "No reference", "Rejected", "Failed")
    return table((*head, "Not read"), cells)


def _health_cells(row: HealthRow) -> list[str]:
    counts = row.counts
    states = (counts.chunks, counts.absent, counts.rejected, counts.failed, counts.unread)
    told = ["not known" if count is None else f"{count:,}" for count in states]
    if counts.failed is None:
        told[3] = "not read"
    shape = " x ".join(f"{length:,}" for length in row.shape)
    return [code(row.path or "/", _NAME), shape, shown(row.dtype, _NAME), *told]


def notes_section(controller: SnapshotExplorer) -> str:
    """Return the notes of the set, if they are known."""
    found = known(controller.references)
    if found is None:
        return "<p>This set was not checked for errors yet.</p>"
    return notes_html(found)


def tree_section(controller: SnapshotExplorer) -> str:
    """Return the first rows of the tree, or of the search."""
    rows, total = controller.part(TreeController).window(0, ROWS)
    cells = [_row_cells(row) for row in rows]
    if total > len(rows):
        cells.append([f"… {total - len(rows):,} more", "", "", "", ""])
    return table(("Key", "Kind", "Size", "Target", "Origin"), cells)


def _row_cells(row: Row) -> list[str]:
    indent = "&nbsp;" * 4 * row.depth
    mark = "" if row.type == "key" else "▾ " if row.open else "▸ "
    inside = "" if row.type == "key" else counted(row.children, "child", "children")
    return [
        f"{indent}{mark}{code(row.name or '/', _NAME)}",
        row.kind or row.type,
        "" if row.size is None else size_text(row.size),
        code(row.target, _NAME) if row.target else inside,
        shown(row.origin or ""),
    ]


def key_section(controller: SnapshotExplorer) -> str:
    """Return the details of the key that is chosen."""
    path = controller.selection
    if not path:
        return ""
    try:
        found = item(controller.references, path, controller.policy)
    except KeyError:
        return f"<p>The set has nothing at {code(path, _NAME)}.</p>"
    facts = [
        ("key", code(found.path, _NAME)),
        ("kind", found.kind or found.type),
        ("reference", code(found.raw, _TEXT) if found.raw else ""),
        ("range", "" if found.offset is None else f"{found.offset:,} + {found.length:,} bytes"),
        ("size", "" if found.size is None else size_text(found.size)),
        ("from", shown(found.origin or "")),
        ("shape", "" if found.array is None else _shape(found.array.shape)),
        ("type", "" if found.array is None else shown(found.array.dtype, _NAME)),
    ]
    text = "" if found.text is None else f"<pre>{shown(found.text, _TEXT)}</pre>"
    return table(("", "Selected"), [fact for fact in facts if fact[1]]) + text


def data_section(controller: SnapshotExplorer) -> str:
    """Return the last values that were read."""
    if (last := controller.part(PreviewReader).last) is None:
        return "<p>No values have been read.</p>"
    return reading_html(*last)


def reading_html(
    reading: ReadingModel, buffer: bytes | None, limits: tuple[float, float] | None = None
) -> str:
    """Return what was read: in words, and as a picture or a table.

    Parameters
    ----------
    limits
        Of numbers that were made of the reading, in place of its own, which are not told then.
    """
    parts = [] if limits else [_caption(reading)]
    low, high = limits or (reading.minimum, reading.maximum)
    if low is None and any(reading.infinite):
        low = high = 0.0
    words = "" if limits else " to ".join(reading.extremes or ())
    if buffer is not None and low is not None and high is not None:
        values = np.frombuffer(buffer, "<f8").reshape(reading.shape)
        parts += _picture(reading, values, low, high, words)
    elif reading.texts:
        lines = [[str(at), shown(text)] for at, text in enumerate(reading.texts[:ROWS])]
        parts.append(table(("Index", "Value"), lines))
    return "".join(parts)


def _caption(reading: ReadingModel) -> str:
    units = f" {shown(reading.units, _NAME)}" if reading.units and not reading.times else ""
    span = ""
    if reading.extremes is not None:
        low, high = reading.extremes
        span = f", {low} to {high}{units}"
    counts = {"missing": reading.missing, "-inf": reading.infinite[0], "inf": reading.infinite[1]}
    missing = "".join(f", {count:,} {name}" for name, count in counts.items() if count)
    failed = f", {counted(reading.chunks.failed, 'chunk')} failed" if reading.chunks.failed else ""
    place = f"{shown(reading.array, _NAME)}[{shown(', '.join(reading.slices))}]"
    said = f" {shown(reading.message, _TEXT)}" if reading.message else ""
    return (
        f"<p><b>{shown(reading.name, _NAME)}</b> <code>{place}</code>: {_shape(reading.shape)} of "
        f"{shown(reading.dtype, _NAME)}, {reading.state}{span}{missing}{failed}.{said}</p>"
    )


def _picture(
    reading: ReadingModel, values: np.ndarray, low: float, high: float, limits: str
) -> Iterator[str]:
    """Yield the picture of the last two long dimensions, at the first place of the others."""
    drawn = [axis for axis, size in enumerate(values.shape) if size > 1][-2:]
    if not drawn:
        return
    first = tuple(slice(None) if axis in drawn else 0 for axis in range(values.ndim))
    part = values[first]
    names = [_along(reading, axis) for axis in drawn]
    limits = limits or f"{_value(low, reading.times)} to {_value(high, reading.times)}"
    words = f"{reading.name}, {limits}"
    if len(drawn) == 1:
        yield f"<p>{pictures.element(pictures.line(part, low, high), words)}<br>{names[0]}</p>"
        return
    upward = _rises(reading, drawn[0])
    picture = pictures.heatmap(part, low, high, upward)
    place = "bottom to top" if upward else "top to bottom"
    yield f"<p>{pictures.element(picture, words)}<br>{names[0]} {place}, {names[1]} across</p>"


def _rises(reading: ReadingModel, axis: int) -> bool:
    places = reading.coordinates[axis].values if axis < len(reading.coordinates) else None
    return places is not None and len(places) > 1 and places[-1] > places[0]


def _along(reading: ReadingModel, axis: int) -> str:
    name = shown(reading.dimensions[axis], _NAME)
    known = reading.coordinates[axis] if axis < len(reading.coordinates) else None
    if known is None or not known.values:
        start, stop, step = map(int, reading.region[axis])
        end = stop - 1 if reading.reduced else start + (reading.shape[axis] - 1) * step
        return f"{name} ({start:,} to {end:,})"
    first, last = (_value(value, known.times) for value in (known.values[0], known.values[-1]))
    return f"{name} ({first} to {last})"


def _value(value: float, is_time: bool) -> str:
    return moment_text(value) if is_time else number_text(value)


def chunks_section(controller: SnapshotExplorer) -> str:
    """Return the map of chunks that was drawn last; of a small set one is drawn."""
    if controller.part(ChunkMap).last is None and controller.references.count <= SOON:
        _draw_chunks(controller)
    if (last := controller.part(ChunkMap).last) is None:
        return ""
    grid, buffers = last
    states = [f"{n:,} {state}" for state, n in zip(grid.states, grid.counts, strict=True) if n]
    size = " \N{MULTIPLICATION SIGN} ".join(f"{n:,}" for n in grid.grid) or "1"
    words = f"{size} chunks of {grid.array or '/'}: {', '.join(states)}"
    if grid.rows * grid.columns == 0:
        return f"<p>{shown(words)}</p>"
    picture = pictures.element(pictures.chunk_map(grid, buffers), words)
    names = " across, ".join(reversed([grid.dimensions[axis] for axis in grid.axes]))
    down = f" ({shown(names)} {'down' if len(grid.axes) > 1 else 'across'})" if names else ""
    legend = [
        f"{pictures.swatch(target.number)} {shown(target.url or 'the target of the reader', _NAME)}"
        for target in grid.targets[:_TARGETS]
    ]
    return f"<p>{shown(words)}{down}<br>{picture}<br>{'<br>'.join(legend)}</p>"


def _draw_chunks(controller: SnapshotExplorer) -> None:
    array = _array_of(controller)
    controller.part(ChunkMap).show(ShowGrid(array=array))


def _array_of(controller: SnapshotExplorer) -> str | None:
    """Return the array that the selection is or belongs to."""
    refs, path = controller.references, controller.selection
    if path in refs.arrays():
        return path
    owner = refs.array_of(path)
    return None if owner is None else owner[0]


def changes_section(controller: SnapshotExplorer) -> str:
    """Return the changes since the set that it is compared with."""
    comparison, count = controller.comparison, controller.references.count
    found = comparison.difference() if count <= SOON else comparison.found
    return "" if found is None else difference_html(found)


def targets_section(controller: SnapshotExplorer) -> str:
    """Return the first targets, and the bytes of the one that was shown last."""
    refs = controller.references
    if refs.count > SOON and controller.part(TargetMapView).last is None:
        return ""
    found = refs.targets(0, _TARGETS)
    rows = [
        [
            code(target.url or "the target of the reader", _NAME),
            f"{target.ranges:,}",
            size_text(target.bytes),
            f"{target.bytes / target.end:.1%}" if target.end else "whole",
        ]
        for target in found
    ]
    if not rows:
        return "<p>No reference has a target.</p>"
    return table(("Target", "Ranges", "Referenced", "Share"), rows) + _strip(controller)


def cost_section(controller: SnapshotExplorer) -> str:
    """Return what accesses cost and what would help, if it was asked for."""
    if (last := controller.part(CostView).last) is None:
        return ""
    place = last.place
    speed = f"{place.latency * 1e3:g} ms, {size_text(round(place.bandwidth))}/s"
    rows = [_cost_cells(bar) for bar in last.bars]
    head = ("Access", "Chunks", "Files", "Requests", "Fetched", "Used", "About")
    found = "".join(
        f"<li>{shown(each.message, _TEXT)} {shown(each.remedy, _TEXT)}</li>"
        for each in last.findings[:_FINDINGS]
    )
    more = f"<p>What would be cheaper:</p><ul>{found}</ul>" if found else ""
    return f"<p>Read from {shown(place.name)} ({speed}, assumed)</p>{table(head, rows)}{more}"


def _cost_cells(bar: CostBar) -> list[str]:
    reader = bar.readers[0]
    what = shown(f"{bar.path or '/'}, {bar.name} {bar.selection}", _NAME)
    sizes = ["?" if size is None else size_text(size) for size in (reader.bytes, bar.used)]
    counts = ["?" if n is None else f"{n:,}" for n in (bar.chunks, bar.files, reader.requests)]
    return [what, *counts, *sizes, "?" if reader.seconds is None else f"{reader.seconds:.2g} s"]


def _strip(controller: SnapshotExplorer) -> str:
    target_map = controller.part(TargetMapView)
    if target_map.last is None:
        target_map.show(ShowTarget())
    if target_map.last is None:
        return ""
    layout, buffers = target_map.last
    if not layout.ranges:
        return ""
    overlaps = f", {counted(layout.shared, 'overlap')}" if layout.shared else ""
    words = f"{layout.url}: {counted(layout.ranges, 'range')}, {layout.gaps:,} gaps{overlaps}"
    picture = pictures.element(pictures.strip(layout, buffers), words)
    legend = [
        f"{pictures.swatch(array.number)} {shown(array.path or 'other keys', _NAME)}"
        for array in layout.arrays[:_TARGETS]
    ]
    span = f"bytes {layout.start:,} to {layout.stop:,}"
    return f"<p>{shown(words, _TEXT)}<br>{picture}<br>{span}<br>{' '.join(legend)}</p>"


def _shape(sizes: tuple[int, ...]) -> str:
    return " \N{MULTIPLICATION SIGN} ".join(f"{size:,}" for size in sizes) or "one value"
