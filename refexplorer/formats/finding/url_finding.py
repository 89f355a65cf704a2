"""What a URL leads to: a folder, a data file, or a document."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from refexplorer.errors import (
    AccessError,
    LimitError,
    RefexplorerError,
    SlowSourceError,
    SourceError,
)
from refexplorer.formats.datafiles.streams import BLOCK, RangeStream, ReadAmount
from refexplorer.formats.files.compression import plain_bytes, read_within
from refexplorer.formats.finding.several import NAME_SHOWN, is_web
from refexplorer.formats.forms.data_file_form import DataFileForm
from refexplorer.formats.forms.form import (
    Locate,
    OpeningTerms,
    SourceFile,
    SourceFolder,
    SourceForm,
)
from refexplorer.formats.forms.other_files import PROBE, kind_of, refuse_other, refuse_zarr
from refexplorer.formats.forms.registry import first_answer
from refexplorer.formats.source import Source, cause
from refexplorer.markup import escape
from refexplorer.masking import masked_url, secrets_of, without

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

DOCUMENTS = (".json", ".gz", ".zst", ".zstd")
"""Endings of the names of documents, which are read at once without a look at what they are."""


def _at_version(folder: SourceFolder, form: SourceForm, terms: OpeningTerms) -> Source | None:
    known = form.versioned or folder.version is None
    return form.of_folder(folder, terms) if known else None


def at_url(url: str, locate: Locate, terms: OpeningTerms) -> Source | SourceFile:
    """Return what a URL leads to; a document is returned as a file that is still to be read."""
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
        raise SourceError(f"{shown} needs a package that is not installed: {error}.") from None
    except Exception as error:  # each protocol has errors of its own
        said = without(cause(error), secrets_of(url))  # botocore quotes what it takes for a bucket
        raise SourceError(f"{shown} cannot be read: {said}.") from None
    if not data and (found := _of_sought(url, locate, terms)) is not None:  # s3fs opens folders
        return found
    return SourceFile.of_bytes(data, name, location, terms.limits)


def _head(filesystem: AbstractFileSystem, path: str) -> bytes:
    """Read what a file begins with; nothing if its name is that of a document."""
    if path.partition("?")[0].endswith(DOCUMENTS):
        return b""
    with filesystem.open(path, "rb", compression=None, block_size=BLOCK) as file:
        return read_within(file, PROBE)


def _document(
    name: str, filesystem: AbstractFileSystem, path: str, head: bytes, terms: OpeningTerms
) -> bytes:
    if 0 < len(head) < PROBE:  # that was all of it
        refuse_other(name, head)
        return head
    with filesystem.open(path, "rb", compression=None) as file:
        head = read_within(file, PROBE)
        refuse_other(name, head)
        terms.check_size(name, filesystem.info(path).get("size") or 0)
        # a byte beyond the limit, so that a size that the server does not tell is refused, too
        return head + read_within(file, terms.limits.document_bytes + 1 - len(head))


def _of_data_url(
    url: str,
    name: str,
    filesystem: AbstractFileSystem,
    path: str,
    head: bytes,
    terms: OpeningTerms,
) -> Source | None:
    """Make references to a data file of a server; None if it is none."""
    if kind_of(head) is None:
        return None
    size = filesystem.info(path).get("size") or 0
    most = terms.limits.document_bytes
    fetch = partial(_fetched, filesystem, path)
    opening: Callable[[], Any] = partial(RangeStream, fetch, size, escape(name, NAME_SHOWN), most)
    content = partial(plain_bytes, b"", name, terms.limits)
    found = SourceFile(name, _parts_of(url)[0], size, None, opening, content, url)
    made = DataFileForm().of_file(found, terms)
    if made is not None and made.fetched is not None:
        made.fetched.add(ReadAmount(requests=1, bytes=len(head)))  # which told what it is
    return made


def _fetched(filesystem: AbstractFileSystem, path: str, start: int, stop: int) -> bytes:
    found: bytes = filesystem.cat_file(path, start=start, end=stop)  # s3fs has others before these
    return found


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
    parent, name = _parts_of(url)
    folder = SourceFolder(name, parent, path.rstrip("/"), None, version, lambda: filesystem, True)
    return first_answer(partial(_at_version, folder), terms)


def _parts_of(url: str) -> tuple[str, str]:
    """Return the folder of a URL, and the name in it; a signature is no part of a name."""
    path, mark, query = url.partition("?") if is_web(url) else (url, "", "")
    parent, _, name = path.rstrip("/").rpartition("/")
    return parent if "://" in parent else parent + "/", masked_url(f"{name}{mark}{query}")


def locating(url: str, terms: OpeningTerms) -> Locate:
    """Return who finds the filesystem of a URL."""
    if terms.locate is None:
        raise SourceError("A URL in this source is not followed here.")
    return terms.locate
