"""Keys that are not in a set: chunks without a reference, and rejected keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from refexplorer.io.access.policy import AccessPolicy
from refexplorer.io.decode.chunk_shapes import region
from refexplorer.refset.contents import internals
from refexplorer.refset.tree_nodes import NodeType
from refexplorer.views.code.statements import code
from refexplorer.views.key.inspector import item
from refexplorer.views.wire.explorer.key_messages import ChunkItem, PathItem
from refexplorer.views.wire.notes import note

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

ORIGIN = "absent"
"""The origin in the row of an absent chunk."""
REJECTED = "rejected"
"""What a rejected key has in its place."""


def origin_of(refs: ReferenceSet, key: str) -> str:
    """Return what stands in place of the origin of a key that is not in the set."""
    return ORIGIN if refs.left_out(key) is None else REJECTED


def absent_item(refs: ReferenceSet, key: str, policy: AccessPolicy) -> PathItem | None:
    """Describe a key that is not in the set: a chunk, or a rejected key; else None."""
    if refs.get(key) is not None:
        return None
    error, chunk = refs.left_out(key), _chunk_item(refs, key, policy)
    if error is None:
        return chunk
    if chunk is None and internals(refs).opened.tree.folder(key) is not None:
        return None
    found = chunk or PathItem(key, key.rpartition("/")[2], NodeType.KEY, code(refs, key))
    notes = (note(refs, error), *(found.notes or ()))
    return replace(found, origin=REJECTED, notes=notes)


def _chunk_item(refs: ReferenceSet, key: str, policy: AccessPolicy) -> PathItem | None:
    """Describe a chunk by its array; None if the key is no chunk of an array."""
    owner = refs.array_of(key)
    if owner is None or not refs.array(owner[0]).contains(owner[1]):
        return None
    array, index = refs.array(owner[0]), owner[1]
    shape = tuple(part.stop - part.start for part in region(array, index))
    return replace(
        item(refs, array.path, policy),
        path=key,
        name=key.removeprefix(array.folder),
        type=NodeType.KEY,
        size=None,
        origin=ORIGIN,
        chunk=ChunkItem(array.path, index, shape),
        code=code(refs, key, policy.granted),
    )
