"""The controller of the explorer: what its parts share, and one controller for each part."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from refexplorer.core.masking import masked, masked_text, may_have_secrets
from refexplorer.core.text import counted
from refexplorer.io.access import AccessPolicy, StorageOptions, allowed_names
from refexplorer.io.fetch.targets import Targets
from refexplorer.refset.contents import internals
from refexplorer.refset.segments import Generated
from refexplorer.spec.references import Kind
from refexplorer.views.code.cells import code
from refexplorer.views.compared import Comparison, OtherSets
from refexplorer.views.editor.editor_controller import code_page
from refexplorer.views.key.inspector import KeyShown, absent_item, item, surroundings
from refexplorer.views.maps.chunk_map import ARRAYS_LISTED
from refexplorer.views.registry import PARTS
from refexplorer.views.tree.order import data_variables
from refexplorer.views.tree.tree_controller import known_path
from refexplorer.views.versions import VersionPicker, own_versions
from refexplorer.views.wire.answering import (
    Buffers,
    Message,
    Operations,
    Post,
    event,
    nowhere,
)
from refexplorer.views.wire.context import RepositoryVersions, ViewContext
from refexplorer.views.wire.explorer.compare_messages import ComparisonChanged
from refexplorer.views.wire.explorer.explorer_messages import (
    AllowPlace,
    CodeChanged,
    ExplainNote,
    FailuresChanged,
    GreetExplorer,
    Hello,
    KindCounts,
    NoteCounts,
    NoteExplained,
    Notes,
    SeekNotes,
    SetFacts,
    ShowSource,
    SourceLines,
)
from refexplorer.views.wire.failure_log import FailureLog, failure_log_of
from refexplorer.views.wire.jobs import JobAnswer, JobReport, Jobs
from refexplorer.views.wire.messages import Cancel, Done
from refexplorer.views.wire.notes import known, notes
from refexplorer.views.wire.operations import answer, bound, request

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

C = TypeVar("C")
VARIABLES_SHOWN = 6
"""Data variables of which the first screen has a picture: two rows of three."""
_DATA = frozenset({
    "array", "arrays", "attributes", "fill", "folder", "id", "job", "key", "key_start", "others",
    "path", "pointer", "separator", "text", "texts", "values", "whole_keys",
})  # fmt: skip
"""Members of messages that are asked for again as they are, or that are data of the set."""


class ExplorerController:
    """Answers what an explorer asks of one reference set."""

    def __init__(
        self,
        refs: ReferenceSet,
        *,
        allow: Iterable[str] = (),
        storage_options: StorageOptions | None = None,
        served: bool = False,
        compare: ReferenceSet | None = None,
        others: OtherSets | None = None,
        at_once: bool = False,
        show: Callable[[ReferenceSet], None] | None = None,
        versions: RepositoryVersions | None = None,
    ) -> None:
        self.references = refs
        self.policy = AccessPolicy(
            refs.source.location, (*refs.allowed, *allowed_names(allow)), served=served
        )
        self.post: Post = nowhere
        self._selection = ""
        self.code = masked_text(code(refs, ""))
        self._lock = threading.RLock()
        self._jobs = Jobs(self._post, at_once)
        # What one visitor of a page could not read is nobody else's business.
        failure_log = FailureLog() if served else failure_log_of(refs)
        failure_log.watch(self._read_elsewhere)
        options = refs.storage_options if storage_options is None else storage_options
        sets = OtherSets() if others is None and not served else others
        self.comparison = Comparison(refs, compare, sets)
        self.comparison.changed.append(lambda: self._post(*event(ComparisonChanged())))
        context = ViewContext(
            refs,
            Targets(self.policy, options, refs.limits),
            self.comparison,
            failure_log,
            self._jobs,
            self._lock,
            self._did,
            show=show,
            versions=own_versions(refs) if versions is None and not served else versions,
        )
        self._parts = [make(context) for part in PARTS for make in part.controllers]
        self.operations: Operations = {
            GreetExplorer: self._hello,
            SeekNotes: self._notes,
            ShowSource: self._source,
            ExplainNote: lambda request: NoteExplained(code_page(request.code)),
            AllowPlace: self._allow,
            Cancel: self._jobs.cancel,
        }
        self.answers = bound([self, *self._parts])

    def part(self, kind: type[C]) -> C:
        """Return the controller of a view by its class."""
        return next(each for each in self._parts if isinstance(each, kind))

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
            found = answer(self.answers, message, self._jobs)
        return [(_seen(reply), attached) for reply, attached in found]

    def _post(self, message: Message, buffers: Buffers) -> None:
        self.post(_seen(message), buffers)

    def close(self) -> None:
        """Stop what runs, and say no more: the view is gone."""
        self.post = nowhere
        self.comparison.changed.clear()
        self._jobs.close()

    def _did(self, text: str) -> None:
        """Tell the Python for what was done."""
        text = masked_text(text)
        if text != self.code:
            self.code = text
            self._post(*event(CodeChanged(text)))

    def _hello(self, request: GreetExplorer) -> Hello:
        refs = self.references
        summary = refs.summary()
        found = None if known(refs) is None else self._noted()
        return Hello(
            refs.source.name,
            refs.source.form,
            SetFacts(
                summary.keys,
                summary.arrays,
                summary.targets,
                summary.bytes,
                KindCounts(**{kind: summary.kinds.get(kind, 0) for kind in Kind}),
                len(refs.templates),
                _generated(refs),
            ),
            None if found is None else found.notes,
            None if found is None else found.note_count,
            None if found is None else found.severities,
            self.code,
            tuple(refs.arrays()[:ARRAYS_LISTED]),
            tuple(data_variables(refs, VARIABLES_SHOWN)),
            self.part(VersionPicker).is_possible,
        )

    def _noted(self) -> Notes:
        counts = Counter[str]()
        for diagnostic in self.references.diagnostics:
            counts[diagnostic.severity] += diagnostic.count
        severities = NoteCounts(counts["error"], counts["warning"], counts["info"])
        return Notes(notes(self.references), len(self.references.diagnostics), severities)

    def _notes(self, request: SeekNotes) -> None:
        def seek(report: JobReport) -> JobAnswer:
            references = counted(self.references.count, "reference")
            report(None, None, f"Checking {references}")
            return self._noted(), []

        self._jobs.start(request.id, seek)

    def _source(self, request: ShowSource) -> SourceLines:
        return SourceLines(surroundings(self.references, request.pointer))

    @request("key.show")
    def show_key(self, path: str) -> KeyShown:
        """Choose a path: also a chunk without a reference, or a rejected key."""
        found = absent_item(self.references, path, self.policy)
        if found is None:
            path = known_path(self.references, path)
            found = item(self.references, path, self.policy)
        self.selection = found.path
        return KeyShown(found)

    def _read_elsewhere(self, array: str) -> None:
        self._post(*event(FailuresChanged(array)))

    def _allow(self, request: AllowPlace) -> Done:
        self.policy.grant(request.grant)
        return Done()


def _seen(message: Message) -> Message:
    """Return a message as people may see it."""
    is_plain = not may_have_secrets(msgspec.json.encode(message).decode())
    return message if is_plain else cast("Message", masked(message, _DATA))


def _generated(refs: ReferenceSet) -> int:
    """Count the keys that gen items make."""
    parts = internals(refs).opened.segments
    return sum(part.count for part in parts if isinstance(part, Generated))
