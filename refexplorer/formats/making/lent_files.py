"""An open file, for packages that open theirs by name with fsspec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_SET, IOBase, RawIOBase
from typing import Any, ClassVar
from uuid import uuid4

from fsspec import AbstractFileSystem, register_implementation

_PROTOCOL = "refexplorer-lent"


class LentFile(RawIOBase):
    """An open file that stays open when who borrows it closes it."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file

    def readable(self) -> bool:  # noqa: D102
        return True

    def seekable(self) -> bool:  # noqa: D102
        return True

    def tell(self) -> int:  # noqa: D102
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:  # noqa: D102
        return int(self._file.seek(offset, whence))

    def read(self, size: int = -1) -> bytes:  # noqa: D102
        return bytes(self._file.read(size))

    def readinto(self, buffer: object) -> int:  # noqa: D102
        return int(self._file.readinto(buffer))


class _LentFiles(AbstractFileSystem):  # type: ignore[misc]
    """The files that are lent at present, by name; nothing else can be opened here."""

    protocol = _PROTOCOL
    cachable = False
    files: ClassVar[dict[str, IOBase]] = {}

    def _open(self, path: str, mode: str = "rb", **_: Any) -> IOBase:
        if path not in self.files:
            raise FileNotFoundError(path)
        return LentFile(self.files[path])

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix(f"{_PROTOCOL}://")


@contextmanager
def lent(file: IOBase) -> Iterator[str]:
    """Lend a file under a URL that fsspec of this process alone knows."""
    register_implementation(_PROTOCOL, _LentFiles, clobber=True)
    name = uuid4().hex
    _LentFiles.files[name] = file
    try:
        yield f"{_PROTOCOL}://{name}"
    finally:
        del _LentFiles.files[name]
