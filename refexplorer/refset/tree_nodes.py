"""A row of the tree, its type, and a page of rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from refexplorer.core.masking import masks_repr
from refexplorer.spec.references import Kind, Range, Reference, Url


class NodeType(StrEnum):
    """The type of a row of the tree."""

    GROUP = "group"
    ARRAY = "array"
    FOLDER = "folder"
    KEY = "key"


@masks_repr
@dataclass(frozen=True, slots=True)
class Node:
    """One row of the tree.

    Attributes
    ----------
    path, name
        In full, and below its parent.
    kind, target, origin
        Of its reference; None where the path is no key.
    size
        Bytes, of a folder those of all that is below; None where they are not all known, as those
        of whole files.
    children
        How many rows are one level below.
    """

    path: str
    name: str
    type: NodeType
    kind: Kind | None
    size: int | None
    target: str | None
    origin: str | None
    children: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of one level, and how many there are in all."""

    rows: tuple[Node, ...]
    total: int
    start: int


def leaf(path: str, name: str, reference: Reference | None, origin: str | None) -> Node:
    """Return the row of a key."""
    if reference is None:
        return Node(path, name, NodeType.KEY, None, None, None, origin, 0)
    return Node(
        path,
        name,
        NodeType.KEY,
        reference.kind,
        reference.size,
        target_of(reference),
        origin,
        0,
    )


def target_of(reference: Reference | None) -> str | None:
    """Return the URL that a reference leads to."""
    return reference.url if isinstance(reference, Url | Range) else None
