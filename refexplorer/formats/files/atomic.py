"""Files that appear when all of them is written, and not at all if anything stops before."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from refexplorer.errors import SourceError
from refexplorer.formats.files.write_lock import writing_alone

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
Check = Callable[[Path], object]
"""Looks at what was written before it gets its name; raises what is wrong."""


def unchecked(path: Path) -> None:
    """Look at nothing."""


@contextmanager
def writing(
    path: Path, check: Check = unchecked, *, as_it_is: bool = False, overwrite: bool = True
) -> Iterator[BinaryIO]:
    """Give a file to write to, compressed if the name ends in ``.gz`` or ``.zst``."""
    partial = path.with_name(path.name + ".partial")
    suffix = "" if as_it_is else path.suffix
    with refused(path), writing_alone(path):
        if not overwrite:
            check_free(path)  # another process may have written it since it was looked at
        try:
            with partial.open("wb") as file, _compressed(file, suffix) as stream:
                yield stream
            check(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def check_free(path: Path) -> None:
    """Refuse a name that is taken."""
    if path.exists():
        raise SourceError(f"{str(path)!r} exists; choose another name, or pass overwrite=True.")


def refuse_url(path: Path) -> None:
    """Refuse the path that is made of a URL: ``s3://b/a`` is a file in a new folder ``s3:``."""
    first = path.parts[0] if path.parts else ""
    if _SCHEME.fullmatch(first) and len(path.parts) > 1 and not Path(first).exists():
        raise SourceError(
            f"{str(path)!r} cannot be written: it looks like a URL; write to this machine, and "
            "copy it."
        )


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Say in a `SourceError` why something cannot be written."""
    refuse_url(path)
    try:
        yield
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise SourceError(f"{str(path)!r} cannot be written: {said}.") from None


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as stream:
            yield cast(BinaryIO, stream)
    elif suffix == ".zst":
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as stream:
            yield cast(BinaryIO, stream)
    else:
        yield file


def write_blocks(
    path: Path, blocks: Iterable[bytes], check: Check = unchecked, *, overwrite: bool = True
) -> None:
    """Write blocks one after the other; parameters and errors as `writing`."""
    with writing(path, check, overwrite=overwrite) as stream:
        for block in blocks:
            stream.write(block)
