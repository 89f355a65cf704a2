"""A reference set opened with Zarr or xarray; unsupported sets are rejected with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import zarr

from refexplorer.core.errors import (
    DecodeError,
    FetchError,
    LeftOutWarning,
    LimitError,
    RefexplorerError,
    warn,
)
from refexplorer.io.fetch.failures import rejection_text
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.reading.zarr_refusals import check_for_xarray, saying_refusals
from refexplorer.io.reading.zarr_store import ReferenceStore
from refexplorer.refset.opened_set import SetLike
from refexplorer.spec.references import Base64, Inline, prefix

if TYPE_CHECKING:
    import xarray

    from refexplorer.spec.zarr_metadata import ArrayMeta

T = TypeVar("T")
CHUNKS = 1_000  # Chunks of a coordinate that are fetched by default
_ENGINE: dict[str, Any] = {"engine": "zarr", "consolidated": False}
_ROOT = (".zgroup", ".zarray", "zarr.json")


def to_zarr(refs: SetLike, targets: Targets, **options: Any) -> zarr.Group | zarr.Array[Any]:
    """Open the set with Zarr (format 2 or 3): a group, or an array if the root is one."""
    _require_root(refs)
    with saying_refusals("Zarr", refs):
        return zarr.open(ReferenceStore(refs, targets), mode="r", **options)


def to_xarray(
    refs: SetLike,
    targets: Targets,
    *,
    group: str = "",
    coordinates: bool | None = None,
    **options: Any,
) -> xarray.Dataset:
    """Open a group of the set with xarray; coordinates are read as described in `_opened`."""
    import xarray

    group = group.strip("/")
    _require_group(refs, group)
    paths = [path for path in refs.arrays() if path.rpartition("/")[0] == group]
    if not paths:
        _require_values(refs, group)
    _require_arrays(refs, paths, options)
    # xarray's annotation leaves out the Zarr stores that its zarr engine takes
    source: Any = ReferenceStore(refs, targets)
    open_: Any = partial(xarray.open_dataset, source, **_ENGINE, group=group or None)

    def open_in_part(unread: Collection[str]) -> xarray.Dataset:
        names = {path.rpartition("/")[2] for path in unread}
        times = dict.fromkeys(names, False)
        found: xarray.Dataset = open_(
            **{"create_default_indexes": False, "decode_times": times} | options
        )
        for name in map(str, found.dims):
            if name in found.variables and name not in names and name not in found.xindexes:
                found = found.set_xindex(name)
        return found

    return _opened(open_, open_in_part, refs, targets, paths, coordinates, options)


def to_datatree(
    refs: SetLike, targets: Targets, *, coordinates: bool | None = None, **options: Any
) -> xarray.DataTree:
    """Open all groups of the set as a tree of datasets, as `to_xarray` does."""
    import xarray

    _require_group(refs, "")
    paths = refs.arrays()
    _require_arrays(refs, paths, options)
    source: Any = ReferenceStore(refs, targets)
    open_: Any = partial(xarray.open_datatree, source, **_ENGINE)
    return _opened(open_, None, refs, targets, paths, coordinates, options)


def _opened(
    open_: Callable[..., T],
    open_in_part: Callable[[Collection[str]], T] | None,
    refs: SetLike,
    targets: Targets,
    paths: Iterable[str],
    coordinates: bool | None,
    options: dict[str, Any],
) -> T:
    """Let xarray read coordinates and times as usual, or warn why not; `coordinates` decides."""
    # `coordinates` is whether to; None: if they may be read.
    switches = ("create_default_indexes", "decode_times")
    plainly = dict.fromkeys(switches, bool(coordinates)) | options
    if coordinates is not None or all(options.get(name) is False for name in switches):
        with saying_refusals("xarray", refs):
            return open_(**plainly)
    unread = _unread(refs, targets, paths)
    what, why = ", ".join(unread), next(iter(unread.values()), "")
    found = None
    try:
        with saying_refusals("xarray", refs):
            if not unread:
                found = open_(**options)
            elif open_in_part is not None:
                found = open_in_part(unread)
    except RefexplorerError as error:  # a file is gone, or times cannot be decoded
        what, why = "the coordinates", str(error)
    if found is None:
        with saying_refusals("xarray", refs):
            found = open_(**plainly)
    if why:
        warn(
            f"Not read, so without an index, and with undecoded times: {what}. {why}",
            LeftOutWarning,
        )
    return found


def _unread(refs: SetLike, targets: Targets, paths: Iterable[str]) -> dict[str, str]:
    """Return what xarray would read on opening but may not be read, with the reason."""
    arrays = {path: refs.array(path) for path in paths}
    units = {path: array.attributes.get("units") for path, array in arrays.items()}
    times = [path for path, text in units.items() if isinstance(text, str) and " since " in text]
    bounds = [
        f"{prefix(path.rpartition('/')[0])}{arrays[path].attributes.get('bounds')}"
        for path in times
    ]
    found: dict[str, str] = {}
    for path, array in arrays.items():
        try:
            if array.is_dimension or path in times or path in bounds:
                _require_readable(refs, targets, array)
        except RefexplorerError as error:
            found[path] = str(error)
    return found


def _require_readable(refs: SetLike, targets: Targets, array: ArrayMeta) -> None:
    """Reject an array that may not be read, or takes too many requests."""
    first, last = (0,) * len(array.grid), tuple(size - 1 for size in array.grid)
    count = 0
    for index in ((at,) for at in range(array.grid[0])) if array.is_dimension else (first, last):
        key = array.chunk_key(index)
        reference = refs.get(key)
        if reference is not None and not isinstance(reference, Inline | Base64):
            targets.range_of(key, reference)
            count += 1
        if count > CHUNKS:
            raise LimitError(
                f"{array.path} has more than {CHUNKS:,} chunks to fetch; "
                "refs.to_xarray(coordinates=True) reads them."
            )


def _require_group(refs: SetLike, group: str) -> None:
    """Reject a path where xarray would find nothing, or an array."""
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
    what = "it is an array" if group in refs.arrays() else "there is no such path"
    raise DecodeError(f"{group!r} is not a group of the set: {what}.")


def _require_values(refs: SetLike, group: str) -> None:
    """Reject a group without arrays, an empty dataset for xarray, if subgroups have some."""
    below = {path.rpartition("/")[0] for path in refs.arrays() if path.startswith(prefix(group))}
    if below:
        first = min(below, key=lambda path: (path.count("/"), path))
        raise DecodeError(
            f"{repr(group) if group else 'The root group'} has no arrays, but groups below it "
            f"have: refs.to_xarray(group={first!r}) opens one, refs.to_datatree() opens all."
        )


def _require_root(refs: SetLike) -> None:
    """Reject a set at whose root Zarr finds nothing; Zarr itself reports broken metadata."""
    if any(name in refs or refs.rejection(name) is not None for name in _ROOT):
        return
    raise DecodeError(
        "The set has no group at its root, so Zarr and xarray find nothing; add a key `.zgroup` "
        'with {"zarr_format": 2}.'
    )


def _require_arrays(refs: SetLike, paths: Iterable[str], options: Mapping[str, Any]) -> None:
    """Reject sets for which xarray would raise an internal error."""
    is_decoded = options.get("decode_cf") is not False and options.get("mask_and_scale", True)
    for path in paths:
        check_for_xarray(refs.array(path), is_decoded is not False)
        if path and refs.array(path).dimensions is None:
            if (error := refs.rejection(f"{path}/.zattrs")) is not None:
                raise FetchError(rejection_text(error))
            name = "dimension_names" if refs.array(path).zarr_format == 3 else "_ARRAY_DIMENSIONS"
            raise DecodeError(
                f"{path} has no valid {name}, which names each dimension for xarray; "
                f"refs.to_zarr()[{path!r}] reads it without them."
            )
