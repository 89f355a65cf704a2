"""The arrays described by the metadata keys of a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from refexplorer.refset.columns.table import Table
from refexplorer.spec.core.paths import prefix
from refexplorer.spec.core.zarr_metadata import ArrayMeta, BadMetadata, read_array
from refexplorer.spec.document.lint_rules import parse_metadata

_OF_ARRAYS = (".zarray", "zarr.json")


def arrays_of(table: Table) -> dict[str, ArrayMeta]:
    """Return all arrays whose metadata can be read, by their paths."""
    positions = (key.rpartition("/") for key in table.metadata)
    paths = dict.fromkeys(path for path, _, name in positions if name in _OF_ARRAYS)
    reader = ArrayReader(table)
    found = ((path, reader.at(path)) for path in paths)
    return {path: array for path, array in found if array is not None}


class ArrayReader:
    """A reader of array metadata that parses equal texts once.

    Parameters
    ----------
    table
        Holds the metadata keys.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: dict[tuple[str | None, ...], ArrayMeta | None] = {}

    def at(self, path: str) -> ArrayMeta | None:
        """Return the metadata of the array at a path; None if there is none that can be read."""
        names = (".zarray", ".zattrs", "zarr.json")
        texts = tuple(self._table.text(prefix(path) + name) for name in names)
        if texts not in self._known:
            self._known[texts] = _read(path, *map(_object, texts))
        array = self._known[texts]
        return array if array is None or array.path == path else replace(array, path=path)


def _read(
    path: str,
    metadata: Mapping[str, object] | None,
    attributes: Mapping[str, object] | None,
    version_3: Mapping[str, object] | None,
) -> ArrayMeta | None:
    if metadata is None:
        metadata = version_3
        if metadata is None or metadata.get("node_type") != "array":
            return None
    try:
        return read_array(path, metadata, attributes)
    except BadMetadata:
        return None


def _object(text: str | None) -> Mapping[str, object] | None:
    return None if text is None else parse_metadata(text)
