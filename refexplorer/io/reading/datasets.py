"""A reference set opened with Zarr or xarray; what would confuse them is refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import zarr

from refexplorer.core.errors import DecodeError, FetchError
from refexplorer.io.fetch.failures import rejection_text
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.zarr_refusals import check_for_xarray, saying_refusals
from refexplorer.io.reading.zarr_store import ReferenceStore
from refexplorer.refset.contents import SetLike
from refexplorer.spec.keys import prefix

if TYPE_CHECKING:
    import xarray

_ROOT = (".zgroup", ".zarray", "zarr.json", ".zmetadata")


def to_zarr(refs: SetLike, targets: Targets, **options: Any) -> zarr.Group | zarr.Array[Any]:
    """Open the set with Zarr (format 2 or 3): a group, or an array if the root is one.

    Only metadata is read, which reference sets hold themselves. Values are read when they are
    asked for; a chunk without a reference is the fill value, a chunk that cannot be read
    raises.
    """
    _require_root(refs)
    with saying_refusals("Zarr", refs):
        return zarr.open(ReferenceStore(refs, targets), mode="r", **options)


def to_xarray(
    refs: SetLike,
    targets: Targets,
    *,
    group: str = "",
    coordinates: bool = False,
    **options: Any,
) -> xarray.Dataset:
    """Open a group of the set with xarray; nothing but metadata is read."""
    import xarray

    group = group.strip("/")
    _require_group(refs, group)
    paths = [path for path in refs.arrays() if path.rpartition("/")[0] == group]
    if not paths:
        _require_values(refs, group)
    _require_arrays(refs, paths, options)
    # xarray's annotation leaves out the Zarr stores that its zarr engine takes
    source: Any = ReferenceStore(refs, targets)
    given = _lazy(coordinates) | {"group": group or None} | options
    with saying_refusals("xarray", refs):
        return xarray.open_dataset(source, engine="zarr", **given)


def to_datatree(
    refs: SetLike,
    targets: Targets,
    *,
    coordinates: bool = False,
    **options: Any,
) -> xarray.DataTree:
    """Open all groups of the set as a tree of datasets; nothing but metadata is read."""
    import xarray

    _require_group(refs, "")
    _require_arrays(refs, refs.arrays(), options)
    source: Any = ReferenceStore(refs, targets)
    with saying_refusals("xarray", refs):
        return xarray.open_datatree(source, engine="zarr", **(_lazy(coordinates) | options))


def _lazy(coordinates: bool) -> dict[str, Any]:
    """Return the options that keep xarray from reading coordinates when it opens a store."""
    # by default xarray reads the coordinates to index them, and times to decode their first values
    return {
        "consolidated": False,
        "create_default_indexes": coordinates,
        "decode_times": coordinates,
    }


def _require_group(refs: SetLike, group: str) -> None:
    """Refuse a path at which xarray would find nothing, or an array."""
    if not group:
        _require_root(refs)
        if "" in refs.arrays():
            raise DecodeError(
                "The root of the set is an array, not a group; refs.to_zarr() opens it."
            )
        return
    groups = {".zgroup", "zarr.json"}
    if any(f"{group}/{name}" in refs for name in groups) and group not in refs.arrays():
        return
    what = "is an array" if group in refs.arrays() else "there is no such path"
    raise DecodeError(f"{group!r} is not a group of the set: {what}.")


def _require_values(refs: SetLike, group: str) -> None:
    """Refuse a group without arrays, which would be an empty dataset, if groups in it have some."""
    below = {path.rpartition("/")[0] for path in refs.arrays() if path.startswith(prefix(group))}
    if below:
        first = min(below, key=lambda path: (path.count("/"), path))
        raise DecodeError(
            f"{repr(group) if group else 'The root group'} has no arrays, but groups below it "
            f"have: refs.to_xarray(group={first!r}) opens one, refs.to_datatree() opens all."
        )


def _require_root(refs: SetLike) -> None:
    """Refuse a set at whose root Zarr finds nothing; what is there and broken it says itself."""
    if any(name in refs or refs.rejection(name) is not None for name in _ROOT):
        return
    raise DecodeError(
        "The set has no group at its root, so Zarr and xarray find nothing; add a key `.zgroup` "
        'with {"zarr_format": 2}.'
    )


def _require_arrays(refs: SetLike, paths: Iterable[str], options: Mapping[str, Any]) -> None:
    """Refuse what xarray would answer with an error of its inner parts."""
    is_decoded = options.get("decode_cf") is not False and options.get("mask_and_scale", True)
    for path in paths:
        check_for_xarray(refs.array(path), is_decoded is not False)
        if path and refs.array(path).dimensions is None:
            if (error := refs.rejection(f"{path}/.zattrs")) is not None:
                raise FetchError(rejection_text(error))
            name = "dimension_names" if refs.array(path).zarr_format == 3 else "_ARRAY_DIMENSIONS"
            raise DecodeError(
                f"{path} has no {name}, which name the dimensions for xarray; "
                f"refs.to_zarr()[{path!r}] reads it without them."
            )
