"""What commands print: tables on a terminal, tab-separated text in a pipe, JSON on demand.

Text from a file is escaped on its way out, and everything is written as it comes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from refexplorer.display.text import CHILDREN_SHOWN, LEVELS_SHOWN, Pictured, tree_text
from refexplorer.markup import escape

Item = TypeVar("Item")
_STYLES = {
    "inline": "bright_black",
    "base64": "yellow",
    "url": "green",
    "range": "blue",
    "error": "bold red",
    "warning": "yellow",
}
_RIGHT = {"Size", "Offset", "Length", "Missing", "Below"}
_TABLE_ROWS = 500
"""Rows that are laid out together: columns of one table are as wide as its widest cell."""


def is_terminal() -> bool:
    """Tell whether a person reads stdout."""
    return sys.stdout.isatty()


def say(sentence: str) -> None:
    """Tell the person something that is not the answer, on stderr."""
    sys.stderr.write(f"{escape(sentence)}\n")


def write_line(text: str = "") -> None:
    """Write one line of the answer."""
    sys.stdout.write(f"{escape(text)}\n")


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table; in a pipe one line a row with tabs between, without the head.

    Columns without any names have no head on a terminal either.
    """
    if not is_terminal():
        for row in rows:
            sys.stdout.write("\t".join(_cell(value) for value in row) + "\n")
        return
    console = Console(highlight=False)
    remaining = iter(rows)
    while page := list(islice(remaining, _TABLE_ROWS)):
        table = Table(
            box=None, pad_edge=False, header_style="dim", show_header=any(columns)
        )  # fmt: skip
        for column in columns:
            table.add_column(column, justify="right" if column in _RIGHT else "left")
        for row in page:
            table.add_row(*(_styled(value) for value in row))
        console.print(table)


def write_tree(refs: Pictured, path: str) -> None:
    """Write the tree below a path, three levels deep, of long levels the first rows."""
    if not is_terminal():
        sys.stdout.write(f"{tree_text(refs, path)}\n")
        return
    root = Tree(Text(escape(path or refs.source.name)))
    _grow(root, refs, path, LEVELS_SHOWN)
    Console(highlight=False).print(root)


def _grow(branch: Tree, refs: Pictured, path: str, levels: int) -> None:
    page = refs.children(path, 0, CHILDREN_SHOWN)
    for node in page.rows:
        kind = str(node.kind or node.type)
        label = Text.assemble(escape(node.name), "  ", (kind, _STYLES.get(kind, "dim")))
        if node.target:
            label.append(f"  {escape(node.target)}", "dim")
        below = branch.add(label)
        if node.children and levels > 1:
            _grow(below, refs, node.path, levels - 1)
    if more := page.total - len(page.rows):
        branch.add(Text(f"… {more:,} more", "dim"))


def write_json(fields: Mapping[str, object], name: str, items: Iterable[object]) -> None:
    """Write one JSON document: the fields, then `items` as the list `name`, one a line."""
    head = json.dumps(fields)[:-1]
    sys.stdout.write(f'{head}{", " if fields else ""}"{name}": [')
    separator = "\n"
    for item in items:
        sys.stdout.write(f"{separator}{json.dumps(item)}")
        separator = ",\n"
    sys.stdout.write("\n]}\n" if separator != "\n" else "]}\n")


def write_object(members: Iterable[tuple[str, object]]) -> None:
    """Write one JSON object, one member a line."""
    sys.stdout.write("{")
    separator = "\n"
    for name, value in members:
        sys.stdout.write(f"{separator}{json.dumps(name)}: {json.dumps(value)}")
        separator = ",\n"
    sys.stdout.write("\n}\n" if separator != "\n" else "}\n")


def write_lines(items: Iterable[object]) -> None:
    """Write JSON lines: one document a line."""
    for item in items:
        sys.stdout.write(f"{json.dumps(item)}\n")


@contextmanager
def waiting(sentence: str) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    with Console(stderr=True).status(Text(escape(sentence))):
        yield


@contextmanager
def reading(sentence: str) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how many bytes of a file were read; take them as they come."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(escape(sentence), total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)


def progress(items: Iterable[Item], total: int, sentence: str) -> Iterator[Item]:
    """Pass items on and show on a terminal how many of them there were."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        yield from bar.track(items, total=total, description=escape(sentence))


def _cell(value: object) -> str:
    return "" if value is None else escape(str(value))


def _styled(value: object) -> Text:
    text = f"{value:,}" if isinstance(value, int) else _cell(value)
    return Text(text, style=_STYLES.get(text, ""), overflow="fold")
