"""The controller of the explorer: tree, search, inspector, maps and preview."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from refexplorer.data.access import AccessPolicy
from refexplorer.data.targets import StorageOptions, Targets
from refexplorer.errors import RefexplorerError
from refexplorer.spec.references import Kind
from refexplorer.views.chunkmap import ChunkMap
from refexplorer.views.code import code
from refexplorer.views.inspector import item
from refexplorer.views.models import Row, to_wire
from refexplorer.views.notes import notes
from refexplorer.views.preview import preview
from refexplorer.views.search import collect
from refexplorer.views.targetmap import TargetMap
from refexplorer.views.tree import Tree, row
from refexplorer.views.wire import (
    Buffers,
    Message,
    Operation,
    Post,
    Work,
    answer,
    answer_later,
    failure,
    nowhere,
)

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

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
        `refexplorer.data.filesystem.filesystem`.
    served
        The page is shown to others than the person who started it; see `AccessPolicy`.

    Attributes
    ----------
    post
        Called with messages that come later or unasked, from any thread; set by the host.
    selection
        The path that was chosen last; ``""`` is the set itself.
    """

    def __init__(
        self,
        refs: ReferenceSet,
        *,
        allow: Iterable[str] = (),
        storage_options: StorageOptions | None = None,
        served: bool = False,
    ) -> None:
        self.references = refs
        self.policy = AccessPolicy(refs.source.location, allow, served=served)
        self.post: Post = nowhere
        self.selection = ""
        options = refs.storage_options if storage_options is None else storage_options
        self._targets = Targets(self.policy, options, refs.limits)
        self._tree = Tree(refs)
        self._found: list[str] | None = None
        self._lock = threading.RLock()
        self._jobs: dict[str, threading.Event] = {}
        self._mapping = threading.Lock()
        chunks, targets = ChunkMap(refs), TargetMap(refs)
        self._operations: dict[str, Operation] = {
            "hello": self._hello,
            "tree.rows": self._rows,
            "tree.toggle": self._toggle,
            "tree.reveal": self._reveal,
            "tree.find": self._find,
            "key.show": self._show,
            "grid.show": self._later(chunks.show),
            "targets.rows": self._later(targets.rows),
            "target.show": self._later(targets.show),
            "chunk.read": self._read,
            "allow": self._allow,
            "cancel": self._cancel,
        }

    @property
    def code(self) -> str:
        """The Python for the selection."""
        return code(self.references, self.selection, self.policy.granted)

    def handle(
        self, message: Message, buffers: Buffers | None = None
    ) -> list[tuple[Message, Buffers]]:
        """Answer one message; reading is answered later through `post`."""
        with self._lock:
            return answer(self._operations, message)

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
            "notes": notes(refs),
            "note_count": len(refs.diagnostics),
            "selection": self.selection,
        }

    def _rows(self, message: Message) -> Message:
        start, n = max(int(message["start"]), 0), min(max(int(message["n"]), 0), ROWS)
        if self._found is None:
            rows, total = self._tree.window(start, n), self._tree.total
        else:
            rows, total = self._results(start, n), len(self._found)
        return {"start": start, "total": total, "rows": rows}

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
        return {"total": len(self._found), "capped": capped}

    def _show(self, message: Message) -> Message:
        path = self._path(message)
        self.selection = path
        return {"item": item(self.references, path, self.policy)}

    def _later(self, work: Work) -> Operation:
        """Make an operation of what may take long; the maps are drawn one after the other."""

        def start(message: Message) -> None:
            answer_later(message, work, self.post, self._mapping)

        return start

    def _allow(self, message: Message) -> Message:
        self.policy.grant(str(message["grant"]))
        return {"granted": self.policy.granted}

    def _cancel(self, message: Message) -> Message:
        if job := self._jobs.get(str(message["job"])):
            job.set()
        return {}

    def _read(self, message: Message) -> None:
        self._jobs[str(message["id"])] = threading.Event()
        name = f"refexplorer-read-{message['id']}"
        threading.Thread(target=self._run, args=[message], name=name, daemon=True).start()

    def _run(self, message: Message) -> None:
        """Read in a thread of its own and post the answer."""
        job = self._jobs[str(message["id"])]
        path, index = str(message["array"]), message["index"]

        def progress(done: int, of: int) -> bool:
            label = f"{done:,} of {of:,} chunks"
            event = {"ev": "progress", "id": message["id"], "done": done, "of": of, "label": label}
            if not job.is_set():
                self.post(event, [])
            return not job.is_set()

        try:
            if path not in self.references.arrays():
                raise RefexplorerError(f"There is no array at {path!r}.")
            chunk = None if index is None else tuple(map(int, index))
            reading, buffer = preview(self.references, path, chunk, self._targets, progress)
            if job.is_set():
                raise RefexplorerError("The reading was stopped.")
            reply = {"id": message["id"], "reading": to_wire(reading)}
            self.post(reply, [] if buffer is None else [buffer])
        except Exception as error:
            self.post(failure(message, error), [])
        finally:
            self._jobs.pop(str(message["id"]), None)

    def _path(self, message: Message) -> str:
        path = str(message["path"])
        try:
            self.references.node(path)
        except KeyError:
            fails = "The template of this key fails" if path in self.references else None
            raise RefexplorerError(f"{fails or 'The set has nothing'} at {path!r}.") from None
        return path
