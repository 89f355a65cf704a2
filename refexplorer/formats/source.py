"""The origin of a reference set, and what its format read from it."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from refexplorer.core.errors import LeftOutWarning, LimitError, RefexplorerError, SpecError, warn
from refexplorer.core.files import (
    FileCount,
    Files,
    PlainStream,
    Progress,
    open_plain,
    plain_bytes,
)
from refexplorer.core.limits import Limits, is_out_of_memory
from refexplorer.core.text import escape, masks_repr

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from refexplorer.formats.columns.table import Entries
    from refexplorer.formats.datafiles.streams import ReadAmount
    from refexplorer.formats.icechunk.facts import RepositoryFacts
    from refexplorer.formats.icechunk.history import Recorded
    from refexplorer.formats.icechunk.manifest_store import ManifestStore

ZMETADATA = ".zmetadata"
RECORD_SIZE = (
    100_000  # rows: as VirtualiZarr writes; fsspec's own writer makes ten times as many files
)
JSON = "JSON"  # The form of a document before it is read
DATA_FILE = "data file"
DOCUMENTS = ("V0", "V1")
# a larger document is not sent to another process with its set; the columns are
_HEAVY = 2**20
_TRAVELLING = 10_000  # Entries of a parsed document that is sent with its columns
_CHAR_BYTES = 4  # Most bytes of a character, or of a BOM


def decode_text(data: bytes) -> str:
    """Decode the bytes of a JSON document: UTF-8, or UTF-16 and UTF-32 with a BOM."""
    encoding = json.detect_encoding(data)
    try:
        return data.decode("utf-8-sig" if encoding.startswith("utf-8") else encoding)
    except UnicodeDecodeError as error:
        raise SpecError(
            f"The document is not text: byte {error.start:,} is not valid "
            f"{error.encoding.upper()}.",
        ) from None


@masks_repr
@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object of a data file to which no references could be generated."""

    name: str  # Its path in the file, as its array would be called: ``"group/temperature"``
    kind: str  # What the format calls it, such as ``"dataset"``, ``"variable"`` or ``"message"``
    # Why there are no references to it, as a clause: ``"its values have varying length"``
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was found and, unless it is a parquet store, read."""

    name: str  # Short, for titles and messages
    form: str  # ``"V0"``, ``"V1"`` or another form; ``"JSON"`` before a document is read
    location: str | None = None  # Folder or URL of relative targets; None if given as a value
    content: Callable[[], PlainStream] | None = field(default=None, repr=False)  # Opens the JSON
    value: Mapping[str, Any] | None = field(default=None, repr=False)  # Parsed, or references
    store: tuple[AbstractFileSystem, str] | None = field(default=None, repr=False)  # Of parquet
    entries: Entries | None = field(default=None, repr=False, compare=False)  # References
    # The path or URL that opens it again, if not `location` and `name`
    place: str | None = field(default=None, repr=False)
    is_long: bool = False  # Whether it is read in blocks
    is_large: bool = False  # Whether it is not kept in memory, either
    part: int | None = None  # Which set of a JSON list of sets, from 0
    repository: RepositoryFacts | None = field(default=None, repr=False)  # Of Icechunk
    manifests: ManifestStore | None = field(default=None, repr=False, compare=False)  # Read later
    # Reads the versions that targets had when references to them were written, of one array or all
    recorded: Callable[..., Recorded] | None = field(default=None, repr=False, compare=False)
    joined_along: str | None = None  # The dimension along which sources were concatenated
    fetched: ReadAmount | None = field(default=None, repr=False, compare=False)  # From servers
    # By array with byte ranges past the end of its file: the first key, and how many
    beyond: tuple[tuple[str, int], ...] = ()
    left_out: tuple[LeftOut, ...] = field(default=(), repr=False, compare=False)

    @property
    def endpoints(self) -> dict[str, str]:
        """The servers of buckets by URL prefix, if the set names them."""
        return {} if self.repository is None else self.repository.endpoints

    @property
    def zip_url(self) -> str | None:
        """The URL of a parquet store in a zip for fsspec; None for everything else."""
        if self.store is None or self.store[0].protocol != "zip" or self.place is None:
            return None
        return f"zip://{self.store[1]}::{self.place}"

    @property
    def is_document(self) -> bool:
        """Whether it is V0 or V1, not references by key from another format."""
        return self.form in (JSON, *DOCUMENTS)

    @property
    def key_base(self) -> str:
        """The prefix of the JSON pointers of its keys."""
        return "/refs" if self.form == "V1" else ""

    def references(self) -> Mapping[str, Any] | None:
        """Return the references by key as in V0, if a format gave them so or in columns."""
        return self.value if self.entries is None else self.entries.as_v0()

    @property
    def text(self) -> str | None:
        """The JSON text, read again on each access; None if there is none."""
        if self.content is None:
            return None
        with self.content() as stream:
            return decode_text(stream.read())

    def text_within(self, chars: int) -> str | None:
        """Return the JSON text if it has at most `chars` characters; read little more."""
        if self.content is None:
            return None
        most = (chars + 1) * _CHAR_BYTES
        with self.content() as stream:
            data = stream.read(most + 1)
        text = decode_text(data) if len(data) <= most else None
        return None if text is None or len(text) > chars else text

    def portable(self) -> Source:
        """Return the source without large documents in memory, to be sent to other processes."""
        # Without its document a set knows pointers, but no lines, and no references as written.
        light = replace(self, value=None) if _is_heavy(self.value) else self
        in_memory = isinstance(self.content, partial) and self.content.func is plain_bytes
        return replace(light, content=None) if in_memory and self.is_large else light

    def without_local_file(self) -> Source:
        """Return the source without a document that is a file of another machine."""
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
    """Return whether a parsed document is too large to send, or contains what cannot be sent."""
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
    """Return a short reason why a source cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if is_out_of_memory(error):
        return "there is not enough memory"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).strip().rstrip(".") or type(error).__name__


Locate = Callable[[str], "tuple[AbstractFileSystem, str]"]  # Finds file system and path of a URL
HEAD = LARGE = 2**20  # Bytes of a file by which its format is recognized
LONG = 2**16  # bytes from which a document is read in blocks


@dataclass(frozen=True, slots=True)
class OpeningTerms:
    """How to open a source."""

    limits: Limits
    files: Files  # Opens local files, or refuses to
    progress: Progress | None = None  # Gets bytes read and the total; what it raises ends opening
    options: Mapping[str, Any] = field(default_factory=dict)  # For fsspec
    locate: Locate | None = None  # Finds the file system of a URL, in place of fsspec
    part: int | None = None  # The number after ``#`` in the name of the source

    def of_file(self, number: int, count: int) -> OpeningTerms:
        """Return the terms of one of several files; progress counts files."""
        return replace(self, progress=of_file(self.progress, number, count))

    def options_of(self, url: str) -> Mapping[str, Any]:
        """Return the fsspec options for a URL: those of its location or protocol."""
        return options_for(url, self.options)

    def check_size(self, name: str, size: int) -> None:
        """Reject a document whose stored size is too large."""
        if size > self.limits.document_bytes:
            raise LimitError(
                f"{name} has {size:,} bytes, more than {self.limits.document_bytes:,}; "
                "`Limits.document_bytes` raises the limit."
            )


def of_file(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return the progress of one of several files, which reports files to `progress`."""
    if progress is None:
        return None
    return lambda done, size: progress(FileCount(number + (0 < size == done)), FileCount(count))


def options_for(url: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fsspec options for a URL: those of its location or protocol."""
    from fsspec import available_protocols

    protocols = set(available_protocols())
    if not all(name in protocols or "://" in name for name in options):
        return options
    whole = f"{url.rstrip('/')}/"
    places = [n for n in options if "://" in n and whole.startswith(f"{n.rstrip('/')}/")]
    name = max(places, key=len, default=url.partition("://")[0])
    return options.get(name, {})


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """A local folder, or a URL that may be one."""

    name: str  # Short, for titles
    parent: str  # The absolute folder or URL that it is in
    path: str  # Its path, as its filesystem has it
    local: Path | None  # Its path on this machine; None for a URL
    # The part of its name after ``@``, or None. Only `SourceForm.versioned` forms get one.
    version: str | None
    filesystem: Callable[[], AbstractFileSystem]  # Returns the file system that reads it
    # Whether no file has this URL, so that any form may request files in it
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
        full = path.resolve()
        return cls(path.name, str(full.parent), str(full), path, version, files.filesystem)

    def has(self, name: str) -> bool:
        """Return whether a file is in the folder; for a URL this asks the server."""
        if self.local is not None:
            return (self.local / name).is_file()
        return bool(self.filesystem().exists(f"{self.path}/{name}"))


class NamedBytes(bytes):
    """Bytes of a source with a name for titles and messages."""

    name: str


@dataclass(frozen=True)
class SourceFile:
    """A file, or bytes that were passed."""

    name: str  # Short, for titles and messages
    location: str | None  # The absolute folder or URL that it is in; None for passed bytes
    size: int  # Its bytes as they are stored
    local: Path | None  # Its path on this machine; None for anything else. `open` opens it.
    open: Callable[[], BinaryIO]  # Opens its bytes as stored; seekable
    # Opens its bytes, with gzip and zstd decompressed, up to `Limits.document_bytes`
    content: Callable[[], PlainStream]
    url: str | None = None  # Its URL; None for anything else

    @classmethod
    def of_bytes(cls, data: bytes, name: str, location: str | None, limits: Limits) -> SourceFile:
        content = partial(plain_bytes, data, name, limits)
        return cls(name, location, len(data), None, partial(io.BytesIO, data), content)

    @classmethod
    def at(cls, path: Path, limits: Limits, files: Files) -> SourceFile:
        whole = path.resolve()
        content = partial(open_plain, str(whole), path.name, limits, files)
        opening, size = partial(files.open, str(whole)), path.stat().st_size
        return cls(path.name, str(whole.parent), size, path, opening, content)

    @cached_property
    def head(self) -> bytes:
        """The first uncompressed bytes, at most `HEAD`."""
        with self.content() as stream:
            return stream.read(HEAD)

    def document(self) -> Source:
        """Return the file as a document; whether it is one is determined on reading."""
        size = len(self.head)
        long, large = size >= LONG, size >= LARGE
        return Source(self.name, JSON, self.location, self.content, is_long=long, is_large=large)


class SourceForm:
    """A format of reference sets; it opens files only through its arguments."""

    name: ClassVar[str]  # The value of `Source.form`
    # Whether a name such as ``folder@v1`` means one version of a folder
    versioned: ClassVar[bool] = False

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Read an object that is neither text, bytes nor a path."""
        return None

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        """Read a folder."""
        return None

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Read a file, text or bytes, recognized by `SourceFile.head` and not by name."""
        return None


def warn_of_left_out(name: str, left_out: Mapping[str, object]) -> None:
    """Warn about variables of a file without references, with the reason for each."""
    from refexplorer.formats.datafiles.data_file import left_out_text

    warn(
        f"{escape(name)} has variables that are left out: {left_out_text(left_out)}.",
        LeftOutWarning,
    )
