"""The states of a target in a check and an audit, and the words for them."""

from __future__ import annotations

from enum import StrEnum


class TargetState(StrEnum):
    """The states of a target, from the best to the worst.

    ``good`` says that it answered and that nothing wrong was found in what was checked of it: no
    range that was compared with its size reaches past its end. ``not written`` is a chunk of a Zarr
    store that nobody could list, which its server has not. A check reads nothing of it; an
    audit also reads chunks, and tells ``damaged`` (one of them cannot be read or decoded) and
    ``changed`` (its version was another one later).
    """

    GOOD = "good"
    UNWRITTEN = "not written"
    DAMAGED = "damaged"
    SHORT = "short"
    UNREACHABLE = "unreachable"
    FORBIDDEN = "not allowed"
    CHANGED = "changed"


TARGET_WORDS = {
    TargetState.GOOD: "where nothing wrong was found",
    TargetState.UNWRITTEN: "not written, which read as the fill value",
    TargetState.DAMAGED: "with chunks that cannot be read or decoded",
    TargetState.SHORT: "shorter than a range of it",
    TargetState.UNREACHABLE: "that cannot be read",
    TargetState.FORBIDDEN: "that may not be read yet",
    TargetState.CHANGED: "that changed during the audit",
}
