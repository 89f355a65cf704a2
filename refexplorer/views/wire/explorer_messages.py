"""The requests, replies and events of the explorer."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from refexplorer.spec.core.references import Kind
from refexplorer.views.wire.editor_models import Derived
from refexplorer.views.wire.map_models import Changes, Grid, Layout, TargetRow
from refexplorer.views.wire.messages import (
    Cancel as Cancel,
)
from refexplorer.views.wire.messages import (
    Count,
    Done,
    Event,
    Request,
)
from refexplorer.views.wire.messages import (
    JobProgress as JobProgress,
)
from refexplorer.views.wire.messages import (
    SourceChanged as SourceChanged,
)
from refexplorer.views.wire.models import (
    BytesPage,
    LadderReply,
    Note,
    PathItem,
    Plan,
    ReadingModel,
    Row,
)


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
    """

    keys: Count
    arrays: Count
    targets: Count
    bytes: Count | None
    kinds: KindCounts


class Hello(Struct, frozen=True):
    """The set, as its first screen shows it.

    Attributes
    ----------
    notes, note_count
        The first, and how many there are; null of a large set, until they are known.
    arrays
        Paths of the first arrays.
    """

    title: str
    form: str
    facts: SetFacts
    notes: tuple[Note, ...] | None
    note_count: int | None
    code: str
    arrays: tuple[str, ...]


class GreetExplorer(Request, frozen=True, tag="hello"):
    """Begin."""

    reply = Hello


class Notes(Struct, frozen=True):
    """The first notes of the set, and how many there are."""

    notes: tuple[Note, ...]
    note_count: int


class SeekNotes(Request, frozen=True, tag="notes"):
    """Check the references of the set."""

    reply = Notes
    is_later = True


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


class TreePage(Struct, frozen=True):
    """Some of the rows, and how many there are."""

    start: Count
    total: Count
    rows: tuple[Row, ...]


class TreeRows(Request, frozen=True, tag="tree.rows"):
    """Show rows of the flattened tree, or of the search while one is on."""

    reply = TreePage

    start: int
    n: int


class TreeChange(Struct, frozen=True):
    """How many rows there are now, and where the one that was asked for is; -1: nowhere."""

    total: Count
    index: Count


class TreeToggle(Request, frozen=True, tag="tree.toggle"):
    """Open or close a folder."""

    reply = TreeChange

    path: str
    open: bool


class TreeReveal(Request, frozen=True, tag="tree.reveal"):
    """Open what is above a path, and end a search."""

    reply = TreeChange

    path: str


class KeysFound(Struct, frozen=True):
    """How many keys were found, and whether there may be more."""

    total: Count
    capped: bool


class TreeFind(Request, frozen=True, tag="tree.find"):
    """Search; without text and kinds the search ends."""

    reply = KeysFound

    text: str
    mode: Literal["substring", "glob", "regex"]
    kinds: tuple[Kind, ...]


class TreeAbsent(Request, frozen=True, tag="tree.absent"):
    """Have the chunks without a reference as rows, too, or no longer."""

    reply = TreeChange

    show: bool


class KeyShown(Struct, frozen=True):
    """The details of a path."""

    item: PathItem


class ShowKey(Request, frozen=True, tag="key.show"):
    """Choose a path: also a chunk without a reference, or a rejected key."""

    reply = KeyShown

    path: str


class KeyExplained(Struct, frozen=True):
    """How a key came about; places in the text are null."""

    origin: str
    steps: tuple[Derived, ...]


class ExplainKey(Request, frozen=True, tag="key.explain"):
    """Explain a key."""

    reply = KeyExplained
    is_later = True

    path: str


class BytesReply(Struct, frozen=True):
    """Where a page of bytes is."""

    bytes: BytesPage


class ReadBytes(Request, frozen=True, tag="key.bytes"):
    """Read bytes of a key, at most 65,536; of a whole file its size is asked first."""

    reply = BytesReply
    is_later = True
    buffers = "The bytes, if they were fetched."

    path: str
    start: int
    n: int


class Climbed(Struct, frozen=True):
    """How a key is decoded."""

    ladder: LadderReply


class ClimbLadder(Request, frozen=True, tag="key.ladder"):
    """Read and decode a key step by step; where there is no reference, the first step fails."""

    reply = Climbed
    is_later = True

    path: str


class Code(Struct, frozen=True):
    """Python."""

    code: str


class WriteCode(Request, frozen=True, tag="key.code"):
    """Write Python for a key with fsspec, Zarr and xarray alone, as ``refs.code(path)``."""

    reply = Code
    is_later = True

    path: str


class DatasetView(Struct, frozen=True):
    """HTML of xarray, of metadata alone, or the sentence that says why there is none."""

    html: str | None
    sentence: str | None


class Describe(Request, frozen=True, tag="overview"):
    """Show the set as xarray does."""

    reply = DatasetView
    is_later = True


class Planned(Struct, frozen=True):
    """The cost of a read."""

    plan: Plan


class PlanSlice(Request, frozen=True, tag="slice.plan"):
    """Say what reading a part of an array takes; without slices and index, what is shown first.

    Attributes
    ----------
    slices
        One for each dimension: ``3`` or ``0:10:2``.
    index
        Of a chunk.
    """

    reply = Planned

    array: str
    slices: tuple[str, ...] | None = None
    index: tuple[int, ...] | None = None


class WasRead(Struct, frozen=True):
    """The values that were read."""

    reading: ReadingModel


class ReadChunk(Request, frozen=True, tag="chunk.read"):
    """Read a part of an array; without slices and index, the whole.

    Attributes
    ----------
    slices
        One for each dimension: ``3`` or ``0:10:2``.
    index
        Of a chunk.
    scale, times
        What of the CF conventions is applied.
    """

    reply = WasRead
    is_later = True
    buffers = "The values, float64 in C order; none of text and structured values."

    array: str
    slices: tuple[str, ...] | None = None
    index: tuple[int, ...] | None = None
    scale: bool = True
    times: bool = True


class WhyStepModel(Struct, frozen=True):
    """One step from a chunk to a value.

    Attributes
    ----------
    name
        As of `refexplorer.data.read.why.WhyStep`.
    text
        One sentence.
    """

    name: str
    text: str


class ValueExplained(Struct, frozen=True):
    """The reason for a value, in a sentence, and the steps that lead to it."""

    sentence: str
    steps: tuple[WhyStepModel, ...]


class ExplainValue(Request, frozen=True, tag="value.why"):
    """Tell why a value of an array is what it is; its chunk is read.

    Attributes
    ----------
    index
        The place of the value, one number for each dimension.
    """

    reply = ValueExplained
    is_later = True

    array: str
    index: tuple[int, ...]


class GridMap(Struct, frozen=True):
    """The map of chunks; null if the set has no arrays."""

    map: Grid | None


class ShowGrid(Request, frozen=True, tag="grid.show"):
    """Draw the chunks of an array.

    Attributes
    ----------
    array
        Null: the one of most chunks.
    axes
        The drawn ones: rows, columns.
    window
        Along each dimension, in chunks; null: everything.
    """

    reply = GridMap
    is_later = True
    buffers = (
        "float64 in C order: chunks of each state (states x rows x columns); then for each cell "
        "(rows x columns) the target of most chunks (place in `targets`, or -1), the least offset "
        "(or -1), and bytes (or -1: not known, a whole file is among them)."
    )

    array: str | None = None
    axes: tuple[int, ...] | None = None
    window: tuple[tuple[int, int], ...] | None = None


class ChangesMap(Struct, frozen=True):
    """The changes; null if there is nothing to compare with.

    Attributes
    ----------
    comparable
        Whether a set to compare with may be named here.
    """

    comparable: bool
    changes: Changes | None


class ShowChanges(Request, frozen=True, tag="changes.show"):
    """Draw what became of the chunks of a picture; its fields are those of `Grid`."""

    reply = ChangesMap
    is_later = True
    buffers = "Chunks of each kind (kinds x rows x columns), float64 in C order."

    array: str
    axes: tuple[int, ...]
    window: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]


class CompareWith(Request, frozen=True, tag="changes.with"):
    """Compare with another set.

    Attributes
    ----------
    source
        Path or URL of the set as it was before; empty: none.
    """

    reply = Done
    is_later = True

    source: str


class TargetPage(Struct, frozen=True):
    """Some of the targets, and how many there are."""

    start: Count
    total: Count
    rows: tuple[TargetRow, ...]


class TargetRows(Request, frozen=True, tag="targets.rows"):
    """List targets."""

    reply = TargetPage
    is_later = True

    start: int
    n: int


class TargetReply(Struct, frozen=True):
    """The map of a target; null if the set has no targets."""

    layout: Layout | None


class ShowTarget(Request, frozen=True, tag="target.show"):
    """Draw which bytes of a target are referred to.

    Attributes
    ----------
    url
        Null is the target that the reader names; left out: the first one.
    window
        In bytes; null: everything.
    """

    reply = TargetReply
    is_later = True
    buffers = (
        "float64: edges of n bins (n + 1); then for each bin the bytes covered, those covered "
        "twice, ranges that begin there, and the array of most bytes (place in `arrays`, or -1)."
    )

    url: str | UnsetType | None = UNSET
    window: tuple[int, int] | None = None


class TargetsChecked(Struct, frozen=True):
    """The result of a check.

    Attributes
    ----------
    grants
        What `allow` needs for the targets that were not asked.
    """

    summary: str
    grants: tuple[str, ...]


class CheckTargets(Request, frozen=True, tag="targets.check"):
    """Ask each target for its size; then `targets.rows` knows sizes and states."""

    reply = TargetsChecked
    is_later = True


class Allowed(Struct, frozen=True):
    """All that may be read."""

    granted: tuple[str, ...]


class AllowPlace(Request, frozen=True, tag="allow"):
    """Allow reading from a place."""

    reply = Allowed

    grant: str


class CodeChanged(Event, frozen=True, tag="code"):
    """Python for what was done last."""

    code: str


class FailuresChanged(Event, frozen=True, tag="failures"):
    """Chunks of an array failed, or no longer do, in any view of the same set."""

    array: str
