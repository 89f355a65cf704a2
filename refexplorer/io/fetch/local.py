"""Files of this machine: opened as they were checked, and byte ranges of them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePath
from typing import BinaryIO

from refexplorer.io.access.urls import Place
from refexplorer.io.fetch.failures import Facts, Versions, too_long

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY)
"""Where it exists, a folder need not be readable for the way to lead through it."""


def open_resolved(path: str) -> BinaryIO:
    """Open a regular file by a path that was resolved and checked before.

    No link is followed: one that is there now was put there since, and would lead to what nobody
    checked.
    """
    descriptor = _descriptor(path)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _descriptor(path: str) -> int:
    if os.open not in os.supports_dir_fd:  # Windows
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        if os.path.realpath(path) == path:
            return descriptor
        os.close(descriptor)
        raise OSError(errno.ELOOP, "it was replaced by a link while it was opened", path)
    *folders, name = PurePath(path).parts[1:]
    at = os.open(os.sep, _FOLDER | os.O_DIRECTORY)
    try:
        for folder in folders:
            above, at = at, os.open(folder, _FOLDER | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(above)
        # A pipe would wait for a writer here.
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)


class LocalReader:
    """Reads at once, in the thread that asks."""

    def __init__(self) -> None:
        self._versions = Versions()

    @contextmanager
    def opened(self, place: Place) -> Iterator[LocalFile]:
        """Open a file for one or several reads."""
        with open_resolved(place.path) as file:
            found = os.fstat(file.fileno())
            self._versions.check(place.path, f"{found.st_size} bytes of {_modified(found)}")
            yield LocalFile(file, found.st_size)

    def facts(self, place: Place) -> Facts:
        """Return the facts of a file; OSError if there is none."""
        with open_resolved(place.path) as file:
            found = os.fstat(file.fileno())
        return Facts(found.st_size, modified=_modified(found))


class LocalFile:
    """An open file of known size in bytes."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size

    def read(self, start: int, end: int | None, limit: int) -> bytes:
        """Return the bytes from `start` to `end`; what lies past the end is not asked for."""
        stop = self.size if end is None else min(end, self.size)
        if stop - start > limit:
            raise too_long(self.size, limit)
        if stop <= start:
            return b""
        self._file.seek(start)
        return self._file.read(stop - start)


def _modified(found: os.stat_result) -> str:
    return datetime.fromtimestamp(found.st_mtime, UTC).isoformat()
