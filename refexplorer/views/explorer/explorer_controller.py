"""The controller of the explorer: tree, search, inspector, maps and preview."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.access.storage_options import StorageOptions
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.errors import RefexplorerError
from refexplorer.markup import counted
from refexplorer.spec.core.references import Kind
from refexplorer.views.explorer.actions import code_of_check, code_of_search, code_of_slices
from refexplorer.views.explorer.overview import overview
from refexplorer.views.key.absent import absent_item
from refexplorer.views.key.inspector import item
from refexplorer.views.key.key_details import KeyDetails
from refexplorer.views.key.surroundings import surroundings
from refexplorer.views.maps.chunk_map import ARRAYS_LISTED, ChunkMap
from refexplorer.views.maps.map_changes import Comparison
from refexplorer.views.maps.target_map import TargetMapView
from refexplorer.views.preview.reader import PreviewReader
from refexplorer.views.tree.timed_search import collect
from refexplorer.views.tree.visible_rows import VisibleTree, row
from refexplorer.views.wire.answering import (
    Buffers,
    Message,
    Operations,
    Post,
    answer,
    event,
    nowhere,
)
from refexplorer.views.wire.code import code
from refexplorer.views.wire.explorer_messages import (
    Allow,
    Allowed,
    Cancel,
    CheckTargets,
    CodeChanged,
    Describe,
    Facts,
    Found,
    Greet,
    Hello,
    KindCounts,
    Notes,
    OutcomesChanged,
    PlanSlice,
    ReadChunk,
    SeekNotes,
    ShowGrid,
    ShowKey,
    Shown,
    ShowSource,
    ShowTarget,
    SourceLines,
    TargetRows,
    TreeAbsent,
    TreeChange,
    TreeFind,
    TreePage,
    TreeReveal,
    TreeRows,
    TreeToggle,
)
from refexplorer.views.wire.failure_log import Outcomes, outcomes_of
from refexplorer.views.wire.jobs import Answer, Jobs, Report
from refexplorer.views.wire.models import Row
from refexplorer.views.wire.notes import known, notes

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

Draw = Callable[[Any, Report], Answer]
ROWS = 1000
"""Most rows that one answer carries."""


class ExplorerController:
    """Answers what an explorer asks of one reference set.

    Parameters
    ----------
    refs
        The opened set.
    allow, storage_options
        What may be read besides the folder of the reference file, and with which options; as in
        `refexplorer.data.open.filesystem.filesystem`.
    served
        The page is shown to others than the person who started it; see `AccessPolicy`.
    compare
        The set as it was before, to show what became of its chunks since.

    Attributes
    ----------
    post
        Called with messages that come later or unasked, from any thread; set by the host.
    code
        The Python that does what was done last: chosen a key, searched, read a part of an array.
    operations
        What answers each request.
    """

    def __init__(
        self,
        refs: ReferenceSet,
        *,
        allow: Iterable[str] = (),
        storage_options: StorageOptions | None = None,
        served: bool = False,
        compare: ReferenceSet | None = None,
    ) -> None:
        self.references = refs
        self.policy = AccessPolicy(refs.source.location, allow, served=served)
        self.post: Post = nowhere
        self._selection = ""
        self.code = code(refs, "")
        options = refs.storage_options if storage_options is None else storage_options
        self._targets = Targets(self.policy, options, refs.limits)
        self._tree = VisibleTree(refs)
        self._found: list[str] | None = None
        self._lock = threading.RLock()
        self._jobs = Jobs(lambda *posted: self.post(*posted))
        # What one visitor of a page could not read is nobody else's business.
        outcomes = Outcomes() if served else outcomes_of(refs)
        outcomes.watch(self._read_elsewhere)
        self.reader = PreviewReader(refs, self._targets, self._jobs, outcomes)
        self._details = KeyDetails(refs, self._targets, self._jobs)
        self.chunk_map = ChunkMap(refs, outcomes)
        self.target_map = TargetMapView(refs, self._targets)
        self.comparison = Comparison(refs, compare, self._jobs, named_here=not served)
        self.operations: Operations = {
            Greet: self._hello,
            TreeRows: self._rows,
            TreeToggle: self._toggle,
            TreeReveal: self._reveal,
            TreeFind: self._find,
            TreeAbsent: self._absent,
            ShowKey: self._show,
            **self._details.operations,
            **self.comparison.operations,
            SeekNotes: self._notes,
            ShowSource: self._source,
            Describe: self._overview,
            ShowGrid: partial(self._map, self.chunk_map.show),
            TargetRows: partial(self._map, self.target_map.rows),
            ShowTarget: partial(self._map, self.target_map.show),
            CheckTargets: self._check,
            PlanSlice: self.reader.plan,
            ReadChunk: self._read,
            Allow: self._allow,
            Cancel: self._jobs.cancel,
        }

    @property
    def selection(self) -> str:
        """The path that was chosen last; ``""`` is the set itself."""
        return self._selection

    @selection.setter
    def selection(self, path: str) -> None:
        self._selection = path
        self._did(code(self.references, path, self.policy.granted))

    def handle(
        self, message: Message, buffers: Buffers | None = None
    ) -> list[tuple[Message, Buffers]]:
        """Answer one message; reading is answered later through `post`."""
        with self._lock:
            return answer(self.operations, message)

    def _did(self, text: str) -> None:
        """Tell the Python for what was done."""
        if text != self.code:
            self.code = text
            self.post(*event(CodeChanged(text)))

    def _hello(self, request: Greet) -> Hello:
        refs = self.references
        summary = refs.summary()
        found = None if known(refs) is None else self._noted()
        return Hello(
            refs.source.name,
            refs.source.form,
            Facts(
                summary.keys,
                summary.arrays,
                summary.targets,
                summary.bytes,
                KindCounts(**{kind: summary.kinds.get(kind, 0) for kind in Kind}),
            ),
            None if found is None else found.notes,
            None if found is None else found.note_count,
            self.code,
            tuple(refs.arrays()[:ARRAYS_LISTED]),
        )

    def _noted(self) -> Notes:
        return Notes(notes(self.references), len(self.references.diagnostics))

    def _notes(self, request: SeekNotes) -> None:
        def seek(report: Report) -> Answer:
            references = counted(self.references.count, "reference")
            report(0, 0, f"Checking {references}")
            return self._noted(), []

        self._jobs.start(request, seek)

    def _source(self, request: ShowSource) -> SourceLines:
        return SourceLines(surroundings(self.references, request.pointer))

    def _rows(self, request: TreeRows) -> TreePage:
        start, n = max(request.start, 0), min(max(request.n, 0), ROWS)
        rows, total = self.window(start, n)
        return TreePage(start, total, tuple(rows))

    def window(self, start: int, n: int) -> tuple[list[Row], int]:
        """Return rows of the tree, or of the search while one is on, and how many there are."""
        with self._lock:
            if self._found is None:
                return self._tree.window(start, n), self._tree.total
            return self._results(start, n), len(self._found)

    def _results(self, start: int, n: int) -> list[Row]:
        found = self._found or []
        paths = enumerate(found[start : start + n], start + 1)
        nodes = [(at, self.references.node(path)) for at, path in paths]
        return [row(node, 0, False, at, len(found)) for at, node in nodes]

    def _toggle(self, request: TreeToggle) -> TreeChange:
        index = self._tree.toggle(self._path(request.path), request.open)
        return TreeChange(self._tree.total, index)

    def _reveal(self, request: TreeReveal) -> TreeChange:
        self._found = None
        index = self._tree.reveal(request.path)
        return TreeChange(self._tree.total, index)

    def _find(self, request: TreeFind) -> Found:
        text, kinds = request.text, request.kinds
        if not text and not kinds:
            self._found = None
            return Found(self._tree.total, False)
        pattern, mode = (text, request.mode) if text else ("", "substring")
        matches = self.references.find(pattern, mode=mode, kind=kinds or None)
        self._found, capped = collect(matches)
        self._did(code_of_search(pattern, mode, kinds))
        return Found(len(self._found), capped)

    def _absent(self, request: TreeAbsent) -> TreeChange:
        self._tree.show_absent(request.show)
        return TreeChange(self._tree.total, -1)

    def _show(self, request: ShowKey) -> Shown:
        found = absent_item(self.references, request.path, self.policy)
        if found is None:
            path = self._path(request.path)
            found = item(self.references, path, self.policy)
        self.selection = found.path
        return Shown(found)

    def _map(self, draw: Draw, request: ShowGrid | TargetRows | ShowTarget) -> None:
        self._jobs.start_in_turn(request, lambda report: draw(request, report))

    def _overview(self, request: Describe) -> None:
        self._jobs.start(request, lambda report: (overview(self.references, report), []))

    def _read_elsewhere(self, array: str) -> None:
        self.post(*event(OutcomesChanged(array)))

    def _check(self, request: CheckTargets) -> None:
        self._did(code_of_check(self.policy.granted))
        self._jobs.start(request, self.target_map.check)

    def _allow(self, request: Allow) -> Allowed:
        self.policy.grant(request.grant)
        return Allowed(tuple(self.policy.granted))

    def _read(self, request: ReadChunk) -> None:
        named = self.reader.named(request)
        self._did(code_of_slices(self.references, *named, self.policy.granted))
        self.reader.read(request)

    def _path(self, path: str) -> str:
        try:
            self.references.node(path)
        except KeyError:
            fails = "The template of this key fails" if path in self.references else None
            raise RefexplorerError(f"{fails or 'The set has nothing'} at {path!r}.") from None
        return path
