"""The metadata keys of a set: each by itself, its copies, and the dimensions of a group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from refexplorer.formats.columns.table import Table
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.keys import prefix
from refexplorer.spec.lint import (
    ELSEWHERE,
    EXTERNAL,
    KeyFindings,
    lint_links,
    lint_nodes,
    parse_metadata,
)
from refexplorer.spec.lint_metadata import (
    lint_attributes,
    lint_ignored_fill_value,
    lint_metadata_text,
)
from refexplorer.spec.references import Range, Url
from refexplorer.spec.zarr_metadata import ArrayMeta

_CONSOLIDATED = ".zmetadata"


def lint_metadata(opened: OpenedSet, notes: KeyFindings) -> None:
    """Note what no reader opens, and what readers of copies see otherwise."""
    table = opened.table
    _lint_nodes(table, notes)
    _lint_texts(table, notes)
    _lint_links(table, notes)
    for array in opened.arrays:
        _lint_attributes(table, array, notes)
    _lint_dimensions(opened, notes)
    for key in table.metadata:
        _lint_copies(table, key, notes)


def attributes_of(table: Table, array: ArrayMeta) -> Mapping[str, object]:
    """Return all attributes of an array, those that say how to decode it among them."""
    if array.zarr_format == 3:
        return array.attributes
    return _object_at(table, array.folder + ".zattrs") or {}


def _lint_nodes(table: Table, notes: KeyFindings) -> None:
    for key, found in lint_nodes(table.metadata):
        notes.add_all(key, [found])
    for key, row in table.metadata.items():
        if isinstance(table.reference_at(row), Url | Range):
            notes.add("metadata-elsewhere", key, ELSEWHERE)


def _lint_texts(table: Table, notes: KeyFindings) -> None:
    good: set[tuple[str, str]] = set()  # many arrays have the same
    for key in table.metadata:
        text, name = table.text(key), key.rpartition("/")[2]
        if text is None or (name, text) in good:
            continue
        remarks = list(lint_metadata_text(key, text))
        if not remarks:
            good.add((name, text))
        notes.add_all(key, remarks)


def _lint_links(table: Table, notes: KeyFindings) -> None:
    for key in table.metadata:
        text, (folder, _, name) = table.text(key), key.rpartition("/")
        if text is None or EXTERNAL not in text or name == _CONSOLIDATED:
            continue
        found = _object_at(table, key) or {}
        attributes = found if name == ".zattrs" else found.get("attributes")
        if isinstance(attributes, Mapping):
            notes.add_all(key, lint_links(folder, attributes))


def _lint_attributes(table: Table, array: ArrayMeta, notes: KeyFindings) -> None:
    attributes = attributes_of(table, array)
    key = array.folder + ".zattrs"
    if array.zarr_format == 3 or table.find(key) is None:
        key = array.metadata_key
    remarks = list(lint_attributes(array, attributes))
    ignored = lint_ignored_fill_value(array, attributes)
    remarks += [] if ignored is None else [ignored]
    notes.add_all(key, remarks)


def _lint_dimensions(opened: OpenedSet, notes: KeyFindings) -> None:
    """Note dimensions that have more than one length in a group."""
    lengths: dict[tuple[str, str], tuple[int, str]] = {}
    for array in opened.arrays:
        path, group = array.path, array.path.rpartition("/")[0]
        for name, length in zip(array.dimensions or (), array.shape, strict=False):
            before, other = lengths.setdefault((group, name), (length, path))
            if before == length:
                continue
            key = array.metadata_key
            notes.add(
                "dimension-sizes-differ",
                key,
                f"The dimension {name!r} has a length of {length:,} in `{path}`, but of "
                f"{before:,} in `{other}`; xarray opens no group with both.",
                "Give one of them another name, or open without it (`drop_variables`).",
            )


def _lint_copies(table: Table, key: str, notes: KeyFindings) -> None:
    """Note what consolidated metadata say otherwise than the keys they are copies of."""
    folder, _, name = key.rpartition("/")
    if name not in (_CONSOLIDATED, "zarr.json"):
        return
    document = _object_at(table, key) or {}
    copies = dict(_copies(document, name, prefix(folder)))
    odd = [one for one, copy in copies.items() if _canonical(_object_at(table, one)) != copy]
    if copies:
        is_below = (one for one in table.metadata if one.startswith(prefix(folder)))
        odd += [one for one in is_below if one not in copies and not _is_copy(one, key)]
    if not odd:
        return
    first = odd[0]
    if table.find(first) is None:
        message = f"has `{first}`, which is no key of the set"
    elif first not in copies:
        message = f"lacks `{first}`"
    else:
        message = f"says otherwise than `{first}` itself"
    more = f", as {len(odd) - 1:,} others differ" if len(odd) > 1 else ""
    notes.add(
        "metadata-copies-differ",
        key,
        f"`{key}` {message}{more}: readers of consolidated metadata see another set.",
        "Consolidate the metadata anew, or open with `consolidated=False`.",
        array=first.rpartition("/")[0],
        count=len(odd),
    )


def _copies(document: Mapping[str, object], name: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the keys that have a copy in consolidated metadata, and what the copy says."""
    within = document if name == _CONSOLIDATED else document.get("consolidated_metadata")
    copies = within.get("metadata") if isinstance(within, Mapping) else None
    for path, copy in copies.items() if isinstance(copies, Mapping) else ():
        key = f"{folder}{path}" if name == _CONSOLIDATED else f"{folder}{prefix(path)}zarr.json"
        yield key, _canonical(copy)


def _is_copy(key: str, other: str) -> bool:
    """Say whether a key holds consolidated metadata itself, or is of another Zarr version."""
    name = key.rpartition("/")[2]
    return (
        name == _CONSOLIDATED
        or (name == "zarr.json") != (other.endswith("zarr.json"))
        or (key == other)
    )


def _canonical(value: object) -> str:
    """Write metadata so that what says the same is the same text; copies of copies do not count."""
    if isinstance(value, Mapping):
        value = {name: one for name, one in value.items() if name != "consolidated_metadata"}
    return json.dumps(value, sort_keys=True)


def _object_at(table: Table, key: str) -> Mapping[str, object] | None:
    text = table.text(key)
    return None if text is None else parse_metadata(text)
