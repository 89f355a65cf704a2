"""Where a reference set comes from: a path, a URL, a dict, JSON text or bytes."""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.errors import LimitError, RefexplorerError, SourceError
from refexplorer.formats.files.compression import PlainStream, plain
from refexplorer.formats.files.local_files import Files, OwnFiles
from refexplorer.formats.icechunk.objects import snapshot_of
from refexplorer.formats.icechunk.repository import is_repository, read_repository
from refexplorer.formats.interop import document_of
from refexplorer.formats.json.text import decode_text
from refexplorer.limits import Limits
from refexplorer.markup import escape

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

ZMETADATA = ".zmetadata"
_PART = re.compile(r"(.+)#([0-9]{1,6})")
_NAME_SHOWN = 200
LARGE = 2**20
LONG = 2**16
_TRAVELLING = 10_000
"""Entries of a parsed document that is sent to other processes beside its columns."""
_CHAR_BYTES = 4
"""Most bytes of a character, or of a mark before them all."""
_MARK = "\ufeff"
"""Tells the order of bytes at the start of a text, and is no part of it."""
_TEXT_STARTS = ("{", "[", '"', "<", "'")


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was found and, unless it is a parquet store, read.

    Attributes
    ----------
    name
        Short, for titles and messages.
    form
        ``"V0"``, ``"V1"`` or ``"parquet"``; ``"JSON"`` before the document is read.
    location
        The absolute folder or URL that relative targets resolve against; None for a source
        that was given as a value.
    content
        Opens the plain bytes of the JSON document from their start; None where there are none.
    value
        The parsed document, if it was given so.
    store
        The folder of a parquet store, with its filesystem.
    is_long, is_large
        Whether the document is worth reading in blocks, and whether it is one to be kept out of
        memory, too.
    part
        Which set of a JSON list of sets, from 0; None for a document that is one set.
    """

    name: str
    form: str
    location: str | None = None
    content: Callable[[], PlainStream] | None = field(default=None, repr=False)
    value: Mapping[str, Any] | None = field(default=None, repr=False)
    store: tuple[AbstractFileSystem, str] | None = field(default=None, repr=False)
    is_long: bool = False
    is_large: bool = False
    part: int | None = None

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
        """Return what of it goes to other processes: no large document that is held in memory.

        Without its document a set tells pointers, but no lines, and no references as written.
        """
        light = replace(self, value=None) if _is_heavy(self.value) else self
        in_memory = isinstance(self.content, partial) and self.content.func is _plain_bytes
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


Locate = Callable[[str], "tuple[AbstractFileSystem, str]"]
"""Finds the filesystem of a URL and the path in it."""


def read_source(
    source: object,
    storage_options: Mapping[str, Any] | None,
    limits: Limits,
    locate: Locate | None = None,
) -> Source:
    """Find and read a source.

    Parameters
    ----------
    source
        A path, a URL, a mapping, JSON text or bytes, or an object of VirtualiZarr or Icechunk;
        gzip and zstd are told by content. Of a file that holds a list of sets, ``"path#2"`` is
        the third one.
    storage_options
        For fsspec, where the source is a URL: for its protocol, or by protocol.
    limits
        What it may cost.
    locate
        Finds who reads a URL, in place of fsspec.

    Raises
    ------
    SourceError
        In one sentence, if it is missing, empty, or cannot be read.
    """
    if (virtual := document_of(source)) is not None:
        return Source(virtual[0], "JSON", value=virtual[1])
    if (snapshot := snapshot_of(source)) is not None:
        return _from_repository(*snapshot, limits, OwnFiles())
    if isinstance(source, Mapping):
        return Source("dict", "JSON", value=source)
    if isinstance(source, bytes | bytearray | memoryview):
        return _from_bytes(bytes(source), "bytes", None, limits)
    if isinstance(source, str):
        if not source.strip():
            raise SourceError("The source is an empty text.")
        if source.removeprefix(_MARK).lstrip().startswith(_TEXT_STARTS) or "\n" in source:
            return _from_bytes(source.encode("utf-8", "surrogatepass"), "text", None, limits)
        if "://" in source:
            place, part = _split_part(source)
            locate = locate or partial(_located, storage_options or {})
            return replace(_from_url(place, locate, limits), part=part)
        return read_path(source, limits)
    if isinstance(source, os.PathLike):
        return read_path(str(Path(source)), limits, parts=False)
    raise SourceError(
        "A reference set is opened from a path, URL, dict, text, bytes, virtual dataset or "
        f"Icechunk session, not from {type(source).__name__}."
    )


def read_path(
    name: str, limits: Limits, files: Files | None = None, *, parts: bool = True
) -> Source:
    """Find and read a source of this machine.

    Parameters
    ----------
    name
        Its path; ``#2`` and ``@v1`` may follow as in `read_source`, but a file of that very name
        comes first.
    limits
        What it may cost.
    files
        Whose files; those of who runs this process by default.
    parts
        Whether ``#2`` means a part.

    Raises
    ------
    AccessError
        If `files` refuse it.
    SourceError
        As `read_source`.
    """
    files = files or OwnFiles()
    try:
        path, version, part = _meant(name, files, parts)
        return replace(_from_path(name, path, version, limits, files), part=part)
    except (OSError, ValueError) as error:
        raise SourceError(f"{_shown(name)} cannot be read: {cause(error)}.") from None


def _shown(name: str) -> str:
    return repr(escape(name, _NAME_SHOWN))


def _meant(name: str, files: Files, parts: bool) -> tuple[Path, str | None, int | None]:
    """Return the path that a name means, with its version and part.

    Each way to read it is placed before anything is asked of the file system.
    """
    path, part = files.place(name), None
    if parts and (match := _PART.fullmatch(name)) and not path.exists():
        name, part = match[1], int(match[2])
        path = files.place(name)
    before, at, version = name.rpartition("@")
    is_version = at and Path(before).name and not set(version) & {os.sep, os.altsep}
    if is_version and not path.exists() and is_repository(folder := files.place(before)):
        return folder, version, part
    return path, None, part


def _split_part(url: str) -> tuple[str, int | None]:
    match = _PART.fullmatch(url)
    return (url, None) if match is None else (match[1], int(match[2]))


def _is_heavy(value: Mapping[str, Any] | None) -> bool:
    """Say whether a parsed document is too large to travel, or holds what cannot."""
    if value is None:
        return False
    sections = [value, *(each for each in value.values() if isinstance(each, Mapping))]
    if sum(map(len, sections)) > _TRAVELLING:
        return True
    try:
        return len(pickle.dumps(dict(value))) > LARGE
    except Exception:  # a value may be anything
        return True


def _from_bytes(data: bytes, name: str, location: str | None, limits: Limits) -> Source:
    return _checked(Source(name, "JSON", location, partial(_plain_bytes, data, name, limits)))


def _plain_bytes(data: bytes, name: str, limits: Limits) -> PlainStream:
    return plain(io.BytesIO(data), name, limits)


def _checked(source: Source) -> Source:
    """Return the source if there is anything in it, knowing whether it is large."""
    assert source.content is not None
    with source.content() as stream:
        start = stream.read(LARGE)
    if not start.strip():
        raise SourceError(f"{source.name} is empty.")
    return replace(source, is_long=len(start) >= LONG, is_large=len(start) == LARGE)


def _from_path(name: str, path: Path, version: str | None, limits: Limits, files: Files) -> Source:
    if is_repository(path):
        return _from_repository(path, version, limits, files)
    if path.is_dir():
        return _from_folder(name, path, files)
    if not path.exists():
        raise SourceError(f"There is no file {_shown(name)}.")
    if not path.is_file():
        raise SourceError(f"{_shown(name)} is not a regular file.")
    _check_size(path.name, path.stat().st_size, limits)
    if path.name == ZMETADATA:
        return _from_folder(name, path.parent, files)
    resolved = path.resolve()
    content = partial(_open_plain, str(resolved), path.name, limits, files)
    return _checked(Source(path.name, "JSON", str(resolved.parent), content))


def _from_repository(path: Path, version: str | None, limits: Limits, files: Files) -> Source:
    value = read_repository(path, version, limits, files)
    return Source(path.name, "JSON", str(path.resolve()), value=value)


def _open_plain(path: str, name: str, limits: Limits, files: Files) -> PlainStream:
    return plain(files.open(path), name, limits)


def _from_folder(name: str, path: Path, files: Files) -> Source:
    if not (path / ZMETADATA).is_file():
        raise SourceError(
            f"The folder {_shown(name)} is no parquet reference store: it has no {ZMETADATA}."
        )
    folder = path.resolve()
    return Source(path.name, "parquet", str(folder.parent), store=(files.filesystem(), str(folder)))


def _located(options: Mapping[str, Any], url: str) -> tuple[AbstractFileSystem, str]:
    """Find the filesystem by fsspec, with the options that are meant for it."""
    import fsspec

    protocols = set(fsspec.available_protocols())
    if all(name in protocols or "://" in name for name in options):
        options = options.get(url.partition("://")[0], {})
    found: tuple[AbstractFileSystem, str] = fsspec.core.url_to_fs(url, **options)
    return found


def _from_url(url: str, locate: Locate, limits: Limits) -> Source:
    name, shown = url.rstrip("/").rpartition("/")[2] or url, escape(url, _NAME_SHOWN)
    parent = url.rstrip("/").rpartition("/")[0]
    location = parent if "://" in parent else parent + "/"
    try:
        filesystem, path = locate(url)
        if filesystem.exists(f"{path.rstrip('/')}/{ZMETADATA}"):
            return Source(name, "parquet", location, store=(filesystem, path.rstrip("/")))
        size = filesystem.info(path).get("size")
        _check_size(name, size or 0, limits)
        with filesystem.open(path, "rb", compression=None) as file:
            data = file.read(limits.document_bytes + 1)
    except RefexplorerError:
        raise
    except ImportError as error:
        raise SourceError(f"{shown} needs a package that is not installed: {error}.") from None
    except Exception as error:  # each protocol has errors of its own
        raise SourceError(f"{shown} cannot be read: {cause(error)}.") from None
    return _from_bytes(data, name, location, limits)


def _check_size(name: str, size: int, limits: Limits) -> None:
    if size > limits.document_bytes:
        raise LimitError(
            f"{name} has {size:,} bytes, more than {limits.document_bytes:,}; "
            "`Limits.document_bytes` raises the limit."
        )


def cause(error: BaseException) -> str:
    """Say in a few words why a source cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).strip().rstrip(".") or type(error).__name__
