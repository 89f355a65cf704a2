"""References to a data file, generated in a child process: a damaged file ends only that.

File format libraries expect trusted files: one flipped byte can end the process in libhdf5, or make
tifffile take all memory.
`python -m refexplorer.formats.datafiles.confined_references` is the child. It opens one's own local
files by path, and requests the bytes of all others. The libraries get an open file and no name, so
that a file cannot make them open others.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from refexplorer.core.errors import LeftOutWarning, SourceError, warn
from refexplorer.core.files import Progress
from refexplorer.core.limits import is_out_of_memory
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
from refexplorer.formats.datafiles.streams import RangeStream, WatchedStream

if TYPE_CHECKING:
    from refexplorer.formats.columns.table import Entries
    from refexplorer.formats.datafiles.data_file import DataFile, FileChunks, Unread
    from refexplorer.formats.datafiles.references import DataFileReferences

    _Made = tuple[Mapping[str, str], Mapping[str, FileChunks], Mapping[str, Unread]]
    """The fields of `DataFileReferences`."""

SECONDS = 60  # Time for a small file; waiting for a server does not count
_SECONDS_PER_MIB = 10  # and for each MiB of the file
_MEMORY, _MEMORY_PER_BYTE = 2**28, 100  # Of references; sound files need far less
_CHILDREN = 8  # files that are read at once
_REPORT_SECONDS = 0.1  # Seconds between two progress messages
_NAME = __spec__.name if __spec__ else __name__
READERS = {
    "hdf5": ("hdf5", "Hdf5File"), "netcdf3": ("netcdf3", "NetCdf3File"),
    "fits": ("fits", "FitsFile"), "grib": ("grib", "GribFile"), "tiff": ("tiff", "TiffFile"),
}  # fmt: skip
"""Modules of this package that read a kind of file, and their classes."""


@dataclass(frozen=True, slots=True)
class DataFileSource:
    """A data file for which references are generated."""

    name: str  # For messages
    kind: str  # One of `READERS`
    url: str  # Its path or URL, for the references
    path: str | None  # Where a child may open it; None if it is given the bytes of `stream`
    # stream, size: Its bytes, and how many they are
    stream: BinaryIO
    size: int


class MadeReferences(NamedTuple):
    """References to a data file."""

    entries: Entries  # In columns
    # Of each array with byte ranges that end after the file: the first key, and how many
    beyond: tuple[tuple[str, int], ...]
    left_out: Mapping[str, Unread]  # Why some are missing, by the name of an array or attribute


class _UnmakeableError(Exception):
    """No references can be generated; the text is the reason, a clause."""


def made_references(file: DataFileSource, progress: Progress | None) -> MadeReferences:
    """Return references; `progress` is called with the bytes read, and the total."""
    if is_child() or not _can_confine():
        stream = WatchedStream(file.stream, file.size, progress)
        try:
            return _with_entries(_checked_references(stream, file.kind), file)
        except _UnmakeableError as error:
            raise _failed(file, str(error)) from None
    reply, data = _answer(file, progress)
    for sentence in reply["warned"]:
        warn(sentence, LeftOutWarning)
    if "missing" in reply:
        raise ImportError(reply["missing"])
    if "failed" in reply:
        raise _failed(file, reply["failed"])
    from refexplorer.formats.datafiles.metadata_transfer import loads

    try:
        return _with_entries(loads(data), file)
    except Exception:  # a damaged process may answer anything
        raise _failed(file, "the process that read its metadata gave no references") from None


def _with_entries(made: _Made, file: DataFileSource) -> MadeReferences:
    from refexplorer.formats.datafiles.references import DataFileReferences

    references = DataFileReferences(*made)
    beyond = tuple(references.beyond(file.size))
    return MadeReferences(references.entries(file.url), beyond, references.left_out)


def _answer(file: DataFileSource, progress: Progress | None) -> tuple[Head, bytes]:
    """Return the response of a child."""

    def hear(reply: Head) -> bytes | None:
        if "done" in reply:
            if progress is not None:
                progress(reply["done"], file.size)
            return None
        start, end = reply["read"]
        file.stream.seek(start)
        return file.stream.read(end - start)

    seconds = SECONDS + _SECONDS_PER_MIB * file.size / 2**20
    reports = progress is not None
    head = {"kind": file.kind, "path": file.path, "bytes": file.size, "reports": reports}
    try:
        with _children.lend(file.kind) as child:
            return child.ask(head, b"", seconds, hear)
    except LateError:
        raise _failed(file, f"its metadata were not read within {seconds:,.0f} s") from None
    except LostError as lost:
        raise _failed(file, f"the process that read its metadata {lost.ending_text()}") from None


def _failed(file: DataFileSource, why: str) -> SourceError:
    from refexplorer.core.text import escape  # imports numpy, and the child is started before that

    return SourceError(
        f"{escape(file.name)} is a data file, and no references can be made to it: "
        f"{escape(why, 300)}."
    )


def start(kind: str) -> None:
    """Start a process that has loaded the libraries for a kind of file."""
    if has_processes() and not is_child():
        _children.start(kind)


@cache
def _can_confine() -> bool:
    """Return whether there are processes, and warn once if not."""
    if has_processes():
        return True
    warn(
        "This Python cannot start processes, so data files are read in this one: a damaged file "
        "can end it.",
        LeftOutWarning,
    )
    return False


_children = Children(_NAME, _CHILDREN)


def _work(head: Head, data: bytes, answering: Answering) -> None:
    from refexplorer.formats.datafiles.metadata_transfer import dumps

    limit_memory(OWN_MEMORY + _MEMORY + _MEMORY_PER_BYTE * head["bytes"])
    reply: Head = {}
    made = b""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = dumps(_made(head, answering))
        except MemoryError:
            raise
        except ImportError as error:
            reply["missing"] = str(error)
        except Exception as error:  # `_UnmakeableError`, or that of a read
            reply["failed"] = str(error).rstrip(". ") or type(error).__name__
    kept = [each for each in caught if issubclass(each.category, LeftOutWarning)]
    answering.answer(reply | {"warned": [str(each.message) for each in kept]}, made)


def _made(head: Head, answering: Answering) -> _Made:
    with ExitStack() as stack:
        if head["path"] is not None:
            opened: Any = open(head["path"], "rb")  # noqa: PTH123, SIM115  any name is opened
        else:
            read = lambda start, end: answering.ask({"read": [start, end]})  # noqa: E731
            opened = RangeStream(read, head["bytes"], "the file")
        stream = cast("BinaryIO", stack.enter_context(opened))
        progress = _ProgressReport(answering) if head["reports"] else None
        return _checked_references(WatchedStream(stream, head["bytes"], progress), head["kind"])


class _ProgressReport:
    """Reports reading progress, at most every tenth of a second or hundredth of the file."""

    def __init__(self, answering: Answering) -> None:
        self._answering, self._reported, self._done = answering, time.monotonic(), 0

    def __call__(self, done: int, size: int) -> None:
        now = time.monotonic()
        if now - self._reported >= _REPORT_SECONDS or (done - self._done) * 100 >= size:
            self._reported, self._done = now, done
            self._answering.send({"done": done})


def _checked_references(stream: WatchedStream, kind: str) -> _Made:
    """Return references; raise `_UnmakeableError` if there are none, or the error of a read."""
    try:
        return _references(stream, kind)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # each library raises its own errors
        stream.reraise()
        raise _UnmakeableError(_clause(error)) from None
    finally:
        stream.forget()


def _references(stream: WatchedStream, kind: str) -> _Made:
    from refexplorer.formats.datafiles.data_file import left_out_text

    file = reader(kind, stream)
    try:
        made = _reference_maker(kind)(file)
    finally:
        file.close()
    stream.reraise()  # some libraries ignore errors of a read
    if made.left_out and not any(key.endswith("/.zarray") for key in made.documents):
        raise _UnmakeableError(f"nothing in it can be referenced: {left_out_text(made.left_out)}")
    return made.documents, made.chunks, made.left_out


def _clause(error: BaseException) -> str:
    if is_out_of_memory(error):
        return "there is not enough memory"
    words = getattr(error, "strerror", None) or str(error)
    return str(words).strip().partition("\n")[0].rstrip(". ") or type(error).__name__


def reader(kind: str, stream: object) -> DataFile:
    """Return the reader of a kind of file, one of `READERS`."""
    module, name = READERS[kind]
    return getattr(import_module(f"{__package__}.{module}"), name)(stream)


def _reference_maker(kind: str) -> Callable[[Any], DataFileReferences]:
    if kind == "grib":
        import kerchunk.codecs  # noqa: F401  its codec decodes the messages

        from refexplorer.formats.datafiles.grib_references import grib_references

        return grib_references
    from refexplorer.formats.datafiles.references import references_of

    return references_of


if __name__ == "__main__":
    for each in sys.argv[1:]:
        with suppress(ImportError):
            _reference_maker(each)
            import_module(f"refexplorer.formats.datafiles.{READERS[each][0]}")
    serve(_work)
