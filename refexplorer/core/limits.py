"""All limits in one place: an untrusted file must not exhaust the machine's resources."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from refexplorer.core.errors import LimitError

INT64_MAX = 2**63 - 1  # The largest number in a signed column of numpy or Arrow
MOST_BYTES = 2**62 - 1  # Largest offset or length; the sum of two fits into 64 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one reference set; pass as ``limits=`` to raise a single bound.

    Sizes are in bytes.
    """

    document_bytes: int = 4 * 2**30
    """Decompressed size of a JSON document."""
    json_lists: int = 2_000_000
    """Number of lists in a JSON document; most of them are references."""
    json_depth: int = 200
    """Nesting depth of a JSON document."""
    key_bytes: int = 64 * 1024
    """Length of an explicit key; longer ones are rejected (see also `template_chars`)."""
    template_chars: int = 64 * 1024
    """Length of any text that a template produces, including intermediate results."""
    template_steps: int = 10_000
    """Evaluation steps of one template."""
    integer_bits: int = 1024
    """Bits of any integer that a template computes."""
    expanded_keys: int = 20_000_000
    """Number of keys that `to_v0` and `expand` write; larger sets are refused."""
    audited_references: int = 200_000_000
    """Number of references in one audit, which writes some tens of bytes to disk for each."""
    record_rows: int = 50_000_000
    """`record_size` of a parquet store."""
    itemsize: int = 2**20
    """Size of one array element."""
    chunk_bytes: int = 2**30
    """Decoded size of one chunk."""
    fetch_bytes: int = 2**28
    """Bytes that one request of a view may read, or a column of a parquet record file may need in
    addition to some bytes for each row."""
    read_seconds: float = 120
    """Seconds that one read of a target may take, including retries; time does not count while at
    least 4 kB arrive per second."""
    picture_bytes: int = 2_000_000
    """Bytes that the first picture of an array fetches, unless a single chunk has more; a view lets
    users choose another amount."""
    kept_bytes: int = 2**28
    """Bytes of decoded chunks that the views of a set keep."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitorLimits:
    """The limits for visitors of a page, on the machine that serves it."""

    # Pages open at a time; a closed page counts for another half minute
    sessions: int = 100
    openings: int = 4  # Sets opened at a time
    waiting: int = 20  # Sets waiting to be opened
    seconds: float = 60  # Time to open a set, including waiting for servers
    # Memory for this, in addition to that of Python itself; on Windows only time is limited
    memory: int = 2_000_000_000


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error is due to insufficient memory, directly or by its causes."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        # the stack of a thread is address space; CPython raises no MemoryError for it
        if isinstance(error, RuntimeError) and "start new thread" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def memory_limit() -> int | None:
    """Return the memory limit of this process in bytes; None if the system sets none."""
    if os.name != "posix":
        return None
    import resource

    kinds = resource.RLIMIT_AS, resource.RLIMIT_DATA
    set_limits = [resource.getrlimit(kind)[0] for kind in kinds]
    return min((one for one in set_limits if one != resource.RLIM_INFINITY), default=None)


def limit_arrow_pool() -> None:
    """Keep Arrow from reserving 1 GiB if memory is limited; call this before using Arrow."""
    # Call it before Arrow allocates memory. Its own allocator (mimalloc) reserves 1 GiB of address
    # space: with a limit of 1.6 GB, the rest was too little for a set that needs 1.2 GB.
    if memory_limit() is not None:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def memory_message() -> str:
    """Return how much memory there was, and what to do."""
    from refexplorer.core.text import (
        size_text,
    )  # imports numpy, and each command asks for the limit

    most = memory_limit()
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
    from refexplorer.core.text import size_text

    try:
        pages = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PHYS_PAGES")
        free, whole = (size_text(count * os.sysconf("SC_PAGE_SIZE")) for count in pages)
    except (AttributeError, ValueError, OSError):
        return ""
    return f": {free} of the {whole} of this machine are free"


def check_expandable(count: int, limits: Limits) -> None:
    """Reject writing out more keys than the limits allow."""
    if count > limits.expanded_keys:
        raise LimitError(
            f"The set has {count:,} keys, but at most {limits.expanded_keys:,} can be expanded. "
            f"Look up single keys, or raise `Limits.expanded_keys`."
        )
