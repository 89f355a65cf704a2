"""The sentences of what differs between a set and its files."""

from __future__ import annotations

from collections.abc import Sequence

from refexplorer.core.text import counted, escape
from refexplorer.spec.codes import CODES

NAMED_FILES = 20
"""Files that a finding names."""
_SHOWN_FILES = 5
_CHARS = 200  # characters of a name: a file may hold any text
_SINGULAR = {"have": "has", "are": "is", "cannot": "cannot", "may": "may"}


def sentence(
    code: str, array: str, said: str | None, files: Sequence[str], count: int, of: int
) -> str:
    """Return the sentence of a finding."""
    verb, _, rest = CODES[code].predicate.partition(" ")
    which = counted(count, "file") if of <= 1 else f"{count:,} of {counted(of, 'file')}"
    verb = _SINGULAR.get(verb, verb + "s") if count == 1 else verb
    inside = f" ({escape(said, 2 * _CHARS)})" if said else ""
    names = ", ".join(escape(short(url), _CHARS) for url in files[:_SHOWN_FILES])
    more = ", …" if count > min(len(files), _SHOWN_FILES) else ""
    found = f"{named(array)}: {which} {verb} {rest}{inside}"
    return f"{found}: {names}{more}" if names else found


def named(array: str) -> str:
    """Return an array as sentences have it."""
    return f"`{escape(array, _CHARS)}`" if array else "The root array"


def short(url: str) -> str:
    """Return the last part of a URL."""
    return url.rstrip("/").rpartition("/")[2] or url
