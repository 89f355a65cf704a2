"""A check that look-up finds the keys that are listed, before others pass for missing.

A key that is not found has no reference, and Zarr makes fill values of it. So whoever answers
"no reference" to Zarr first asks whether look-up can be trusted in this process.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakSet

from refexplorer.errors import InternalError, LimitError
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Segment

_SAMPLED = 64
"""Keys of a segment that are looked up; all of a table are compared by their hashes."""
_trusted: WeakSet[OpenedSet] = WeakSet()


def require_lookup(opened: OpenedSet) -> None:
    """Do as `check_lookup`, once for a set in a process."""
    if opened not in _trusted:
        check_lookup(opened)
        _trusted.add(opened)


def check_lookup(opened: OpenedSet) -> None:
    """Compare look-up with the keys that are listed; record files that were not read stay so.

    Takes about as long as building the index: 0.1 s for 10^6 keys.

    Raises
    ------
    InternalError
        If a listed key is not found.
    """
    if not opened.table.index.is_sound:
        raise _broken(f"the index of its {opened.table.count:,} explicit keys")
    for part in opened.parts:
        for key in _sample(part):
            found = _found(part, key)
            if found is not None and found != key:
                raise _broken(f"{key!r}, a key of {part.origin}")


def _broken(what: str) -> InternalError:
    return InternalError(
        f"refexplorer cannot look up keys that the set has ({what}), so chunks would wrongly "
        "read as fill values. This is a bug: please report it, and open the set again."
    )


def _sample(part: Segment) -> Iterator[str]:
    """Yield keys from the whole of a segment that have a reference."""
    if isinstance(part, Records) and not part.is_read:
        return
    step = max(part.count // _SAMPLED, 1)
    for row in range(0, part.count, step):
        if part.reference_at(row) is not None:
            yield part.key_at(row)


def _found(part: Segment, key: str) -> str | None:
    """Return the key that look-up leads to, ``""`` if to none; None if it cannot be asked."""
    try:
        row = part.find(key)
    except LimitError:  # told to whoever asks, so nothing passes for missing
        return None
    return "" if row is None else part.key_at(row)
