"""Making references in a child process, so that a damaged file ends no more than that.

Libraries of file formats are made for files that one trusts: one flipped byte can end the process
in libhdf5, or make tifffile take all memory. `python -m refexplorer.formats.making.confined_making`
is the child. It opens one's own local files by their path, and asks for the bytes of all others.
"""

from __future__ import annotations

import io
import pickle
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from refexplorer.core.processes import (
    OWN_MEMORY,
    Answering,
    Children,
    Head,
    LateError,
    LostError,
    has_processes,
    is_child,
    limit_memory,
    serve,
)
from refexplorer.errors import LeftOutWarning, SourceError
from refexplorer.formats.files.compression import Progress
from refexplorer.formats.making.streams import PlainReferences, RangeStream, WatchedStream

if TYPE_CHECKING:
    from refexplorer.formats.buffers.entries import Entries
    from refexplorer.formats.datafiles.data_file import Unread

SECONDS = 60
"""Time for a small file; waiting for a server does not count."""
_SECONDS_PER_MIB = 10
_MEMORY, _MEMORY_PER_BYTE = 2**28, 100
"""What the references to a file may take: no sound file comes near."""
_CHILDREN = 8
_BETWEEN = 0.1
"""Seconds between two messages of how far it is."""
_NAME = __spec__.name if __spec__ else __name__


@dataclass(frozen=True, slots=True)
class DataFileSource:
    """A data file to which references are made.

    Attributes
    ----------
    name
        For messages.
    kind
        One of `refexplorer.formats.making.makers.OWN`.
    url
        Its path or URL, for the references.
    path
        Where a child may open it; None if it is given the bytes of `stream`.
    stream, size
        Its bytes, and how many they are.
    guarded
        Whether somebody else chose the file.
    """

    name: str
    kind: str
    url: str
    path: str | None
    stream: BinaryIO
    size: int
    guarded: bool


@dataclass(frozen=True, slots=True)
class MadeReferences:
    """References to a data file.

    Attributes
    ----------
    value
        By key as V0 has them; None where they are in `entries`.
    entries
        In columns.
    beyond
        As of `PlainReferences`.
    left_out
        Why there are none, by the name of an array or attribute.
    """

    value: dict[str, Any] | None
    entries: Entries | None
    beyond: tuple[tuple[str, int], ...]
    left_out: Mapping[str, Unread]


def made_references(file: DataFileSource, progress: Progress | None) -> MadeReferences:
    """Return references; `progress` is called with bytes that were read, and all.

    Raises
    ------
    ImportError
        If a package is not installed.
    SourceError
        If no references can be made to it.
    """
    if is_child() or not _can_confine():
        return _unpacked(_made_here(file, progress), file.url)
    said, data = _answer(file, progress)
    for sentence in said["warned"]:
        warnings.warn(sentence, LeftOutWarning, stacklevel=2)
    if "missing" in said:
        raise ImportError(said["missing"])
    if "failed" in said:
        raise _failed(file, said["failed"])
    try:
        made = _unpacked(PlainReferences(*_PlainUnpickler(io.BytesIO(data)).load()), file.url)
    except Exception:  # a damaged process may answer anything
        raise _failed(file, "the process that read its metadata gave no references") from None
    return made


def _unpacked(made: PlainReferences, url: str) -> MadeReferences:
    """Return references with their columns; ValueError and others if something else was given."""
    beyond = tuple((str(key), int(count)) for key, count in made.beyond)
    if not made.is_own:
        return MadeReferences(made.refs, None, beyond, {})
    import numpy as np

    from refexplorer.formats.datafiles.data_file import FileChunks, Unread
    from refexplorer.formats.datafiles.references import DataFileReferences

    chunks = {}
    for name, rank, *columns in made.chunks:
        indices, offsets, lengths = (np.frombuffer(column, "<i8") for column in columns)
        chunks[name] = FileChunks(indices.reshape(len(offsets), rank), offsets, lengths)
    left_out = {name: Unread(why, sentence) for name, why, sentence in made.left_out}
    references = DataFileReferences(made.refs, chunks, left_out)
    return MadeReferences(None, references.entries(url), beyond, left_out)


def _made_here(file: DataFileSource, progress: Progress | None) -> PlainReferences:
    from refexplorer.formats.making.makers import UnmakeableError, plain_references

    watched = WatchedStream(file.stream, file.size, progress)
    try:
        return plain_references(watched, file.kind, file.url, file.guarded)
    except UnmakeableError as error:
        raise _failed(file, str(error)) from None


def _answer(file: DataFileSource, progress: Progress | None) -> tuple[Head, bytes]:
    """Return what a child answers."""

    def hear(said: Head) -> bytes | None:
        if "done" in said:
            if progress is not None:
                progress(said["done"], file.size)
            return None
        start, end = said["read"]
        file.stream.seek(start)
        return _whole(file.stream, end - start)

    seconds = SECONDS + _SECONDS_PER_MIB * file.size / 2**20
    head = {"kind": file.kind, "url": file.url, "path": file.path, "bytes": file.size,
            "guarded": file.guarded, "tells": progress is not None}  # fmt: skip
    try:
        with _children.lend(file.kind) as child:
            return child.ask(head, b"", seconds, hear)
    except LateError:
        raise _failed(file, f"its metadata were not read within {seconds:,.0f} s") from None
    except LostError as lost:
        raise _failed(file, f"the process that read its metadata {lost.ending_text()}") from None


def _failed(file: DataFileSource, why: str) -> SourceError:
    from refexplorer.markup import escape  # takes numpy, and a child is started before that

    return SourceError(
        f"{escape(file.name)} is a data file, and no references can be made to it: "
        f"{escape(why, 300)}."
    )


def start(kind: str) -> None:
    """Have a process ready that has loaded what a kind of file needs."""
    if has_processes() and not is_child():
        _children.start(kind)


@cache
def _can_confine() -> bool:
    """Say whether there are processes, and warn once if not."""
    if has_processes():
        return True
    warnings.warn(
        "This Python cannot start processes, so data files are read in this one: a damaged file "
        "can end it.",
        LeftOutWarning,
        stacklevel=2,
    )
    return False


def _whole(stream: BinaryIO, size: int) -> bytes:
    """Return as many bytes as are asked for, if there are: a raw stream may give fewer at once."""
    found = bytearray()
    while len(found) < size and (more := stream.read(size - len(found))):
        found += more
    return bytes(found)


class _PlainUnpickler(pickle.Unpickler):
    """Reads texts, numbers, lists and dicts alone: a damaged process may answer anything."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is no reference")


_children = Children(_NAME, _CHILDREN)


def _work(head: Head, data: bytes, answering: Answering) -> None:
    limit_memory(OWN_MEMORY + _MEMORY + _MEMORY_PER_BYTE * head["bytes"])
    said: Head = {}
    made = b""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = tuple(_made(head, answering))
            made = pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            raise
        except ImportError as error:
            said["missing"] = str(error)
        except Exception as error:  # `UnmakeableError`, or that of a read
            said["failed"] = str(error).rstrip(". ") or type(error).__name__
    kept = [each for each in caught if issubclass(each.category, LeftOutWarning)]
    answering.answer(said | {"warned": [str(each.message) for each in kept]}, made)


def _made(head: Head, answering: Answering) -> PlainReferences:
    from refexplorer.formats.making.makers import plain_references

    with ExitStack() as stack:
        stream = cast("BinaryIO", stack.enter_context(_opened(head, answering)))
        progress = _Telling(answering) if head["tells"] else None
        watched = WatchedStream(stream, head["bytes"], progress)
        return plain_references(watched, head["kind"], head["url"], head["guarded"])


def _opened(head: Head, answering: Answering) -> Any:
    if head["path"] is not None:
        return open(head["path"], "rb")  # noqa: PTH123  whatever the name is made of

    def fetch(start: int, end: int) -> bytes:
        return answering.ask({"read": [start, end]})

    return RangeStream(fetch, head["bytes"], "the file", sys.maxsize)


class _Telling:
    """Tells how far the reading is, each tenth of a second or each hundredth of the file."""

    def __init__(self, answering: Answering) -> None:
        self._answering, self._told, self._done = answering, time.monotonic(), 0

    def __call__(self, done: int, size: int) -> None:
        now = time.monotonic()
        if now - self._told >= _BETWEEN or (done - self._done) * 100 >= size:
            self._told, self._done = now, done
            self._answering.tell({"done": done})


if __name__ == "__main__":
    from refexplorer.formats.making import makers

    for each in sys.argv[1:]:
        makers.load(each)
    serve(_work)
