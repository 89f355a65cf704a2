"""The controller of the tree: its rows, and those of a search while one is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from refexplorer.errors import RefexplorerError
from refexplorer.refset.tree.nodes import Node, NodeType
from refexplorer.views.health.health import Health
from refexplorer.views.health.state_keys import keys_in_state
from refexplorer.views.key.absent import origin_of
from refexplorer.views.tree.timed_search import collect
from refexplorer.views.tree.visible_rows import VisibleTree, row
from refexplorer.views.wire.answering import Operations
from refexplorer.views.wire.code import code_of_search
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer_messages import (
    KeysFound,
    TreeAbsent,
    TreeChange,
    TreeFind,
    TreePage,
    TreeReveal,
    TreeRows,
    TreeState,
    TreeToggle,
)
from refexplorer.views.wire.jobs import JobAnswer, Report, go_on
from refexplorer.views.wire.models import Row

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

ROWS = 1000
"""Most rows that one answer carries."""


class TreeController:
    """Answers what the tree and its search ask."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._lock = context.lock
        self._did = context.did
        self._tree = VisibleTree(self._refs)
        self._health = Health(self._refs, context.failure_log)
        self._found: Sequence[str] | None = None
        self.operations: Operations = {
            TreeRows: self._rows,
            TreeToggle: self._toggle,
            TreeReveal: self._reveal,
            TreeFind: self._find,
            TreeState: context.jobs.in_turn(self._list_state),
            TreeAbsent: self._absent,
        }

    def window(self, start: int, n: int) -> tuple[list[Row], int]:
        """Return rows of the tree, or of the search while one is on, and how many there are."""
        with self._lock:
            if self._found is None:
                return self._tree.window(start, n), self._tree.total
            return self._results(start, n), len(self._found)

    def _results(self, start: int, n: int) -> list[Row]:
        found = self._found or []
        paths = enumerate(found[start : start + n], start + 1)
        nodes = [(at, self._node(path)) for at, path in paths]
        return [row(node, 0, False, at, len(found)) for at, node in nodes]

    def _node(self, path: str) -> Node:
        """Return what the tree has at a path, or a row for a chunk that it does not have."""
        try:
            return self._refs.node(path)
        except KeyError:
            origin = origin_of(self._refs, path)
            return Node(path, path, NodeType.KEY, None, None, None, origin, 0)

    def _rows(self, request: TreeRows) -> TreePage:
        start, n = max(request.start, 0), min(max(request.n, 0), ROWS)
        rows, total = self.window(start, n)
        return TreePage(start, total, tuple(rows))

    def _toggle(self, request: TreeToggle) -> TreeChange:
        index = self._tree.toggle(known_path(self._refs, request.path), request.open)
        return TreeChange(self._tree.total, index)

    def _reveal(self, request: TreeReveal) -> TreeChange:
        self._found = None
        index = self._tree.reveal(request.path)
        return TreeChange(self._tree.total, index)

    def _find(self, request: TreeFind) -> KeysFound:
        text, kinds = request.text, request.kinds
        if not text and not kinds:
            self._found = None
            return KeysFound(self._tree.total, False)
        pattern, mode = (text, request.mode) if text else ("", "substring")
        matches = self._refs.find(pattern, mode=mode, kind=kinds or None)
        self._found, capped = collect(matches)
        self._did(code_of_search(pattern, mode, kinds))
        return KeysFound(len(self._found), capped)

    def _list_state(self, request: TreeState, report: Report) -> JobAnswer:
        if request.array is not None and request.array not in self._refs.arrays():
            raise RefexplorerError(f"There is no array at {request.array!r}.")
        go_on(report, None, None, "Listing chunks")
        found = keys_in_state(self._refs, self._health, request.state, request.array)
        with self._lock:
            self._found = found
        return KeysFound(len(found), False), []

    def _absent(self, request: TreeAbsent) -> TreeChange:
        self._tree.show_absent(request.show)
        return TreeChange(self._tree.total, -1)


def known_path(refs: ReferenceSet, path: str) -> str:
    """Return a path that the set has something at.

    Raises
    ------
    RefexplorerError
        If the set has nothing there.
    """
    try:
        refs.node(path)
    except KeyError:
        fails = "The template of this key fails" if path in refs else None
        raise RefexplorerError(f"{fails or 'The set has nothing'} at {path!r}.") from None
    return path
