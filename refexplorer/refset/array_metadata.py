"""The arrays that the metadata keys of a set tell of."""

from __future__ import annotations

from refexplorer.refset.table import Table
from refexplorer.refset.tree import prefix
from refexplorer.spec.arrays import ArrayMeta, BadMetadata, read_array
from refexplorer.spec.lint import parse_metadata
from refexplorer.spec.references import Base64, Inline

_OF_ARRAYS = (".zarray", "zarr.json")


def arrays_of(table: Table) -> dict[str, ArrayMeta]:
    """Return all arrays whose metadata can be read, by their paths."""
    places = (key.rpartition("/") for key in table.metadata)
    paths = dict.fromkeys(path for path, _, name in places if name in _OF_ARRAYS)
    found = ((path, array_at(table, path)) for path in paths)
    return {path: array for path, array in found if array is not None}


def array_at(table: Table, path: str) -> ArrayMeta | None:
    """Return the metadata of the array at a path; None if there is none that can be read."""
    metadata = _object(table, prefix(path) + ".zarray")
    attributes = _object(table, prefix(path) + ".zattrs")
    if metadata is None:
        metadata = _object(table, prefix(path) + "zarr.json")
        if metadata is None or metadata.get("node_type") != "array":
            return None
    try:
        return read_array(path, metadata, attributes)
    except BadMetadata:
        return None


def _object(table: Table, key: str) -> dict[str, object] | None:
    row = table.find(key)
    reference = None if row is None else table.reference_at(row)
    if not isinstance(reference, Inline | Base64):
        return None
    found = parse_metadata(reference.data.decode(errors="replace"))
    return None if found is None else dict(found)
