"""The controller of the explorer: tree, search, inspector, maps and preview."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

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
    Operation,
    Post,
    answer,
    nowhere,
)
from refexplorer.views.wire.code import code
from refexplorer.views.wire.failure_log import Outcomes, outcomes_of
from refexplorer.views.wire.jobs import Jobs, Report
from refexplorer.views.wire.models import Row, to_wire
from refexplorer.views.wire.notes import known, notes

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

Draw = Callable[[Message, Report], tuple[Message, Buffers]]
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
        self._operations: dict[str, Operation] = {
            "hello": self._hello,
            "tree.rows": self._rows,
            "tree.toggle": self._toggle,
            "tree.reveal": self._reveal,
            "tree.find": self._find,
            "tree.absent": self._absent,
            "key.show": self._show,
            **self._details.operations,
            **self.comparison.operations,
            "notes": self._notes,
            "source.show": self._source,
            "overview": self._overview,
            "grid.show": partial(self._map, self.chunk_map.show),
            "targets.rows": partial(self._map, self.target_map.rows),
            "target.show": partial(self._map, self.target_map.show),
            "targets.check": self._check,
            "slice.plan": self.reader.plan,
            "chunk.read": self._read,
            "allow": self._allow,
            "cancel": self._jobs.cancel,
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
            return answer(self._operations, message)

    def _did(self, text: str) -> None:
        """Tell the Python for what was done."""
        if text != self.code:
            self.code = text
            self.post({"ev": "code", "code": to_wire(text)}, [])

    def _hello(self, message: Message) -> Message:
        refs = self.references
        summary = refs.summary()
        facts = {
            "keys": summary.keys,
            "arrays": summary.arrays,
            "targets": summary.targets,
            "bytes": summary.bytes,
            "kinds": {kind: summary.kinds.get(kind, 0) for kind in Kind},
        }
        return {
            "title": refs.source.name,
            "form": refs.source.form,
            "facts": facts,
            **({"notes": None, "note_count": None} if known(refs) is None else self._noted()),
            "code": self.code,
            "arrays": refs.arrays()[:ARRAYS_LISTED],
        }

    def _noted(self) -> Message:
        return {"notes": notes(self.references), "note_count": len(self.references.diagnostics)}

    def _notes(self, message: Message) -> None:
        def seek(report: Report) -> tuple[Message, Buffers]:
            references = counted(self.references.count, "reference")
            report(0, 0, f"Looking for what is odd in {references}")
            return self._noted(), []

        self._jobs.start(message, seek)

    def _source(self, message: Message) -> Message:
        return {"lines": surroundings(self.references, str(message["pointer"]))}

    def _rows(self, message: Message) -> Message:
        start, n = max(int(message["start"]), 0), min(max(int(message["n"]), 0), ROWS)
        rows, total = self.window(start, n)
        return {"start": start, "total": total, "rows": rows}

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

    def _toggle(self, message: Message) -> Message:
        path = self._path(message)
        index = self._tree.toggle(path, bool(message["open"]))
        return {"total": self._tree.total, "index": index}

    def _reveal(self, message: Message) -> Message:
        self._found = None
        index = self._tree.reveal(str(message["path"]))
        return {"total": self._tree.total, "index": index}

    def _find(self, message: Message) -> Message:
        text, kinds = str(message["text"]), [Kind(kind) for kind in message["kinds"]]
        if not text and not kinds:
            self._found = None
            return {"total": self._tree.total, "capped": False}
        pattern, mode = (text, str(message["mode"])) if text else ("", "substring")
        matches = self.references.find(pattern, mode=mode, kind=kinds or None)
        self._found, capped = collect(matches)
        self._did(code_of_search(pattern, mode, kinds))
        return {"total": len(self._found), "capped": capped}

    def _absent(self, message: Message) -> Message:
        self._tree.show_absent(bool(message["show"]))
        return {"total": self._tree.total, "index": -1}

    def _show(self, message: Message) -> Message:
        found = absent_item(self.references, str(message["path"]), self.policy)
        if found is None:
            path = self._path(message)
            found = item(self.references, path, self.policy)
        self.selection = found.path
        return {"item": found}

    def _map(self, draw: Draw, message: Message) -> None:
        self._jobs.start_in_turn(message, lambda report: draw(message, report))

    def _overview(self, message: Message) -> None:
        self._jobs.start(message, lambda report: (overview(self.references, report), []))

    def _read_elsewhere(self, array: str) -> None:
        self.post({"ev": "outcomes", "array": to_wire(array)}, [])

    def _check(self, message: Message) -> None:
        self._did(code_of_check(self.policy.granted))
        self._jobs.start(message, self.target_map.check)

    def _allow(self, message: Message) -> Message:
        self.policy.grant(str(message["grant"]))
        return {"granted": self.policy.granted}

    def _read(self, message: Message) -> None:
        named = self.reader.named(message)
        self._did(code_of_slices(self.references, *named, self.policy.granted))
        self.reader.read(message)

    def _path(self, message: Message) -> str:
        path = str(message["path"])
        try:
            self.references.node(path)
        except KeyError:
            fails = "The template of this key fails" if path in self.references else None
            raise RefexplorerError(f"{fails or 'The set has nothing'} at {path!r}.") from None
        return path
