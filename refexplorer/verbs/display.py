"""A set as text for a terminal, and as HTML that is readable without style or script."""

from __future__ import annotations

import base64
import io
import math
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np

from refexplorer.core.text import counted, escape, prose, shown, size_text
from refexplorer.formats.source import Source
from refexplorer.refset.opened_set import SetLike, internals
from refexplorer.refset.summary import facts_text, kinds_text
from refexplorer.refset.tree import Node
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, grouped
from refexplorer.spec.references import Kind

if TYPE_CHECKING:
    from PIL import Image

NAME_SHOWN = 120  # characters of a name: a file may hold any text
_WAITED = 3  # Seconds that a set may be counted for before it is shown
_SOON = 2_000_000  # References up to which diagnostics are computed before the set is shown
TEXT_CHILDREN, TEXT_LEVELS = 20, 3  # Of a tree as text


def known_diagnostics(refs: SetLike) -> tuple[Finding, ...] | None:
    """Return the diagnostics of a set; None if computing them would delay the first display."""
    is_soon = "diagnostics" in vars(refs) or internals(refs).opened.stored <= _SOON
    return refs.diagnostics if is_soon else None


def summary_text(refs: SetLike) -> str:
    """Describe a set in a few lines."""
    summary = internals(refs).counts(within=_WAITED)
    lines = [f"{escape(refs.source.name, NAME_SHOWN)}  {refs.source.form}", facts_text(summary)]
    lines += [f"  {kind:<6}  {n:>15,}" for kind in Kind if (n := summary.kinds.get(kind, 0))]
    if refs.source.left_out:
        lines.append(left_out_text(refs.source))
    found = known_diagnostics(refs)
    if found is None:
        lines.append("not checked for errors yet; `check` does that")
    elif found:
        lines.append(counted(len(found), "note"))
    return "\n".join(lines)


def left_out_text(source: Source) -> str:
    """Return how many objects of data files were omitted on opening; empty if none."""
    count = len(source.left_out)
    return f"{counted(count, 'object')} of the file left out" if count else ""


def tree_text(
    refs: SetLike, path: str = "", *, levels: int = TEXT_LEVELS, children: int = TEXT_CHILDREN
) -> str:
    """Return the tree below a path."""
    return "\n".join(_lines(refs, path, levels, children, ""))


def _lines(refs: SetLike, path: str, levels: int, children: int, indent: str) -> Iterator[str]:
    page = refs.children(path, 0, children)
    more = page.total - len(page.rows)
    for number, node in enumerate(page.rows, 1):
        is_last = number == len(page.rows) and not more
        yield f"{indent}{'└── ' if is_last else '├── '}{_line(node)}"
        if node.children and levels > 1:
            below = indent + ("    " if is_last else "│   ")
            yield from _lines(refs, node.path, levels - 1, children, below)
    if more:
        yield f"{indent}└── … {more:,} more"


def _line(node: Node) -> str:
    name = escape(node.name, NAME_SHOWN) + ("/" if node.children else "")
    what = node.kind if not node.children else node.type
    parts = [name, str(what or "no reference")]
    if node.children:
        parts.append(counted(node.children, "child", "children"))
    if node.size is not None:
        parts.append(size_text(node.size))
    elif node.children:
        parts.append("size not known")
    if node.target:
        parts.append(escape(node.target, NAME_SHOWN))
    return "  ".join(parts)


WIDTH = 480  # Of a picture, px
CELLS = 240  # Most rows and columns of a picture of values; noise of so many takes 60 kB as PNG
_HEIGHT = 200  # pixels of a line drawing; its width is `WIDTH`
PAPER, _FRAME, _LINE = (232, 232, 232), (138, 145, 156), (0, 114, 178)
_INFINITE = (255, 47, 208), (0, 184, 255)  # Of inf and -inf, as in the live pictures
_VIRIDIS = np.array(
    [
        (68, 1, 84), (71, 45, 123), (59, 82, 139), (44, 114, 142), (33, 145, 140),
        (40, 174, 128), (94, 201, 98), (173, 220, 48), (253, 231, 37),
    ]
)  # fmt: skip


def picture_html(
    values: np.ndarray, low: float, high: float, words: str, upward: bool = False
) -> str:
    """Return values of one or two dimensions as an ``img`` element with inline data."""
    is_line = values.ndim == 1
    picture = line(values, low, high) if is_line else heatmap(values, low, high, upward)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    data = base64.b64encode(out.getvalue()).decode()
    width, height = picture.size
    return (
        f'<img src="data:image/png;base64,{data}" alt="{shown(words)}" '
        f'width="{width}" height="{height}">'
    )


def heatmap(values: np.ndarray, low: float, high: float, upward: bool) -> Image.Image:
    """Draw rows and columns, the first row at the bottom if `upward`; NaN is grey."""
    from PIL import Image  # imported with the module it took 3 % of opening a set

    rows, columns = (-(-size // CELLS) for size in values.shape)
    cells = values[::rows, ::columns][:: -1 if upward else 1]
    share = np.clip(_share(cells, low, high), 0, 1)
    places = np.linspace(0, 1, len(_VIRIDIS))
    channels = [np.interp(share, places, _VIRIDIS[:, channel]) for channel in range(3)]
    pixels = np.stack(channels, axis=-1)
    pixels[np.isnan(cells)] = PAPER
    pixels[np.isposinf(cells)], pixels[np.isneginf(cells)] = _INFINITE
    picture = Image.fromarray(pixels.astype(np.uint8), "RGB")
    factor = max(1, WIDTH // max(picture.size))
    size = (picture.width * factor, picture.height * factor)
    return picture.resize(size, Image.Resampling.NEAREST).quantize(256)


def line(values: np.ndarray, low: float, high: float) -> Image.Image:
    """Draw a line on a transparent ground, since the page may be dark; NaN is a gap."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGBA", (WIDTH, _HEIGHT), (0, 0, 0, 0))
    draw = ImageDraw.Draw(picture)
    thin = values[:: -(-len(values) // (2 * WIDTH))]
    x = np.linspace(4, WIDTH - 5, max(len(thin), 2))[: len(thin)]
    y = _HEIGHT - 5 - _share(thin, low, high) * (_HEIGHT - 10)
    for at in range(1, len(thin)):
        if math.isfinite(y[at - 1]) and math.isfinite(y[at]):
            draw.line([(x[at - 1], y[at - 1]), (x[at], y[at])], fill=_LINE, width=2)
    draw.rectangle([0, 0, WIDTH - 1, _HEIGHT - 1], outline=_FRAME)
    return picture


def _share(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the relative position between limits; computed with halves to avoid overflow."""
    return (values / 2 - low / 2) / ((high / 2 - low / 2) or 1)


_NAMES: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Unique to this kernel, so a button of another kernel is not mistaken for one of this."""


def name_of(references: object) -> str | None:
    """Return the name for `set_named` while the set exists; None without a kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    return _NAMES.setdefault(references, uuid4().hex)


def set_named(name: str) -> Any:
    """Return the set that was displayed under a name."""
    for references, each in [*_NAMES.items()]:
        if each == name:
            return references
    raise KeyError(name)


CHILDREN_SHOWN = 25  # rows of a folder
LEVELS_SHOWN = 2  # levels of the tree
NOTES_SHOWN = 10  # diagnostics with the same code


def references_html(
    refs: SetLike, diagnostics: tuple[Finding, ...] | None, picture: str = ""
) -> str:
    """Return HTML: facts, health, notes, a picture and the tree; in a kernel, an Explore button."""
    summary = internals(refs).counts(within=_WAITED)
    name = name_of(refs)
    facts = kinds_text(summary), health_text(diagnostics), left_out_text(refs.source)
    # Shown by the extension of JupyterLab, which alone can do what it says.
    button = f' <button type="button" hidden data-refexplorer-set="{name}">Explore</button>'
    parts = [
        f"<p><b>{shown(refs.source.name, NAME_SHOWN)}</b> ({refs.source.form}): "
        f"{shown(facts_text(summary), None)}{'' if name is None else button}<br>"
        f"{'; '.join(filter(None, facts))}</p>",
        notes_html(diagnostics),
        picture,
        tree_html(refs),
    ]
    return f'<div class="refexplorer">{"".join(parts)}</div>'


def health_text(diagnostics: tuple[Finding, ...] | None) -> str:
    """Return the numbers of errors and warnings, and what has not been checked yet."""
    if diagnostics is None:
        return "not checked for errors yet"
    counts = Counter(each.severity for each in diagnostics)
    errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    parts = [counted(errors, "error") if errors else "no errors"]
    parts += [counted(warnings, "warning")] if warnings else []
    return f"{', '.join(parts)}, targets not checked"


def notes_html(diagnostics: tuple[Finding, ...] | None) -> str:
    """Return the first diagnostics as a list; nothing if there are none."""
    if not diagnostics:
        return ""
    items: list[str] = []
    for group in grouped(diagnostics):
        listed = group.diagnostics[:NOTES_SHOWN] if group.is_long else group.diagnostics
        lines = [f"<li>{prose(str(each), 400)}</li>" for each in listed]
        if group.is_long:
            first, remaining = lines, len(group.diagnostics) - NOTES_SHOWN
            more = f"<li>… {remaining:,} more</li>" if remaining > 0 else ""
            title = f"<summary>{prose(group.title, 400)}</summary>"
            lines = [f"<li><details>{title}<ul>{''.join(first)}{more}</ul></details></li>"]
        items += lines
    title = counted(len(diagnostics), "note")
    return f"<details><summary>{title}</summary><ul>{''.join(items)}</ul></details>"


def tree_html(refs: SetLike, path: str = "", levels: int = LEVELS_SHOWN) -> str:
    """Return a level of the tree as a list, with lower levels collapsed."""
    page = refs.children(path, 0, CHILDREN_SHOWN)
    items = [f"<li>{_node(refs, node, levels)}</li>" for node in page.rows]
    if page.total > len(page.rows):
        items.append(f"<li>… {page.total - len(page.rows):,} more</li>")
    return f"<ul>{''.join(items)}</ul>"


def _node(refs: SetLike, node: Node, levels: int) -> str:
    name = f"<code>{shown(node.name, NAME_SHOWN)}</code>"
    if not node.children:
        size = "" if node.size is None else f", {size_text(node.size)}"
        target = f", <code>{shown(node.target, NAME_SHOWN)}</code>" if node.target else ""
        return f"{name} {node.kind or 'no reference'}{size}{target}"
    size = "size not known" if node.size is None else size_text(node.size)
    title = f"{name} {node.type}, {counted(node.children, 'child', 'children')}, {size}"
    if levels < 2:
        return title
    below = tree_html(refs, node.path, levels - 1)
    return f"<details><summary>{title}</summary>{below}</details>"
