"""A reference set as a Zarr store, and what Zarr and xarray make of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from refexplorer.data.decode.admission import Admission
from refexplorer.data.decode.chunk_arithmetic import check_size
from refexplorer.data.decode.codecs import METADATA_NAMES, require_codecs
from refexplorer.data.fetch.failures import said_of
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.data.open.ahead import SelectionPlan, current_plan
from refexplorer.data.open.filesystem import ReferenceView
from refexplorer.data.open.refusals import (
    check_for_xarray,
    check_metadata,
    saying_refusals,
    undecodable,
)
from refexplorer.errors import DecodeError, FetchError, LimitError, RefexplorerError
from refexplorer.refset.queries.internals import SetLike
from refexplorer.spec.document.lint_rules import is_metadata

if TYPE_CHECKING:
    import xarray
    import zarr

    from refexplorer.data.open.zarr_store import ReferenceStore
    from refexplorer.spec.core.zarr_metadata import ArrayMeta


_ROOT = (".zgroup", ".zarray", "zarr.json", ".zmetadata")


class DecodedView(ReferenceView):
    """The keys of a set as files for Zarr, which decodes what it is given without asking.

    Chunks that would inflate to more than `Limits.chunk_bytes` are refused before it sees them,
    and so are arrays with a codec that is not installed.
    """

    def __init__(self, refs: SetLike, targets: Targets) -> None:
        super().__init__(refs, targets)
        self._admission = Admission(refs.limits)

    def at_once(self, key: str, plan: SelectionPlan) -> bytes | None:
        """Return the bytes of a chunk that was read ahead, if nothing is left to be done."""
        data = plan.peek(key)
        owner = None if data is None else self.references.array_of(key)
        if data is None or owner is None:
            return None
        array = self.references.array(owner[0])
        if not self._admission.is_free(array, data):
            return None
        plan.take(key)
        return data

    def _bytes(self, key: str, start: int | None, end: int | None) -> bytes:
        """Return the bytes of a key, or a slice of them, when they may be decoded.

        Raises
        ------
        DecodeError
            If Zarr would refuse the metadata, the array needs a codec that is not installed, or
            its codecs refuse the bytes.
        LimitError
            If the bytes would inflate beyond the limit.
        """
        plan = current_plan.get()
        data = None if plan is None or start is not None or end is not None else plan.take(key)
        if isinstance(data, RefexplorerError):
            raise data
        if data is None:
            data = super()._bytes(key, start, end)
        if is_metadata(key):
            if key.rpartition("/")[2] in METADATA_NAMES:
                require_codecs(key, data)
            check_metadata(key, data)
        elif (owner := self.references.array_of(key)) is not None:
            return self._admitted(key, self.references.array(owner[0]), data, start, end)
        return data

    def _admitted(
        self, key: str, array: ArrayMeta, data: bytes, start: int | None, end: int | None
    ) -> bytes:
        check_size(array, self.references.limits)
        try:
            if start is None and end is None:
                admitted: bytes = self._admission.chunk(array, data)
                return admitted
            if start is not None and start >= 0:
                self._admission.part(array, data, start)
        except (LimitError, DecodeError) as error:
            raise undecodable(self.references, key, str(error), type(error)) from None
        return data


def store(view: DecodedView) -> ReferenceStore:
    """Return the read-only Zarr store of the file system; Zarr takes long to import."""
    from refexplorer.data.open.zarr_store import reference_store

    return reference_store(view)


def to_zarr(refs: SetLike, targets: Targets, **options: Any) -> zarr.Group | zarr.Array[Any]:
    """Open the set with Zarr (format 2 or 3): a group, or an array if the root is one.

    Only metadata is read, which reference sets hold themselves. Values are read when they are
    asked for; a chunk without a reference is the fill value, a chunk that cannot be read
    raises.

    Parameters
    ----------
    refs, targets
        The opened set, and what reads the bytes.
    options
        Passed to `zarr.open`.

    Raises
    ------
    DecodeError
        If the set has no group or array at its root, or Zarr refuses what is there.
    """
    import zarr

    _require_root(refs)
    with saying_refusals("Zarr", refs):
        return zarr.open(_store(refs, targets), mode="r", **options)


def to_xarray(
    refs: SetLike,
    targets: Targets,
    *,
    group: str = "",
    coordinates: bool = False,
    **options: Any,
) -> xarray.Dataset:
    """Open a group of the set with xarray; nothing but metadata is read.

    Parameters
    ----------
    refs, targets
        The opened set, and what reads the bytes.
    group
        The path of a group; ``""`` is the root.
    coordinates
        Read the dimension coordinates from their targets now, as ``xarray.open_dataset`` does by
        itself: `sel` needs their indexes, and times are decoded by their values.
    options
        Passed to `xarray.open_dataset`; ``chunks={}`` makes dask arrays.

    Raises
    ------
    DecodeError
        If there is no such group, or xarray refuses an array: it has no dimension names, without
        which it has no place, or metadata that cannot be used.
    """
    import xarray

    group = group.strip("/")
    _require_group(refs, group)
    paths = [path for path in refs.arrays() if path.rpartition("/")[0] == group]
    _require_arrays(refs, paths, options)
    # xarray's annotation leaves out the Zarr stores that its zarr engine takes
    source: Any = _store(refs, targets)
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
    """Open all groups of the set as a tree of datasets; nothing but metadata is read.

    Parameters
    ----------
    refs, targets, coordinates
        As in `to_xarray`.
    options
        Passed to `xarray.open_datatree`.

    Raises
    ------
    DecodeError
        If xarray refuses an array, as in `to_xarray`.
    """
    import xarray

    _require_group(refs, "")
    _require_arrays(refs, refs.arrays(), options)
    source: Any = _store(refs, targets)
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


def _store(refs: SetLike, targets: Targets) -> ReferenceStore:
    return store(DecodedView(refs, targets))


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


def _require_root(refs: SetLike) -> None:
    """Refuse a set at whose root Zarr finds nothing; what is there and broken it says itself."""
    if any(name in refs or refs.left_out(name) is not None for name in _ROOT):
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
            if (error := refs.left_out(f"{path}/.zattrs")) is not None:
                raise FetchError(said_of(error))
            name = "dimension_names" if refs.array(path).zarr_format == 3 else "_ARRAY_DIMENSIONS"
            raise DecodeError(
                f"{path} has no {name}, which name the dimensions for xarray; "
                f"refs.to_zarr()[{path!r}] reads it without them."
            )
