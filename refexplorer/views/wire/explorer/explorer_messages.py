"""The explorer itself: the set, its notes and source, what may be read, events for all views."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.messages import Cancel as Cancel
from refexplorer.views.wire.messages import Count, Done, Event, Request
from refexplorer.views.wire.messages import JobProgress as JobProgress
from refexplorer.views.wire.messages import SourceChanged as SourceChanged
from refexplorer.views.wire.models import CodePage, Note


class KindCounts(Struct, frozen=True):
    """Keys of each kind."""

    inline: Count
    base64: Count
    url: Count
    range: Count


class SetFacts(Struct, frozen=True):
    """The set in numbers.

    Attributes
    ----------
    bytes
        Of what is in the set and of byte ranges; null where it is not known. Whole files are beside
        it.
    templates, generated
        Templates that are defined, and keys that gen items make.
    """

    keys: Count
    arrays: Count
    targets: Count
    bytes: Count | None
    kinds: KindCounts
    templates: Count
    generated: Count


class NoteCounts(Struct, frozen=True):
    """Findings of each severity; a note stands for as many as its `count` says."""

    error: Count
    warning: Count
    info: Count


class Hello(Struct, frozen=True):
    """The set, as its first screen shows it.

    Attributes
    ----------
    notes, note_count, severities
        The first, how many there are, and their findings; null of a large set, until they are
        known.
    arrays
        Paths of the first arrays.
    variables
        Those of the first arrays that are data, the largest first.
    has_versions
        Whether other versions of it may be listed, as of an Icechunk repository.
    """

    title: str
    form: str
    facts: SetFacts
    notes: tuple[Note, ...] | None
    note_count: int | None
    severities: NoteCounts | None
    code: str
    arrays: tuple[str, ...]
    variables: tuple[str, ...] = ()
    has_versions: bool = False


class GreetExplorer(Request, frozen=True, tag="hello"):
    """Begin."""

    reply = Hello


class Notes(Struct, frozen=True):
    """The first notes of the set, how many there are, and their findings."""

    notes: tuple[Note, ...]
    note_count: int
    severities: NoteCounts


class SeekNotes(Request, frozen=True, tag="notes"):
    """Check the references of the set."""

    reply = Notes
    is_later = True


class NoteExplained(Struct, frozen=True):
    """The page of the code of a note."""

    page: CodePage


class ExplainNote(Request, frozen=True, tag="notes.code"):
    """Tell what there is to know about the code of a note."""

    reply = NoteExplained

    code: str


class SourceLines(Struct, frozen=True):
    """Lines of the source, each with its number; null where there is no text or no such place."""

    lines: tuple[tuple[int, str], ...] | None


class ShowSource(Request, frozen=True, tag="source.show"):
    """Show the source around a note.

    Attributes
    ----------
    pointer
        Of the note.
    """

    reply = SourceLines

    pointer: str


class AllowPlace(Request, frozen=True, tag="allow"):
    """Allow reading from a place."""

    reply = Done

    grant: str


class CodeChanged(Event, frozen=True, tag="code"):
    """Python for what was done last."""

    code: str


class FailuresChanged(Event, frozen=True, tag="failures"):
    """Chunks of an array failed, or no longer do, in any view of the same set."""

    array: str
