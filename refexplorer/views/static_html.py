"""A view as HTML and text without scripts: the set, and one picture of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refexplorer.core.text import counted, escape, moment_text, number_text, shown
from refexplorer.refset.opened_set import internals
from refexplorer.refset.summary import facts_text
from refexplorer.verbs.display import notes_html, picture_html, references_html, tree_html
from refexplorer.views.preview.preview import PreviewReader
from refexplorer.views.preview.reading_model import ReadingModel
from refexplorer.views.wire.context import known

if TYPE_CHECKING:
    from refexplorer.views.editor.editor_controller import EditorController
    from refexplorer.views.exercises.exercise_controller import ExercisesController
    from refexplorer.views.explorer.explorer_controller import ExplorerController

_NOISE = 6  # Digits at the end of a number that arithmetic left over, at least
_LINES = 400  # Lines of the document of an editor
_LINE = 500  # characters of a line: a file may hold any text
_NAME = 160  # characters of a name: a file may hold any text
_TEXT = 2_000  # characters of a message: a file may hold any text


def explorer_html(controller: ExplorerController) -> str:
    """Return facts, notes and tree of the set, and one picture of the selected array."""
    refs = controller.references
    last = controller.part(PreviewReader).drawn(_array_of(controller))
    return references_html(refs, known(refs), "" if last is None else reading_html(*last))


def explorer_text(controller: ExplorerController, name: str) -> str:
    """Return the display as one line of text, starting with `name`."""
    refs = controller.references
    chosen = f", {controller.selection} chosen" if controller.selection else ""
    facts = facts_text(internals(refs).counts(within=1))
    return escape(f"{name} of {refs.source.name}: {facts}{chosen}")


def editor_html(controller: EditorController) -> str:
    """Return the document and the resulting set."""
    refs = controller.references
    tree = "" if refs is None else tree_html(refs)
    return (
        f'<div class="refexplorer"><p><b>Template editor</b>: {shown(controller.sentence)}</p>'
        f"{_document(controller.document)}{notes_html(controller.diagnostics)}{tree}</div>"
    )


def exercises_html(controller: ExercisesController) -> str:
    """Return the task, whether it is solved, and the editor."""
    task = controller.task
    given = "" if task.given is None else _document(task.given)
    hints = "".join(f"<p>{shown(hint, _LINE)}</p>" for hint in task.hints)
    return (
        f'<div class="refexplorer"><p><b>{shown(task.title, _LINE)}</b></p>'
        f"<p>{shown(task.task, _LINE)}</p>{given}{hints}"
        f"<p>{shown(controller.result.sentence, _LINE)}</p>"
        f"</div>{editor_html(controller)}"
    )


def editor_text(controller: EditorController) -> str:
    """Return the editor as one line of text."""
    return escape(f"template editor: {controller.sentence}")


def _document(text: str) -> str:
    lines = text.splitlines()
    more = f"\n… {len(lines) - _LINES:,} more lines" if len(lines) > _LINES else ""
    body = "\n".join(shown(line, _LINE) for line in lines[:_LINES])
    return f"<pre>{body}{more}</pre>"


def _array_of(controller: ExplorerController) -> str | None:
    """Return the array at or above the selection; None without a selection."""
    refs, path = controller.references, controller.selection
    for each in (path, path.rpartition("/")[0]):  # that of its metadata, too
        if each in refs.arrays():
            return each if path else None
    owner = refs.array_of(path)
    return None if owner is None else owner[0]


def reading_html(reading: ReadingModel, buffer: bytes | None) -> str:
    """Return a reading in words, with the last two long dimensions as a picture."""
    low, high = reading.minimum, reading.maximum
    if low is None and any(reading.infinite):
        low = high = 0.0
    caption = _caption(reading)
    long = [axis for axis, size in enumerate(reading.shape) if size > 1]
    drawn = [axis for axis in long if axis != reading.channels][-2:]
    if buffer is None or low is None or high is None or not drawn:
        return caption
    values = np.frombuffer(buffer, "<f8").reshape(reading.shape)
    part = values[tuple(slice(None) if axis in drawn else 0 for axis in range(values.ndim))]
    names = [_along(reading, axis) for axis in drawn]
    is_upward = len(drawn) == 2 and _rises(reading, drawn[0])
    words = f"{reading.name}, {' to '.join(_ends(reading))}"
    if len(drawn) == 2:
        names[0] += " bottom to top" if is_upward else " top to bottom"
        names[1] += " across"
    names += [
        f"first value along {_dimension(reading, axis)}" for axis in long if axis not in drawn
    ]
    return (
        f"{caption}<p>{picture_html(part, low, high, words, is_upward)}<br>{', '.join(names)}</p>"
    )


def _ends(reading: ReadingModel) -> list[str]:
    """Return the least and the greatest value; 29.189999999999998 of an unpacked one is 29.19."""
    ends = reading.extremes or ()
    if reading.times or not reading.value_type.startswith("float"):
        return [*ends]
    short = [f"{float(each):.15g}" for each in ends]
    pairs = zip(short, ends, strict=True)
    return [cut if len(cut) + _NOISE < len(each) else each for cut, each in pairs]


def _caption(reading: ReadingModel) -> str:
    units = f" {shown(reading.units, _NAME)}" if reading.units and not reading.times else ""
    span = ""
    if reading.extremes is not None:
        low, high = _ends(reading)
        span = f", {low} to {high}{units}"
    counts = {"missing": reading.missing, "-inf": reading.infinite[0], "inf": reading.infinite[1]}
    missing = "".join(f", {count:,} {name}" for name, count in counts.items() if count)
    failed = f", {counted(reading.chunks.failed, 'chunk')} failed" if reading.chunks.failed else ""
    place = f"{shown(reading.array, _NAME)}[{shown(', '.join(reading.slices))}]"
    said = f" {shown(reading.message, _TEXT)}" if reading.message else ""
    shape = " \N{MULTIPLICATION SIGN} ".join(f"{size:,}" for size in reading.shape)
    return (
        f"<p><b>{shown(reading.name, _NAME)}</b> <code>{place}</code>: {shape or 'one value'} of "
        f"{shown(reading.dtype, _NAME)}, {reading.state}{span}{missing}{failed}.{said}</p>"
    )


def _rises(reading: ReadingModel, axis: int) -> bool:
    places = reading.coordinates[axis].values if axis < len(reading.coordinates) else None
    return places is not None and len(places) > 1 and places[-1] > places[0]


def _along(reading: ReadingModel, axis: int) -> str:
    name = _dimension(reading, axis)
    side = reading.coordinates[axis] if axis < len(reading.coordinates) else None
    if side is None or not side.values:
        start, stop, step = map(int, reading.region[axis])
        end = stop - 1 if reading.reduced else start + (reading.shape[axis] - 1) * step
        return f"{name} ({start:,} to {end:,})"
    to_text = moment_text if side.times else number_text
    return f"{name} ({to_text(side.values[0])} to {to_text(side.values[-1])})"


def _dimension(reading: ReadingModel, axis: int) -> str:
    return shown(reading.dimensions[axis], _NAME)
