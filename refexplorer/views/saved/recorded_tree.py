"""The tree of a set as the levels of its folders, which a page without Python opens and closes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from refexplorer.views.saved.recorder import Recorder
from refexplorer.views.tree.tree_controller import ROWS
from refexplorer.views.wire.answering import Message
from refexplorer.views.wire.explorer.tree_messages import TreeReveal, TreeRows, TreeToggle


@dataclass
class RecordedTree:
    """The rows of a tree, level by level."""

    # For each folder that was looked into, how many children it has and the first of them
    levels: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: int = 0  # How many were kept
    whole: bool = True  # Whether all of them were

    @property
    def paths(self) -> Iterator[str]:
        """The paths of the rows, level by level."""
        for level in self.levels.values():
            for row in level["rows"]:
                yield row["path"]


def record_tree(recorder: Recorder, most: int, most_of_level: int) -> RecordedTree:
    """Walk the tree as the controller shows it by now, with all of it closed."""
    tree = RecordedTree()
    folders = deque([""])
    while folders:
        path = folders.popleft()
        first, total = _open(recorder, path)
        count = min(total, most_of_level, most - tree.rows)
        tree.whole &= count == total
        if count <= 0 < total:
            continue
        rows = [_without(row, "open") for row in _rows(recorder, first, count)]
        tree.levels[path] = {"total": total, "rows": rows}
        tree.rows += count
        folders += [row["path"] for row in rows if row["type"] != "key" and int(row["children"])]
        if path:
            recorder.ask(TreeToggle(path=path, open=False))
    return tree


def _open(recorder: Recorder, path: str) -> tuple[int, int]:
    """Return the number of the first child of a folder, and how many there are.

    What is below it is closed: the folders above it alone were opened since the last look.
    """
    if not path:
        return 0, int(recorder.ask(TreeRows(start=0, n=0))[0]["total"])
    closed, _ = recorder.ask(TreeReveal(path=path))
    opened, _ = recorder.ask(TreeToggle(path=path, open=True))
    return int(opened["index"]) + 1, int(opened["total"]) - int(closed["total"])


def _without(row: Message, name: str) -> Message:
    return {each: value for each, value in row.items() if each != name}


def _rows(recorder: Recorder, first: int, count: int) -> Iterator[Message]:
    for start in range(first, first + count, ROWS):
        n = min(ROWS, first + count - start)
        yield from recorder.ask(TreeRows(start=start, n=n))[0]["rows"]
