"""References to the fields of a GRIB file, on the dimensions that cfgrib uses.

Fields of one variable that fill all combinations of number, time, step and level are one array.
Variables whose coordinates agree share the root; each of the others has a group of its own.
kerchunk's codec ``grib`` decodes only the first field of a message, so further fields are stored
inline if they are small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from refexplorer.formats.datafiles.data_file import GRIB_DETAILS, FileChunks, Unread
from refexplorer.formats.datafiles.grib import GribField, GribFile
from refexplorer.formats.datafiles.references import INLINE_BYTES, DataFileReferences
from refexplorer.formats.datafiles.zarr_terms import array_documents, base64_text, index_text

_AXES = ("number", "time", "step", "level")
_TEXTS = {
    "number": {"long_name": "ensemble member numerical id", "standard_name": "realization"},
    "time": {
        "long_name": "initial time of forecast", "standard_name": "forecast_reference_time",
        "units": "seconds since 1970-01-01T00:00:00", "calendar": "proleptic_gregorian",
    },
    "step": {
        "long_name": "time since forecast_reference_time", "standard_name": "forecast_period",
        "units": "hours",
    },
    "valid_time": {
        "long_name": "time", "standard_name": "time",
        "units": "seconds since 1970-01-01T00:00:00", "calendar": "proleptic_gregorian",
    },
    "latitude": {
        "long_name": "latitude", "standard_name": "latitude", "units": "degrees_north"
    },
    "longitude": {
        "long_name": "longitude", "standard_name": "longitude", "units": "degrees_east"
    },
}  # fmt: skip
"""Attributes of coordinates, as cfgrib has them."""


@dataclass
class _GribVariable:
    """The fields of one variable, and the values of its varying coordinates."""

    name: str
    fields: list[GribField]
    axes: dict[str, list[float]] = field(default_factory=dict)

    @property
    def first(self) -> GribField:
        return self.fields[0]

    def coordinates(self) -> tuple[Any, ...]:
        """Return the coordinates that must be equal for two variables to share a group."""
        first = self.first
        known = tuple(sorted({axis: tuple(_values(self.fields, axis)) for axis in _AXES}.items()))
        return known[1:], (first.level_name, known[0]), first.grid


def grib_references(file: GribFile) -> DataFileReferences:
    """Generate references to all fields of a file."""
    left_out = dict[str, Unread]()
    variables = list(_variables(file, _fields(file, left_out)))
    documents, chunks = {".zgroup": '{"zarr_format":2}'}, dict[str, FileChunks]()
    for group, members in _grouped(variables):
        start = f"{group}/" if group else ""
        documents[f"{start}.zgroup"] = '{"zarr_format":2}'
        for each in members:
            try:
                documents |= _coordinates(file, start, each, chunks)
                documents |= _data(file, start, each, chunks)
            except Unread as error:
                left_out[f"{start}{each.name}"] = error
    return DataFileReferences(documents, chunks, left_out)


def _fields(file: GribFile, left_out: dict[str, Unread]) -> Iterator[GribField]:
    for name in file.field_names():
        try:
            yield file.field(name)
        except Unread as error:
            left_out[f"message {name}"] = error


def _variables(file: GribFile, fields: Iterator[GribField]) -> Iterator[_GribVariable]:
    """Group fields that differ only in coordinates; others stay separate."""
    found = dict[tuple[Any, ...], list[GribField]]()
    for each in fields:
        key = each.name, each.level_name, each.step_type, each.data_type, each.grid, each.shape
        found.setdefault(key, []).append(each)
    for members in found.values():
        axes = {axis: _values(members, axis) for axis in _AXES}
        varying = {axis: values for axis, values in axes.items() if len(values) > 1}
        places = {tuple(each.at[axis] for axis in varying) for each in members}
        if len(places) == len(members) == math.prod(map(len, varying.values())):
            yield _GribVariable(members[0].name, members, varying)
        else:
            for each in members:
                known = file.array(each.label).attributes
                details = {f"GRIB_{name}": known[name] for name in GRIB_DETAILS if name in known}
                alone = replace(each, attributes={**each.attributes, **details})
                yield _GribVariable(each.name, [alone])


def _values(fields: Sequence[GribField], axis: str) -> list[float]:
    """Return the distinct values of a coordinate; pressure levels descend, as in cfgrib."""
    found = {each.at[axis] for each in fields if each.at[axis] is not None}
    is_falling = axis == "level" and fields[0].level_name.startswith("isobaric")
    return sorted(found, reverse=is_falling)


def _grouped(variables: list[_GribVariable]) -> Iterator[tuple[str, list[_GribVariable]]]:
    """Yield the root with all variables if they are compatible, else one group for each."""
    levels = dict[str, set[Any]]()
    for each in variables:
        _, (level_name, values), _ = each.coordinates()
        levels.setdefault(level_name, set()).add(values)
    others = {(each.coordinates()[0], each.coordinates()[2]) for each in variables}
    names = {each.name for each in variables}
    is_one = all(len(values) == 1 for values in levels.values())
    if len(names) == len(variables) and len(others) <= 1 and is_one:
        yield "", variables
        return
    taken = set[str]()
    for each in variables:
        words = [each.name, each.first.level_name, f"{each.first.at['level']:g}", each.first.label]
        name = words[0]
        for word in words[1:]:
            if name not in taken:
                break
            name = f"{name}_{word}"
        while name in taken:
            name += "_"
        taken.add(name)
        yield name, [each]


def _coordinates(
    file: GribFile, start: str, variable: _GribVariable, chunks: dict[str, FileChunks]
) -> dict[str, str]:
    """Return the coordinates of a variable; those in a group are identical."""
    first, documents = variable.first, dict[str, str]()
    for axis in _AXES:
        if first.at[axis] is None:
            continue
        name = first.level_name if axis == "level" else axis
        is_varying = axis in variable.axes
        kind = "<f8" if axis in ("step", "level") else "<i8"
        values = np.array(variable.axes.get(axis, first.at[axis]), kind)
        more = {"units": first.level_units} if axis == "level" and first.level_units else {}
        attributes = _TEXTS.get(axis, {}) | more
        dimensions = [name] if is_varying else []
        documents |= _inline(f"{start}{name}", values, dimensions, attributes)
    times = np.array(variable.axes.get("time", first.at["time"]), "f8")
    steps = np.array(variable.axes.get("step", first.at["step"]), "f8")
    dimensions = [axis for axis in ("time", "step") if axis in variable.axes]
    valid = np.add.outer(times, steps * 3600).astype("<i8")
    documents |= _inline(f"{start}valid_time", valid, dimensions, _TEXTS["valid_time"])
    for name in ("latitude", "longitude"):
        values = file.values(f"{first.label}/{name}", tuple(slice(0, n) for n in first.shape))
        dimensions = list(first.dimensions)
        if first.is_regular:
            axis_number = dimensions.index(name)
            values, dimensions = np.take(values, 0, 1 - axis_number), [name]
        key = f"{start}{name}"
        if values.nbytes <= INLINE_BYTES:
            documents |= _inline(key, values.astype("<f8"), dimensions, _TEXTS[name])
            continue
        codec = {"id": "grib", "var": name, "dtype": "float64"}
        documents |= array_documents(
            key, values.shape, values.shape, "<f8", [codec], dimensions, _TEXTS[name]
        )
        chunks[key] = _chunk([(0,) * values.ndim], [first])
    return documents


def _data(
    file: GribFile, start: str, variable: _GribVariable, chunks: dict[str, FileChunks]
) -> dict[str, str]:
    """Return the metadata of a variable and its inline chunks, and record the others."""
    first = variable.first
    if first.is_alternating:
        raise Unread("expression", "Its rows alternate in direction, which the GRIB codec ignores.")
    outer = tuple(map(len, variable.axes.values()))
    dimensions = [first.level_name if axis == "level" else axis for axis in variable.axes]
    key, inner = f"{start}{variable.name}", (0,) * len(first.shape)
    places = {
        each.label: (*(at.index(each.at[axis]) for axis, at in variable.axes.items()), *inner)
        for each in variable.fields
    }
    held = [each for each in variable.fields if each.part]
    codec = {"id": "grib", "var": variable.name, "dtype": "float64"}
    if held and math.prod(first.shape) * 8 * len(held) > INLINE_BYTES:
        raise Unread(
            "expression",
            "Some of its fields are not the first of their message, which is the one that the "
            "codec for GRIB decodes, and they are too large to store inline.",
        )
    filters = [codec]
    if held:  # inline chunks are not encoded, so all chunks must be inline
        if math.prod(first.shape) * 8 * len(variable.fields) > INLINE_BYTES:
            raise Unread(
                "expression",
                "Some of its fields are the first of their message and others are not; no single "
                "codec decodes both, and they are too large to store inline.",
            )
        held, filters = variable.fields, []
    documents = array_documents(
        key,
        (*outer, *first.shape),
        (*(1 for _ in outer), *first.shape),
        "<f8",
        filters,
        [*dimensions, *first.dimensions],
        first.attributes,
    )
    for each in held:
        values = file.values(each.label, tuple(slice(0, n) for n in each.shape))
        text = base64_text(np.ascontiguousarray(values, "<f8").tobytes())
        documents[f"{key}/{index_text(places[each.label])}"] = text
    referenced = [each for each in variable.fields if each not in held]
    if referenced:
        chunks[key] = _chunk([places[each.label] for each in referenced], referenced)
    return documents


def _chunk(places: Sequence[tuple[int, ...]], fields: Sequence[GribField]) -> FileChunks:
    return FileChunks(
        np.array(places, np.int64).reshape(len(fields), -1),
        np.array([each.offset for each in fields], np.int64),
        np.array([each.length for each in fields], np.int64),
    )


def _inline(
    key: str, values: np.ndarray, dimensions: list[str], attributes: Mapping[str, Any]
) -> dict[str, str]:
    place = index_text((0,) * values.ndim)
    documents = array_documents(
        key, values.shape, values.shape, values.dtype.str, [], dimensions, attributes
    )
    return documents | {f"{key}/{place}": base64_text(values.tobytes())}
