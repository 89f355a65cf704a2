"""Files of this machine for somebody else than who runs this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from fsspec.implementations.local import LocalFileSystem

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.fetch.local import open_resolved
from refexplorer.errors import AccessError, LimitError
from refexplorer.limits import Limits

_PIECE = 2**20
_BULK = ("chunks",)
"""The folder of an Icechunk repository that holds data alone."""


class GuardedFiles:
    """Opens what a policy allows, and of each file the very path that the policy checked.

    Nothing in a name is expanded: ``~`` and ``$HOME`` are names of files like any other.

    Parameters
    ----------
    policy
        What may be read.
    """

    guarded = True

    def __init__(self, policy: AccessPolicy) -> None:
        self._policy = policy

    def place(self, name: str) -> Path:
        """Return the path that a name leads to, links resolved.

        Raises
        ------
        AccessError
            If it may not be read.
        """
        return Path(self._policy.allowed(name).path)

    def open(self, path: str) -> BinaryIO:
        """Open a file where its path leads now, if it may be read there.

        Raises
        ------
        OSError
            If not, or if it cannot be read.
        """
        try:
            return open_resolved(self._policy.place(path).path)
        except AccessError:
            why = "it leads outside what this page may open"
            raise PermissionError(errno.EACCES, why, path) from None

    def filesystem(self) -> LocalFileSystem:
        """Return them for fsspec."""
        return _GuardedFileSystem(self)

    @contextmanager
    def unchanging(self, folder: Path, limits: Limits) -> Iterator[Path]:
        """Lend a copy of the metadata of an Icechunk repository, whose package follows links.

        Raises
        ------
        LimitError
            If there is more of it than `Limits.document_bytes`.
        """
        with TemporaryDirectory(prefix="refexplorer-") as copy:
            rest = limits.document_bytes
            for name in _names(folder, _BULK):
                target = Path(copy) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with self.open(str(folder / name)) as source, target.open("wb") as file:
                    while piece := source.read(_PIECE):
                        rest -= len(piece)
                        if rest < 0:
                            raise LimitError(
                                f"The metadata of {folder.name} has more than "
                                f"{limits.document_bytes:,} bytes; `Limits.document_bytes` "
                                "raises the limit."
                            )
                        file.write(piece)
            yield Path(copy)


class _GuardedFileSystem(LocalFileSystem):  # type: ignore[misc]
    """Guarded files as fsspec wants them, read-only."""

    cachable = False

    def __init__(self, files: GuardedFiles) -> None:
        super().__init__()
        self._files = files

    def _open(self, path: str, mode: str = "rb", **_: Any) -> BinaryIO:
        return self._files.open(path)

    def find(self, path: str, *_: Any, **__: Any) -> list[str]:
        """List the files below a folder; no linked folder is entered."""
        return [str(Path(path) / name) for name in _names(Path(path))]


def _names(folder: Path, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the files below a folder, relative to it, in order."""
    for place, folders, names in os.walk(folder):
        inner = Path(place).relative_to(folder)
        folders[:] = sorted(set(folders).difference(without if place == str(folder) else ()))
        yield from ((inner / name).as_posix() for name in sorted(names))
