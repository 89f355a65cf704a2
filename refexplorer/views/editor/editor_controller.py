"""The controller of the template editor: V1 text in, the V0 table of the last good text out."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, structs

from refexplorer import demo
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.readers.features import BASES
from refexplorer.readers.running import KeysRead, sample_of
from refexplorer.refset.opened_set import internals
from refexplorer.spec.findings import Finding
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.editor.editor_models import (
    EditReply,
    EntryPage,
    Help,
    Remarks,
    Replaced,
    RowIndex,
    Text,
    V0Written,
    Welcome,
)
from refexplorer.views.editor.editor_rows import (
    Derivation,
    EditorRow,
    EditorRows,
    Uses,
    derive,
    generators,
    key_of,
    template_fields,
    uses,
)
from refexplorer.views.editor.shortening import Shortening, seek, write_v0
from refexplorer.views.editor.specification import Specification, TaughtRule, taught
from refexplorer.views.text.fixes import (
    EditorDiagnostic,
    Fix,
    diagnostic_of_error,
    diagnostics_of_set,
    sentence_of,
    wrapping,
)
from refexplorer.views.text.positions import (
    FILTER_HELP,
    PART_HELP,
    TextPositions,
    formatted,
    window_of,
)
from refexplorer.views.wire.jobs import Jobs
from refexplorer.views.wire.requests import (
    Buffers,
    Count,
    Event,
    Message,
    Post,
    SourceChanged,
    answer,
    bound,
    event,
    nowhere,
    request,
)

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet


Shown = TypeVar("Shown", bound=Replaced)
ROWS = 1000
"""Most rows that one answer carries."""


class Traced(Struct, frozen=True):
    """How a row came about; places are null while the text is broken."""

    version: int
    derivation: Derivation


class Used(Struct, frozen=True):
    """The rows that a part of the text makes."""

    version: int
    uses: Uses


class RowsChanged(Event, frozen=True, tag="changed"):
    """The rows changed; `total` counts rows."""

    version: int
    total: Count


class DocumentChanged(Event, frozen=True, tag="document"):
    """Python set the document."""

    document: str


class KeyChosen(Event, frozen=True, tag="chosen"):
    """Another view shows where a key comes from."""

    key: str


class TemplatesTried(Event, frozen=True, tag="tried"):
    """Python tries other templates."""


def _show_nowhere(references: ReferenceSet, key: str) -> None:
    raise RefexplorerError("An explorer cannot be opened here.")


class EditorController:
    """Follows a text as it is typed.

    A text that cannot be opened leaves the last good set in place, so that the table never
    goes blank under the hands.
    """

    events = (SourceChanged, DocumentChanged, KeyChosen, TemplatesTried, RowsChanged)

    def __init__(
        self,
        document: str | Mapping[str, object] = "{}",
        *,
        templates: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.post: Post = nowhere
        # Opens an explorer, at a key unless that is empty
        self.show: Callable[[ReferenceSet, str], None] = _show_nowhere
        self._chosen = ""
        self.version = 0
        self._limits = limits
        self._lock = threading.RLock()
        self._templates = dict(templates or {})
        self._good: ReferenceSet | None = None
        self._table: EditorRows | None = None
        self._error: RefexplorerError | None = None
        self._read_by: dict[str, KeysRead] = {}
        self._jobs = Jobs(lambda *posted: self.post(*posted))
        self.answers = bound([self, self._jobs, Shortening(self), Specification(self)])
        self._start = as_text(document)
        self._follow(self._start)

    @property
    def document(self) -> str:
        """The text as it stands, good or not."""
        return self._positions.text

    @document.setter
    def document(self, document: str | Mapping[str, object]) -> None:
        with self._lock:
            if as_text(document) != self.document:
                self._replace(as_text(document))

    @property
    def references(self) -> ReferenceSet | None:
        """The set of the last good text; None before there was one."""
        return self._good

    @property
    def positions(self) -> TextPositions | None:
        """Places in the last good text; None while the text is another one."""
        return self._positions if self._error is None else None

    @property
    def diagnostics(self) -> tuple[Finding, ...]:
        """The diagnostics of the last valid text."""
        return () if self._good is None else self._good.diagnostics

    @property
    def templates(self) -> dict[str, str]:
        """The texts that are tried in place of templates."""
        return dict(self._templates)

    @templates.setter
    def templates(self, templates: Mapping[str, str]) -> None:
        with self._lock:
            if dict(templates) != self._templates:
                self._templates = {str(name): str(text) for name, text in templates.items()}
                self._followed(self.document)
                self.post(*event(TemplatesTried()))

    @property
    def sentence(self) -> str:
        """How many keys there are and what is wrong first, or why the text cannot be read."""
        if self._error is not None:
            return sentence_of(self._error)
        errors = [note for note in self._diagnostics() if note.severity == "error"]
        keys = counted(self._total, "key")
        return f"{keys}; {errors[0].message}" if errors else keys

    def window(self, start: int, stop: int, reader: str = "") -> list[EditorRow]:
        """Return some rows, as the specification or another reader has them."""
        if self._table is None:
            return []
        return self._table.window(start, stop, self._keys_read(reader))

    def handle(
        self, message: Message, buffers: Buffers | None = None
    ) -> list[tuple[Message, Buffers]]:
        """Answer one message."""
        with self._lock:
            return answer(self.answers, message, self._jobs)

    def close(self) -> None:
        """Stop what runs, and say no more: the view is gone."""
        self.post = nowhere
        self._jobs.close()

    @request("hello")
    def hello(self) -> Welcome:
        """Begin."""
        return self._shown_as(
            Welcome,
            help=Help(PART_HELP, FILTER_HELP),
            examples=tuple(example_sets()),
            chosen=self._chosen,
        )

    @request("window")
    def look(self, line: int) -> Replaced:
        """Show the part of a large document around a line."""
        self._see(self.document, line)
        return self._shown_as(Replaced)

    def _shown_as(self, kind: type[Shown], **more: Any) -> Shown:
        """Return the state with the text that is shown."""
        return kind(**structs.asdict(self._state()), document=self._visible(), **more)

    def _visible(self) -> str:
        window = self._window
        return self.document if window is None else self.document[window.start : window.stop]

    @request("edit", unsaved="This saved page cannot evaluate edits")
    def edit(
        self,
        document: str,  # The whole text
        # Whether a link brought it: as an answer to an exercise it is nobody's own
        given: bool = False,
    ) -> EditReply:
        """Follow the text as it is typed."""
        if self._window is None and document != self.document:
            self._followed(document)
        return self._state()

    @request("try", unsaved="This saved page cannot try other values")
    def try_templates(
        self,
        templates: dict[str, str],  # Texts by name, in place of those of the document
    ) -> EditReply:
        """Try other templates."""
        self._templates = templates
        self._followed(self.document)
        return self._state()

    @request("rows")
    def rows(
        self,
        start: int,
        n: int,
        reader: str = "",  # Its name: the table as it has it; empty: the specification's
    ) -> EntryPage:
        """Show rows of the table."""
        start, n = max(start, 0), min(max(n, 0), ROWS)
        rows = self.window(start, start + n, reader)
        return EntryPage(self.version, start, self._shown_count, tuple(rows))

    @request("notes")
    def notes(self) -> Remarks:
        """Say what is wrong or odd, which takes longer than the rows: asked when typing pauses."""
        good, found, is_good = self._good, tuple(self._diagnostics()), self._error is None
        count = len(good.diagnostics) if good is not None and is_good else len(found)
        return Remarks(self.version, is_good, found, count, self.sentence)

    @request("explain", unsaved="The derivation of this key was not saved with the page")
    def explain(self, key: str) -> Traced:
        """Explain a row."""
        refs = self.opened()
        assert self._table is not None
        try:
            return Traced(self.version, derive(refs, key, self.positions, self._table))
        except KeyError:
            raise RefexplorerError(f"`{key}` is not a key of the last valid text.") from None

    @request("explore", unsaved="This saved page cannot open the explorer")
    def explore(self, key: str = "") -> None:
        """Open the last good set: the page turns to its explorer, a notebook shows one below."""
        self.show(self.opened(), key)

    @property
    def is_edited(self) -> bool:
        """Whether the text is another one than at first."""
        return self.document != self._start

    def choose(self, key: str) -> None:
        """Show where a key comes from."""
        self._chosen = key
        self.post(*event(KeyChosen(key)))

    @request("format", unsaved="This saved page cannot format the text")
    def format(self) -> None:
        """Write the text so that a person can read it; it comes as an event, as from Python."""
        self.document = formatted(self.document)

    @request("text")
    def show_text(
        self,
        example: str | None = None,  # The title of an example; null: the text to begin with
    ) -> Text:
        """Ask for a text that the one in the editor may be compared with, or replaced by."""
        if example is None:
            return Text(self._start)
        path = example_sets().get(example)
        if path is None:
            raise RefexplorerError(f"There is no example {example!r}.")
        return Text(path.read_text(encoding="utf-8"))

    @request("uses")
    def uses(
        self,
        pointer: str,  # Of the part where the cursor is
    ) -> Used:
        """Find the rows that a part of the text makes."""
        found = uses(self.opened(), pointer)
        ranges = ((self._index(first), self._index(end - 1) + 1) for first, end in found.ranges)
        return Used(self.version, Uses(found.what, tuple(ranges)))

    @request("seek")
    def seek(
        self,
        text: str = "",  # A key, or the number of one
        # gen, places: In place of it a gen item, and for each dimension which of its values
        gen: int | None = None,
        places: dict[str, int] | None = None,
    ) -> RowIndex:
        """Find a row."""
        refs = self.opened()
        if gen is None:
            return RowIndex(self._index(seek(refs, text)))
        key = key_of(refs, gen, places or {})
        if key not in refs:
            raise RefexplorerError(f"`{key}` has no reference: its templates fail.")
        return RowIndex(self._index(refs.number(key)))

    @request("v0")
    def write_v0(
        self,
        sure: bool = False,  # Write also what is large; else its size is said
    ) -> V0Written:
        """Write the rows as V0."""
        return V0Written(write_v0(self.opened(), sure=sure))

    @property
    def rules(self) -> tuple[TaughtRule, ...]:
        """The rules of the specification, with what teaches each."""
        return taught()

    def opened(self) -> ReferenceSet:
        """Return the set of the last good text."""
        if self._good is None:
            raise RefexplorerError("No valid text with keys was entered yet.")
        return self._good

    def _index(self, number: int) -> int:
        return number if self._table is None else self._table.index(number)

    def _keys_read(self, reader: str) -> KeysRead | None:
        """Return the last good text as a reader has it; None for the specification."""
        if reader not in BASES or self._good is None:
            return None
        if reader not in self._read_by:
            contents, limits = internals(self._good).contents, self._good.limits
            sample = sample_of(self._good.source, contents, self._templates, limits)
            self._read_by[reader] = KeysRead.by(reader, sample)
        return self._read_by[reader]

    def _replace(self, text: str) -> None:
        """Put another text in place of the one that is edited."""
        was_large = self._window is not None
        self._follow(text)
        if was_large or self._window is not None:
            self.post(*event(SourceChanged()))
        else:
            self.post(*event(DocumentChanged(text)))
        self._changed()

    def _followed(self, text: str) -> None:
        version = self.version
        self._follow(text)
        if self.version != version:
            self._changed()

    def _follow(self, text: str) -> None:
        """Open the text; keep the set before it as what the rows are compared with."""
        self._see(text)
        try:
            # as bytes, since a short text could also be a path
            opened = open_references(
                text.encode("utf-8", "replace"), templates=self._templates, limits=self._limits
            )
        except RefexplorerError as error:
            self._error = error
            return
        self._table = EditorRows(opened, self._good)
        self._good, self._error, self._read_by = opened, None, {}
        self.version += 1

    def _see(self, text: str, line: int = 1) -> None:
        self._window = window_of(text, line)
        self._positions = TextPositions(text, self._window)
        self._found_diagnostics: list[EditorDiagnostic] | None = None

    def _changed(self) -> None:
        self.post(*event(RowsChanged(self.version, self._shown_count)))

    @property
    def _total(self) -> int:
        return 0 if self._good is None else self._good.count

    @property
    def _shown_count(self) -> int:
        return 0 if self._table is None else self._table.total

    def _state(self) -> EditReply:
        """Return the state without a closer look at anything: rows come first."""
        good, table = self._good, self._table
        return EditReply(
            version=self.version,
            good=self._error is None,
            form=None if good is None else good.source.form,
            total=self._total,
            shown=self._shown_count,
            removed=0 if table is None else table.removed,
            removed_exactly=table is None or table.is_exact,
            window=self._window,
            wrap=self._wrap(),
            templates=template_fields(self._positions, self._templates),
            generators=() if good is None else generators(good),
        )

    def _wrap(self) -> Fix | None:
        is_v0 = self._good is not None and self._good.source.form == "V0"
        return wrapping(self._positions) if is_v0 and self._window is None else None

    def _diagnostics(self) -> list[EditorDiagnostic]:
        """Return the diagnostics of the text; found once for each text."""
        if self._found_diagnostics is None:
            if self._error is not None:
                self._found_diagnostics = [diagnostic_of_error(self._positions, self._error)]
            else:
                good = self._good
                self._found_diagnostics = (
                    [] if good is None else diagnostics_of_set(self._positions, good)
                )
        return self._found_diagnostics


def example_sets() -> dict[str, Path]:
    """Return the shipped sets that are a text, by their titles."""
    return {title: path for title, path in demo.sets().items() if path.suffix == ".json"}


def as_text(document: str | Mapping[str, object]) -> str:
    """Return the text of a document that may be given as a value."""
    if isinstance(document, str):
        return document
    return json.dumps(document, indent=2, ensure_ascii=False)
