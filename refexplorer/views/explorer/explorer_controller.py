"""The controller of the explorer: the shared state, and one controller for each part."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec
from msgspec import Struct

from refexplorer.core.files import Progress
from refexplorer.core.text import counted, masked, masked_text, may_have_secrets
from refexplorer.io.access import AccessPolicy, StorageOptions, allowed_names
from refexplorer.io.fetch.targets import Targets
from refexplorer.refset.generated import Generated
from refexplorer.refset.opened_set import internals, watched
from refexplorer.spec.references import Kind
from refexplorer.views.code.cells import code
from refexplorer.views.editor.specification import CodePage, code_page
from refexplorer.views.key.inspector import PathItem, absent_item, item, surroundings
from refexplorer.views.maps.chunk_map import ARRAYS_LISTED
from refexplorer.views.registry import PARTS
from refexplorer.views.tree.tree_controller import data_variables, known_path
from refexplorer.views.versions import own_versions
from refexplorer.views.wire.context import (
    Comparison,
    FailureLog,
    Note,
    OtherSets,
    RepositoryVersions,
    ViewContext,
    failure_log_of,
    findings_of,
    known,
    notes,
)
from refexplorer.views.wire.jobs import JobReport, Jobs, steps_of
from refexplorer.views.wire.requests import (
    Buffers,
    Count,
    Event,
    Message,
    Post,
    SourceChanged,
    answer,
    bound,
    discard,
    event,
    filled,
    job,
    request,
)

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

C = TypeVar("C")
VARIABLES_SHOWN = 6  # Data variables of which the first screen has a picture: two rows of three
_TURN: ContextVar[int] = ContextVar("turn", default=0)
_DATA = frozenset({
    "array", "arrays", "attributes", "fill", "folder", "id", "job", "key", "key_start", "others",
    "path", "pointer", "separator", "text", "texts", "values", "whole_keys",
})  # fmt: skip
"""Members of messages that are asked for again as they are, or that are data of the set."""


_SIGNS = re.compile(rb"[?@&#=]|Bearer ")
"""Without one of these a message has no secret, as most answers."""
_AT_ONCE = 0.3  # Seconds that the first screen waits for counts


class KindCounts(Struct, frozen=True):
    """Keys of each kind."""

    inline: Count
    base64: Count
    url: Count
    range: Count


class SetFacts(Struct, frozen=True):
    """The set in numbers; targets and kinds of a large set are null until counted."""

    keys: Count
    is_bound: bool  # Whether there may be fewer keys, until they are counted
    arrays: Count
    targets: Count | None
    # Of what is in the set and of byte ranges; null where it is not known. Whole files are beside
    # it.
    bytes: Count | None
    kinds: KindCounts | None
    # templates, generated: Templates that are defined, and keys that gen items make
    templates: Count
    generated: Count


class NoteCounts(Struct, frozen=True):
    """Findings of each severity, as they are listed."""

    error: Count
    warning: Count
    info: Count


class Hello(Struct, frozen=True):
    """The set, as shown on its first screen."""

    title: str
    form: str
    facts: SetFacts
    # notes, note_count, severities: The first, how many there are, and their findings; null of a
    # large set, until they are known
    notes: tuple[Note, ...] | None
    note_count: int | None
    severities: NoteCounts | None
    code: str
    arrays: tuple[str, ...]  # Paths of the first arrays
    # Those of the first arrays that are data, the largest first
    variables: tuple[str, ...] = ()
    # Whether other versions of it may be listed, as of an Icechunk repository
    has_versions: bool = False
    has_editor: bool = False  # Whether its text is one click away


class Notes(Struct, frozen=True):
    """The first notes of the set, their number, and their findings."""

    notes: tuple[Note, ...]
    note_count: int
    severities: NoteCounts


class CodeChanged(Event, frozen=True, tag="code"):
    """Python for the last action."""

    code: str


class FailuresChanged(Event, frozen=True, tag="failures"):
    """Chunks of an array failed, or no longer do, in any view of the same set."""

    array: str


class ComparisonChanged(Event, frozen=True, tag="compared"):
    """The set is compared with a different one, or with none."""

    is_shown: bool  # Whether the comparison is what shall be looked at


class ExplorerController:
    """Handles the requests of an explorer about one reference set."""

    events = (SourceChanged, CodeChanged, FailuresChanged, ComparisonChanged)

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
        can_write: bool | None = None,
        edit: Callable[[str], None] | None = None,
    ) -> None:
        self.references = refs
        self.policy = AccessPolicy(
            refs.source.location,
            (*refs.allowed, *allowed_names(allow)),
            served=served,
            endpoints=refs.source.endpoints,
        )
        self.post: Post = discard
        self._selection = ""
        self._turns = self._told = self._chosen = 0  # The last: when the selection was set
        self._shown: str | None = None  # Of which array the code shows values
        self.code = masked_text(code(refs, ""))
        self._lock = threading.RLock()
        self._jobs = Jobs(self._post, at_once)
        # Failures of one visitor are not shown to others.
        failure_log = FailureLog() if served else failure_log_of(refs)
        failure_log.watch(self._read_elsewhere)
        options = refs.storage_options if storage_options is None else storage_options
        sets = OtherSets() if others is None and not served else others
        self.comparison = Comparison(refs, compare, sets)
        self.comparison.changed.append(
            lambda: self._post(*event(ComparisonChanged(self.comparison.is_shown)))
        )
        self._context = context = ViewContext(
            refs,
            Targets(self.policy, options, refs.limits),
            self.comparison,
            failure_log,
            self._jobs,
            self._lock,
            self._did,
            show=show,
            versions=own_versions(refs) if versions is None and not served else versions,
            can_write=not served if can_write is None else can_write,
            edit=edit if refs.source.form in ("V0", "V1") else None,
        )
        self._parts = [make(context) for part in PARTS for make in part.controllers]
        self.answers = bound([self, self._jobs, *self._parts])

    def part(self, kind: type[C]) -> C:
        """Return the controller of a view by its class."""
        return next(each for each in self._parts if isinstance(each, kind))

    @property
    def selection(self) -> str:
        """The last selected path; ``""`` is the set itself."""
        return self._selection

    @selection.setter
    def selection(self, path: str) -> None:
        self._selection = path
        self._take_turn()
        if path != self._shown:  # else its first picture, asked for before it, was quicker
            self._did(code(self.references, path, self.policy.granted))
            self._chosen = self._told

    def handle(
        self, message: Message, buffers: Buffers | None = None
    ) -> list[tuple[Message, Buffers]]:
        """Handle one message; reads respond later through `post`."""
        with self._lock:
            self._take_turn()
            found = answer(self.answers, message, self._jobs)
        return [(_without_secrets(reply), attached) for reply, attached in found]

    def _post(self, message: Message, buffers: Buffers) -> None:
        self.post(_without_secrets(message), buffers)

    def close(self) -> None:
        """Stop all work and send nothing more: the view is gone."""
        self.post = discard
        self.comparison.changed.clear()
        self._jobs.close()

    def _take_turn(self) -> None:
        """Return the number of a new request: its jobs get the number, too."""
        self._turns += 1
        _TURN.set(self._turns)

    def _did(self, text: str, array: str | None = None) -> None:
        """Send the Python for an action, unless a job had to wait and more was done since.

        Of values that are shown, `array` is theirs.
        """
        text, turn = masked_text(text), _TURN.get()
        is_first = array == self._selection and self._told == self._chosen
        if turn < self._told and not is_first:
            return
        self._told, self._shown = max(turn, self._told), array
        if text != self.code:
            self.code = text
            self._post(*event(CodeChanged(text)))

    @request("hello")
    def hello(self) -> Hello:
        """Begin."""
        refs = self.references
        found = None if known(refs) is None else self._noted()
        return Hello(
            refs.source.name,
            refs.source.form,
            self._facts(_AT_ONCE),
            None if found is None else found.notes,
            None if found is None else found.note_count,
            None if found is None else found.severities,
            self.code,
            tuple(refs.arrays()[:ARRAYS_LISTED]),
            tuple(data_variables(refs, VARIABLES_SHOWN)),
            self._context.versions is not None,
            self._context.edit is not None,
        )

    def _facts(self, within: float, progress: Progress | None = None) -> SetFacts:
        refs = self.references
        summary = internals(refs).counts(within=within, progress=progress)
        kinds = {kind: summary.kinds.get(kind, 0) for kind in Kind}
        return filled(
            SetFacts,
            summary,
            is_bound=summary.targets is None and summary.missing is None,
            kinds=None if summary.targets is None else KindCounts(**kinds),
            templates=len(refs.templates),
            generated=_generated(refs),
        )

    @job("facts", background=True)
    def facts(self, report: JobReport) -> SetFacts:
        """Count the references of a large set by kind, and its targets."""
        return self._facts(math.inf, steps_of(report, "Counting references"))

    def _noted(self) -> Notes:
        found = findings_of(self.references)
        counts = Counter[str](each.severity for each in found)
        severities = NoteCounts(counts["error"], counts["warning"], counts["info"])
        return Notes(notes(self.references), len(found), severities)

    @job("notes", background=True)
    def notes(self, report: JobReport) -> Notes:
        """Check the references of the set."""
        references = counted(self.references.count, "reference")
        with watched(steps_of(report, f"Checking {references}")):
            return self._noted()

    @request("notes.code", sends="page")
    def explain_code(self, code: str) -> CodePage:
        """Return the explanation of a note's code."""
        return code_page(code)

    @request("source.show", sends="lines")
    def show_source(
        self,
        pointer: str,  # Of the note
    ) -> tuple[tuple[int, str], ...] | None:
        """Return numbered lines around a note; null if there is no text or no such position."""
        return surroundings(self.references, pointer)

    @request("allow", unsaved="This saved page cannot read files")
    def allow(self, grant: str) -> None:
        """Allow reading from a location."""
        self.policy.grant(grant)

    @request("key.show", sends="item")
    def show_key(self, path: str) -> PathItem:
        """Select a path: also a chunk without a reference, or a rejected key."""
        found = absent_item(self.references, path, self.policy)
        if found is None:
            path = known_path(self.references, path)
            found = item(self.references, path, self.policy)
        self.selection = found.path
        return found

    def _read_elsewhere(self, array: str) -> None:
        self._post(*event(FailuresChanged(array)))


def _without_secrets(message: Message) -> Message:
    """Return a message that is safe to display."""
    text = msgspec.json.encode(message)
    if _SIGNS.search(text) is None or not may_have_secrets(text.decode()):
        return message
    return cast("Message", masked(message, _DATA))


def _generated(refs: ReferenceSet) -> int:
    """Count the generated keys."""
    parts = internals(refs).opened.segments
    return sum(part.count for part in parts if isinstance(part, Generated))
