"""A finding: one cause by which a set differs from some of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refexplorer.markup import counted, escape
from refexplorer.masking import masks_repr
from refexplorer.spec.codes import CODES, Severity

NAMED_FILES = 20
"""Files that a finding names."""
_SHOWN_FILES = 5
_CHARS = 200
_SINGULAR = {"have": "has", "are": "is"}


@masks_repr
@dataclass(frozen=True)
class VerifyFinding:
    """One cause by which a set differs from some of its files.

    Attributes
    ----------
    code
        The field that differs, such as ``"scale_factor"``, or what is wrong with references:
        ``"offset"``, ``"length"``, ``"other-array"``, ``"misplaced"``, ``"no-reference"``, …
    severity
        An error gives wrong values or coordinates; a warning is odd.
    array
        The path of the array.
    message
        One sentence with the files.
    key, pointer
        The key with the metadata, or the first of `keys`, and where it is in the document.
    keys
        The first chunks that are concerned.
    reference_count
        References that are concerned; None where that is not known.
    files, file_count
        The first files that are concerned, by their URLs, and how many there are.
    ours, theirs
        What the set and the files say, where it is one value.
    """

    code: str
    severity: Severity
    array: str
    message: str
    key: str
    pointer: str
    keys: tuple[str, ...] = ()
    reference_count: int | None = None
    files: tuple[str, ...] = ()
    file_count: int = 0
    ours: str | None = None
    theirs: str | None = None

    def __str__(self) -> str:
        return self.message


def sentence(
    code: str, array: str, said: str | None, files: Sequence[str], count: int, of: int
) -> str:
    """Return the sentence of a finding.

    Parameters
    ----------
    said
        What stands in parentheses.
    files, count, of
        The first files, how many there are, and how many were compared.
    """
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
