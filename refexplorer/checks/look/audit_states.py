"""The states that a check and an audit give to chunks and targets, and the words for them."""

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


STATES = (
    "good",
    "decoded",
    "not written",
    "unreadable",
    "undecodable",
    "past end",
    "unreachable",
    "not allowed",
)
"""Of a chunk or other reference, what is better before what is worse.

``good``: the set itself holds it, or its target answered and no range of it was found to reach past
the end; it was not decoded. ``decoded``: its bytes were read and decoded as well; the values were
not compared with anything. ``not written``: nobody could list the chunks of the store, and its
server has no such file (404), so that it reads as the fill value."""
GOOD, DECODED, UNWRITTEN, UNREADABLE, UNDECODABLE, PAST_END, UNREACHABLE, FORBIDDEN = range(
    len(STATES)
)

LOST = (UNREADABLE, UNDECODABLE, PAST_END, UNREACHABLE)
"""Those of a chunk that failed; one that may not be read was not tried."""

STATE_WORDS = {
    "good": "not decoded",
    "decoded": "decoded",
    "not written": "not written, which read as the fill value",
    "unreadable": "whose bytes could not be fetched",
    "undecodable": "that cannot be decoded",
    "past end": "past the end of the target",
    "unreachable": "of a target that cannot be read",
    "not allowed": "of a target that may not be read yet",
}

SHORT_WORDS = {"good": STATE_WORDS["good"]}
"""The words of a table for states that would be read for more than they are."""

TARGET_STATES = tuple(state.value for state in TargetState)
CHANGED = TARGET_STATES.index("changed")
TARGET_STATE_OF = (0, 0, 1, 2, 2, 3, 4, 5)
"""The state of a target for the worst state of its references."""
