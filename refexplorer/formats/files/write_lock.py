"""One writer at a time for each name, told by the system: a lock ends with the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from refexplorer.errors import SourceError

if sys.platform != "win32":  # which has no such lock
    from fcntl import LOCK_EX, LOCK_NB, flock


@contextmanager
def writing_alone(path: Path) -> Iterator[None]:
    """Keep other processes of refexplorer, and threads of this one, from writing to a name.

    The lock is a file beside it, and not the partial output itself, which changes its name. One
    that a killed process left locks nothing and is taken over.

    Raises
    ------
    SourceError
        If somebody else is writing to it.
    OSError
        If nothing can be written there.
    """
    if sys.platform == "win32":
        yield
        return
    lock = path.with_name(path.name + ".lock")
    descriptor = _locked(path, lock)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path, lock: Path) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise SourceError(
                f"{str(path)!r} is being written by another process; wait for it to end, or "
                "choose another name."
            ) from None
        except OSError:  # some file systems know no locks
            return descriptor
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)  # who had it before has just removed it
