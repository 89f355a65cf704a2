"""The controller of the template editor: V1 text in, the V0 table of the last good text out."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from refexplorer import demo
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted
from refexplorer.readers.features import BASES
from refexplorer.readers.running import KeysRead, sample_of
from refexplorer.refset.contents import internals
from refexplorer.spec.codes import CODES, codes_of
from refexplorer.spec.findings import Finding
from refexplorer.verbs.codes import explain_code
from refexplorer.verbs.opening import dialects, open_references
from refexplorer.verbs.referenceset import ReferenceSet
from refexplorer.views.editor.editor_rows import (
    EditorRows,
    derive,
    generators,
    key_of,
    template_fields,
    uses,
)
from refexplorer.views.editor.shortening import Shortening, seek, write_v0
from refexplorer.views.editor.specification import Specification, cited
from refexplorer.views.text.fixes import (
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
from refexplorer.views.wire.answering import (
    Buffers,
    Message,
    Operations,
    Post,
    event,
    nowhere,
)
from refexplorer.views.wire.editor.editor_messages import (
    AskExamples,
    DocumentChanged,
    Edit,
    EditorDiagnostic,
    EditReply,
    Examples,
    Fix,
    FormatText,
    GreetEditor,
    Help,
    Look,
    Remarks,
    Replaced,
    SeekRemarks,
    SeekStart,
    ShowExample,
    TemplatesTried,
    Text,
    Try,
    V0Written,
    Welcome,
    WriteV0,
)
from refexplorer.views.wire.editor.row_messages import (
    At,
    EditorRow,
    EntryPage,
    Explain,
    RowIndex,
    RowsChanged,
    Seek,
    SeekUses,
    ShowRows,
    Traced,
    Used,
    Uses,
)
from refexplorer.views.wire.editor.rule_messages import (
    AskReaders,
    CodeExplained,
    ExplainCode,
    Readers,
    ReaderVerdict,
)
from refexplorer.views.wire.messages import Done, SourceChanged
from refexplorer.views.wire.models import CodePage
from refexplorer.views.wire.operations import Bound, answer, bound

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet


def code_page(code: str) -> CodePage:
    """Return what there is to know about a code."""
    found, more = explain_code(code), CODES[code]
    is_store = code in codes_of("parquet")
    return CodePage(
        found.code,
        found.meaning,
        found.readers,
        found.cause,
        more.mend,
        # who uses a page cannot open a set in Python
        found.example if more.has_set or is_store else "",
        more.has_set and not is_store,
        cited(more.rule) if more.rule else None,
    )


_EXAMPLES = 5  # differing keys that are shown for a reader


def readers(refs: ReferenceSet, templates: Mapping[str, str]) -> tuple[ReaderVerdict, ...]:
    """Judge the text of a set by the rules of each reader, the specification first."""
    text = (refs.source.text or "").encode()
    return tuple(
        ReaderVerdict(
            verdict.reader,
            verdict.outcome,
            verdict.summary,
            (*map(str, verdict.reasons), *verdict.notes),
            tuple(map(str, verdict.examples[:_EXAMPLES])),
        )
        for verdict in dialects(text, templates=templates)
    )


Shown = TypeVar("Shown", bound=Replaced)
ROWS = 1000
"""Most rows that one answer carries."""


class EditorController:
    """Follows a text as it is typed.

    A text that cannot be opened leaves the last good set in place, so that the table never
    goes blank under the hands.
    """

    def __init__(
        self,
        document: str | Mapping[str, object] = "{}",
        *,
        templates: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.post: Post = nowhere
        self.version = 0
        self._limits = limits
        self._lock = threading.RLock()
        self._templates = dict(templates or {})
        self._good: ReferenceSet | None = None
        self._table: EditorRows | None = None
        self._error: RefexplorerError | None = None
        self._read_by: dict[str, KeysRead] = {}
        self._shortening = Shortening(self)
        self._start = as_text(document)
        self._follow(self._start)
        self.operations: Operations = {
            GreetEditor: self._hello,
            Edit: self._edit,
            Try: self._try,
            ShowRows: self._rows,
            SeekRemarks: self._notes,
            Explain: self._explain,
            ExplainCode: self._code,
            FormatText: self._format,
            SeekUses: self._uses,
            AskReaders: self._readers,
            Seek: self._seek,
            At: self._at,
            WriteV0: self._v0,
            Look: self._look,
            SeekStart: lambda request: Text(self._start),
            AskExamples: lambda request: Examples(tuple(example_sets())),
            ShowExample: self._example,
            **self._shortening.operations,
            **Specification(self).operations,
        }

    @property
    def answers(self) -> Bound:
        """What answers each request."""
        return bound([self])

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
        """What there is to say about the last good text."""
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
            return answer(self.answers, message)

    def close(self) -> None:
        """Stop what runs, and say no more: the view is gone."""
        self.post = nowhere
        self._shortening.close()

    def _hello(self, request: GreetEditor) -> Welcome:
        return self._shown_as(Welcome, help=Help(PART_HELP, FILTER_HELP))

    def _look(self, request: Look) -> Replaced:
        """Show another part of a large document."""
        self._see(self.document, request.line)
        return self._shown_as(Replaced)

    def _shown_as(self, kind: type[Shown], **more: Any) -> Shown:
        """Return the state with the text that is shown."""
        return kind(**structs.asdict(self._state()), document=self._visible(), **more)

    def _visible(self) -> str:
        window = self._window
        return self.document if window is None else self.document[window.start : window.stop]

    def _edit(self, request: Edit) -> EditReply:
        if self._window is None and request.document != self.document:
            self._followed(request.document)
        return self._state()

    def _try(self, request: Try) -> EditReply:
        self._templates = request.templates
        self._followed(self.document)
        return self._state()

    def _rows(self, request: ShowRows) -> EntryPage:
        start, n = max(request.start, 0), min(max(request.n, 0), ROWS)
        rows = self.window(start, start + n, request.reader)
        return EntryPage(self.version, start, self._shown, tuple(rows))

    def _notes(self, request: SeekRemarks) -> Remarks:
        """Say what is wrong or odd, which takes longer than the rows."""
        good, found, is_good = self._good, tuple(self._diagnostics()), self._error is None
        count = len(good.diagnostics) if good is not None and is_good else len(found)
        return Remarks(self.version, is_good, found, count, self.sentence)

    def _explain(self, request: Explain) -> Traced:
        refs, key = self._opened(), request.key
        assert self._table is not None
        try:
            return Traced(self.version, derive(refs, key, self.positions, self._table))
        except KeyError:
            raise RefexplorerError(f"`{key}` is not a key of the last valid text.") from None

    def _format(self, request: FormatText) -> Done:
        self.document = formatted(self.document)
        return Done()

    def _code(self, request: ExplainCode) -> CodeExplained:
        return CodeExplained(code_page(request.code))

    def _example(self, request: ShowExample) -> Text:
        path = example_sets().get(request.title)
        if path is None:
            raise RefexplorerError(f"There is no example {request.title!r}.")
        return Text(path.read_text(encoding="utf-8"))

    def _uses(self, request: SeekUses) -> Used:
        found = uses(self._opened(), request.pointer)
        ranges = ((self._index(first), self._index(end - 1) + 1) for first, end in found.ranges)
        return Used(self.version, Uses(found.what, tuple(ranges)))

    def _readers(self, request: AskReaders) -> Readers:
        return Readers(self.version, readers(self._opened(), self._templates))

    def _seek(self, request: Seek) -> RowIndex:
        return RowIndex(self._index(seek(self._opened(), request.text)))

    def _at(self, request: At) -> RowIndex:
        refs = self._opened()
        key = key_of(refs, request.gen, request.places)
        if key not in refs:
            raise RefexplorerError(f"`{key}` has no reference: its templates fail.")
        return RowIndex(self._index(refs.number(key)))

    def _v0(self, request: WriteV0) -> V0Written:
        return V0Written(write_v0(self._opened(), sure=request.sure))

    def _opened(self) -> ReferenceSet:
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
        self.post(*event(RowsChanged(self.version, self._shown)))

    @property
    def _total(self) -> int:
        return 0 if self._good is None else self._good.count

    @property
    def _shown(self) -> int:
        return 0 if self._table is None else self._table.total

    def _state(self) -> EditReply:
        """Return the state without a closer look at anything: rows come first."""
        good, table = self._good, self._table
        return EditReply(
            version=self.version,
            good=self._error is None,
            form=None if good is None else good.source.form,
            total=self._total,
            shown=self._shown,
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
