"""From what a person passes to a source: what a path, a URL or a value is, the forms are asked."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.errors import AccessError, LimitError, RefexplorerError, SourceError
from refexplorer.formats.files.compression import Progress, plain_bytes, read_within
from refexplorer.formats.files.local_files import Files, OwnFiles, open_plain
from refexplorer.formats.forms.data_file_form import DataFileForm
from refexplorer.formats.forms.form import OpeningTerms, SourceFile, SourceFolder, SourceForm
from refexplorer.formats.forms.other_files import PROBE, refuse_other, refuse_zarr
from refexplorer.formats.forms.registry import first_answer
from refexplorer.formats.source import ZMETADATA, Source, cause
from refexplorer.limits import Limits
from refexplorer.markup import escape

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_PART = re.compile(r"(.+)#([0-9]{1,6})")
_NAME_SHOWN = 200
_MARK = "\ufeff"
"""Tells the order of bytes at the start of a text, and is no part of it."""
_FILES = 10_000
"""Files that are opened together."""
_TEXT_STARTS = ("{", "[", '"', "<", "'")

Locate = Callable[[str], "tuple[AbstractFileSystem, str]"]
"""Finds the filesystem of a URL and the path in it."""


class NamedBytes(bytes):
    """Bytes of a source with a name for titles and messages."""

    name: str


def read_source(
    source: object,
    storage_options: Mapping[str, Any] | None,
    limits: Limits,
    locate: Locate | None = None,
    *,
    files: Files | None = None,
    progress: Progress | None = None,
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
    files
        Whose files; those of who runs this process by default.
    progress
        Called while a form reads much, as for `open_references`.

    Raises
    ------
    SourceError
        In one sentence, if it is missing, empty, or cannot be read.
    """
    with _terms(limits, files, progress, storage_options or {}) as terms:
        return _of_any(source, locate, terms)


def read_path(
    name: str, limits: Limits, files: Files | None = None, progress: Progress | None = None
) -> Source:
    """Find and read a source of this machine.

    Parameters
    ----------
    name
        Its path; ``#2`` and ``@v1`` may follow as in `read_source`, but a file of that very name
        comes first.
    limits, files, progress
        As for `read_source`.

    Raises
    ------
    AccessError
        If `files` refuse it.
    SourceError
        As `read_source`.
    """
    with _terms(limits, files, progress, {}) as terms:
        return _of_path(name, terms)


class _Raised(BaseException):
    """Carries what `progress` raised through all that turns errors into sentences."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(raised)
        self.raised = raised


@contextmanager
def _terms(
    limits: Limits,
    files: Files | None,
    progress: Progress | None,
    options: Mapping[str, Any],
) -> Iterator[OpeningTerms]:
    telling = None if progress is None else partial(_tell, progress)
    try:
        yield OpeningTerms(limits, files or OwnFiles(), telling, options)
    except _Raised as stopped:
        raise stopped.raised from None


def _tell(progress: Progress, done: int, size: int) -> None:
    try:
        progress(done, size)
    except BaseException as error:
        raise _Raised(error) from None


def _of_any(source: object, locate: Locate | None, terms: OpeningTerms) -> Source:
    if isinstance(source, bytes | bytearray | memoryview):
        name = source.name if isinstance(source, NamedBytes) else "bytes"
        return _of_bytes(bytes(source), name, None, terms)
    if isinstance(source, str):
        if not source.strip():
            raise SourceError("The source is an empty string.")
        if source.removeprefix(_MARK).lstrip().startswith(_TEXT_STARTS) or "\n" in source:
            return _of_bytes(source.encode("utf-8", "surrogatepass"), "text", None, terms)
        if "://" in source:
            place, part = _split_part(source)
            locate = locate or partial(_located, terms)
            return replace(_of_url(place, locate, terms), part=part)
        return _of_path(source, terms)
    if isinstance(source, os.PathLike):
        return _of_path(str(Path(source)), terms, parts=False)
    found = first_answer(lambda form, terms: form.of_object(source, terms), terms)
    if found is None:
        raise SourceError(
            "A reference set is opened from a path, URL, dict, text, bytes, virtual dataset or "
            f"Icechunk session, not from {type(source).__name__}."
        )
    return found


def _of_path(name: str, terms: OpeningTerms, *, parts: bool = True) -> Source:
    try:
        path, part = terms.files.place(name), None
        if parts and (match := _PART.fullmatch(name)) and not path.exists():
            name, part = match[1], int(match[2])
            path = terms.files.place(name)
        found = _of_version(name, path, terms) or _of_place(name, path, terms)
        return replace(found, part=part)
    except (OSError, ValueError) as error:
        raise SourceError(f"{_shown(name)} cannot be read: {cause(error)}.") from None


def _of_version(name: str, path: Path, terms: OpeningTerms) -> Source | None:
    """Read the version of a folder that a name means; None if it means none.

    Each way to read a name is placed before anything is asked of the file system.
    """
    before, at, version = name.rpartition("@")
    if not at or not Path(before).name or set(version) & {os.sep, os.altsep} or path.exists():
        return None
    place = terms.files.place(before)
    if not place.is_dir():
        return None
    folder = SourceFolder.at(place, version, terms.files)
    return first_answer(partial(_versioned, folder), terms)


def _versioned(folder: SourceFolder, form: SourceForm, terms: OpeningTerms) -> Source | None:
    return form.of_folder(folder, terms) if form.versioned else None


def _of_place(name: str, path: Path, terms: OpeningTerms) -> Source:
    if path.is_dir():
        return _of_folder(name, path, terms)
    if not path.exists():
        if has_magic(name) and not terms.files.guarded:
            return _of_pattern(name, terms)
        raise SourceError(f"There is no file {_shown(name)}.")
    if not path.is_file():
        raise SourceError(f"{_shown(name)} is not a regular file.")
    whole = path.resolve()
    content = partial(open_plain, str(whole), path.name, terms.limits, terms.files)
    opening = partial(terms.files.open, str(whole))
    size = path.stat().st_size
    return _of_file(SourceFile(path.name, str(whole.parent), size, path, opening, content), terms)


def _of_pattern(name: str, terms: OpeningTerms) -> Source:
    """Read all data files that a pattern fits, each as a group of its name."""
    whole = Path(name).expanduser().absolute()
    root = Path(whole.anchor)
    paths = sorted(path for path in root.glob(str(whole.relative_to(root))) if path.is_file())
    if not paths:
        raise SourceError(f"There is no file {_shown(name)}, and none that it fits as a pattern.")
    if len(paths) > _FILES:
        raise SourceError(
            f"The pattern {_shown(name)} fits {len(paths):,} files, and at most {_FILES:,} are "
            "opened together."
        )
    folder = os.path.commonpath([path.parent.resolve() for path in paths])
    value: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    for path in paths:
        found = _of_place(str(path), path, terms)
        if found.form != DataFileForm.name or found.value is None:
            raise SourceError(
                f"{_shown(str(path))} is no data file, and a pattern opens nothing else; open it "
                "by itself."
            )
        inside = (path.parent.resolve() / path.name).relative_to(folder).as_posix()
        value |= {f"{inside}/{key}": reference for key, reference in found.value.items()}
    return Source(whole.name, DataFileForm.name, folder, value=value, place=str(whole))


def _of_folder(name: str, path: Path, terms: OpeningTerms) -> Source:
    folder = SourceFolder.at(path, None, terms.files)
    found = first_answer(lambda form, terms: form.of_folder(folder, terms), terms)
    if found is None:
        refuse_zarr(folder.name, folder.has)
        raise SourceError(
            f"The folder {_shown(name)} is not a parquet reference store: it has no {ZMETADATA}."
        )
    return found


def _of_file(file: SourceFile, terms: OpeningTerms) -> Source:
    found = first_answer(lambda form, terms: form.of_file(file, terms), terms)
    assert found is not None, "JSON takes every file"
    return found


def _of_bytes(data: bytes, name: str, location: str | None, terms: OpeningTerms) -> Source:
    content = partial(plain_bytes, data, name, terms.limits)
    opening = partial(io.BytesIO, data)
    return _of_file(SourceFile(name, location, len(data), None, opening, content), terms)


def _of_url(url: str, locate: Locate, terms: OpeningTerms) -> Source:
    name, shown = url.rstrip("/").rpartition("/")[2] or url, escape(url, _NAME_SHOWN)
    location = _parent_of(url)
    try:
        filesystem, path = locate(url)
        folder = SourceFolder(name, location, path.rstrip("/"), None, None, lambda: filesystem)
        found = first_answer(lambda form, terms: form.of_folder(folder, terms), terms)
        if found is not None:
            return found
        with filesystem.open(path, "rb", compression=None) as file:
            head = read_within(file, PROBE)
            refuse_other(name, head)
            terms.check_size(name, filesystem.info(path).get("size") or 0)
            data = head + read_within(file, terms.limits.document_bytes + 1 - len(head))
    except (LimitError, AccessError):
        raise
    except RefexplorerError:
        if (found := _of_sought(url, locate, terms)) is not None:
            return found
        raise
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        if (found := _of_sought(url, locate, terms)) is not None:
            return found
        refuse_zarr(folder.name, folder.has)
        raise SourceError(f"{shown} cannot be read: {cause(error)}.") from None
    except ImportError as error:
        raise SourceError(f"{shown} needs a package that is not installed: {error}.") from None
    except Exception as error:  # each protocol has errors of its own
        raise SourceError(f"{shown} cannot be read: {cause(error)}.") from None
    if not data and (found := _of_sought(url, locate, terms)) is not None:  # s3fs opens folders
        return found
    return _of_bytes(data, name, location, terms)


def _of_sought(url: str, locate: Locate, terms: OpeningTerms) -> Source | None:
    """Ask the forms with versions whether a URL that is no file is a folder of theirs.

    Only then is a server asked for the files that tell it, and what follows an ``@`` is a version.
    """
    before, at, version = url.rpartition("@")
    asked: list[tuple[str, str | None]] = [(url.rstrip("/"), None)]
    if at and "/" not in version and "/" in before.partition("://")[2]:
        asked.append((before.rstrip("/"), version))
    for place, wanted in asked:
        try:
            if (found := _of_url_folder(place, wanted, locate, terms)) is not None:
                return found
        except OSError:
            continue
    return None


def _of_url_folder(
    url: str, version: str | None, locate: Locate, terms: OpeningTerms
) -> Source | None:
    filesystem, path = locate(url)
    name, parent = url.rpartition("/")[2], _parent_of(url)
    folder = SourceFolder(name, parent, path.rstrip("/"), None, version, lambda: filesystem, True)
    return first_answer(partial(_versioned, folder), terms)


def _parent_of(url: str) -> str:
    parent = url.rstrip("/").rpartition("/")[0]
    return parent if "://" in parent else parent + "/"


def _located(terms: OpeningTerms, url: str) -> tuple[AbstractFileSystem, str]:
    """Find the filesystem by fsspec, with the options that are meant for it."""
    import fsspec

    found: tuple[AbstractFileSystem, str] = fsspec.core.url_to_fs(url, **terms.options_of(url))
    return found


def _split_part(url: str) -> tuple[str, int | None]:
    match = _PART.fullmatch(url)
    return (url, None) if match is None else (match[1], int(match[2]))


def _shown(name: str) -> str:
    return repr(escape(name, _NAME_SHOWN))
