"""Byte ranges of files of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from refexplorer.data.facts import Facts, Versions
from refexplorer.data.failures import too_long
from refexplorer.data.places import Place


class LocalReader:
    """Reads at once, in the thread that asks."""

    def __init__(self) -> None:
        self._versions = Versions()

    @contextmanager
    def opened(self, place: Place) -> Iterator[LocalFile]:
        """Open a file for one or several reads.

        Raises
        ------
        OSError
            If there is no such file, or it may not be read.
        FetchError
            If it changed since it was opened first.
        """
        with Path(place.path).open("rb") as file:
            found = os.fstat(file.fileno())
            self._versions.check(place.path, f"{found.st_size} bytes of {_modified(found)}")
            yield LocalFile(file, found.st_size)

    def facts(self, place: Place) -> Facts:
        """Return what the file system says of a file; OSError if there is none."""
        found = Path(place.path).stat()
        return Facts(found.st_size, modified=_modified(found))


class LocalFile:
    """An open file of known size in bytes."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size

    def read(self, start: int, end: int | None, limit: int) -> bytes:
        """Return the bytes from `start` to `end`; what lies past the end is not asked for.

        Raises
        ------
        LimitError
            If more than `limit` bytes would come.
        """
        stop = self._size if end is None else min(end, self._size)
        if stop - start > limit:
            raise too_long(self._size, limit)
        if stop <= start:
            return b""
        self._file.seek(start)
        return self._file.read(stop - start)


def _modified(found: os.stat_result) -> str:
    return datetime.fromtimestamp(found.st_mtime, UTC).isoformat()
