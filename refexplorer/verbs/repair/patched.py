"""The references of a set with a patch applied."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refexplorer.checks.records import WHOLE
from refexplorer.formats.columns.chunk_names import chunk_keys
from refexplorer.formats.columns.references import RANGE, URL, Columns, UrlColumn
from refexplorer.formats.columns.table import Table, build_table
from refexplorer.io.decode.codecs import is_installed
from refexplorer.refset.opened_set import concatenated
from refexplorer.spec.keys import folders_above, prefix
from refexplorer.spec.references import Inline
from refexplorer.spec.zarr_metadata import DIMENSIONS, ArrayMeta
from refexplorer.verbs.repair.plan import ArrayPatch, Patch

ATTRIBUTES = frozenset(
    {"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "units", "calendar"}
)
"""Fields that are attributes; null removes one."""
_V2_NAMES = {"byte-order": "dtype", "chunk-shape": "chunks"}


class NotWritableError(Exception):
    """A field has no place in the metadata of Zarr; the text is the reason."""


def changed_metadata(
    meta: ArrayMeta, attributes: Mapping[str, Any] | None, fields: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the metadata keys that change, and what they hold then."""
    array = copy.deepcopy(dict(meta.metadata))
    if meta.zarr_format == 3:
        _change_v3(array, fields)
        return {meta.metadata_key: array}
    new_attributes = dict(attributes or {})
    for name, value in fields.items():
        if name in ATTRIBUTES:
            _put(new_attributes, name, value)
        elif name == "dimensions":
            new_attributes[DIMENSIONS] = value
        else:
            _change_v2(array, name, value)
    changes = {}
    if array != meta.metadata:
        changes[meta.metadata_key] = array
    if new_attributes != (attributes or {}):
        changes[meta.folder + ".zattrs"] = new_attributes
    return changes


def _put(attributes: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        attributes.pop(name, None)
    else:
        attributes[name] = value


def _change_v2(array: dict[str, Any], name: str, value: Any) -> None:
    if name == "filters":
        filters = [{"id": _known(codec, 2), **settings} for codec, settings in value]
        array |= {"filters": filters or None, "compressor": None}
    else:
        array[_V2_NAMES.get(name, name)] = value


def _change_v3(array: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if name in ATTRIBUTES:
            _put(array.setdefault("attributes", {}), name, value)
        elif name == "dimensions":
            array["dimension_names"] = value
        elif name in ("dtype", "byte-order"):
            dtype = np.dtype(value)
            if dtype.kind in "SU":
                raise NotWritableError("texts of a fixed length have no data type in Zarr v3")
            array["data_type"] = dtype.name
            endian = "big" if dtype.str[0] == ">" else "little"
            codec = {"name": "bytes", "configuration": {"endian": endian}}
            array["codecs"] = [codec if _is_bytes(each) else each for each in array["codecs"]]
        elif name == "chunk-shape":
            array["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": value}}
        elif name == "filters":
            filters = [
                {"name": _known(f"numcodecs.{codec}", 3), "configuration": settings}
                for codec, settings in value
            ]
            array["codecs"] = [*filter(_is_bytes, array["codecs"]), *filters]
        else:
            array[name] = value


def _is_bytes(codec: Any) -> bool:
    return (codec if isinstance(codec, str) else codec.get("name")) in ("bytes", "endian")


def _known(codec: str, zarr_format: int) -> str:
    if not is_installed(codec, zarr_format):
        raise NotWritableError(f"no codec that is installed here decodes the filter {codec}")
    return codec


def update_consolidated(
    key: str,
    text: str,
    changes: Mapping[str, Mapping[str, Any]],
    own: Mapping[str, Mapping[str, Any]],
    compared: Collection[str],
) -> str | None:
    """Return consolidated metadata with changes; None if they have none of them."""
    document = json.loads(text)
    if not isinstance(document, dict):
        return None
    inside = document.get("consolidated_metadata") or document
    metadata = inside.get("metadata") if isinstance(inside, dict) else None
    if not isinstance(metadata, dict):
        return None
    was, start = dict(metadata), prefix(key.rpartition("/")[0])
    end = "" if inside is document else "/zarr.json"

    def is_compared(each: str) -> bool:
        return each.rpartition("/")[0] in compared

    for name in was if own else ():
        each = f"{start}{name}{end}"
        if each not in own and is_compared(each):
            del metadata[name]
    for each, value in (dict(own) | dict(changes)).items():
        name = each.removeprefix(start).removesuffix(end)
        if name in metadata if each in changes else name not in metadata or is_compared(each):
            metadata[name] = value
    return None if metadata == was else json.dumps(document)


@dataclass(frozen=True)
class PatchedTable:
    """A set with a patch applied."""

    table: Table  # All of its references
    has_changed: bool  # Whether any of them is another one, new or gone
    reasons: tuple[tuple[str, str], ...]  # Why something cannot be written, by array


def apply_patch(table: Table, arrays: Mapping[str, ArrayMeta], patch: Patch) -> PatchedTable:
    """Return a set with a patch applied."""
    texts, reasons = _texts(table, arrays, patch)
    tables = [build_table((key, Inline(text)) for key, text in texts.items())]
    dropped = [row for key in patch.idle if (row := table.find(key)) is not None]
    for path, each in patch.arrays.items():
        tables.append(_references(arrays[path], each, patch.urls))
        rows = table.index.find_many(chunk_keys(arrays[path], each.dropped))
        dropped += rows[rows >= 0].tolist()
    new = concatenated(tables)
    return PatchedTable(_combined(table, new, dropped), bool(new.count or dropped), tuple(reasons))


def _texts(
    table: Table, arrays: Mapping[str, ArrayMeta], patch: Patch
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the metadata keys that change, with their texts."""
    changes: dict[str, dict[str, Any]] = {k: json.loads(v) for k, v in patch.groups.items()}
    reasons = []
    for path, each in patch.arrays.items():
        meta, fields = arrays[path], each.fields
        written = table.text(meta.folder + ".zattrs")
        attributes = None if written is None else json.loads(written)
        for name, value in fields.items():  # what cannot be written leaves the others alone
            try:
                changed_metadata(meta, attributes, {name: value})
            except NotWritableError as reason:
                reasons.append((path, str(reason)))
                fields = {other: value for other, value in fields.items() if other != name}
        changes |= changed_metadata(meta, attributes, fields)
    texts = {key: json.dumps(value) for key, value in changes.items()}
    groups = {prefix(folder) for key in changes for folder in folders_above(key)}
    copies = {folder + name for folder in groups for name in (".zmetadata", "zarr.json")}
    for key in sorted({*patch.copies, *copies}):
        text = texts.get(key) or table.text(key)
        if text is not None:
            own = _own(table, texts, key) if key in patch.copies else {}
            if new := update_consolidated(key, text, changes, own, patch.compared):
                texts[key] = new
    return texts, reasons


def _own(table: Table, texts: Mapping[str, str], group_key: str) -> dict[str, Any]:
    """Return what the metadata keys of the same format that are below a group say themselves."""
    folder, _, name = group_key.rpartition("/")
    metadata = {}
    for key in table.metadata:
        is_alike = (key.rpartition("/")[2] == "zarr.json") == (name == "zarr.json")
        text = texts.get(key) or table.text(key)
        is_below = key.startswith(prefix(folder)) and key != group_key
        if is_alike and is_below and text is not None and not key.endswith(".zmetadata"):
            metadata[key] = json.loads(text)
    return metadata


def _references(meta: ArrayMeta, each: ArrayPatch, urls: tuple[str, ...]) -> Table:
    is_whole = each.lengths == WHOLE
    columns = Columns(
        np.where(is_whole, URL, RANGE).astype(np.uint8),
        each.files.astype(np.int32),
        UrlColumn(more=urls),
        each.offsets,
        np.where(is_whole, 0, each.lengths),
        [],
    )
    return Table(chunk_keys(meta, each.numbers), columns)


def _combined(table: Table, new: Table, dropped: list[int]) -> Table:
    """Return a table with other references of some keys, more keys at its end, others gone."""
    at = np.array([-1 if (row := table.find(key)) is None else row for key in _keys(new)], np.int64)
    rows = np.arange(table.count)
    replaced = np.flatnonzero(at >= 0)
    rows[at[replaced]] = table.count + replaced
    is_kept = np.ones(table.count, np.bool_)
    is_kept[np.array(dropped, np.int64)] = False
    rows = np.concatenate([rows[is_kept], table.count + np.flatnonzero(at < 0)])
    return concatenated([table, new]).select(rows) if new.count or dropped else table


def _keys(table: Table) -> Iterator[str]:
    return iter(table.keys.to_pylist())
