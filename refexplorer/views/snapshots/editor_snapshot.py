"""The template editor as HTML and text for where no script runs: a saved notebook on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.display.html import notes_html
from refexplorer.markup import code, counted, escape, shown, table
from refexplorer.views.wire.editor.row_messages import EditorRow

if TYPE_CHECKING:
    from refexplorer.views.editor.editor_controller import EditorController
    from refexplorer.views.exercises.exercise_controller import ExercisesController

ROWS = 60
LINES = 400
_LINE = 500
_TEXT = 160


def editor_html(controller: EditorController) -> str:
    """Return the document and the rows that it makes; no script, no style needed."""
    refs = controller.references
    keys = "no keys yet" if refs is None else counted(refs.count, "key")
    more = "" if controller.sentence == keys else f". {shown(controller.sentence)}"
    parts = [
        f"<p><b>Template editor</b>: {keys}{more}</p>",
        _document(controller.document),
        notes_html(controller.diagnostics),
        _rows(controller.window(0, ROWS), 0 if refs is None else refs.count),
    ]
    return f'<div class="refexplorer">{"".join(parts)}</div>'


def exercises_html(controller: ExercisesController) -> str:
    """Return the task, whether it is done, and the editor; as `editor_html`."""
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
    more = f"\n… {len(lines) - LINES:,} more lines" if len(lines) > LINES else ""
    body = "\n".join(shown(line, _LINE) for line in lines[:LINES])
    return f"<pre>{body}{more}</pre>"


def _rows(rows: list[EditorRow], total: int) -> str:
    cells = [_cells(row) for row in rows if row.state != "removed"]
    if total > len(cells):
        cells.append([f"… {total - len(cells):,} more", "", "", "", "", ""])
    return table(("Key", "Kind", "URL or text", "Offset", "Length", "From"), cells)


def _cells(row: EditorRow) -> list[str]:
    numbers = ("" if number is None else f"{number:,}" for number in (row.offset, row.length))
    target = code(row.url or row.text or "", _TEXT)
    return [code(row.key, _TEXT), row.kind, target, *numbers, shown(row.origin)]
