"""From user input to a source: determine what a path, URL or value is by asking the formats."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from glob import has_magic, iglob
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import (
    AccessError,
    LimitError,
    RefexplorerError,
    SlowSourceError,
    SourceError,
)
from refexplorer.core.files import (
    Files,
    OwnFiles,
    Progress,
    own_path,
    plain_bytes,
    read_within,
)
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape, masked_url, missing_package, secrets_of, without
from refexplorer.formats.datafiles.streams import BLOCK, RangeStream, ReadAmount
from refexplorer.formats.forms import DataFileForm, first_answer
from refexplorer.formats.other_files import (
    NAME_SHOWN,
    PROBE,
    Sources,
    check_several,
    common_folder,
    fitting,
    is_web,
    kind_of,
    named_kind,
    refuse_early,
    refuse_zarr,
    whole_pattern,
)
from refexplorer.formats.source import (
    LeftOut,
    Locate,
    NamedBytes,
    OpeningTerms,
    Source,
    SourceFile,
    SourceFolder,
    SourceForm,
    cause,
)

MOST_NAMES = 10_000  # Names of a folder that are compared with one that is not there

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

DOCUMENTS = (".json", ".gz", ".zst", ".zstd")  # Names with these endings are read without a probe


def _at_version(folder: SourceFolder, form: SourceForm, terms: OpeningTerms) -> Source | None:
    known = form.versioned or folder.version is None
    return form.of_folder(folder, terms) if known else None


def _locating(terms: OpeningTerms) -> Locate:
    if terms.locate is None:
        raise SourceError(
            "This source refers to a URL, and no file system to open it is known here."
        )
    return terms.locate


def at_url(url: str, locate: Locate, terms: OpeningTerms) -> Source | SourceFile:
    """Return what a URL points to; a document is returned as a file that is still to be read."""
    location, name = _parts_of(url)
    shown = escape(url, NAME_SHOWN)
    try:
        filesystem, path = locate(url)
        folder = SourceFolder(name, location, path.rstrip("/"), None, None, lambda: filesystem)
        found = first_answer(lambda form, terms: form.of_folder(folder, terms), terms)
        head = _head(filesystem, path) if found is None else b""
        found = found or _of_data_url(url, name, filesystem, path, head, terms)
        if found is not None:
            return found
        data = _document(name, filesystem, path, head, terms)
    except (LimitError, AccessError, SlowSourceError):
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
        said = missing_package(url.partition(":")[0]) or f"it needs a missing package: {error}"
        raise SourceError(f"{shown} cannot be read: {said.rstrip('.')}.") from None
    except Exception as error:  # each protocol raises its own errors
        said = without(cause(error), secrets_of(url))  # botocore quotes the presumed bucket
        raise SourceError(f"{shown} cannot be read: {said}.") from None
    if not data and (found := _of_sought(url, locate, terms)) is not None:  # s3fs opens folders
        return found
    return SourceFile.of_bytes(data, name, location, terms.limits)


def _head(filesystem: AbstractFileSystem, path: str) -> bytes:
    """Read the start of a file; nothing if its name is that of a document."""
    if path.partition("?")[0].endswith(DOCUMENTS):
        return b""
    with filesystem.open(path, "rb", compression=None, block_size=BLOCK) as file:
        return read_within(file, PROBE)


def _document(
    name: str, filesystem: AbstractFileSystem, path: str, head: bytes, terms: OpeningTerms
) -> bytes:
    if 0 < len(head) < PROBE:  # the whole file
        refuse_early(name, head)
        return head
    with filesystem.open(path, "rb", compression=None) as file:
        head = read_within(file, PROBE)
        refuse_early(name, head)
        terms.check_size(name, filesystem.info(path).get("size") or 0)
        # one byte beyond the limit, to reject a file of unknown size, too
        return head + read_within(file, terms.limits.document_bytes + 1 - len(head))


def _of_data_url(
    url: str, name: str, filesystem: AbstractFileSystem, path: str, head: bytes, terms: OpeningTerms
) -> Source | None:
    """Generate references to a data file on a server; None if it is not one."""
    if kind_of(head) is None:
        return None
    size = filesystem.info(path).get("size") or 0
    most = terms.limits.document_bytes

    def fetch(start: int, stop: int) -> bytes:
        found: bytes = filesystem.cat_file(path, start=start, end=stop)  # s3fs has another order
        return found

    opening: Callable[[], Any] = partial(RangeStream, fetch, size, escape(name, NAME_SHOWN), most)
    content = partial(plain_bytes, b"", name, terms.limits)
    found = SourceFile(name, _parts_of(url)[0], size, None, opening, content, url)
    made = DataFileForm().of_file(found, terms)
    if made is not None and made.fetched is not None:
        made.fetched.add(ReadAmount(requests=1, bytes=len(head)))  # which identified the format
    return made


def _of_sought(url: str, locate: Locate, terms: OpeningTerms) -> Source | None:
    """Ask the versioned formats whether a URL without a file, or ``URL@version``, is a folder."""
    # Only then is a server asked for their marker files, and what follows an ``@`` is a version.
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
    parent, name = _parts_of(url)
    folder = SourceFolder(name, parent, path.rstrip("/"), None, version, lambda: filesystem, True)
    return first_answer(partial(_at_version, folder), terms)


def _parts_of(url: str) -> tuple[str, str]:
    """Return the folder of a URL, and the name in it; a signature is not part of the name."""
    path, mark, query = url.partition("?") if is_web(url) else (url, "", "")
    parent, _, name = path.rstrip("/").rpartition("/")
    return parent if "://" in parent else parent + "/", masked_url(f"{name}{mark}{query}")


_PART = re.compile(r"(.+)#([0-9]{1,6})")
_MARK = "\ufeff"  # The byte order mark, which is not part of the text
_NAME_LENGTH = 4096  # Characters that the path of a file has at most
_TEXT_STARTS = ("{", "[", '"', "<", "'")


class NoDataFileError(SourceError):
    """Not all of several sources are data files."""


def read_source(
    source: object,
    storage_options: Mapping[str, Any] | None,
    limits: Limits,
    locate: Locate | None = None,
    *,
    files: Files | None = None,
    progress: Progress | None = None,
    is_path: bool = False,
) -> Source:
    """Find and read a source; a path is never treated as text, whatever it looks like."""
    report = None if progress is None else partial(_report, progress)
    terms = OpeningTerms(limits, files or OwnFiles(), report, storage_options or {}, locate)
    try:
        return _of_path(str(source), terms) if is_path else _of_any(source, terms)
    except _Raised as stopped:
        raise stopped.raised from None


class _Raised(BaseException):
    """Carries an error raised by `progress` through the code that converts errors."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(raised)
        self.raised = raised


def _report(progress: Progress, done: int, size: int) -> None:
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
            raise SourceError(
                "The path is empty; pass that of a reference set or data file, such as "
                "combined.json."
            )
        start = source.removeprefix(_MARK).lstrip()
        is_text = start.startswith(_TEXT_STARTS) or "\n" in source
        if is_text and (terms.files.guarded or not _names_files(source)):
            return _of_bytes(source.encode("utf-8", "surrogatepass"), "text", None, terms)
        if "://" in source:
            match = _PART.fullmatch(source)
            place, part = (source, None) if match is None else (match[1], int(match[2]))
            terms = replace(terms, part=part)
            there = at_url(place, _locating(terms), terms)
            there = there if isinstance(there, Source) else _of_file(there, terms)
            if there.place is None and "?" in place:
                there = replace(there, place=source)  # its name does not contain secrets
            return replace(there, part=part)
        return _of_path(source, terms)
    if isinstance(source, os.PathLike):
        return _of_path(str(Path(source)), terms, parts=False)
    if isinstance(source, list | tuple) and source:
        check_several(source)
        return _of_several(source, f"{len(source):,} files", None, terms)
    found = first_answer(lambda form, terms: form.of_object(source, terms), terms)
    if found is None:
        raise SourceError(
            "A reference set is opened from a path, URL, dict, text, bytes, open file, dataset, "
            "store or filesystem of references, or Icechunk session, not from "
            f"{type(source).__name__}."
        )
    return found


def _names_files(source: str) -> bool:
    """Return whether text is the name of a file, or a pattern that matches some."""
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
            return found  # only its folder may be opened
        if parts and (match := _PART.fullmatch(name)) and not path.exists():
            name, part = match[1], int(match[2])
            path = terms.files.place(name)
        terms = replace(terms, part=part)
        found = _of_version(name, path, terms) or _of_place(name, path, terms)
        return replace(found, part=part)
    except (OSError, ValueError) as error:
        raise SourceError(f"{_shown(name)} cannot be read: {cause(error)}.") from None


def _of_version(name: str, path: Path | None, terms: OpeningTerms) -> Source | None:
    """Read the version that a name means; None if it has none. `path` is its literal meaning."""
    # `path` is the literal meaning of the name, None if it may not be opened. Each interpretation
    # is checked against the access policy before the file system is asked.
    before, at, version = name.rpartition("@")
    if not at or not Path(before).name or set(version) & {os.sep, os.altsep}:
        return None
    if path is not None and path.exists():
        return None
    place = terms.files.place(before)
    if not place.is_dir():
        return None
    folder = SourceFolder.at(place, version, terms.files)
    return first_answer(partial(_at_version, folder), terms)


def _missing_file(name: str, path: Path, terms: OpeningTerms) -> SourceError:
    """Return where a file was searched, and which was probably meant; hidden from visitors."""
    if terms.files.guarded:
        return SourceError(f"There is no file {_shown(name)}.")
    folder = path.absolute().parent
    if not folder.is_dir():
        return SourceError(f"There is no file {_shown(name)}, and no folder {_shown(str(folder))}.")
    meant = ""
    with suppress(OSError):
        here = [each.name for each in islice(folder.iterdir(), MOST_NAMES)]
        # a common ending such as `.json` does not make names similar
        stems = {name.partition(".")[0]: name for name in here}
        if alike := get_close_matches(path.name.partition(".")[0], stems, 1):
            meant = f"; the name closest to it is {_shown(stems[alike[0]])}"
        elif sets := sorted(each for each in here if ".json" in each)[:3]:
            meant = f"; there are {', '.join(map(_shown, sets))}"
    return SourceError(f"There is no file {_shown(path.name)} in {_shown(str(folder))}{meant}.")


def _of_place(name: str, path: Path, terms: OpeningTerms) -> Source:
    if path.is_dir():
        return _of_folder(name, path, terms)
    if not path.exists():
        if has_magic(name) and not terms.files.guarded:
            whole = whole_pattern(name)
            return _of_several(fitting(name), whole.name, str(whole), terms)
        raise _missing_file(name, path, terms)
    if not path.is_file():
        raise SourceError(f"{_shown(name)} is not a regular file.")
    return _of_file(SourceFile.at(path, terms.limits, terms.files), terms)


def _of_several(paths: Sources, name: str, place: str | None, terms: OpeningTerms) -> Source:
    """Read data files, each as a group named by its path below their common folder."""
    found: list[tuple[str, Source]] = []
    fetched = ReadAmount()
    for number, path in enumerate(paths):
        if not isinstance(path, str | os.PathLike):
            raise NoDataFileError("Some of these are not paths or URLs.")
        one = _of_any(path, terms.of_file(number, len(paths)))
        if one.form != DataFileForm.name or one.references() is None:
            raise NoDataFileError(
                f"{_shown(str(path))} is not a data file, and a pattern opens only those; "
                "pass a list of sets."
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
            raise SourceError(f"{_shown(whole)} is listed twice.")
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
            f"The folder {_shown(name)} is not a reference set in parquet, Zarr or Icechunk; "
            f"{_inside(path, terms)}."
        )
    return found


def _inside(path: Path, terms: OpeningTerms) -> str:
    """Return which files of a folder to open; visitors do not see the names."""
    files: list[Path] = []
    with suppress(OSError):
        if not terms.files.guarded:
            here = islice(path.iterdir(), MOST_NAMES)
            files = sorted(each for each in here if each.is_file())
    if sets := [each for each in files if ".json" in each.suffixes]:
        return f"open {_shown(str(sets[0]))}"
    for file in files:
        if named_kind(file.name) is not None:
            return f"open its data files with {_shown(str(path / f'*{file.suffix}'))}"
    return "open a file or folder in it"


def _of_file(file: SourceFile, terms: OpeningTerms) -> Source:
    found = first_answer(lambda form, terms: form.of_file(file, terms), terms)
    assert found is not None, "JSON takes every file"
    return found


def _of_bytes(data: bytes, name: str, location: str | None, terms: OpeningTerms) -> Source:
    return _of_file(SourceFile.of_bytes(data, name, location, terms.limits), terms)


def _shown(name: str) -> str:
    return repr(escape(name, NAME_SHOWN))
