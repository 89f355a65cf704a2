"""The tree of keys, and searches in it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from refexplorer.spec.keys import NodeType
from refexplorer.spec.references import Kind
from refexplorer.views.wire.messages import Count, Request


class Badges(Struct, frozen=True):
    """What is wrong with a key, or with the arrays below a folder, as far as it is known.

    Attributes
    ----------
    failed
        Chunks that could not be fetched or decoded when they were read.
    errors, warnings
        Notes that name a key.
    overlapping, differing
        As `HealthCounts` has them.
    """

    rejected: Count = 0
    failed: Count = 0
    absent: Count = 0
    errors: Count = 0
    warnings: Count = 0
    overlapping: Count = 0
    differing: Count = 0


class RowChanges(Struct, frozen=True):
    """What became of a key, or of the keys below a folder, since the set it is compared with.

    Attributes
    ----------
    words
        The change of a key; null of a folder.
    """

    added: Count
    removed: Count
    changed: Count
    words: str | None = None


class Row(Struct, frozen=True):
    """A visible row of the tree, or a result of a search.

    Attributes
    ----------
    kind
        Null for what is no key.
    target
        Cut.
    origin
        ``refs`` or the gen item; ``absent`` for a chunk without a reference, ``rejected`` for
        a rejected key, ``removed`` for one that only the set has that this one is compared with.
    position
        Among its siblings, from 1.
    form
        Shape and data type of an array.
    label
        Long name and units of an array, as far as it has them.
    strip
        The chunks of an array along its first dimension, a letter for each part; null until its
        chunks are counted.
    badges
        Null where nothing wrong is known.
    cause
        Why a chunk failed, or a key is rejected.
    changes
        Null where nothing changed, or nothing is compared.
    """

    path: str
    name: str
    depth: int
    type: NodeType
    kind: Kind | None
    size: Count | None
    target: str | None
    origin: str | None
    children: Count
    open: bool
    position: Count
    siblings: Count
    form: str | None = None
    label: str | None = None
    strip: str | None = None
    badges: Badges | None = None
    cause: str | None = None
    changes: RowChanges | None = None


class TreePage(Struct, frozen=True):
    """Some of the rows, and how many there are."""

    start: Count
    total: Count
    rows: tuple[Row, ...]


class TreeRows(Request, frozen=True, tag="tree.rows"):
    """Show rows of the flattened tree, or of the search while one is on."""

    reply = TreePage

    start: int
    n: int


class TreeChange(Struct, frozen=True):
    """How many rows there are now, and where the one that was asked for is; -1: nowhere."""

    total: Count
    index: Count


class TreeToggle(Request, frozen=True, tag="tree.toggle"):
    """Open or close a folder."""

    reply = TreeChange

    path: str
    open: bool


class TreeReveal(Request, frozen=True, tag="tree.reveal"):
    """Open what is above a path, and end a search."""

    reply = TreeChange

    path: str


class KeysFound(Struct, frozen=True):
    """How many keys were found, and whether there may be more.

    Attributes
    ----------
    in_targets
        Of these, the keys of which only the target matches; they come last.
    """

    total: Count
    capped: bool
    in_targets: Count = 0


class TreeFind(Request, frozen=True, tag="tree.find"):
    """Search keys and targets; without text and kinds the search ends.

    Attributes
    ----------
    mode
        A ``glob`` without a wildcard is looked for as a substring.
    """

    reply = KeysFound

    text: str
    mode: Literal["substring", "glob", "regex"]
    kinds: tuple[Kind, ...]


class TreeOnly(Request, frozen=True, tag="tree.only"):
    """Have only some keys as rows, or everything again.

    Attributes
    ----------
    what
        ``trouble``: what is wrong, with the chunks that are not there. ``changes``: what differs
        from the set that this one is compared with, also what is no longer there. Null: everything.
    """

    reply = TreeChange
    is_later = True

    what: Literal["trouble", "changes"] | None


StateName = Literal[
    "referenced", "absent", "rejected", "failed", "unread", "differing", "overlapping"
]
"""A state of `HealthCounts`."""


class TreeState(Request, frozen=True, tag="tree.state"):
    """Have the chunks of a state as rows, as the results of a search.

    Attributes
    ----------
    array
        Null: those of all arrays.
    """

    reply = KeysFound
    is_later = True

    state: StateName
    array: str | None


class TreeTarget(Request, frozen=True, tag="tree.target"):
    """Have the keys that refer to a target as rows, as the results of a search.

    Attributes
    ----------
    url
        Null is the target that the reader names.
    """

    reply = KeysFound
    is_later = True

    url: str | None


class StripsShown(Struct, frozen=True):
    """The strip of each dimension of an array, as `Row.strip`."""

    strips: tuple[str, ...]


class ShowStrips(Request, frozen=True, tag="tree.strips"):
    """Return the chunks of an array along each of its dimensions."""

    reply = StripsShown

    array: str
