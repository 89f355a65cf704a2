"""Models that messages of several views hold."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from refexplorer.spec.codes import Severity
from refexplorer.views.wire.messages import Count, named

ReadOutcome = Annotated[str, named("ReadOutcome", "fetched", "fill", "failed", "ask")]
"""How a read came out; ``ask``: it may not be read until ``grant`` is allowed."""


class Note(Struct, frozen=True):
    """A diagnostic.

    Attributes
    ----------
    meaning
        What all diagnostics of the code have in common.
    pointer
        Into the document; cut.
    key
        What of the tree is nearest to the place; a rejected key itself.
    """

    code: str
    severity: Severity
    meaning: str
    message: str
    hint: str | None
    pointer: str
    line: int | None
    column: int | None
    count: Count
    key: str | None


ChunkRuns = tuple[tuple[tuple[Count, Count, Count], ...], ...]
"""Along each dimension its runs of chunks of one length: the first chunk, its first element, the
length."""


class EstimateModel(Struct, frozen=True):
    """The cost of a read, known without a request.

    Attributes
    ----------
    bytes
        Null where whole files are read, whose size is not known.
    requests
        After merging.
    targets
        The first.
    label
        For a button: ``Read 57 kB from air.nc``.
    chunks
        With a reference.
    """

    bytes: Count | None
    requests: int
    targets: tuple[str, ...]
    label: str
    chunks: int = 0


SENT_AS = {"from_": "from"}
"""Names of fields that Python keeps for itself."""


class Piece(Struct, frozen=True, rename=SENT_AS):
    """A part of the text that a step starts from.

    Attributes
    ----------
    text
        As written.
    result
        What came of an expression; null for literal text.
    from, to
        Its place in the document; null where that is not known.
    """

    text: str
    result: str | None
    from_: int | None
    to: int | None


class Derived(Struct, frozen=True, rename=SENT_AS):
    """One step of a derivation, and where its source stands in the document.

    Attributes
    ----------
    variables
        Each name with its value as text.
    pieces
        The source, in order.
    from, to
        Null where the place is not known.
    """

    name: str
    pointer: str
    variables: tuple[tuple[str, str], ...]
    pieces: tuple[Piece, ...]
    result: str
    from_: int | None
    to: int | None


class CitedRule(Struct, frozen=True):
    """A rule of the specification by its name, and where it stands there."""

    name: str
    section: str
    sentence: str
    link: str


class CodePage(Struct, frozen=True):
    """What there is to know about a diagnostic code.

    Attributes
    ----------
    readers
        What readers do with it, a sentence for each.
    example
        The smallest set that shows it; empty where it takes a call of Python.
    live
        Whether the example is a text for the editor.
    """

    code: str
    meaning: str
    readers: tuple[str, ...]
    cause: str
    mend: str
    example: str
    live: bool
    rule: CitedRule | None
