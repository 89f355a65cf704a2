"""Output for a terminal and not for a pipe: tables, progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
)
from rich.table import Table
from rich.text import Text

from refexplorer.core.files import FileCount
from refexplorer.core.text import escape
from refexplorer.hosts.cli.output import Counter, cell

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
"""Rows per table: the columns of one table are as wide as their widest cells."""


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table; without column names there is no header."""
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


class _BytesOrFiles(DownloadColumn):
    """A progress column for bytes, or for files if these are counted."""

    def render(self, task: Task) -> Text:
        if isinstance(task.completed, FileCount):
            return Text(f"{task.completed:,} of {task.total or 0:,.0f} files", "progress.download")
        return super().render(task)


@contextmanager
def counting(sentence: str, of_bytes: bool) -> Iterator[Counter]:
    """Show progress, in bytes or items; for several files, in files."""
    with _bar(_BytesOrFiles() if of_bytes else MofNCompleteColumn()) as bar:
        task = bar.add_task(escape(sentence), total=None)

        def count(done: int, total: int | None, sentence: str | None = None) -> None:
            description = None if sentence is None else escape(sentence)
            bar.update(task, completed=done, total=total, description=description)

        yield count


def progress(items: Iterable[Item], total: int, sentence: str) -> Iterator[Item]:
    """Yield items and show how many there were."""
    with _bar(MofNCompleteColumn()) as bar:
        yield from bar.track(items, total=total, description=escape(sentence))


def _bar(number: ProgressColumn) -> Progress:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), number)
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _styled(value: object) -> Text:
    text = f"{value:,}" if isinstance(value, int) else cell(value)
    return Text(text, style=_STYLES.get(text, ""), overflow="fold")
