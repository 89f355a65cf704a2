"""Where a reference set comes from, and what a form read of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from refexplorer import memory
from refexplorer.errors import RefexplorerError
from refexplorer.formats.buffers.entries import Entries
from refexplorer.formats.datafiles.streams import ReadAmount
from refexplorer.formats.files.compression import PlainStream, plain_bytes
from refexplorer.formats.icechunk.facts import RepositoryFacts
from refexplorer.formats.icechunk.recorded import Recorded
from refexplorer.formats.json.text import decode_text
from refexplorer.masking import masks_repr

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

ZMETADATA = ".zmetadata"
JSON = "JSON"
"""The form of a document before it is read."""
DOCUMENTS = ("V0", "V1")
# a heavier document stays behind when its set goes to another process: the columns go with it
_HEAVY = 2**20
_TRAVELLING = 10_000
"""Entries of a parsed document that is sent to other processes beside its columns."""
_CHAR_BYTES = 4
"""Most bytes of a character, or of a mark before them all."""


@masks_repr
@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object of a data file that opening could not make references to."""

    name: str  # Its path in the file, as its array would be called: ``"group/temperature"``
    kind: str  # What the format calls it, such as ``"dataset"``, ``"variable"`` or ``"message"``
    # Why there are no references to it, as a clause: ``"its values have varying length"``
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was found and, unless it is a parquet store, read."""

    name: str  # Short, for titles and messages
    # ``"V0"``, ``"V1"``, ``"parquet"``, ``"Icechunk"``, ``"VirtualiZarr"`` or the name of a form
    # that another package registered; ``"JSON"`` before a document is read
    form: str
    # The absolute folder or URL that relative targets resolve against; None for a source that was
    # given as a value
    location: str | None = None
    # Opens the plain bytes of the JSON document from their start; None where there are none
    content: Callable[[], PlainStream] | None = field(default=None, repr=False)
    # The parsed document, if it was given so; of a form that is not JSON its references by key, as
    # V0 has them
    value: Mapping[str, Any] | None = field(default=None, repr=False)
    # The folder of a parquet store, with its filesystem
    store: tuple[AbstractFileSystem, str] | None = field(default=None, repr=False)
    # The references in columns, until the set is made of them
    entries: Entries | None = field(default=None, repr=False, compare=False)
    # The path or URL that opens it again; None if `location` and `name` make it, or nothing does
    place: str | None = field(default=None, repr=False)
    # is_long, is_large: Whether the document is worth reading in blocks, and whether it is one to
    # be kept out of memory, too
    is_long: bool = False
    is_large: bool = False
    # Which set of a JSON list of sets, from 0; None for a document that is one set
    part: int | None = None
    # What else is known of an Icechunk repository; None for all other forms
    repository: RepositoryFacts | None = field(default=None, repr=False)
    # Reads which versions targets had when the references to them were written; None where the form
    # has no place for that, or it cannot be read again
    recorded: Callable[[], Recorded] | None = field(default=None, repr=False, compare=False)
    # The dimension along which several sources were joined; None for all else
    joined_along: str | None = None
    pointed_by: str | None = None  # The name of the catalogue that led to it; None for all else
    # What the URLs of chunks begin with that may never have been written, since nobody could list
    # them; None for all else
    unlisted: str | None = None
    # What was read of the servers that have the data files to which references were made; None for
    # all else
    fetched: ReadAmount | None = field(default=None, repr=False, compare=False)
    # Of each array of a data file with byte ranges that end after the file: the first key of these,
    # and how many there are
    beyond: tuple[tuple[str, int], ...] = ()
    # The objects of data files that opening could not make references to
    left_out: tuple[LeftOut, ...] = field(default=(), repr=False, compare=False)

    @property
    def is_document(self) -> bool:
        """Whether it is V0 or V1, and not references that a form gave by key."""
        return self.form in (JSON, *DOCUMENTS)

    def references(self) -> Mapping[str, Any] | None:
        """Return the references by key as V0 has them, if a form gave them so or in columns."""
        return self.value if self.entries is None else self.entries.as_v0()

    def may_lack(self, url: str | None) -> bool:
        """Say whether a URL is that of a chunk that may never have been written."""
        return self.unlisted is not None and (url or "").startswith(self.unlisted)

    @property
    def text(self) -> str | None:
        """The JSON text, read anew each time it is asked for; None where there is none."""
        if self.content is None:
            return None
        with self.content() as stream:
            return decode_text(stream.read())

    def text_within(self, chars: int) -> str | None:
        """Return the JSON text if there is one of at most `chars` characters; read little more."""
        if self.content is None:
            return None
        most = (chars + 1) * _CHAR_BYTES
        with self.content() as stream:
            data = stream.read(most + 1)
        text = decode_text(data) if len(data) <= most else None
        return None if text is None or len(text) > chars else text

    def portable(self) -> Source:
        """Return the part that goes to other processes: no large document that is held in memory.

        Without its document a set tells pointers, but no lines, and no references as written.
        """
        light = replace(self, value=None) if _is_heavy(self.value) else self
        in_memory = isinstance(self.content, partial) and self.content.func is plain_bytes
        return replace(light, content=None) if in_memory and self.is_large else light

    def found_again(self) -> Source:
        """Return it without a document that is a file of another machine."""
        if self.content is None:
            return self
        try:
            self.content().close()
        except (OSError, RefexplorerError):
            return replace(self, content=None)
        return self

    @property
    def base(self) -> str:
        """JSON pointer to the set inside the text."""
        return "" if self.part is None else f"/{self.part}"


def _is_heavy(value: Mapping[str, Any] | None) -> bool:
    """Say whether a parsed document is too large to travel, or holds what cannot."""
    if value is None:
        return False
    sections = [value, *(each for each in value.values() if isinstance(each, Mapping))]
    if sum(map(len, sections)) > _TRAVELLING:
        return True
    try:
        return len(pickle.dumps(dict(value))) > _HEAVY
    except Exception:  # a value may be anything
        return True


def cause(error: BaseException) -> str:
    """Say in a few words why a source cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if memory.is_lacking(error):
        return "there is not enough memory"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).strip().rstrip(".") or type(error).__name__
