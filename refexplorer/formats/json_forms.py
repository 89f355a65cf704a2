"""V0 and V1 documents, by themselves and in LINDI's folders (``.lindi.d``, ``.lindi.tar``)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from refexplorer.core.errors import LeftOutWarning, SourceError
from refexplorer.core.files import open_plain, plain_bytes, read_within
from refexplorer.core.text import escape
from refexplorer.formats.other_files import refuse_other
from refexplorer.formats.source import (
    HEAD,
    JSON,
    OpeningTerms,
    Source,
    SourceFile,
    SourceFolder,
    SourceForm,
)

LARGE = HEAD
LONG = 2**16  # bytes from which a document is read in blocks
_DOCUMENT = "lindi.json"
_ENTRY = ".tar_entry.json"
_HEADER = 512
"""Bytes before the first file of an archive, which LINDI gives a fixed size."""
_ENTRY_SIZE = 1024  # bytes of the JSON there, padded to this size
_HERE = "./"
_SHOWN = 5  # keys that the message names

Members = Mapping[str, tuple[int, int]]
"""Where each file of an archive begins, and its bytes."""


class JsonForm(SourceForm):
    """A document, of which only its reading tells whether it is V0 or V1."""

    name = JSON
    guarded = True

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Take a mapping as it is."""
        return Source("dict", self.name, value=given) if isinstance(given, Mapping) else None

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Take any file; what is no JSON is told when the document is read."""
        refuse_other(file.name, file.head)
        terms.check_size(file.name, file.size)
        if not file.head.strip():
            raise SourceError(f"{file.name} is empty.")
        size = len(file.head)
        return Source(
            file.name,
            self.name,
            file.location,
            file.content,
            is_long=size >= LONG,
            is_large=size >= LARGE,
        )


class LindiForm(SourceForm):
    """The document is V1; in an archive chunks are byte ranges of that."""

    name = "LINDI"
    guarded = True

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        """Read the document of a folder, whose chunks lie beside it."""
        if folder.version is not None or not folder.name.endswith(".lindi.d"):
            return None
        if (folder.local is None and not folder.is_sought) or not folder.has(_DOCUMENT):
            return None
        path, place = f"{folder.path}/{_DOCUMENT}", folder.place
        if folder.local is not None:
            content = partial(open_plain, path, _DOCUMENT, terms.limits, terms.files)
            size = (folder.local / _DOCUMENT).stat().st_size
            opening = partial(terms.files.open, path)
        else:
            with folder.filesystem().open(path, "rb") as file:
                data = read_within(file, terms.limits.document_bytes + 1)
            content = partial(plain_bytes, data, _DOCUMENT, terms.limits)
            size, opening = len(data), partial(folder.filesystem().open, path, "rb")
        found = JsonForm().of_file(
            SourceFile(_DOCUMENT, place, size, None, opening, content), terms
        )
        assert found is not None
        return replace(found, name=folder.name, place=place)

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Read the document of an archive, and put the archive in place of its files."""
        if file.local is None or not file.head.startswith(_ENTRY.encode() + b"\0"):
            return None
        with file.open() as stream:
            try:
                members = _members(stream, file.size, terms)
                data = _read(stream, *members[_DOCUMENT], file.size, terms)
                document = json.loads(data)
                refs = document["refs"]
                assert isinstance(refs, dict)
            except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
                raise SourceError(
                    f"{escape(file.name)} is an archive of LINDI whose index or document cannot be "
                    "read; write it again, or unpack it and open `lindi.json`."
                ) from None
        place = str(file.local.resolve())
        odd: list[str] = []
        for key, value in refs.items():
            if isinstance(value, list) and value and isinstance(value[0], str):
                refs[key] = _placed(key, value, place, members, odd)
        if odd:
            named = ", ".join(escape(key, 100) for key in odd[:_SHOWN])
            more = f" and {len(odd) - _SHOWN:,} more" if len(odd) > _SHOWN else ""
            warnings.warn(
                f"References of {named}{more} reach past the end of a file in the archive; they "
                "are left as written, and fail.",
                LeftOutWarning,
                stacklevel=2,
            )
        return Source(file.name, JSON, file.location, value=document, place=place)


def _members(stream: BinaryIO, size: int, terms: OpeningTerms) -> Members:
    """Return the files of an archive by its own index."""
    entry = json.loads(_read(stream, _HEADER, _ENTRY_SIZE, size, terms))["index"]
    index = json.loads(_read(stream, entry["d"], entry["s"], size, terms))["files"]
    return {str(each["n"]): _span(each["d"], each["s"], size) for each in index}


def _span(start: Any, count: Any, size: int) -> tuple[int, int]:
    if type(start) is not int or type(count) is not int or not 0 <= start <= start + count <= size:
        raise ValueError("a file outside of the archive")
    return start, count


def _read(stream: BinaryIO, start: Any, count: Any, size: int, terms: OpeningTerms) -> bytes:
    start, count = _span(start, count, size)
    terms.check_size("The document of the archive", count)
    stream.seek(start)
    return read_within(stream, count) if count else b""


def _placed(key: str, value: list[Any], place: str, members: Members, odd: list[str]) -> list[Any]:
    """Return a byte range of the archive for one of a file in it; all else as it is."""
    name = value[0].removeprefix(_HERE)
    if not value[0].startswith(_HERE) or name not in members:
        return value
    start, size = members[name]
    if len(value) == 1:
        return [place, start, size]
    numbers = value[1:]
    if len(numbers) != 2 or not all(type(number) is int and number >= 0 for number in numbers):
        return value
    if sum(numbers) > size:
        odd.append(key)
        return value
    return [place, start + numbers[0], numbers[1]]
