"""Integration with xarray: ``engine="refexplorer"`` and the ``refs`` accessor.

xarray imports this module when it opens the first dataset with any engine, and `refexplorer` does
if xarray is already imported. So imports needed only by calls are deferred.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray
from xarray.backends import BackendEntrypoint

from refexplorer.core.errors import RefexplorerError

if TYPE_CHECKING:
    from refexplorer.hosts.notebook.widgets import Explorer
    from refexplorer.io.reading.trace import Trace
    from refexplorer.verbs.referenceset import ReferenceSet

NAME = "refs"  # Of the accessor, also in messages
_DECODERS = (
    "mask_and_scale", "decode_times", "decode_timedelta", "use_cftime", "concat_characters",
    "decode_coords", "drop_variables",
)  # fmt: skip
_ZARR_ARRAY = "zarr.core.array.Array"


class ReferencesBackend(BackendEntrypoint):
    """Opens any source accepted by `refexplorer.open_references`, with merged reads.

    ``xr.open_dataset("set.json", engine="refexplorer", allow=["s3://bucket"])``. Other options are
    ``group``, ``storage_options``, ``templates`` and ``concat_dim``.
    """

    description = "Reference sets of kerchunk, VirtualiZarr and Icechunk, with merged reads"
    supports_groups = True
    open_dataset_parameters: ClassVar[tuple[str, ...]] = (
        "filename_or_obj", *_DECODERS,
        "group", "allow", "storage_options", "templates", "concat_dim",
    )  # fmt: skip

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        allow: Collection[str] = (),
        **options: Any,
    ) -> xarray.Dataset:
        """Open a group; xarray itself makes the indexes."""
        refs, decoders = _opened(filename_or_obj, allow, options)
        return refs.to_xarray(
            group=group or "", coordinates=False, drop_variables=drop_variables, **decoders
        )

    def open_datatree(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        allow: Collection[str] = (),
        **options: Any,
    ) -> xarray.DataTree:
        """Open all groups."""
        refs, decoders = _opened(filename_or_obj, allow, options)
        return refs.to_datatree(coordinates=False, drop_variables=drop_variables, **decoders)

    def open_groups_as_dict(
        self, filename_or_obj: Any, **options: Any
    ) -> dict[str, xarray.Dataset]:
        """Open all groups, by path."""
        tree = self.open_datatree(filename_or_obj, **options)
        return {node.path: node.to_dataset(inherit=False) for node in tree.subtree}


def _opened(
    source: object, allow: Collection[str], options: dict[str, Any]
) -> tuple[ReferenceSet, dict[str, Any]]:
    """Open a set; return it, and the decoding options."""
    from refexplorer.verbs.opening import open_references

    decoders = {"decode_times": True}
    decoders |= {name: options.pop(name) for name in _DECODERS if name in options}
    return open_references(source, **options).allowing(*allow), decoders


class ReferencesAccessor:
    """The reference set behind a dataset, array or tree: ``ds.refs``.

    Attributes
    ----------
    references
        The `ReferenceSet`.
    """

    def __init__(self, held: Any) -> None:
        self._held = held
        self._whole: tuple[dict[str, Any], xarray.Dataset] | None = None
        _ = self.references  # an error now, rather than at the first question

    @cached_property
    def references(self) -> ReferenceSet:
        """The set, opened again after pickling."""
        from refexplorer.verbs.opening import open_references

        return open_references(self._held)

    def __getstate__(self) -> dict[str, Any]:
        # xarray pickles accessors with their dataset, in which a set is found by its pickle
        return {"_held": self._held, "_whole": None}

    def __repr__(self) -> str:
        return repr(self.references)

    def _repr_html_(self) -> str:
        return self.references._repr_html_()

    def allowing(
        self, *places: str, storage_options: Mapping[str, Any] | None = None
    ) -> ReferencesAccessor:
        """Return the same set with permission to read targets at further locations."""
        other = object.__new__(type(self))
        other._held, other._whole = self._held, None
        other.references = self.references.allowing(*places, storage_options=storage_options)
        return other

    def explore(self, **options: Any) -> Explorer:
        """Show the set, with the array selected. Options are those of `refexplorer.explore`."""
        from refexplorer.hosts.notebook.widgets import explore

        if isinstance(self._held, xarray.DataArray):
            options.setdefault("selection", self._path(self._held))
        return explore(self.references, **options)

    def why(self, array: str | None = None, *, method: str | None = None, **labels: Any) -> Trace:
        """Trace the value at labels, such as ``ds.refs.why("sst", time="2025-07-03", lat=60)``.

        Parameters
        ----------
        array
            The name of a variable; required if several have the given dimensions.
        method
            ``"nearest"`` if labels need not be exact, as in ``ds.sel``.
        labels
            A label for each dimension; for a dimension without a coordinate, its position.

        Raises
        ------
        RefexplorerError
            If the labels select more than one value, its position in the set is uncertain, or the
            value was computed from those of the set.
        """
        held = self._array(array, labels)
        path, position = self._position(held, method, labels)
        trace = self.references.why(path, position)
        self._refuse_computed(held, trace, method, labels)
        return trace

    def _refuse_computed(
        self, held: xarray.DataArray, trace: Trace, method: str | None, labels: Mapping[str, Any]
    ) -> None:
        """Raise if the value at hand is not the one that the trace explains."""
        from refexplorer.formats.objects import held_by

        is_lazy = held.chunks is None and any(held_by(held.variable, {_ZARR_ARRAY}))
        if is_lazy or trace.message is not None:  # what was computed is in memory, or has a graph
            return
        known = {each: label for each, label in labels.items() if each in held.indexes}
        places = {each: label for each, label in labels.items() if each in {*held.dims} - {*known}}
        here = np.asarray(held.sel(known, method=method).isel(places).values)
        known_values = [each for each in (trace.shown, trace.raw) if each is not None]
        if here.ndim == 0 and not any(_is_same(here[()], each) for each in known_values):
            raise RefexplorerError(
                f"This value was computed: it is {here[()]} here, and {trace.shown} in the set. "
                f"ds.{NAME}.why({trace.array!r}, …) of the dataset that was opened explains that."
            )

    def file_of(self, array: str | None = None, *, method: str | None = None, **labels: Any) -> str:
        """Return the path or URL of the file that contains the value at labels; see `why`.

        Raises
        ------
        RefexplorerError
            As for `why`, or if the value is inline or has no reference.
        """
        from refexplorer.io.access import resolve

        path, position = self._position(self._array(array, labels), method, labels)
        refs, meta = self.references, self.references.array(path)
        key = meta.chunk_key(meta.chunk_at(position))
        if (error := refs.rejection(key)) is not None:
            raise RefexplorerError(f"{key} was rejected: {error}")
        reference = refs.get(key)
        if reference is None:
            raise RefexplorerError(f"{key} has no reference: its values read as the fill value.")
        url = getattr(reference, "url", None)
        if url is None:
            raise RefexplorerError(f"The values of {key} are in the set itself, not in a file.")
        return resolve(url, refs.source.location)

    def _position(
        self, held: xarray.DataArray, method: str | None, labels: Mapping[str, Any]
    ) -> tuple[str, list[int]]:
        """Return the path of an array, and the indices of the value at labels."""
        path = self._path(held)
        meta = self.references.array(path)
        dimensions = meta.dimensions or ()
        known = [each for each in labels if each in held.indexes]
        try:
            one = held.coords.to_dataset().sel(
                {each: labels[each] for each in known}, method=method
            )
        except (KeyError, TypeError, ValueError) as error:
            said = str(error.args[0] if error.args else error).rstrip(".")
            raise RefexplorerError(f"{path} has no such label: {said}.") from None
        place: list[int] = []
        for dimension, size in zip(dimensions, meta.shape, strict=False):
            label = one[dimension].values if dimension in one.coords else labels.get(dimension)
            if label is None or (np.ndim(label) and dimension not in labels):
                raise RefexplorerError(
                    f"A value of {path} needs a label for each dimension; add {dimension}=…"
                    + ("" if dimension in held.dims else ", which this array no longer has")
                )
            if np.ndim(label):
                raise RefexplorerError(
                    f"{dimension}={labels[dimension]!r} names {np.size(label):,} values of {path}; "
                    f"name one, such as {dimension}={str(np.ravel(label)[0])[:19]!r}."
                )
            place.append(self._number(path, dimension, size, label, held))
        if unknown := labels.keys() - {*dimensions}:
            raise RefexplorerError(f"{path} has no dimension {', '.join(sorted(unknown))}.")
        return path, place

    def _number(self, path: str, dimension: str, size: int, label: Any, held: Any) -> int:
        """Return the index of a label in the set, of which a dataset may be any part."""
        is_number = np.issubdtype(np.asarray(label).dtype, np.number)
        how: dict[str, Any] = {"group": path.rpartition("/")[0], "decode_times": not is_number}
        if self._whole is None or self._whole[0] != how:
            self._whole = how, self.references.to_xarray(coordinates=True, **how)
        whole = self._whole[1]
        if dimension in whole.indexes:
            found = np.flatnonzero(whole.indexes[dimension] == np.asarray(label)[()])
            if len(found) != 1:
                raise RefexplorerError(
                    f"The set has {dimension}={label} {len(found)} times, so its position "
                    f"in {path} is not certain; ds.{NAME}.references.why accepts positions."
                )
            return int(found[0])
        if held.sizes.get(dimension, size) != size or not is_number:
            raise RefexplorerError(
                f"{dimension} has no coordinate, and this is a part of {path}, so it is not "
                f"certain where {label} is; ds.{NAME}.references.why accepts positions."
            )
        return int(label)

    def _array(self, name: str | None, labels: Mapping[str, Any]) -> xarray.DataArray:
        held = self._held
        if isinstance(held, xarray.DataArray):
            return held
        if not isinstance(held, xarray.Dataset):
            raise RefexplorerError(f"Choose a dataset or an array of the tree: tree['x'].{NAME}.")
        if name is None:
            names = [each for each in held.data_vars if labels.keys() <= {*held[each].dims}]
            if len(names) != 1:
                shown = ", ".join(map(str, names)) or "no variable"
                raise RefexplorerError(f"Name one variable: {shown}.")
            return held[names[0]]
        if name not in held.variables:
            raise RefexplorerError(f"The dataset has no variable {name!r}.")
        return held[name]

    def _path(self, held: xarray.DataArray) -> str:
        """Return the path of an array in the set, however it is named now."""
        from refexplorer.formats.objects import held_by

        known = self.references.arrays()
        found = {each.path for each in held_by(held.variable, {_ZARR_ARRAY})} or {str(held.name)}
        if len(found) == 1 and (path := found.pop()) in known:
            return path
        raise RefexplorerError(
            f"Cannot find the array of the set for {held.name!r}; ds.{NAME}.references.arrays() "
            f"lists all arrays."
        )


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same but for the type in which they were unpacked."""
    if one != one and other != other:  # NaN, or no date
        return True
    if isinstance(one, np.inexact) and isinstance(other, np.number):
        return bool(np.isclose(one, other, rtol=1e-6, atol=0))
    return bool(one == other)


xarray.register_dataset_accessor(NAME)(ReferencesAccessor)  # type: ignore[no-untyped-call]
xarray.register_dataarray_accessor(NAME)(ReferencesAccessor)  # type: ignore[no-untyped-call]
xarray.register_datatree_accessor(NAME)(ReferencesAccessor)  # type: ignore[no-untyped-call]
