"""Files of this machine, by who may open which."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from refexplorer.formats.files.compression import PlainStream, plain

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from refexplorer.limits import Limits


class Files(Protocol):
    """How the files of a source are found and opened."""

    guarded: bool  # Whether somebody else than who runs this process chose the source

    def place(self, name: str) -> Path:
        """Return the path that a name means; AccessError if it may not be opened."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        ...

    def filesystem(self) -> AbstractFileSystem:
        """Return them for fsspec."""
        ...

    def unchanging(self, folder: Path, limits: Limits) -> AbstractContextManager[Path]:
        """Lend a folder whose metadata a reader of its own may open, however it does."""
        ...


class OwnFiles:
    """The files of who runs this process: whatever the system lets them open."""

    guarded = False

    def place(self, name: str) -> Path:
        """Return the path, ``~`` expanded."""
        return own_path(name)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        return Path(path).open("rb")

    def filesystem(self) -> AbstractFileSystem:
        """Return fsspec's own."""
        from fsspec.implementations.local import LocalFileSystem

        return LocalFileSystem()

    @contextmanager
    def unchanging(self, folder: Path, limits: Limits) -> Iterator[Path]:
        """Lend the folder itself."""
        yield folder


def own_path(name: str) -> Path:
    """Return a path, ``~`` expanded; one that begins with ``~`` and no user's name is kept."""
    return Path(os.path.expanduser(name))  # noqa: PTH111  that of `Path` fails there


def open_plain(path: str, name: str, limits: Limits, files: Files) -> PlainStream:
    """Return a stream of the plain bytes of a file."""
    return plain(files.open(path), name, limits)
