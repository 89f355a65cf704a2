"""The rows that a text makes: what each came from, and what uses a part of the text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from refexplorer.spec.references import Kind
from refexplorer.views.wire.messages import Count, Event, Request, named
from refexplorer.views.wire.models import Derived

RowState = Annotated[
    str,
    named("RowState", "same", "added", "changed", "removed", "different", "absent", "unknown"),
]


class EditorRow(Struct, frozen=True):
    """A row of the editor's table.

    Attributes
    ----------
    text
        Of inline data; cut.
    state
        Since the last good text; or, of what a reader makes of it, beside the specification.
    why
        Why the reader has it differently, in one sentence.
    """

    key: str
    kind: Kind
    url: str | None
    offset: Count | None
    length: Count | None
    text: str | None
    origin: str
    state: RowState
    why: str | None


class EntryPage(Struct, frozen=True):
    """Some of the rows, and how many there are."""

    version: int
    start: Count
    total: Count
    rows: tuple[EditorRow, ...]


class ShowRows(Request, frozen=True, tag="rows"):
    """Show rows of the table.

    Attributes
    ----------
    reader
        Its name: the table as it has it; empty: the specification's.
    """

    reply = EntryPage

    start: int
    n: int
    reader: str = ""


class RowIndex(Struct, frozen=True):
    """A row of the table, from 0."""

    index: Count


class At(Request, frozen=True, tag="at"):
    """Find the row that a gen item makes.

    Attributes
    ----------
    gen
        Its place.
    places
        For each dimension, which of its values, from 0.
    """

    reply = RowIndex

    gen: int
    places: dict[str, int]


class Seek(Request, frozen=True, tag="seek"):
    """Find a row by its key or its number."""

    reply = RowIndex

    text: str


class Derivation(Struct, frozen=True):
    """How a row came about.

    Attributes
    ----------
    number
        Of the key, from 0.
    row
        Where the table shows it, from 0.
    places
        Which value of each dimension made it, from 0.
    """

    key: str
    number: Count
    row: Count
    origin: str
    steps: tuple[Derived, ...]
    places: tuple[tuple[str, Count], ...]


class Traced(Struct, frozen=True):
    """How a row came about; places are null while the text is broken."""

    version: int
    derivation: Derivation


class Explain(Request, frozen=True, tag="explain"):
    """Explain a row."""

    reply = Traced

    key: str


class Uses(Struct, frozen=True):
    """The rows that a part of the document makes or takes part in.

    Attributes
    ----------
    what
        The part, as in ``gen[0]`` or ``templates/u``; null for a part that makes no rows.
    ranges
        Numbers of the rows: first, and last exclusive; sorted.
    """

    what: str | None
    ranges: tuple[tuple[Count, Count], ...]


class Used(Struct, frozen=True):
    """The rows that a part of the text makes."""

    version: int
    uses: Uses


class SeekUses(Request, frozen=True, tag="uses"):
    """Find the rows that a part of the text makes.

    Attributes
    ----------
    pointer
        Of the part where the cursor is.
    """

    reply = Used

    pointer: str


class RowsChanged(Event, frozen=True, tag="changed"):
    """The rows changed; `total` counts rows."""

    version: int
    total: Count
