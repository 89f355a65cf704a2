"""Files that a library reads in a separate process, with limits on memory and time.

File format libraries expect trusted files: untrusted bytes can make them crash, loop, or take all
memory. Here that ends only the child, and is reported as the reason why a file is not compared.
`python -m refexplorer.io.sources.confined` is the child. It opens local files by the path that was
checked, and requests the bytes of all others, so it needs no network access. h5py holds its lock
while bytes are requested; the child has no other thread that could wait for it, and this process
does not take it. What remains: the child may do what its user may, and on Windows its memory is not
limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any, cast

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.processes import (
    OWN_MEMORY,
    Answering,
    Children,
    LateError,
    LostError,
    limit_memory,
    serve,
)
from refexplorer.core.text import size_text
from refexplorer.formats.datafiles.confined_references import reader
from refexplorer.formats.datafiles.data_file import (
    DataFile,
    FileArray,
    FileChunks,
    FileObject,
    SizedDataFile,
    Unread,
    why_of,
)
from refexplorer.formats.datafiles.metadata_transfer import (
    FileMetadata,
    chunks_or_reason,
    dumps,
    file_bytes,
    loads,
)
from refexplorer.formats.datafiles.streams import RangeStream
from refexplorer.io.fetch.targets import Targets, open_resolved
from refexplorer.io.sources.target_file import BLOCK, TargetFile

if TYPE_CHECKING:
    import numpy as np


SECONDS = 60  # Time for one question; waiting for a server does not count
CHILDREN = 8  # Processes at a time, as many as are needed: each waits for the server of its file
_NAME = __spec__.name if __spec__ else __name__


class ConfinedFile(SizedDataFile):
    """A file read in a child process; its metadata are read immediately."""

    def __init__(self, form: str, targets: Targets, file: TargetFile) -> None:
        self.form = form
        self._targets, self._file, self.size = targets, file, file.size
        self._metadata = FileMetadata(self._ask({"do": "describe"}))
        self.declared = self._metadata.declared

    def names(self) -> tuple[str, ...]:
        return tuple(self._metadata.arrays)

    def other_names(self) -> Mapping[str, str]:
        return self._metadata.others

    def objects(self) -> Iterator[FileObject]:
        yield from self._metadata.objects

    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        return self._metadata.groups

    def array(self, name: str) -> FileArray:
        found = self._metadata.arrays[self._metadata.others.get(name, name)]
        if isinstance(found, Unread):
            raise found
        return found

    def chunks(self, name: str) -> FileChunks:
        name = self.array(name).name
        found = self._metadata.chunks.get(name)
        if found is None:
            found = loads(self._ask({"do": "chunks", "name": name}))
        if isinstance(found, Unread):
            raise found
        return found

    def values(self, name: str, selection: tuple[slice, ...]) -> np.ndarray:
        array = self.array(name.partition("/")[0] if self.form == "GRIB" else name)
        slices = [each.indices(n) for each, n in zip(selection, array.shape, strict=True)]
        asked = name if self.form == "GRIB" else array.name
        size = math.prod(len(range(*each)) for each in slices) * array.dtype.itemsize
        if size > self._targets.limit:
            raise Unread(
                "cost",
                f"The values would take {size_text(size)}, more than the limit of "
                f"{size_text(self._targets.limit)} (`Limits.fetch_bytes`).",
            )
        if array.name in self._metadata.values:
            self._file.check_unchanged()
            return self._metadata.values[array.name][selection]
        self._file.begin_values()
        return loads(self._ask({"do": "values", "name": asked, "selection": slices}))

    def close(self) -> None:
        self._file.close()

    def _ask(self, head: dict[str, Any]) -> bytes:
        failures: list[Exception] = []

        def hear(reply: dict[str, Any]) -> bytes:
            try:
                return self._file.read_at(*reply["read"])
            except (RefexplorerError, Unread) as error:
                failures.append(error)
                return b""  # the child notices the missing bytes

        place = self._file.place
        path = place.path if place.protocol == "file" else None
        limits = {"limit": self._targets.limit, "path": path, "bytes": self._file.size}
        try:
            with _children.lend() as child:
                reply, data = child.ask(head | limits | {"form": self.form}, b"", SECONDS, hear)
        except LateError:
            raise Unread(
                "cost",
                f"Reading the metadata of this {self.form} file took longer than {SECONDS} s and "
                "was stopped.",
            ) from None
        except LostError:
            raise Unread(
                "cost",
                f"Reading the metadata of this {self.form} file took too much memory, or "
                "crashed, and was stopped.",
            ) from None
        if failures:
            raise failures[0]
        if path is not None:
            self._file.check_unchanged()
        if "failed" in reply:
            raise Unread(reply["why"], reply["failed"])
        return data


_children = Children(_NAME, CHILDREN)


def _work(head: dict[str, Any], data: bytes, answering: Answering) -> None:
    limit_memory(OWN_MEMORY + 3 * head["limit"])
    try:
        with ExitStack() as stack:
            answering.answer({}, _answer(head, _opened(head, answering, stack)))
    except MemoryError:
        raise
    except Unread as error:
        answering.answer({"failed": error.sentence, "why": error.why}, b"")
    except Exception as error:  # libraries raise what they like
        words = f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(". :")
        failed = f"The file cannot be read: {words}."
        answering.answer({"failed": failed, "why": why_of(error)}, b"")


def _opened(head: dict[str, Any], answering: Answering, stack: ExitStack) -> DataFile:
    file: IO[bytes]
    if head["path"] is not None:
        file = stack.enter_context(open_resolved(head["path"]))
    else:

        def ask(start: int, end: int) -> bytes:
            return answering.ask({"read": [start, end]})

        file = cast(
            "IO[bytes]",
            stack.enter_context(RangeStream(ask, head["bytes"], "the file", block=BLOCK)),
        )
    native = reader(head["form"].lower(), file)
    stack.callback(native.close)
    return native


def _answer(head: dict[str, Any], file: DataFile) -> bytes:
    if head["do"] == "describe":
        # for a remote file, reading more than requested would take further requests
        return file_bytes(file, with_values=head["path"] is not None)
    if head["do"] == "chunks":
        return dumps(chunks_or_reason(file, head["name"]))
    selection = tuple(slice(*each) for each in head["selection"])
    return dumps(file.values(head["name"], selection))


if __name__ == "__main__":
    serve(_work)
