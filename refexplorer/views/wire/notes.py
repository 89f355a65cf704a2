"""Diagnostics as notes, and which key each is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from refexplorer.core.errors import LimitError, shorten
from refexplorer.refset.contents import internals
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.keys import folders_above
from refexplorer.views.wire.messages import Count

if TYPE_CHECKING:
    from refexplorer.spec.findings import Finding
    from refexplorer.verbs.referenceset import ReferenceSet

SHOWN = 200
"""Notes that one answer carries; their full number travels beside them."""
SOON = 100_000
"""Keys of a set that is gone through at once; what is odd about a larger one is said later."""


class Note(Struct, frozen=True):
    """A diagnostic."""

    code: str
    severity: Severity
    meaning: str  # What all diagnostics of the code have in common
    message: str
    hint: str | None
    pointer: str  # Into the document; cut
    line: int | None
    column: int | None
    count: Count
    key: str | None  # What of the tree is nearest to the place; a rejected key itself


def known(refs: ReferenceSet) -> tuple[Finding, ...] | None:
    """Return the diagnostics of a set, or None where finding them would hold up the first look."""
    is_known = refs.count <= SOON or "diagnostics" in vars(refs)
    return refs.diagnostics if is_known else None


def notes(refs: ReferenceSet) -> tuple[Note, ...]:
    """Return the first notes of a set."""
    return tuple(note(refs, diagnostic) for diagnostic in refs.diagnostics[:SHOWN])


def notes_about(refs: ReferenceSet, path: str, origin: str | None) -> tuple[Note, ...] | None:
    """Return the notes about a key, about the metadata of an array, or about the item that made it.

    None as long as those of the whole set are not known.
    """
    inside = {
        f"{path}/{name}".lstrip("/") for name in (".zarray", ".zattrs", ".zgroup", "zarr.json")
    }
    item = f"/{origin.replace('[', '/').rstrip(']')}" if origin and "[" in origin else None
    found = []
    if (diagnostics := known(refs)) is None:
        return None
    for diagnostic in diagnostics:
        is_item = item is not None and f"{diagnostic.pointer}/".startswith(f"{item}/")
        if is_item or diagnostic.key == path or diagnostic.key in inside:
            found.append(note(refs, diagnostic))
    return tuple(found[:SHOWN])


def note(refs: ReferenceSet, diagnostic: Finding) -> Note:
    """Return the model of a diagnostic, with what the tree has that is nearest to its place."""
    return Note(
        diagnostic.code,
        diagnostic.severity,
        CODES[diagnostic.code].meaning,
        diagnostic.message,
        diagnostic.hint or None,
        shorten(diagnostic.pointer),
        diagnostic.line,
        diagnostic.column,
        diagnostic.count,
        _nearest(refs, diagnostic),
    )


def _nearest(refs: ReferenceSet, diagnostic: Finding) -> str | None:
    """Return the key of a diagnostic, the first of its gen item, or what it is below."""
    key = diagnostic.key
    if key is None:
        return _first_of_item(refs, diagnostic.pointer)
    try:
        if key in refs:
            return key
    except LimitError:  # of a gen item of which no key can be looked up
        return None
    # one that is too long is not sent: it may have any length
    if diagnostic.code != "key-too-long" and internals(refs).opened.rejection(key) is not None:
        return key
    for folder in filter(None, folders_above(key)):
        try:
            return refs.node(folder).path
        except KeyError:
            continue
    return None


def _first_of_item(refs: ReferenceSet, pointer: str) -> str | None:
    _, *parts = pointer.split("/")
    if len(parts) < 2 or parts[0] != "gen":
        return None
    numbers = refs.numbers(f"gen[{parts[1]}]")
    return next(iter(refs.keys_at(numbers.start, numbers.start + 1)), None) if numbers else None
