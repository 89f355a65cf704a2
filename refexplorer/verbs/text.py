"""Plain text for a terminal: the summary of a set, and a bounded tree."""

from __future__ import annotations

from collections.abc import Iterator

from refexplorer.core.text import counted, escape, size_text
from refexplorer.formats.source import Source
from refexplorer.refset.contents import SetLike
from refexplorer.refset.summary import Summary
from refexplorer.refset.tree_nodes import Node
from refexplorer.spec.references import Kind

NAME_SHOWN = 120  # characters of a name: a file may hold any text
CHILDREN_SHOWN = 20  # rows of a folder
LEVELS_SHOWN = 3  # levels of the tree


def summary_text(refs: SetLike) -> str:
    """Describe a set in a few lines."""
    summary = refs.summary()
    lines = [f"{escape(refs.source.name, NAME_SHOWN)}  {refs.source.form}", facts_text(summary)]
    lines += [f"  {kind:<6}  {n:>15,}" for kind in Kind if (n := summary.kinds.get(kind, 0))]
    if refs.source.left_out:
        lines.append(left_out_text(refs.source))
    if refs.diagnostics:
        lines.append(counted(len(refs.diagnostics), "note"))
    return "\n".join(lines)


def left_out_text(source: Source) -> str:
    """Return how many objects of data files opening left out; empty if none."""
    count = len(source.left_out)
    return f"{counted(count, 'object')} of the file left out" if count else ""


def facts_text(summary: Summary) -> str:
    """Return the counts of a summary in one line."""
    parts = [
        counted(summary.keys, "key"),
        counted(summary.arrays, "array"),
        counted(summary.targets, "target"),
        bytes_text(summary),
    ]
    if summary.missing is None:
        parts.append("chunks without a reference not counted")
    elif summary.missing:
        parts.append(f"{counted(summary.missing, 'chunk')} without a reference")
    if summary.left_out:
        parts.append(f"{counted(summary.left_out, 'chunk')} rejected by errors")
    return ", ".join(parts)


def bytes_text(summary: Summary) -> str:
    """Return how many bytes are referenced, as far as that is known."""
    if summary.bytes is None:
        return "size not known"
    return f"{size_text(summary.bytes)} referenced{beside_text(summary)}"


def beside_text(summary: Summary) -> str:
    """Return the whole files, which ``Summary.bytes`` does not count; empty without any."""
    whole = summary.kinds.get(Kind.URL, 0)
    return f" besides {counted(whole, 'whole file')} of unknown size" if whole else ""


def tree_text(
    refs: SetLike,
    path: str = "",
    *,
    levels: int = LEVELS_SHOWN,
    children: int = CHILDREN_SHOWN,
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
