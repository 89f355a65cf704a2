"""Dimensions as netCDF4 has them: how long they are, and the names of those without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from refexplorer.formats.datafiles.data_file import FileArray

_MADE_UP = "phony_dim_"
_AXES = ("z", "y", "x")


def dimension_names(arrays: Mapping[str, FileArray]) -> dict[str, list[str]]:
    """Return the names of all dimensions of all arrays.

    netCDF4 gives an axis without a name a dimension of the group that has its length, is unlimited
    if it is, and that the array does not have yet, else ``phony_dim_N``. N counts all dimensions of
    the file: those with names first, then those of groups before those of the group that has them.
    """
    groups = dict[str, list[FileArray]]()
    for name, array in arrays.items():
        groups.setdefault(name.rpartition("/")[0], []).append(array)
    known = {path: _named(members) for path, members in groups.items()}
    count = sum(map(len, known.values()))
    found = dict[str, list[str]]()
    for path in sorted(groups, key=_after_its_groups):
        for array in groups[path]:
            names: list[str] = []
            for axis, length in enumerate(array.shape):
                name = array.dimensions[axis] if array.dimensions else _MADE_UP
                if name.startswith(_MADE_UP):
                    kind = length, axis in array.unlimited
                    free = (each for each, known_kind in known[path].items() if known_kind == kind)
                    name = next((each for each in free if each not in names), "")
                    if not name:
                        name, count = f"{_MADE_UP}{count}", count + 1
                        known[path][name] = kind
                names.append(name)
            found[array.name] = names
    return {name: found[name] for name in arrays}


def at_full_length(arrays: Mapping[str, FileArray], names: Iterable[str]) -> dict[str, FileArray]:
    """Return arrays with the shapes of their dimensions.

    HDF5 lengthens each array by itself; in netCDF4 all that share an unlimited dimension are as
    long as the longest of them.
    """
    known, longest = set(names), dict[str, int]()
    scales = {name: tuple(_scales(array, known)) for name, array in arrays.items()}
    for name, array in arrays.items():
        for scale, length in zip(scales[name], array.shape, strict=False):
            longest[scale] = max(longest.get(scale, 0), length)
    found = dict(arrays)
    for name, array in arrays.items():
        shape = list(array.shape)
        for axis in array.unlimited:
            if scales[name] and scales[name][axis]:
                shape[axis] = longest[scales[name][axis]]
        found[name] = replace(array, shape=tuple(shape))
    return found


def _scales(array: FileArray, known: set[str]) -> Iterator[str]:
    """Yield what has the name of each dimension, in the group of the array or one above it."""
    for name in array.dimensions or ():
        group, found = array.name.rpartition("/")[0], ""
        while not found:
            path = f"{group}/{name}" if group else name
            if path in known:
                found = path
            elif not group:
                break
            group = group.rpartition("/")[0]
        yield found


def _after_its_groups(path: str) -> list[str]:
    """Return what sorts the path of a group after those of the groups in it."""
    return [*path.split("/"), _LAST] if path else [_LAST]


_LAST = chr(0x10FFFF)


def _named(arrays: Sequence[FileArray]) -> dict[str, tuple[int, bool]]:
    """Return the lengths of the dimensions that arrays name, and whether they are unlimited."""
    return {
        name: (length, axis in array.unlimited)
        for array in arrays
        for axis, (name, length) in enumerate(
            zip(array.dimensions or (), array.shape, strict=False)
        )
        if not name.startswith(_MADE_UP)
    }


def axis_names(arrays: Mapping[str, FileArray]) -> dict[str, list[str]]:
    """Return the axes of FITS, as kerchunk names them; with the name of each array if they differ.

    One name stands for one length in xarray.
    """
    is_alike = len({array.shape for array in arrays.values()}) == 1
    found = {}
    for name, array in arrays.items():
        rank = len(array.shape)
        axes = [f"axis{rank - n}" for n in range(rank - len(_AXES))]
        axes += _AXES[max(len(_AXES) - rank, 0) :]
        found[name] = axes if is_alike else [f"{name}_{each}" for each in axes]
    return found
