"""Limits of memory that the system sets, and the sentence where they are too low."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from refexplorer.errors import LimitError


def is_lacking(error: BaseException | None) -> bool:
    """Say whether an error comes of too little memory, itself or by what led to it."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        # the stack of a thread is address space; CPython has no error of its own for it
        if isinstance(error, RuntimeError) and "start new thread" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def limit() -> int | None:
    """Return how many bytes this process may take; None where the system sets no limit."""
    if os.name != "posix":
        return None
    import resource

    kinds = resource.RLIMIT_AS, resource.RLIMIT_DATA
    set_limits = [resource.getrlimit(kind)[0] for kind in kinds]
    return min((one for one in set_limits if one != resource.RLIM_INFINITY), default=None)


def reserve_nothing() -> None:
    """Keep Arrow, in this process and its children, from reserving where the system sets a limit.

    Call it before Arrow takes memory. Its own allocator (mimalloc) takes 1 GiB
    of address space at once where there is so much: with 1.6 GB the rest was too little for a set
    that opens with 1.2 GB.
    """
    if limit() is not None:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def too_little() -> str:
    """Say how much there was, and what to do."""
    from refexplorer.markup import size_text  # takes numpy, and each command asks for the limit

    most = limit()
    if most is not None:
        return (
            f"There is not enough memory: this process may take {size_text(most)}; raise its "
            "limit (`ulimit -v`), or use a smaller part of the set."
        )
    return (
        f"There is not enough memory{_free()}; end other programs, use a machine with more, or a "
        "smaller part of the set."
    )


def _free() -> str:
    from refexplorer.markup import size_text

    try:
        pages = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PHYS_PAGES")
        free, whole = (size_text(count * os.sysconf("SC_PAGE_SIZE")) for count in pages)
    except (AttributeError, ValueError, OSError):
        return ""
    return f": {free} of the {whole} of this machine are free"


@contextmanager
def told() -> Iterator[None]:
    """Raise a `LimitError` that says it where memory is not enough."""
    try:
        yield
    except MemoryError:
        raise LimitError(too_little()) from None
