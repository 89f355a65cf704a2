"""The states that a run assigns to chunks, keys, objects and files, and their ranking."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NamedTuple


class Rank(IntEnum):
    """How good a state is; repair may never lower it."""

    BAD = 0
    UNKNOWN = 1
    ALONE = 2
    GOOD = 3


class LedgerState(IntEnum):
    """The state of one chunk, one byte.

    The larger of two states of the same chunk is kept: a fault is never overwritten
    by a good state, and a thorough check replaces a superficial one.
    """

    UNTOUCHED = 0
    REFERENCED = 1
    NOT_ALLOWED = 2
    UNREAD_FILE = 3
    FILES_UNREAD = 4
    UNCOVERED = 5
    OWN = 6
    HOLE = 7
    HELD = 8
    INSIDE = 9
    EMPTY = 10
    PLACED = 11
    NO_CODEC = 12
    DECODED = 13
    EQUAL = 14
    HELD_EQUAL = 15
    OTHER_FILL = 16
    LACKING = 17
    WRONG_VALUES = 18
    WRONG_METADATA = 19
    WRONG_RANGE = 20
    UNDECODABLE = 21
    PAST_END = 22
    DAMAGED_FILE = 23
    UNREACHABLE = 24
    LOST_RECORDS = 25
    REJECTED = 26


class ChunkTerm(NamedTuple):
    """The meaning of a chunk state: its rank, how thoroughly a good chunk was checked, its name."""

    rank: Rank
    depth: int
    name: str
    meaning: str


CHUNK_TERMS: dict[LedgerState, ChunkTerm] = {
    LedgerState.UNTOUCHED: ChunkTerm(Rank.UNKNOWN, 0, "not looked at", "not looked at"),
    LedgerState.REFERENCED: ChunkTerm(
        Rank.UNKNOWN, 0, "not read", "with a reference that was not followed"
    ),
    LedgerState.NOT_ALLOWED: ChunkTerm(
        Rank.UNKNOWN, 0, "not allowed", "in a file that is not allowed yet"
    ),
    LedgerState.UNREAD_FILE: ChunkTerm(
        Rank.UNKNOWN, 0, "file not read", "in a file that was not read, or cannot be compared here"
    ),
    LedgerState.FILES_UNREAD: ChunkTerm(
        Rank.UNKNOWN, 0, "no reference", "without a reference, and not all files were read"
    ),
    LedgerState.UNCOVERED: ChunkTerm(
        Rank.UNKNOWN, 0, "inline (not compared)", "inline, and no file that was read covers them"
    ),
    LedgerState.OWN: ChunkTerm(Rank.ALONE, 0, "inline (in no file)", "inline, and in no file"),
    LedgerState.HOLE: ChunkTerm(Rank.ALONE, 0, "no data", "without a reference, and in no file"),
    LedgerState.HELD: ChunkTerm(Rank.GOOD, 0, "inline", "inline"),
    LedgerState.INSIDE: ChunkTerm(Rank.GOOD, 1, "inside the file", "inside their file"),
    LedgerState.EMPTY: ChunkTerm(Rank.GOOD, 2, "never written", "never written, as in the file"),
    LedgerState.PLACED: ChunkTerm(
        Rank.GOOD, 2, "at the right position", "at its position in the file"
    ),
    LedgerState.NO_CODEC: ChunkTerm(
        Rank.UNKNOWN, 0, "codec not installed", "not decoded: a codec or data type is not installed"
    ),
    LedgerState.DECODED: ChunkTerm(Rank.GOOD, 3, "decoded", "decoded"),
    LedgerState.EQUAL: ChunkTerm(Rank.GOOD, 4, "equal", "with equal values"),
    LedgerState.HELD_EQUAL: ChunkTerm(Rank.GOOD, 4, "inline (equal)", "inline with equal values"),
    LedgerState.OTHER_FILL: ChunkTerm(
        Rank.BAD, 0, "other fill value", "never written, and filled with another value"
    ),
    LedgerState.LACKING: ChunkTerm(
        Rank.BAD, 0, "reference missing", "in a file, without a reference"
    ),
    LedgerState.WRONG_VALUES: ChunkTerm(Rank.BAD, 0, "wrong values", "with other values"),
    LedgerState.WRONG_METADATA: ChunkTerm(
        Rank.BAD, 0, "wrong metadata", "read with metadata that differ from the file"
    ),
    LedgerState.WRONG_RANGE: ChunkTerm(
        Rank.BAD, 0, "wrong range", "not at its position in the file"
    ),
    LedgerState.UNDECODABLE: ChunkTerm(Rank.BAD, 0, "undecodable", "that cannot be decoded"),
    LedgerState.PAST_END: ChunkTerm(Rank.BAD, 0, "past the end", "past the end of their file"),
    LedgerState.DAMAGED_FILE: ChunkTerm(Rank.BAD, 0, "damaged file", "in a damaged file"),
    LedgerState.UNREACHABLE: ChunkTerm(Rank.BAD, 0, "unreachable", "in a file that cannot be read"),
    LedgerState.LOST_RECORDS: ChunkTerm(
        Rank.BAD, 0, "unreadable record file", "in a record file that cannot be read"
    ),
    LedgerState.REJECTED: ChunkTerm(Rank.BAD, 0, "rejected", "rejected by an error of the set"),
}

CHUNK_NAMES = [term.name for term in CHUNK_TERMS.values()]
"""By number, as rows of results have them."""
DIFFERENT = frozenset(
    {
        LedgerState.OTHER_FILL,
        LedgerState.LACKING,
        LedgerState.WRONG_VALUES,
        LedgerState.WRONG_METADATA,
        LedgerState.WRONG_RANGE,
        LedgerState.UNDECODABLE,
    }
)  # Bad states that only a comparison with the files gives

UNREADABLE = frozenset(
    {
        LedgerState.UNDECODABLE,
        LedgerState.PAST_END,
        LedgerState.DAMAGED_FILE,
        LedgerState.UNREACHABLE,
    }
)  # Bad states of chunks whose bytes do not come, or do not decode


class KeyState(StrEnum):
    """The kind of a key of the set."""

    CHUNK = "chunk"
    METADATA = "metadata"
    OUTSIDE_GRID = "outside its grid"
    OF_NO_ARRAY = "of no array"
    REJECTED = "rejected"
    UNLISTED = "not listed"
    OTHER = "other"


class FileState(StrEnum):
    """The state of a file after a run."""

    READ = "read"
    ASKED = "found"
    DAMAGED = "damaged"
    UNREACHABLE = "unreachable"
    NOT_ALLOWED = "not allowed"
    DENIED = "access denied"
    FORMAT_UNKNOWN = "format unknown"
    LIBRARY_MISSING = "library missing"
    TOO_COSTLY = "exceeds a limit"
    CHANGED = "changed"
    UNNAMED = "name unknown"
    UNTOUCHED = "not looked at"


FILE_RANKS = {
    FileState.READ: Rank.GOOD,
    FileState.ASKED: Rank.GOOD,
    FileState.DAMAGED: Rank.BAD,
    FileState.UNREACHABLE: Rank.BAD,
    FileState.CHANGED: Rank.BAD,
    FileState.UNNAMED: Rank.BAD,
    FileState.NOT_ALLOWED: Rank.UNKNOWN,
    FileState.DENIED: Rank.UNKNOWN,
    FileState.FORMAT_UNKNOWN: Rank.UNKNOWN,
    FileState.LIBRARY_MISSING: Rank.UNKNOWN,
    FileState.TOO_COSTLY: Rank.UNKNOWN,
    FileState.UNTOUCHED: Rank.UNKNOWN,
}


class ObjectState(StrEnum):
    """The state in the set of a file object: a dataset, a variable, a field of a message."""

    IN_SET = "in the set"
    EQUAL = "equal to the set"
    LACKING = "missing in the set"
    NOT_TAKEN = "not in the set"
    LEFT_OUT = "left out"
    STRUCTURE = "dimension or group"
    UNREAD = "not read"
