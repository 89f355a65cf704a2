"""The protocol of a form: what it is asked, and what it answers.

To add a form, write one module with a subclass of `SourceForm`, and put it into
`refexplorer.formats.forms.registry.FORMS`; in a package of your own, name it by an entry point of
the group ``refexplorer.sources`` instead::

    [project.entry-points."refexplorer.sources"]
    pairs = "my_package:PairsForm"

A form answers a question with None ("I do not know this") or with a `Source`. It raises
`SourceError` for what it knows but cannot read. Its source holds one of these:

- ``entries``: references in columns, made by `refexplorer.formats.buffers.entries.EntriesBuilder`:
  byte ranges by ``add_ranges``, metadata and other inline texts by ``add_values``; the way for
  anything that is not JSON, since nothing is done for each reference;
- ``value``: a mapping of keys to references as V0 has them, for what is small;
- ``content``: the JSON of a V0 or V1 document, of which the form `JsonForm` alone makes sets;
- ``store``: the folder of a parquet store.

Relative URLs resolve against the `location` of the source, which is that of the file.
`refexplorer.opening` makes the set of it, and checks each reference as it checks those of JSON.
Forms never see how: `formats` knows no set.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from refexplorer.errors import LeftOutWarning, LimitError
from refexplorer.formats.datafiles.data_file import left_out_text
from refexplorer.formats.files.compression import FileCount, PlainStream, Progress, plain_bytes
from refexplorer.formats.files.local_files import Files
from refexplorer.formats.source import Source
from refexplorer.limits import Limits
from refexplorer.markup import escape

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Locate = Callable[[str], "tuple[AbstractFileSystem, str]"]
"""Finds the filesystem of a URL and the path in it."""
HEAD = 2**20
"""Bytes of a file by which it is told."""


@dataclass(frozen=True, slots=True)
class OpeningTerms:
    """How a source is opened."""

    limits: Limits  # What it may cost
    # Who opens files of this machine: what it refuses is not to be opened in another way
    files: Files
    # Takes the bytes that were read so far and those of the whole, while much is read; what it
    # raises ends the opening
    progress: Progress | None = None
    # For fsspec, as `refexplorer.formats.finding.source_finding.read_source` takes them
    options: Mapping[str, Any] = field(default_factory=dict)
    locate: Locate | None = None  # Finds who reads a URL, in place of fsspec
    part: int | None = None  # The number after ``#`` in the name of the source; None without
    is_followed: bool = False  # Whether a catalogue led here, so that no other one is followed

    def of_file(self, number: int, count: int) -> OpeningTerms:
        """Return the terms of one file of several, whose progress counts files."""
        return replace(self, progress=of_file(self.progress, number, count))

    def may_ask(self, form: SourceForm) -> bool:
        """Say whether a form may be asked: what a visitor of a page chose, only a guarded one."""
        return form.guarded or not self.files.guarded

    def options_of(self, url: str) -> Mapping[str, Any]:
        """Return the options for fsspec that are meant for a URL: of its place or protocol."""
        return options_for(url, self.options)

    def check_size(self, name: str, size: int) -> None:
        """Refuse a document of too many bytes as it is stored."""
        if size > self.limits.document_bytes:
            raise LimitError(
                f"{name} has {size:,} bytes, more than {self.limits.document_bytes:,}; "
                "`Limits.document_bytes` raises the limit."
            )


def of_file(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return the progress of one file of several, which tells `progress` of files."""
    return None if progress is None else partial(_count_files, progress, number, count)


def _count_files(progress: Progress, number: int, count: int, done: int, size: int) -> None:
    progress(FileCount(number + (0 < size == done)), FileCount(count))


def options_for(url: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options for fsspec that are meant for a URL: of its place or protocol."""
    from fsspec import available_protocols

    protocols = set(available_protocols())
    if not all(name in protocols or "://" in name for name in options):
        return options
    places = [name for name in options if "://" in name and _holds(name, url)]
    name = max(places, key=len, default=url.partition("://")[0])
    found: Mapping[str, Any] = options.get(name, {})
    return found


def _holds(place: str, url: str) -> bool:
    return f"{url.rstrip('/')}/".startswith(f"{place.rstrip('/')}/")


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """A folder of this machine, or a URL that may be one."""

    name: str  # Short, for titles
    parent: str  # The absolute folder or URL that it is in
    path: str  # Its path, as its filesystem has it
    local: Path | None  # Its path on this machine; None for a URL
    # What follows ``@`` in its name; None without. Only `SourceForm.versioned` forms see any.
    version: str | None
    filesystem: Callable[[], AbstractFileSystem]  # Returns who reads it
    # Whether it is the URL of no file, so that any form may ask for files in it
    is_sought: bool = False

    @property
    def place(self) -> str:
        """Its absolute path or URL."""
        if self.local is not None:
            return self.path
        start = self.parent if self.parent.endswith("://") else f"{self.parent.rstrip('/')}/"
        return start + self.name

    @classmethod
    def at(cls, path: Path, version: str | None, files: Files) -> SourceFolder:
        """Return a folder of this machine."""
        whole = path.resolve()
        return cls(path.name, str(whole.parent), str(whole), path, version, files.filesystem)

    def has(self, name: str) -> bool:
        """Say whether a file is in it; of a URL this asks the server."""
        if self.local is not None:
            return (self.local / name).is_file()
        return bool(self.filesystem().exists(f"{self.path}/{name}"))


@dataclass(frozen=True)
class SourceFile:
    """A file, or bytes that were passed."""

    name: str  # Short, for titles and messages
    location: str | None  # The absolute folder or URL that it is in; None for what was passed
    size: int  # Its bytes as they are stored
    local: Path | None  # Its path on this machine; None for all else. `open` opens it.
    open: Callable[[], BinaryIO]  # Opens its bytes as they are stored; they can be sought
    # Opens its plain bytes: gzip and zstd are undone, and `Limits.document_bytes` ends them
    content: Callable[[], PlainStream]
    url: str | None = None  # Its URL; None for all else

    @classmethod
    def of_bytes(cls, data: bytes, name: str, location: str | None, limits: Limits) -> SourceFile:
        """Return bytes that are here as a file."""
        content = partial(plain_bytes, data, name, limits)
        return cls(name, location, len(data), None, partial(io.BytesIO, data), content)

    @cached_property
    def head(self) -> bytes:
        """The first plain bytes, at most `HEAD`."""
        with self.content() as stream:
            return stream.read(HEAD)


class SourceForm:
    """A way to hold a reference set; each method knows nothing until a subclass overrides it."""

    name: ClassVar[str]  # What `Source.form` is
    # Whether a name such as ``folder@v1`` means one version of a folder
    versioned: ClassVar[bool] = False
    # Whether it opens files through `OpeningTerms.files`, `SourceFile.open` and
    # `SourceFile.content` alone. Any other form is not asked about what a visitor of a page chose.
    guarded: ClassVar[bool] = False

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Read an object; it is neither text, bytes nor a path."""
        return None

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        """Read a folder."""
        return None

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Read a file, a text or bytes, told by `SourceFile.head` and not by the name."""
        return None


def warn_of_left_out(name: str, left_out: Mapping[str, object]) -> None:
    """Warn of variables of a file that have no references, with the reason of each."""
    warnings.warn(
        f"{escape(name)} has variables that are left out: {left_out_text(left_out)}.",
        LeftOutWarning,
        stacklevel=3,
    )
