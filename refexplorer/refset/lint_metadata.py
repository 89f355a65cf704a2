"""The metadata keys of a set: each by itself, its copies, and the dimensions of a group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from refexplorer.formats.columns.table import Table
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.diagnostics import Findings, pointer
from refexplorer.spec.expansion import note_all
from refexplorer.spec.keys import prefix
from refexplorer.spec.lint import (
    ALIKE,
    ELSEWHERE,
    EXTERNAL,
    parse_metadata,
    remarks_on_links,
    remarks_on_nodes,
)
from refexplorer.spec.lint_metadata import (
    remark_on_ignored_fill_value,
    remarks_on_attributes,
    remarks_on_metadata,
)
from refexplorer.spec.references import Range, Url
from refexplorer.spec.zarr_metadata import ArrayMeta

_CONSOLIDATED = ".zmetadata"


def lint_metadata(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note what no reader opens, and what readers of copies see otherwise."""
    table = opened.table
    _lint_nodes(table, base, findings)
    _lint_texts(table, base, findings)
    _lint_links(table, base, findings)
    for array in opened.arrays.below(opened.tree.root):
        _lint_attributes(table, array, base, findings)
    _lint_dimensions(opened, base, findings)
    for key in table.metadata:
        _lint_copies(table, key, base, findings)


def attributes_of(table: Table, array: ArrayMeta) -> Mapping[str, object]:
    """Return all attributes of an array, those that say how to decode it among them."""
    if array.zarr_format == 3:
        return array.attributes
    return _object_at(table, array.folder + ".zattrs") or {}


def _lint_nodes(table: Table, base: str, findings: Findings) -> None:
    for key, remark in remarks_on_nodes(table.metadata):
        note_all([remark], findings, base + pointer(key), key)
    for key, row in table.metadata.items():
        if isinstance(table.reference_at(row), Url | Range):
            at = base + pointer(key)
            findings.add("metadata-elsewhere", at, ELSEWHERE, key=key, together=True)


def _lint_texts(table: Table, base: str, findings: Findings) -> None:
    good: set[tuple[str, str]] = set()  # many arrays have the same
    for key in table.metadata:
        text, name = table.text(key), key.rpartition("/")[2]
        if text is None or (name, text) in good:
            continue
        remarks = list(remarks_on_metadata(key, text))
        if not remarks:
            good.add((name, text))
        for remark in remarks:
            alike = remark.code in ALIKE
            note_all([remark], findings, base + pointer(key), key, together=alike)


def _lint_links(table: Table, base: str, findings: Findings) -> None:
    for key in table.metadata:
        text, (folder, _, name) = table.text(key), key.rpartition("/")
        if text is None or EXTERNAL not in text or name == _CONSOLIDATED:
            continue
        found = _object_at(table, key) or {}
        attributes = found if name == ".zattrs" else found.get("attributes")
        if isinstance(attributes, Mapping):
            note_all(remarks_on_links(folder, attributes), findings, base + pointer(key), key)


def _lint_attributes(table: Table, array: ArrayMeta, base: str, findings: Findings) -> None:
    attributes = attributes_of(table, array)
    key = array.folder + ".zattrs"
    if array.zarr_format == 3 or table.find(key) is None:
        key = array.metadata_key
    remarks = list(remarks_on_attributes(array, attributes))
    ignored = remark_on_ignored_fill_value(array, attributes)
    remarks += [] if ignored is None else [ignored]
    note_all(remarks, findings, base + pointer(key), key)


def _lint_dimensions(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note dimensions that have more than one length in a group."""
    lengths: dict[tuple[str, str], tuple[int, str]] = {}
    for path in opened.arrays.paths:
        array = opened.arrays.get(path)
        assert array is not None
        group = path.rpartition("/")[0]
        for name, length in zip(array.dimensions or (), array.shape, strict=False):
            before, other = lengths.setdefault((group, name), (length, path))
            if before == length:
                continue
            key = array.metadata_key
            findings.add(
                "dimension-sizes-differ",
                base + pointer(key),
                f"The dimension {name!r} has a length of {length:,} in `{path}`, but of "
                f"{before:,} in `{other}`; xarray opens no group with both.",
                "Give one of them another name, or open without it (`drop_variables`).",
                key=key,
            )


def _lint_copies(table: Table, key: str, base: str, findings: Findings) -> None:
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
        said = f"has `{first}`, which is no key of the set"
    elif first not in copies:
        said = f"lacks `{first}`"
    else:
        said = f"says otherwise than `{first}` itself"
    more = f", as {len(odd) - 1:,} others differ" if len(odd) > 1 else ""
    findings.add(
        "metadata-copies-differ",
        base + pointer(key),
        f"`{key}` {said}{more}: readers of consolidated metadata see another set.",
        "Consolidate the metadata anew, or open with `consolidated=False`.",
        key=key,
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
