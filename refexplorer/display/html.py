"""Static HTML of a set: reads well without style or script, in a saved notebook as on a page."""

from __future__ import annotations

from collections import Counter

from refexplorer.display.shown_sets import name_of
from refexplorer.display.text import NAME_SHOWN, facts_text, left_out_text
from refexplorer.markup import counted, shown, size_text
from refexplorer.refset.contents import SetLike
from refexplorer.refset.summary import Summary
from refexplorer.refset.tree_nodes import Node
from refexplorer.spec.codes import Severity
from refexplorer.spec.diagnostics import Diagnostic, grouped
from refexplorer.spec.references import Kind

CHILDREN_SHOWN = 25
LEVELS_SHOWN = 2
NOTES_SHOWN = 10


def references_html(
    refs: SetLike, diagnostics: tuple[Diagnostic, ...] | None, picture: str = ""
) -> str:
    """Return facts, health, notes, a picture, the tree; in a kernel a button to explore it.

    `diagnostics` are None where finding them would hold up the first look.
    """
    summary = refs.summary()
    name = name_of(refs)
    # Shown by the extension of JupyterLab, which alone can do what it says.
    button = f' <button type="button" hidden data-refexplorer-set="{name}">Explore</button>'
    parts = [
        f"<p><b>{_shown(refs.source.name)}</b> ({refs.source.form}): "
        f"{_shown(facts_text(summary), None)}{'' if name is None else button}<br>"
        f"{kinds_text(summary)}; {health_text(diagnostics)}{_left_out(refs)}</p>",
        notes_html(diagnostics),
        picture,
        tree_html(refs),
    ]
    return f'<div class="refexplorer">{"".join(parts)}</div>'


def _left_out(refs: SetLike) -> str:
    said = left_out_text(refs.source)
    return f"; {said}" if said else ""


def kinds_text(summary: Summary) -> str:
    """Return how many references there are of each kind."""
    counts = [f"{n:,} {kind}" for kind in Kind if (n := summary.kinds.get(kind, 0))]
    return ", ".join(counts) or "no references"


def health_text(diagnostics: tuple[Diagnostic, ...] | None) -> str:
    """Return how many errors and warnings there are, and what nobody looked at yet."""
    if diagnostics is None:
        return "not checked for errors yet"
    found = Counter(each.severity for each in diagnostics)
    errors, warnings = found[Severity.ERROR], found[Severity.WARNING]
    said = [counted(errors, "error") if errors else "no errors"]
    said += [counted(warnings, "warning")] if warnings else []
    return f"{', '.join(said)}, targets not checked"


def notes_html(diagnostics: tuple[Diagnostic, ...] | None) -> str:
    """Return the first diagnostics as a list; nothing where there are none."""
    if not diagnostics:
        return ""
    items: list[str] = []
    for group in grouped(diagnostics):
        listed = group.diagnostics[:NOTES_SHOWN] if group.is_long else group.diagnostics
        lines = [f"<li>{_shown(str(each), 400)}</li>" for each in listed]
        if group.is_long:
            first, left = lines, len(group.diagnostics) - NOTES_SHOWN
            more = f"<li>… {left:,} more</li>" if left > 0 else ""
            title = f"<summary>{_shown(group.title, 400)}</summary>"
            lines = [f"<li><details>{title}<ul>{''.join(first)}{more}</ul></details></li>"]
        items += lines
    title = counted(len(diagnostics), "note")
    return f"<details><summary>{title}</summary><ul>{''.join(items)}</ul></details>"


def tree_html(refs: SetLike, path: str = "", levels: int = LEVELS_SHOWN) -> str:
    """Return a level of the tree as a list, with the levels below it folded."""
    page = refs.children(path, 0, CHILDREN_SHOWN)
    items = [f"<li>{_node(refs, node, levels)}</li>" for node in page.rows]
    if page.total > len(page.rows):
        items.append(f"<li>… {page.total - len(page.rows):,} more</li>")
    return f"<ul>{''.join(items)}</ul>"


def _node(refs: SetLike, node: Node, levels: int) -> str:
    name = f"<code>{_shown(node.name)}</code>"
    if not node.children:
        size = "" if node.size is None else f", {size_text(node.size)}"
        target = f", <code>{_shown(node.target)}</code>" if node.target else ""
        return f"{name} {node.kind or 'no reference'}{size}{target}"
    size = "size not known" if node.size is None else size_text(node.size)
    title = f"{name} {node.type}, {counted(node.children, 'child', 'children')}, {size}"
    if levels < 2:
        return title
    below = tree_html(refs, node.path, levels - 1)
    return f"<details><summary>{title}</summary>{below}</details>"


def _shown(text: str, limit: int | None = NAME_SHOWN) -> str:
    return shown(text, limit)
