"""Coordinates, and arrays that sets hold themselves: joined by xarray, and written in."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refexplorer.referenceset import ReferenceSet

_TIME = ("units", "calendar")


def joined_values(
    sets: Sequence[ReferenceSet],
    group: str,
    names: Sequence[str],
    wanted: Sequence[str],
    dimension: str,
    version: int,
) -> Iterator[tuple[str, str]]:
    """Yield the keys of joined values in a group; coordinates that are not equal are refused."""
    import xarray as xr

    parts = [_read(refs, group, names) for refs in sets]
    exists = any(dimension in part.dims for part in parts)
    combined = xr.combine_nested(
        parts,
        concat_dim=dimension,
        data_vars="minimal" if exists else "all",
        coords="minimal",
        compat="override",
        join="exact",
        combine_attrs="drop_conflicts",
    )
    others = [name for name in combined.variables if name not in wanted]
    if wanted:
        yield from _written(combined.drop_vars(others), group, version)


def _read(refs: ReferenceSet, group: str, names: Sequence[str]) -> Any:
    """Read arrays of a group as xarray reads them."""
    import xarray as xr

    with refs.to_xarray(group=group, decode_times=True) as decoded:
        found = {
            name: xr.Variable(one.dims, one.to_numpy(), one.attrs, _kept(one.encoding))
            for name, one in decoded.variables.items()
            if name in names
        }
    coordinates = {name: one for name, one in found.items() if one.dims == (name,)}
    others = {name: one for name, one in found.items() if name not in coordinates}
    return xr.Dataset(others, coordinates)


def _kept(encoding: Any) -> dict[str, Any]:
    """Return the units of times; all else is written as the values that were read."""
    return {name: encoding[name] for name in _TIME if name in encoding}


def _written(dataset: Any, group: str, version: int) -> Iterator[tuple[str, str]]:
    """Yield the keys of a dataset, in which each array is one chunk."""
    from zarr.storage import MemoryStore

    held: dict[str, Any] = {}
    plain = {
        name: {"compressors": None, "chunks": one.shape}
        for name, one in dataset.variables.items()
        if one.size
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of units of times that had to be finer
        dataset.to_zarr(MemoryStore(held), zarr_format=version, consolidated=False, encoding=plain)
    start = f"{group}/" if group else ""
    for key, data in held.items():
        if "/" in key:
            text = base64.b64encode(data.to_bytes()).decode()
            yield start + key, _text(data.to_bytes(), key) or f"base64:{text}"


def _text(data: bytes, key: str) -> str | None:
    """Return metadata as text."""
    name = key.rpartition("/")[2]
    return data.decode() if name in (".zarray", ".zattrs", "zarr.json") else None
