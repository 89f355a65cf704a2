"""The controller of the template editor: V1 text in, the V0 table of the last good text out."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from refexplorer.errors import RefexplorerError
from refexplorer.limits import Limits
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.spec.references import Base64, Inline, Range, Url
from refexplorer.views.derivation import derive
from refexplorer.views.editor_models import Entry, Mark
from refexplorer.views.exporting import count_removed, seek, write_v0
from refexplorer.views.help import FILTER_HELP, PART_HELP
from refexplorer.views.marks import mark_of_error, marks_of_set, sentence_of
from refexplorer.views.places import Places
from refexplorer.views.readers import readers
from refexplorer.views.uses import uses
from refexplorer.views.wire import Buffers, Message, Post, answer, nowhere

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS = 1000
"""Most rows that one answer carries."""
_TEXT_SHOWN = 500


class EditorController:
    """Follows a text as it is typed.

    A text that cannot be opened leaves the last good set in place, so that the table never
    goes blank under the hands.

    Parameters
    ----------
    document
        The first text, or a document that is written as JSON.
    limits
        What a document may cost.

    Attributes
    ----------
    post
        Called with messages that come unasked; set by the host.
    """

    def __init__(
        self, document: str | Mapping[str, object] = "{}", *, limits: Limits | None = None
    ) -> None:
        self.post: Post = nowhere
        self.version = 0
        self._limits = limits
        self._lock = threading.RLock()
        self._good: ReferenceSet | None = None
        self._before: ReferenceSet | None = None
        self._error: RefexplorerError | None = None
        self._removed: int | None = 0
        self._document = ""
        self._follow(_as_text(document))
        self._operations = {
            "hello": self._hello,
            "edit": self._edit,
            "rows": self._rows,
            "explain": self._explain,
            "uses": self._uses,
            "readers": self._readers,
            "seek": self._seek,
            "v0": self._v0,
        }

    @property
    def document(self) -> str:
        """The text as it stands, good or not."""
        return self._document

    @document.setter
    def document(self, document: str | Mapping[str, object]) -> None:
        with self._lock:
            if _as_text(document) == self._document:
                return
            self._follow(_as_text(document))
            self.post({"ev": "document", "document": self._document}, [])
            self._changed()

    @property
    def references(self) -> ReferenceSet | None:
        """The set of the last good text; None before there was one."""
        return self._good

    def handle(
        self, message: Message, buffers: Buffers | None = None
    ) -> list[tuple[Message, Buffers]]:
        """Answer one message."""
        with self._lock:
            return answer(self._operations, message)

    def _hello(self, message: Message) -> Message:
        help_ = {"parts": PART_HELP, "filters": FILTER_HELP}
        return {"document": self._document, "help": help_, **self._state()}

    def _edit(self, message: Message) -> Message:
        version, text = self.version, str(message["document"])
        if text != self._document:
            self._follow(text)
        if self.version != version:
            self._changed()
        return self._state()

    def _rows(self, message: Message) -> Message:
        start, n = max(int(message["start"]), 0), min(max(int(message["n"]), 0), ROWS)
        keys = [] if self._good is None else self._good.keys_at(start, start + n)
        rows = [self._entry(self._good, key) for key in keys if self._good is not None]
        return {"version": self.version, "start": start, "total": self._total, "rows": rows}

    def _explain(self, message: Message) -> Message:
        refs, key = self._opened(), str(message["key"])
        # places are those of the good text, so they fit no other
        places = Places(self._document) if self._error is None else None
        try:
            return {"version": self.version, "derivation": derive(refs, key, places)}
        except KeyError:
            raise RefexplorerError(f"`{key}` is no key of the last good text.") from None

    def _uses(self, message: Message) -> Message:
        return {"version": self.version, "uses": uses(self._opened(), str(message["pointer"]))}

    def _readers(self, message: Message) -> Message:
        return {"version": self.version, "readers": readers(self._opened())}

    def _seek(self, message: Message) -> Message:
        return {"index": seek(self._opened(), str(message["text"]))}

    def _v0(self, message: Message) -> Message:
        return {"v0": write_v0(self._opened(), sure=message.get("sure") is True)}

    def _opened(self) -> ReferenceSet:
        if self._good is None:
            raise RefexplorerError("There was no text yet that makes keys.")
        return self._good

    def _follow(self, text: str) -> None:
        """Open the text; keep the set before it as what the rows are compared with."""
        self._document = text
        try:
            # as bytes, since a short text could also be a path
            opened = open_references(text.encode("utf-8", "replace"), limits=self._limits)
        except RefexplorerError as error:
            self._error = error
            return
        self._before, self._good, self._error = self._good, opened, None
        self._removed = count_removed(self._before, self._good)
        self.version += 1

    def _changed(self) -> None:
        self.post({"ev": "changed", "version": self.version, "total": self._total}, [])

    @property
    def _total(self) -> int:
        return 0 if self._good is None else self._good.count

    def _state(self) -> Message:
        marks = self._marks()
        count = len(self._good.diagnostics) if self._good and not self._error else len(marks)
        return {
            "version": self.version,
            "good": self._error is None,
            "total": self._total,
            "removed": self._removed,
            "notes": marks,
            "note_count": count,
            "sentence": self._sentence(),
        }

    def _sentence(self) -> str:
        if self._error is not None:
            return sentence_of(self._error)
        errors = [note for note in self._marks() if note.severity == "error"]
        keys = f"{self._total:,} {'key' if self._total == 1 else 'keys'}"
        return f"{keys}; {errors[0].message}" if errors else keys

    def _marks(self) -> list[Mark]:
        if self._error is not None:
            return [mark_of_error(self._document, self._error)]
        return [] if self._good is None else marks_of_set(self._document, self._good)

    def _entry(self, refs: ReferenceSet, key: str) -> Entry:
        reference = refs[key]
        text = reference.text if isinstance(reference, Inline | Base64) else None
        return Entry(
            key,
            reference.kind,
            reference.url if isinstance(reference, Url | Range) else None,
            reference.offset if isinstance(reference, Range) else None,
            reference.length if isinstance(reference, Range) else None,
            None if text is None else text[:_TEXT_SHOWN],
            refs.origin(key),
            self._compare(key, reference),
        )

    def _compare(self, key: str, reference: object) -> str:
        if self._before is None:
            return "same"
        if key not in self._before:
            return "added"
        return "same" if self._before[key] == reference else "changed"


def _as_text(document: str | Mapping[str, object]) -> str:
    if isinstance(document, str):
        return document
    return json.dumps(document, indent=2, ensure_ascii=False)
