"""A reference set as a Zarr store, and what Zarr and xarray make of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from refexplorer.data.filesystem import ReferenceView, filesystem
from refexplorer.data.opened import Opened
from refexplorer.data.targets import StorageOptions
from refexplorer.errors import DecodeError

if TYPE_CHECKING:
    import xarray
    import zarr
    from zarr.storage import FsspecStore


def store(view: ReferenceView) -> FsspecStore:
    """Wrap the file system as a read-only Zarr store."""
    from zarr.storage import FsspecStore

    return FsspecStore.from_mapper(view.get_mapper(""), read_only=True)


def to_zarr(
    refs: Opened,
    *,
    allow: Iterable[str] = (),
    storage_options: StorageOptions | None = None,
    **options: Any,
) -> zarr.Group | zarr.Array[Any]:
    """Open the set with Zarr (format 2 or 3): a group, or an array if the root is one.

    Only metadata is read, which reference sets hold themselves. Values are read when they are
    asked for; a chunk without a reference is the fill value, a chunk that cannot be read
    raises.

    Parameters
    ----------
    refs, allow, storage_options
        As in `filesystem`.
    options
        Passed to `zarr.open`.
    """
    import zarr

    view = filesystem(refs, allow=allow, storage_options=storage_options)
    return zarr.open(store(view), mode="r", **options)


def to_xarray(
    refs: Opened,
    *,
    allow: Iterable[str] = (),
    storage_options: StorageOptions | None = None,
    **options: Any,
) -> xarray.Dataset:
    """Open the set with xarray, as ``xr.open_dataset(engine="zarr")`` would.

    Like it, this reads the dimension coordinates, and the first and last values of times, from
    their targets. Pass ``create_default_indexes=False, decode_times=False`` and nothing but
    metadata is read.

    Parameters
    ----------
    refs, allow, storage_options
        As in `filesystem`.
    options
        Passed to `xarray.open_dataset`; ``chunks={}`` makes dask arrays.

    Raises
    ------
    DecodeError
        If an array has no dimension names, without which xarray cannot place it.
    """
    import xarray

    _require_names(refs, str(options.get("group") or "").strip("/"))
    view = filesystem(refs, allow=allow, storage_options=storage_options)
    options = {"consolidated": False} | options
    # xarray's annotation leaves out the Zarr stores that its zarr engine takes
    source: Any = store(view)
    return xarray.open_dataset(source, engine="zarr", **options)


def _require_names(refs: Opened, group: str) -> None:
    """Refuse what xarray would answer with an error of its inner parts."""
    inside = [path for path in refs.arrays() if path and path.rpartition("/")[0] == group]
    for path in inside:
        if refs.array(path).dimensions is None:
            raise DecodeError(
                f"{path} has no _ARRAY_DIMENSIONS, which name the dimensions for xarray; "
                f"refs.to_zarr()[{path!r}] reads it without."
            )
