"""From what a person passes to a source: what a path, a URL or a value is, the forms are asked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from glob import has_magic, iglob
from pathlib import Path
from typing import Any

from refexplorer.errors import AccessError, SourceError
from refexplorer.formats.datafiles.streams import ReadAmount
from refexplorer.formats.files.compression import Progress
from refexplorer.formats.files.local_files import Files, OwnFiles, open_plain, own_path
from refexplorer.formats.finding.catalogues import catalogue_of, chosen
from refexplorer.formats.finding.several import (
    NAME_SHOWN,
    Sources,
    check_several,
    common_folder,
    fitting,
    whole_pattern,
)
from refexplorer.formats.finding.url_finding import at_url, locating
from refexplorer.formats.forms.data_file_form import DataFileForm
from refexplorer.formats.forms.form import (
    Locate,
    OpeningTerms,
    SourceFile,
    SourceFolder,
    SourceForm,
)
from refexplorer.formats.forms.other_files import refuse_zarr
from refexplorer.formats.forms.registry import first_answer
from refexplorer.formats.source import ZMETADATA, LeftOut, Source, cause
from refexplorer.limits import Limits
from refexplorer.markup import escape

_PART = re.compile(r"(.+)#([0-9]{1,6})")
_MARK = "\ufeff"
"""Tells the order of bytes at the start of a text, and is no part of it."""
_NAME_LENGTH = 4096
"""Characters that the path of a file has at most."""
_TEXT_STARTS = ("{", "[", '"', "<", "'")


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
    """Find and read a source."""
    with _terms(limits, files, progress, storage_options or {}, locate) as terms:
        return _of_any(source, terms)


def read_path(
    name: str,
    limits: Limits,
    files: Files | None = None,
    progress: Progress | None = None,
    locate: Locate | None = None,
) -> Source:
    """Find and read a source of this machine."""
    with _terms(limits, files, progress, {}, locate) as terms:
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
    locate: Locate | None,
) -> Iterator[OpeningTerms]:
    telling = None if progress is None else partial(_tell, progress)
    try:
        yield OpeningTerms(limits, files or OwnFiles(), telling, options, locate)
    except _Raised as stopped:
        raise stopped.raised from None


def _tell(progress: Progress, done: int, size: int) -> None:
    try:
        progress(done, size)
    except BaseException as error:
        raise _Raised(error) from None


def _of_any(source: object, terms: OpeningTerms) -> Source:
    if isinstance(source, bytes | bytearray | memoryview):
        name = source.name if isinstance(source, NamedBytes) else "bytes"
        return _of_bytes(bytes(source), name, None, terms)
    if isinstance(source, str):
        if not source.strip():
            raise SourceError("The source is an empty string.")
        if _is_text(source) and (terms.files.guarded or not _names_files(source)):
            return _of_bytes(source.encode("utf-8", "surrogatepass"), "text", None, terms)
        if "://" in source:
            place, part = _split_part(source)
            terms = replace(terms, part=part)
            there = at_url(place, locating(place, terms), terms)
            there = there if isinstance(there, Source) else _of_file(there, terms)
            if there.place is None and there.pointed_by is None and "?" in place:
                there = replace(there, place=source)  # its name is without what may be secret
            return _of_part(part, there)
        return _of_path(source, terms)
    if isinstance(source, os.PathLike):
        return _of_path(str(Path(source)), terms, parts=False)
    if isinstance(source, list | tuple) and source:
        check_several(source)
        return _of_several(source, f"{len(source):,} files", None, terms)
    found = first_answer(lambda form, terms: form.of_object(source, terms), terms)
    if found is None:
        raise SourceError(
            "A reference set is opened from a path, URL, dict, text, bytes, virtual dataset or "
            f"Icechunk session, not from {type(source).__name__}."
        )
    return found


def _is_text(source: str) -> bool:
    return source.removeprefix(_MARK).lstrip().startswith(_TEXT_STARTS) or "\n" in source


def _names_files(source: str) -> bool:
    """Say whether what begins like a text is the name of a file, or a pattern that fits some."""
    if len(source) > _NAME_LENGTH:
        return False
    with suppress(OSError, ValueError):
        if own_path(source).exists():
            return True
        if source.startswith("[") and has_magic(source) and not _is_json(source):
            return next(iglob(str(own_path(source))), None) is not None  # noqa: PTH207
    return False


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _of_path(name: str, terms: OpeningTerms, *, parts: bool = True) -> Source:
    try:
        try:
            path, part = terms.files.place(name), None
        except AccessError:
            if (found := _of_version(name, None, terms)) is None:
                raise
            return found  # its folder may be opened, and nothing beside it
        if parts and (match := _PART.fullmatch(name)) and not path.exists():
            name, part = match[1], int(match[2])
            path = terms.files.place(name)
        terms = replace(terms, part=part)
        return _of_part(part, _of_version(name, path, terms) or _of_place(name, path, terms))
    except (OSError, ValueError) as error:
        raise SourceError(f"{_shown(name)} cannot be read: {cause(error)}.") from None


def _of_part(part: int | None, found: Source) -> Source:
    """Note the number of a set; of a catalogue it was that of the link."""
    return replace(found, part=None if found.pointed_by is not None else part)


def _of_version(name: str, path: Path | None, terms: OpeningTerms) -> Source | None:
    """Read the version of a folder that a name means; None if it means none.

    `path` is what the name means as it is, None if that may not be opened. Each way to read a name
    is placed before anything is asked of the file system.
    """
    before, at, version = name.rpartition("@")
    if not at or not Path(before).name or set(version) & {os.sep, os.altsep}:
        return None
    if path is not None and path.exists():
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
            whole = whole_pattern(name)
            return _of_several(fitting(name), whole.name, str(whole), terms)
        raise SourceError(f"There is no file {_shown(name)}.")
    if not path.is_file():
        raise SourceError(f"{_shown(name)} is not a regular file.")
    whole = path.resolve()
    content = partial(open_plain, str(whole), path.name, terms.limits, terms.files)
    opening = partial(terms.files.open, str(whole))
    size = path.stat().st_size
    return _of_file(SourceFile(path.name, str(whole.parent), size, path, opening, content), terms)


def _of_several(paths: Sources, name: str, place: str | None, terms: OpeningTerms) -> Source:
    """Read data files, each as a group of its path below the folder that holds them all."""
    found: list[tuple[str, Source]] = []
    fetched = ReadAmount()
    for number, path in enumerate(paths):
        one = _of_any(path, terms.of_file(number, len(paths)))
        if one.form != DataFileForm.name or one.references() is None:
            raise SourceError(
                f"{_shown(str(path))} is no data file, and only those are opened together; open "
                "it by itself."
            )
        if one.fetched is not None:
            fetched.add(one.fetched)
        found.append((f"{one.location}/{one.name}", one))
    folder = common_folder([one.location or "" for _, one in found])
    value: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    beyond: list[tuple[str, int]] = []
    left_out: list[LeftOut] = []
    for whole, one in found:
        inside = whole[len(folder) :].lstrip("/").replace("://", "/")
        if f"{inside}/.zgroup" in value:
            raise SourceError(f"{_shown(whole)} is given twice.")
        references = one.references() or {}
        value |= {f"{inside}/{key}": reference for key, reference in references.items()}
        beyond += ((f"{inside}/{key}", count) for key, count in one.beyond)
        left_out += (replace(each, name=f"{inside}/{each.name}") for each in one.left_out)
    more = fetched if fetched.requests else None
    return Source(
        name,
        DataFileForm.name,
        folder or None,
        value=value,
        place=place,
        fetched=more,
        beyond=tuple(beyond),
        left_out=tuple(left_out),
    )


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
    catalogue = None if terms.is_followed else catalogue_of(file.head)
    if catalogue is not None:
        place = chosen(catalogue, file.name, file.location, terms.part)
        followed = _of_any(place, replace(terms, part=None, is_followed=True))
        return replace(followed, pointed_by=file.name)
    found = first_answer(lambda form, terms: form.of_file(file, terms), terms)
    assert found is not None, "JSON takes every file"
    return found


def _of_bytes(data: bytes, name: str, location: str | None, terms: OpeningTerms) -> Source:
    return _of_file(SourceFile.of_bytes(data, name, location, terms.limits), terms)


def _split_part(url: str) -> tuple[str, int | None]:
    match = _PART.fullmatch(url)
    return (url, None) if match is None else (match[1], int(match[2]))


def _shown(name: str) -> str:
    return repr(escape(name, NAME_SHOWN))
