"""One writer at a time for each name, told by the system: a lock ends with the process."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from refexplorer.errors import SourceError

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
