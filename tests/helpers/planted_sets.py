"""Five netCDF4 files that follow each other in time, and the sound sets that refer to them.

Each set is a folder of its own with the files in it, which references name by their bare names, so
that a folder can be copied and spoiled.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pytest

from tests.helpers.kerchunk_sets import concatenated, translated

FILES = 5
STEPS = 4
"""Times of a file; its arrays have two chunks of them."""
DIMENSIONS = {"time": STEPS, "lat": 4, "lon": 6}
UNWRITTEN = 3, (slice(0, 2, 1), slice(2, 4, 1), slice(3, 6, 1))
"""A chunk of ``temp`` that the fourth file never wrote: ``temp/6.1.1``."""
FLOW = 6 * 8
"""Bytes of a row in the files of `generated`."""
Document = dict[str, Any]


class File(NamedTuple):
    """How a file differs from the others; the defaults are the usual file."""

    chunks: tuple[int, int, int] = (2, 2, 3)
    dtype: str = "<i2"
    fill: int = -999
    scale: float = 0.1
    offset: float = 273.0
    shuffle: bool = True
    level: int = 4
    units: str = "K"
    since: str = "days since 2000-01-01"
    calendar: str = "standard"
    lat: float = 10.0
    wind: bool = True
    hours: float = 0.0
    extra: int = 0


def name_of(number: int) -> str:
    return f"f{number}.nc"


def write_file(folder: Path, number: int, **differently: Any) -> None:
    """Write one file: a packed and a plain variable, both compressed, with their coordinates."""
    chance, how = np.random.default_rng(number), File(**differently)
    with h5py.File(folder / name_of(number), "w") as file:
        if how.extra:
            file.create_dataset("extra", data=np.arange(how.extra) + 1.0)
        time = file.create_dataset("time", data=10 + STEPS * number + np.arange(4, dtype="f8"))
        time[...] += how.hours / 24
        time.attrs.update(units=how.since, calendar=how.calendar)
        lat = file.create_dataset("lat", data=how.lat + 10 * np.arange(4.0))
        lon = file.create_dataset("lon", data=5.0 + np.arange(6.0))
        lat.attrs["units"], lon.attrs["units"] = "degrees_north", "degrees_east"
        for scale in (time, lat, lon):
            scale.make_scale(scale.name[1:])
        temp = file.create_dataset(
            "temp", tuple(DIMENSIONS.values()), how.dtype, chunks=how.chunks, fillvalue=how.fill,
            compression="gzip", compression_opts=how.level, shuffle=how.shuffle,
        )  # fmt: skip
        stored = chance.integers(1, 200, temp.shape)
        stored[1, 1, 1] = how.fill
        for box in temp.iter_chunks():
            if (number, box) != UNWRITTEN:
                temp[box] = stored[box]
        temp.attrs.update(units=how.units, scale_factor=how.scale, add_offset=how.offset)
        temp.attrs["_FillValue"] = np.array(how.fill, how.dtype)
        if how.wind:
            wind = file.create_dataset(
                "wind", data=chance.normal(5, 1, temp.shape).astype("<f4"), chunks=(2, 4, 6),
                compression="gzip", fillvalue=np.float32(-9999),
            )  # fmt: skip
            wind.attrs.update(units="m s-1", _FillValue=np.float32(-9999))
        for variable in [temp, *([wind] if how.wind else [])]:
            for axis, scale in enumerate((time, lat, lon)):
                variable.dims[axis].attach_scale(scale)


def _files(folder: Path) -> list[Document]:
    """Write the five files, and return what kerchunk makes of each."""
    for number in range(FILES):
        write_file(folder, number)
    return [_named(translated(folder / name_of(n)), folder) for n in range(FILES)]


def _named(document: Document, folder: Path) -> Document:
    """Return a set whose URLs are names of files in its folder."""
    refs = {
        key: [Path(ref[0]).name, *ref[1:]] if isinstance(ref, list) else ref
        for key, ref in document["refs"].items()
    }
    return document | {"refs": refs}


def with_fields(refs: Document, key: str, **changes: Any) -> None:
    """Change fields of a metadata key; an ellipsis removes one."""
    found = json.loads(refs[key]) | changes
    refs[key] = json.dumps({name: value for name, value in found.items() if value is not ...})


def joined(folder: Path) -> Document:
    """V0, joined by hand: every chunk is a byte range."""
    singles = _files(folder)
    refs: Document = copy.deepcopy(singles[0]["refs"])
    for number, single in enumerate(singles):
        for key, ref in single["refs"].items():
            name, _, index = key.rpartition("/")
            if name in ("temp", "wind", "time") and not index.startswith("."):
                first, *rest = index.split(".")
                step = 1 if name == "time" else 2
                refs[f"{name}/{'.'.join([str(int(first) + step * number), *rest])}"] = ref
    for name, rest in (("temp", [4, 6]), ("wind", [4, 6]), ("time", [])):
        with_fields(refs, f"{name}/.zarray", shape=[STEPS * FILES, *rest])
    return refs


def of_kerchunk(folder: Path) -> Document:
    """V1, joined by kerchunk: the coordinates are inline."""
    joined = concatenated(
        _files_at(folder), concat_dims=["time"], identical_dims=["lat", "lon"], inline_threshold=100
    )
    return _named(joined, folder)


def _files_at(folder: Path) -> list[Document]:
    """`_files` with whole paths, which kerchunk opens."""
    return [
        single | {"refs": {
            key: [str(folder / ref[0]), *ref[1:]] if isinstance(ref, list) else ref
            for key, ref in single["refs"].items()
        }}
        for single in _files(folder)
    ]  # fmt: skip


def with_templates(folder: Path) -> Document:
    """V1 with a template for each file."""
    refs = joined(folder)
    names = {name_of(number): f"{{{{f{number}}}}}" for number in range(FILES)}
    for ref in refs.values():
        if isinstance(ref, list):
            ref[0] = names[ref[0]]
    templates = {f"f{number}": name_of(number) for number in range(FILES)}
    return {"version": 1, "templates": templates, "refs": refs}


def generated(folder: Path) -> Document:
    """V1 with a `gen`: rows of contiguous arrays of five files, the even ones and the odd ones."""
    for number in range(FILES):
        with h5py.File(folder / name_of(number), "w") as file:
            rows = np.arange(STEPS * 6, dtype="f8").reshape(STEPS, 6) + 100 * number + 1
            flow = file.create_dataset("flow", data=rows)
            for axis, (name, size, start) in enumerate((("time", 4, 4 * number + 1), ("x", 6, 1))):
                scale = file.create_dataset(name, data=start + np.arange(size, dtype="f8"))
                scale.make_scale(name)
                flow.dims[axis].attach_scale(scale)
    singles = [_named(translated(folder / name_of(n)), folder)["refs"] for n in range(FILES)]
    refs = {key: ref for key, ref in singles[0].items() if not key.startswith("flow/0")}
    refs |= {f"time/{number}": single["time/0"] for number, single in enumerate(singles)}
    with_fields(refs, "time/.zarray", shape=[STEPS * FILES])
    with_fields(refs, "flow/.zarray", shape=[STEPS * FILES, 6], chunks=[1, 6])
    (start,) = {single["flow/0.0"][1] for single in singles}
    row = {
        "key": "flow/{{ i }}.0", "url": "f{{ i // 4 }}.nc",
        "offset": f"{{{{ {start} + (i % 4) * {FLOW} }}}}", "length": str(FLOW),
    }  # fmt: skip
    items = [row | {"dimensions": {"i": {"start": n, "stop": 20, "step": 2}}} for n in (0, 1)]
    return {"version": 1, "gen": items, "refs": refs}


def in_groups(folder: Path) -> Document:
    """V0 of one file with two groups that have the same variables."""
    with h5py.File(folder / name_of(0), "w") as file:
        for number, group in enumerate(("run/first", "run/second")):
            x = file.create_dataset(f"{group}/x", data=np.arange(1.0, 9))
            x.make_scale("x")
            v = file.create_dataset(
                f"{group}/v", data=np.arange(8, dtype="<i4") + 10 * number + 1, chunks=(2,)
            )
            v.attrs["units"] = "K"
            v.dims[0].attach_scale(x)
    refs: Document = _named(translated(folder / name_of(0)), folder)["refs"]
    for key in refs:
        if key.endswith("/.zattrs") and key.count("/") > 2:
            with_fields(refs, key, _ARRAY_DIMENSIONS=["x"])
    return refs


def in_v3(folder: Path) -> Document:
    """V0 in Zarr v3 of one file, big-endian."""
    with h5py.File(folder / name_of(0), "w") as file:
        data = np.arange(1, 49, dtype=">i4").reshape(8, 6)
        v = file.create_dataset("v", data=data, chunks=(2, 6))
        v.attrs["units"] = "K"
        for axis, (name, size) in enumerate((("y", 8), ("x", 6))):
            scale = file.create_dataset(name, data=np.arange(1.0, size + 1))
            scale.make_scale(name)
            v.dims[axis].attach_scale(scale)
        chunks = [v.id.get_chunk_info(number) for number in range(4)]
    array = {
        "zarr_format": 3, "node_type": "array", "shape": [8, 6], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 6]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}], "fill_value": 0,
        "attributes": {"units": "K"}, "dimension_names": ["y", "x"],
    }  # fmt: skip
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    refs: Document = {"zarr.json": json.dumps(group), "v/zarr.json": json.dumps(array)}
    for number, chunk in enumerate(chunks):
        refs[f"v/c/{number}/0"] = [name_of(0), chunk.byte_offset, chunk.size]
    return refs


def messages(folder: Path) -> Document:
    """V1 of GRIB: three steps of the first member, joined; of another member, too, in the file."""
    import eccodes

    grib2 = pytest.importorskip("kerchunk.grib2")
    chance = np.random.default_rng(0)
    path = folder / "a.grib2"
    with path.open("wb") as file:
        for name, member in (("2t", 1), ("2t", 2), ("sp", 1)):
            for step in (6, 12, 18):
                message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
                of_it = {"perturbationNumber": member, "shortName": name, "step": step}
                for key, value in (GRID | of_it).items():
                    eccodes.codes_set(message, key, value)
                eccodes.codes_set_values(message, chance.normal(280, 5, 24))
                eccodes.codes_write(message, file)
                eccodes.codes_release(message)
    singles = [each | {"templates": {"u": str(path)}} for each in grib2.scan_grib(str(path))[:3]]
    return _named(
        concatenated(
            singles,
            concat_dims=["step"],
            identical_dims=["latitude", "longitude", "number"],
            inline_threshold=100,
        ),
        folder,
    )


GRID = {
    "productDefinitionTemplateNumber": 1, "Ni": 6, "Nj": 4,
    "latitudeOfFirstGridPointInDegrees": 50.0,
    "latitudeOfLastGridPointInDegrees": 20.0, "longitudeOfFirstGridPointInDegrees": 10.0,
    "longitudeOfLastGridPointInDegrees": 60.0, "iDirectionIncrementInDegrees": 10.0,
    "jDirectionIncrementInDegrees": 10.0, "dataDate": 20200101, "dataTime": 600,
    "bitsPerValue": 16,
}  # fmt: skip


SETS: Mapping[str, Callable[[Path], Document]] = {
    "joined": joined,
    "of kerchunk": of_kerchunk,
    "with templates": with_templates,
    "with gen": generated,
    "in groups": in_groups,
    "in Zarr v3": in_v3,
    "of messages": messages,
}
"""Sound sets that are JSON; `"in parquet"` is `joined` in records."""


def write_set(document: Document, folder: Path) -> Path:
    path = folder / "set.json"
    path.write_text(json.dumps(document))
    return path


def write_parquet(document: Document, folder: Path, rows: int = 7) -> Path:
    """Write records as kerchunk does; URLs are bare names again."""
    frames = pytest.importorskip("kerchunk.df")
    path = folder / "set.parq"
    refs = document.get("refs", document)
    frames.refs_to_dataframe({"version": 1, "refs": refs}, str(path), record_size=rows)
    return path


def build(name: str, folder: Path) -> Path:
    """Write the files of a sound set, and the set beside them; return its path."""
    if name == "in parquet":
        return write_parquet(joined(folder), folder)
    return write_set(SETS[name](folder), folder)
