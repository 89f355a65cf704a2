"""The groups that readers open on the way to an array: the root, and every group above it."""

from __future__ import annotations

from refexplorer.markup import counted
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.core.paths import folders_above, prefix
from refexplorer.spec.document.lint_rules import parse_metadata

_CONSOLIDATED = ".zmetadata"


def lint_groups(opened: OpenedSet, base: str, findings: Findings) -> None:
    """Note groups without metadata: xarray opens none of them, or shows an empty dataset."""
    table, below = opened.table, dict[str, list[str]]()
    if opened.count == len(table.metadata):
        return  # a set without data, such as a part of one that is being written
    for path in opened.arrays.paths:
        for folder in folders_above(path):
            below.setdefault(folder, []).append(path)
    listed = _consolidated(table)
    for folder, paths in below.items():
        is_group = any(table.find(prefix(folder) + name) is not None for name in _NAMES)
        if is_group or opened.arrays.get(folder) is not None:
            continue
        if folder and f"{folder}/.zgroup" in listed:
            continue
        array = opened.arrays.get(paths[0])
        is_v3 = array is not None and array.zarr_format == 3
        name, text = (
            ("zarr.json", '{"zarr_format": 3, "node_type": "group"}')
            if is_v3
            else (".zgroup", '{"zarr_format": 2}')
        )
        key = prefix(folder) + name
        arrays = f"`{paths[0]}`"
        if len(paths) > 1:
            arrays += f" and {counted(len(paths) - 1, 'more array')}"
        if folder:
            code = "no-group"
            said = (
                f"`{folder}` is no group, since `{key}` is missing: xarray does not find {arrays}."
            )
        else:
            code = "no-root"
            said = (
                f"The set has no root group, since `{key}` is missing: xarray and Zarr cannot open "
                f"it, nor {arrays} in it."
            )
        findings.add(code, base + pointer(key), said, f"Add `{key}` with the value `{text}`.")


_NAMES = (".zgroup", "zarr.json")


def _consolidated(table: Table) -> frozenset[str]:
    """Return the names in the consolidated metadata of the root, which xarray reads first."""
    text = table.text(_CONSOLIDATED)
    document = None if text is None else parse_metadata(text)
    names = None if document is None else document.get("metadata")
    return frozenset(names) if isinstance(names, dict) else frozenset()
