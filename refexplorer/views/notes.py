"""Diagnostics as notes, and which key each is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refexplorer.views.models import Note

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.diagnostics import Diagnostic

SHOWN = 200
"""Notes that one answer carries; their full number travels beside them."""


def notes(refs: ReferenceSet) -> tuple[Note, ...]:
    """Return the first notes of a set."""
    return tuple(note(refs, diagnostic) for diagnostic in refs.diagnostics[:SHOWN])


def notes_about(refs: ReferenceSet, path: str, origin: str | None) -> tuple[Note, ...]:
    """Return the notes about a key, about the metadata of an array, or about the item that made it.

    Parameters
    ----------
    refs
        The opened set.
    path
        A key, or the path of an array or group.
    origin
        ``"gen[0]"`` for a generated key.
    """
    inside = {
        f"{path}/{name}".lstrip("/") for name in (".zarray", ".zattrs", ".zgroup", "zarr.json")
    }
    item = f"/{origin.replace('[', '/').rstrip(']')}" if origin and "[" in origin else None
    found = []
    for diagnostic in refs.diagnostics:
        is_item = item is not None and f"{diagnostic.pointer}/".startswith(f"{item}/")
        if is_item or diagnostic.key == path or diagnostic.key in inside:
            found.append(note(refs, diagnostic))
    return tuple(found[:SHOWN])


def note(refs: ReferenceSet, diagnostic: Diagnostic) -> Note:
    """Return the model of a diagnostic; it has a key only where the set has it too."""
    return Note(
        diagnostic.code,
        diagnostic.severity,
        diagnostic.message,
        diagnostic.hint or None,
        diagnostic.pointer,
        diagnostic.line,
        diagnostic.column,
        diagnostic.count,
        diagnostic.key if diagnostic.key in refs else None,
    )
