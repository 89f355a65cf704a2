"""The derivation of a row, with the positions in the document that each step comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from refexplorer.io.reading.trace import Trace
from refexplorer.spec.derivation import TraceStep
from refexplorer.views.editor.editor_rows import EditorRows
from refexplorer.views.editor.trying import places_of
from refexplorer.views.text.text_positions import TextPositions
from refexplorer.views.wire.editor.row_messages import Derivation
from refexplorer.views.wire.models import Derived, Piece

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

TEXT_SHOWN = 600
"""Characters of a source or a result that one step carries."""
_PIECES_SHOWN = 100


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
    trace: Trace,
    positions: TextPositions | None = None,
    seen: Callable[[str], str] = str,
) -> tuple[Derived, ...]:
    """Return the steps of a trace as they are shown."""
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
    """Yield the source of a step in pieces, each expression one of its own."""
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
