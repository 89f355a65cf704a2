"""Sets concatenated along a dimension: chunks by key, coordinates as values.

Differences that other tools ignore are checked first: arrays that are packed or compressed
differently, differing units.
"""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.checks.compare.cf import (
    attributes_of_bounds,
    calendar_of,
    is_time,
    same_times,
)
from refexplorer.core.errors import LeftOutWarning, RefexplorerError, SourceError, warn
from refexplorer.core.text import escape
from refexplorer.formats.other_files import common_folder
from refexplorer.formats.source import ZMETADATA, Source, cause
from refexplorer.io.access import resolve
from refexplorer.spec.chunk_axes import ChunkAxis, joined_axis
from refexplorer.spec.references import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta, written_grid

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet


def join_metadata(
    first: ArrayMeta,
    axes: Sequence[ChunkAxis],
    axis: int | None,
    attributes: Mapping[str, Any],
    dimension: str,
) -> Iterator[tuple[str, str]]:
    """Yield the metadata of a concatenated array by key."""
    document = dict(first.metadata) | {"shape": [each.extent for each in axes]}
    names = [*(first.dimensions or ())]
    if axis is None:
        names = [dimension, *names]
    if first.zarr_format == 2:
        chunks = [each.longest for each in axes]
        yield first.metadata_key, json.dumps(document | {"chunks": chunks})
        attributes = {**attributes, "_ARRAY_DIMENSIONS": names}
        yield f"{first.folder}.zattrs", json.dumps(attributes)
        return
    document |= {"attributes": dict(attributes), "dimension_names": names}
    document["chunk_grid"] = written_grid(axes)
    if axis is None:
        document["codecs"] = [_with_new_dimension(each) for each in document["codecs"]]  # type: ignore[attr-defined]
    yield first.metadata_key, json.dumps(document)


def moved_key(first: ArrayMeta, index: Sequence[int], axis: int | None, start: int) -> str:
    """Return the key of a chunk in the concatenated array, given the first chunk of its array."""
    if axis is not None:
        return first.chunk_key([*index[:axis], index[axis] + start, *index[axis + 1 :]])
    parts = [str(number) for number in (start, *index)]
    return first.folder + first.prefix + first.separator.join(parts)


def _with_new_dimension(codec: Any) -> Any:
    """Return a Zarr v3 codec for chunks with an additional first dimension of length 1."""
    if not isinstance(codec, Mapping):
        return codec
    settings = dict(codec.get("configuration") or {})
    if codec.get("name") == "transpose":
        settings["order"] = [0, *(number + 1 for number in settings["order"])]
    elif codec.get("name") == "sharding_indexed":
        settings["chunk_shape"] = [1, *settings["chunk_shape"]]
        settings["codecs"] = [_with_new_dimension(each) for each in settings["codecs"]]
    else:
        return codec
    return {**codec, "configuration": settings}


_TIME = ("units", "calendar")


def join_values(
    sets: Sequence[ReferenceSet],
    group: str,
    names: Sequence[str],
    wanted: Sequence[str],
    dimension: str,
    version: int,
) -> Iterator[tuple[str, str]]:
    """Yield the keys of concatenated values in a group; unequal coordinates are rejected."""
    import xarray as xr

    parts = [_read(refs, group, names) for refs in sets]
    exists = any(dimension in part.dims for part in parts)
    combined = xr.combine_nested(
        parts, concat_dim=dimension, data_vars="minimal" if exists else "all", coords="minimal",
        compat="override", join="exact", combine_attrs="drop_conflicts",
    )  # fmt: skip
    others = [name for name in combined.variables if name not in wanted]
    if wanted:
        yield from _keys_of_dataset(combined.drop_vars(others), group, version)


def _read(refs: ReferenceSet, group: str, names: Sequence[str]) -> Any:
    """Read arrays of a group as xarray does."""
    import xarray as xr

    with refs.to_xarray(group=group, coordinates=False, decode_times=True) as decoded:
        variables = {}
        # xarray decodes bounds with the units of their coordinate, but not climatological ones
        times = {one.attrs.get("climatology"): one.encoding for one in decoded.variables.values()}
        for name in {*names} & {*decoded.variables}:
            each = decoded.variables[name]
            if "units" in times.get(name, ()) and not {"units"} & {*each.attrs, *each.encoding}:
                units = {what: times[name][what] for what in _TIME if what in times[name]}
                each = xr.Variable(each.dims, each.to_numpy(), each.attrs | units)
                each = xr.decode_cf(xr.Dataset({name: each})).variables[name]
            # but for units of times all is written as the values that were read
            encoding = {what: each.encoding[what] for what in _TIME if what in each.encoding}
            variables[name] = xr.Variable(each.dims, each.to_numpy(), each.attrs, encoding)
    return xr.Dataset(variables)


def _keys_of_dataset(dataset: Any, group: str, version: int) -> Iterator[tuple[str, str]]:
    """Yield the keys of a dataset, in which each array is one chunk."""
    from zarr.storage import MemoryStore

    store: dict[str, Any] = {}
    plain = {
        name: {"compressors": None, "chunks": one.shape}
        for name, one in dataset.variables.items()
        if one.size
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of units of times that had to be finer
        dataset.to_zarr(MemoryStore(store), zarr_format=version, consolidated=False, encoding=plain)
    for key, buffer in store.items():
        _, is_of_array, name = key.rpartition("/")
        data = buffer.to_bytes()
        if is_of_array:
            is_metadata = name in (".zarray", ".zattrs", "zarr.json")
            text = data.decode() if is_metadata else f"base64:{base64.b64encode(data).decode()}"
            yield prefix(group) + key, text


_FORM = "joined"
_ATTRIBUTES, _NODE = ".zattrs", "zarr.json"
_ENCODING = ("dtype", "data_type", "compressor", "filters", "codecs", "fill_value", "order")
_MEANING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", *_TIME)
"""Attributes that say what stored values mean."""
_SHOWN = 10  # names that a message lists


def join_sets(sets: Sequence[ReferenceSet], dimension: str, pattern: str | None = None) -> Source:
    """Concatenate sets along a dimension."""
    parts = [_JoinedPart(each) for each in sets]
    _check_names(parts)
    joining = _Joining(parts, dimension)
    joining.check_alike()
    if joining.needs_v3():
        joining = joining.in_v3()
    try:
        references = dict(joining.references())
    except RefexplorerError:
        raise
    except Exception as error:  # xarray and Zarr have many
        raise joining.unjoined(escape(cause(error), 400)) from None
    joining.warn_of_first()
    folder = common_folder([each.source.location or "" for each in sets])
    name = f"{len(sets):,} sets" if pattern is None else Path(pattern).name
    fetched = [each.source.fetched for each in sets if each.source.fetched is not None]
    for other in fetched[1:]:
        fetched[0].add(other)
    return Source(
        name,
        _FORM,
        folder or None,
        value=references,
        place=pattern,
        joined_along=dimension,
        fetched=fetched[0] if fetched else None,
        beyond=joining.beyond(),
        left_out=tuple(dict.fromkeys(row for each in sets for row in each.source.left_out)),
    )


class _JoinedPart:
    """One of the sets: its arrays, and their references by chunk with absolute URLs."""

    def __init__(self, refs: ReferenceSet) -> None:
        self.refs = refs
        self.name = escape(refs.source.name)
        self.arrays = {path: refs.array(path) for path in refs.arrays()}
        self.bounds = attributes_of_bounds({p: one.attributes for p, one in self.arrays.items()})
        self.chunks: dict[str, dict[tuple[int, ...], Any]] = {path: {} for path in self.arrays}
        self.metadata: dict[str, Any] = {}
        for key, value in refs.to_v0().items():
            owner = refs.array_of(key)
            if owner is None:
                self.metadata[key] = value
            else:
                if isinstance(value, list):
                    value = [resolve(str(value[0]), refs.source.location), *value[1:]]
                self.chunks[owner[0]][owner[1]] = value

    def dimensions(self, path: str) -> tuple[str, ...]:
        """Return the dimension names of an array; a scalar has none."""
        array = self.arrays[path]
        if array.dimensions is None and array.shape:
            raise SourceError(f"{escape(path)} of {self.name} has no dimension names.")
        return array.dimensions or ()

    def is_coordinate(self, path: str) -> bool:
        """Return whether an array is the coordinate of the dimension with its name."""
        return self.dimensions(path) == (path.rpartition("/")[2],)

    def attributes(self, path: str) -> dict[str, Any]:
        """Return the attributes of an array or a group."""
        document = _parsed(self.metadata.get(prefix(path) + _NODE, "{}"))
        attributes: dict[str, Any] = document.get("attributes") or {}
        return attributes or _parsed(self.metadata.get(prefix(path) + _ATTRIBUTES, "{}"))


class _Joining:
    """Sets with the same arrays, and which of these are concatenated."""

    def __init__(self, parts: Sequence[_JoinedPart], dimension: str) -> None:
        self._parts, self._first, self._dimension = parts, parts[0], dimension
        self._exists = any(
            dimension in part.dimensions(path) for part in parts for path in part.arrays
        )

    def _is_joined(self, path: str) -> bool:
        return self._dimension in self._first.dimensions(path) or (
            not self._exists and not self._first.is_coordinate(path)
        )

    def check_alike(self) -> None:
        """Reject arrays whose stored values have different meanings."""
        for part in self._parts[1:]:
            for path in filter(self._is_joined, self._first.arrays):
                # values of coordinates are joined, with their units
                terms = axis_terms if self._first.is_coordinate(path) else joined_terms
                both = (terms(each.arrays[path]) for each in (self._first, part))
                for (what, one), (_, other) in zip(*both, strict=True):
                    if _is_same(one, other):
                        continue
                    raise SourceError(
                        f"{what} of {escape(path)} is {_value_text(one)} in {self._first.name} and "
                        f"{_value_text(other)} in {part.name}: the values of one of them would "
                        "be wrong in the combined set."
                    )

    def references(self) -> Iterator[tuple[str, Any]]:
        """Yield the keys of the combined set with their references."""
        yield from self._taken_metadata()
        valued: dict[str, list[str]] = {}
        for path, array in self._first.arrays.items():
            group, _, name = path.rpartition("/")
            is_joined, is_valued = self._is_joined(path), self._is_valued(path)
            if is_valued:
                valued.setdefault(group, []).append(name)
            if is_joined and not is_valued:
                yield from self._joined_array(path)
            elif not is_joined:
                for index, value in self._first.chunks[path].items():
                    yield array.chunk_key(index), value
        sets = [part.refs for part in self._parts]
        version = next((each.zarr_format for each in self._first.arrays.values()), 2)
        for group, names in valued.items():
            wanted = [name for name in names if self._is_joined(prefix(group) + name)]
            yield from join_values(sets, group, names, wanted, self._dimension, version)

    def needs_v3(self) -> bool:
        """Return whether chunks of several lengths are concatenated, which v2 cannot express."""
        return any(
            array.zarr_format == 2
            and self._is_joined(path)
            and not self._is_valued(path)
            and not _is_regular(self._grid(path)[0])
            for path, array in self._first.arrays.items()
        )

    def in_v3(self) -> _Joining:
        """Return the same with sets converted to Zarr v3 metadata."""
        from refexplorer.verbs.migrating import set_as_v3

        parts = []
        for refs in (part.refs for part in self._parts):
            try:
                parts.append(_JoinedPart(set_as_v3(refs)))
            except RefexplorerError as error:
                why = f"their chunks have different lengths, which needs Zarr v3, and {error}"
                raise self.unjoined(why.rstrip(".")) from None
        return _Joining(parts, self._dimension)

    def beyond(self) -> tuple[tuple[str, int], ...]:
        """Return the byte ranges past the end of their files, as in `Source.beyond`."""
        ranges: dict[str, tuple[str, int]] = {}
        for number, part in enumerate(self._parts):
            for key, count in part.refs.source.beyond:
                owner = part.refs.array_of(key)
                if owner is None or self._is_valued(owner[0]):
                    continue  # the values of a coordinate were read
                path, index = owner
                if self._is_joined(path):
                    start = self._grid(path)[1][number]
                    key = moved_key(self._first.arrays[path], index, self._axis(path), start)
                elif number:
                    continue  # which is taken from the first set alone
                first, before = ranges.get(path, (key, 0))
                ranges[path] = first, before + count
        return tuple(ranges.values())

    def _is_valued(self, path: str) -> bool:
        """Return whether array values are read: for coordinates, or if keys do not suffice."""
        if self._first.is_coordinate(path) or not self._is_joined(path):
            return self._first.is_coordinate(path)
        if not all(
            same_times(self._first.bounds[path].get, part.bounds[path].get)
            for part in self._parts[1:]
            if path in self._first.bounds and path in part.bounds
        ):
            return True  # the set has one epoch only
        for part in self._parts:
            chunks = part.chunks[path]
            is_whole = len(chunks) == part.arrays[path].chunk_count > 0
            if not is_whole or any(isinstance(value, list) for value in chunks.values()):
                return False  # not all of its values are inline
        try:
            return not _is_regular(self._grid(path)[0])
        except SourceError:
            return True

    def _taken_metadata(self) -> Iterator[tuple[str, Any]]:
        """Yield the metadata of groups, and of the arrays that are not concatenated."""
        for key, value in self._first.metadata.items():
            folder, _, name = key.rpartition("/")
            if name == ZMETADATA:
                continue
            if folder not in self._first.arrays:
                yield key, self._of_group(folder, name, value)
            elif not self._is_joined(folder):
                yield key, value

    def _of_group(self, folder: str, name: str, value: Any) -> Any:
        """Return metadata of a group with only the attributes on which all agree."""
        if name not in (_ATTRIBUTES, _NODE):
            return value
        agreed = _agreed([part.attributes(folder) for part in self._parts])
        if name == _ATTRIBUTES:
            return json.dumps(agreed)
        document = _parsed(value) | {"attributes": agreed}
        document.pop("consolidated_metadata", None)
        return json.dumps(document)

    def _joined_array(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the keys of an array whose chunks are concatenated."""
        first, axis = self._first.arrays[path], self._axis(path)
        attributes = _agreed([part.attributes(path) for part in self._parts])
        axes, starts = self._grid(path)
        yield from join_metadata(first, axes, axis, attributes, self._dimension)
        for part, start in zip(self._parts, starts, strict=True):
            for index, value in part.chunks[path].items():
                yield moved_key(first, index, axis, start), value

    def _axis(self, path: str) -> int | None:
        """Return the index of the dimension in a concatenated array; None for a new one."""
        return self._first.dimensions(path).index(self._dimension) if self._exists else None

    def _grid(self, path: str) -> tuple[tuple[ChunkAxis, ...], list[int]]:
        """Return the chunks of the concatenated array, and the first chunk of each part."""
        axis, arrays = self._axis(path), [part.arrays[path] for part in self._parts]
        first = arrays[0]
        for part, array in zip(self._parts, arrays, strict=True):
            one, other = (without(chunk_lengths(each), axis) for each in (first, array))
            if one != other:
                raise self._refused(path, "has chunks of", first.chunks, array.chunks, part)
            if part.dimensions(path) != self._first.dimensions(path):
                one, other = self._first.dimensions(path), part.dimensions(path)
                raise self._refused(path, "has the dimensions", one, other, part)
            if without(array.shape, axis) != without(first.shape, axis):
                raise self._refused(path, "has the shape", first.shape, array.shape, part)
        if axis is None:
            return (ChunkAxis(len(arrays), (1,)), *first.axes), list(range(len(arrays)))
        starts: list[int] = []
        runs: list[tuple[int, int]] = []
        count = length = 0
        for part, array in zip(self._parts, arrays, strict=True):
            if length != sum(size * times for size, times in runs):
                raise self.unjoined(
                    f"{escape(path)} would have an incomplete chunk before {part.name}; its chunks "
                    f"have a length of {first.chunks[axis]:,} along this dimension"
                )
            starts.append(count)
            runs += array.axes[axis].runs
            count += array.grid[axis]
            length += array.shape[axis]
        joined = joined_axis(runs, length)
        return (*first.axes[:axis], joined, *first.axes[axis + 1 :]), starts

    def _refused(
        self, path: str, what: str, one: object, other: object, part: _JoinedPart
    ) -> SourceError:
        return self.unjoined(
            f"{escape(path)} {what} {escape(str(one), 100)} in {self._first.name} and "
            f"{escape(str(other), 100)} in {part.name}"
        )

    def unjoined(self, why: str) -> SourceError:
        """Return the error that explains why the sets cannot be combined."""
        count = f"{len(self._parts):,} sets"
        return SourceError(
            f"The {count} cannot be concatenated along {escape(self._dimension)!r}: {why}."
        )

    def warn_of_first(self) -> None:
        """Return which arrays were taken from the first set without comparing others."""
        paths = [
            path
            for path, array in self._first.arrays.items()
            if array.shape and not self._is_joined(path) and not self._first.is_coordinate(path)
        ]
        if paths and len(self._parts) > 1:
            warn(
                f"Arrays without the dimension {escape(self._dimension)} are those of "
                f"{self._first.name} and were not compared with those of the others: "
                f"{_listed(paths)}.",
                LeftOutWarning,
            )


def _check_names(parts: Sequence[_JoinedPart]) -> None:
    """Reject sets with different arrays or Zarr versions."""
    first = parts[0]
    versions = {array.zarr_format: part.name for part in parts for array in part.arrays.values()}
    if len(versions) > 1:
        raise SourceError(
            f"{versions[2]} uses Zarr format 2 and {versions[3]} uses Zarr format 3; all sets must "
            "use the same Zarr format."
        )
    for part in parts[1:]:
        if {*first.arrays} != {*part.arrays}:
            odd = min({*first.arrays} ^ {*part.arrays})
            having, lacking = (first, part) if odd in first.arrays else (part, first)
            raise SourceError(
                f"{escape(odd)} is in {having.name} but not in {lacking.name}; all sets must "
                "have the same arrays."
            )


def joined_terms(array: ArrayMeta) -> Iterator[tuple[str, Any]]:
    """Yield the storage and meaning of values that must agree in all combined files."""
    for names, values in ((_ENCODING, array.metadata), (_MEANING, array.attributes)):
        yield from ((what, values.get(what)) for what in names)


def axis_terms(array: ArrayMeta) -> Iterator[tuple[str, Any]]:
    """Yield what must agree for the values of a concatenated coordinate to be of one kind."""
    yield "kind", "times" if is_time(array.attributes.get("units")) else "numbers"
    yield "calendar", calendar_of(array.attributes.get)


def _agreed(attributes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the common attributes with equal values."""
    return {
        name: value
        for each in attributes
        for name, value in each.items()
        if all(name not in other or _is_same(other[name], value) for other in attributes)
    }


def _is_same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))  # NaN equals nothing


def _is_regular(axes: Sequence[ChunkAxis]) -> bool:
    return all(axis.is_regular for axis in axes)


def chunk_lengths(array: ArrayMeta) -> tuple[object, ...]:
    """Return the lengths of the chunks of an array along each dimension."""
    return tuple((axis.lengths, axis.firsts) for axis in array.axes)


def without(shape: tuple[Any, ...], axis: int | None) -> tuple[Any, ...]:
    """Return lengths without that of one dimension."""
    return shape if axis is None else (*shape[:axis], *shape[axis + 1 :])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(escape, names[:_SHOWN])) + more


def _value_text(value: Any) -> str:
    return "not given" if value is None else escape(json.dumps(value), 100)


def _parsed(value: Any) -> dict[str, Any]:
    return dict(json.loads(value) if isinstance(value, str) else value)
