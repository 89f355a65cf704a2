"""Files that appear when all of them is written, and not at all if anything stops before."""

from __future__ import annotations

import atexit
import gzip
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from refexplorer.core.errors import SourceError

if sys.platform != "win32":  # which has no such lock
    from fcntl import LOCK_EX, LOCK_NB, flock


@contextmanager
def writing_alone(path: Path) -> Iterator[None]:
    """Keep other processes of refexplorer, and threads of this one, from writing to a name.

    The lock is a file beside it, and not the partial output itself, which changes its name. One
    that a killed process left locks nothing and is taken over.
    """
    if sys.platform == "win32":
        yield
        return
    lock = path.with_name(path.name + ".lock")
    descriptors: list[int] = []  # known from the start: Ctrl-C comes between any two steps
    release = partial(_release, descriptors, lock)
    atexit.register(release)  # and between `__enter__` and the body, where nothing else releases it
    try:
        _lock(path, lock, descriptors)
        yield
    finally:
        try:
            release()
        except KeyboardInterrupt:
            release()
            raise
        finally:
            atexit.unregister(release)


def _lock(path: Path, lock: Path, descriptors: list[int]) -> None:
    while True:
        descriptors.append(os.open(lock, os.O_RDWR | os.O_CREAT, 0o666))
        try:
            flock(descriptors[-1], LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise SourceError(
                f"{str(path)!r} is being written by another process; wait for it to end, or "
                "choose another name."
            ) from None
        except OSError:  # some file systems know no locks
            return
        if _is_there(descriptors[-1], lock):
            return
        os.close(descriptors.pop())  # who had it before has just removed it


def _release(descriptors: list[int], lock: Path) -> None:
    """Remove the file, unless it is somebody else's."""
    if not descriptors:  # Ctrl-C came between the file and its number
        with suppress(OSError):
            descriptors.append(os.open(lock, os.O_RDWR))
    for descriptor in descriptors:
        is_held = True
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)  # it may not have come to that
        except BlockingIOError:
            is_held = False
        except OSError:
            pass
        if is_held and _is_there(descriptor, lock):
            lock.unlink(missing_ok=True)
    while descriptors:
        os.close(descriptors.pop())


def _is_there(descriptor: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), lock.stat())
    except FileNotFoundError:
        return False


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
