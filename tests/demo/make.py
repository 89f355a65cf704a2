"""Make the demo again: ``python -m tests.demo.make [FOLDER]`` (needs the dev extra).

Three NetCDF4 files of one summer are written with h5py, then kerchunk writes the reference sets
to them. Target URLs are relative, so the files and the sets travel together.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import h5py
import numpy as np
from fsspec.implementations.reference import ReferenceFileSystem
from kerchunk.combine import MultiZarrToZarr
from kerchunk.df import refs_to_dataframe
from kerchunk.hdf import SingleHdf5ToZarr
from numpy.typing import NDArray

from refexplorer import demo
from tests.demo import ocean

MONTHS = {"07": 0, "08": 31, "09": 62}
"""Month of 2025 → days since 1 July on its first day."""
DAYS = (2, 7, 12, 17, 22, 27)
FILL = -32768

References = dict[str, Any]


def make(folder: Path) -> None:
    """Write the targets and every set to them into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        names = [_write_target(month, first) for month, first in MONTHS.items()]
        v0 = _kerchunk(names) | _land()
        _write_json("sst.v0.json", v0)
        _write_json("sst.v1.json", _checked(_version_1(v0), v0))
        _write_json("spec.v0.json", SPEC_EXAMPLE_V0)
        _write_json("spec.v1.json", SPEC_EXAMPLE)
        _write_json("broken.json", _broken(v0))
        _write_parquet("sst.parq", v0)


def _write_target(month: str, first: int) -> str:
    """One month as NetCDF4; the wind comes first and is stored plainly, at a constant stride."""
    name = f"sst_2025-{month}.nc"
    days = [first + day for day in DAYS]
    with h5py.File(name, "w", libver="earliest") as file:
        file.attrs["Conventions"] = "CF-1.11"
        file.attrs["title"] = "An invented summer of the North Atlantic"
        axes = _write_axes(file, days)
        wind = np.stack([ocean.wind(day) for day in days]).astype("<f4")
        _write_variable(
            file, "wind", wind, [axes["time"], axes["wind_lat"], axes["wind_lon"]],
            chunks=(1, *wind.shape[1:]), fillvalue=np.nan,
            attributes={"standard_name": "wind_speed", "long_name": "wind speed", "units": "m s-1"},
        )  # fmt: skip
        _write_variable(
            file, "sst", _packed(days), [axes["time"], axes["lat"], axes["lon"]],
            chunks=(2, 96, 96), shuffle=True, compression="gzip", compression_opts=6,
            attributes={
                "standard_name": "sea_surface_temperature",
                "long_name": "sea surface temperature",
                "units": "degree_Celsius",
                "scale_factor": 0.01,
                "add_offset": 15.0,
                "_FillValue": np.int16(FILL),
            },
        )  # fmt: skip
    return name


def _write_axes(file: h5py.File, days: list[int]) -> dict[str, h5py.Dataset]:
    """Write the coordinate variables, as dimension scales."""
    columns = {
        "time": (np.array(days, "<i4"), "time", "days since 2025-07-01"),
        "lat": (ocean.LAT.astype("<f4"), "latitude", "degrees_north"),
        "lon": (ocean.LON.astype("<f4"), "longitude", "degrees_east"),
        "wind_lat": (ocean.WIND_LAT.astype("<f4"), "latitude", "degrees_north"),
        "wind_lon": (ocean.WIND_LON.astype("<f4"), "longitude", "degrees_east"),
    }
    for name, (values, standard_name, units) in columns.items():
        missing = np.nan if values.dtype.kind == "f" else None
        axis = file.create_dataset(name, data=values, fillvalue=missing)
        axis.make_scale(name)
        axis.attrs.update(standard_name=standard_name, units=units)
    file["time"].attrs["calendar"] = "standard"
    return {name: file[name] for name in columns}


def _write_variable(
    file: h5py.File,
    name: str,
    values: NDArray[Any],
    axes: Iterable[h5py.Dataset],
    *,
    attributes: Mapping[str, object],
    **storage: Any,
) -> None:
    variable = file.create_dataset(name, data=values, **storage)
    variable.attrs.update(attributes)
    for dimension, axis in zip(variable.dims, axes, strict=True):
        dimension.attach_scale(axis)


def _packed(days: list[int]) -> NDArray[np.int16]:
    """Pack temperatures as hundredths of a degree from 15 °C."""
    celsius = np.stack([ocean.temperature(day) for day in days])
    hundredths = np.round((celsius - 15.0) * 100)
    return np.where(np.isnan(celsius), FILL, hundredths).astype("<i2")


def _kerchunk(names: list[str]) -> References:
    """Give the V0 set of all months, joined along time."""
    singles = []
    for name in names:
        with Path(name).open("rb") as file:
            singles.append(SingleHdf5ToZarr(file, name, inline_threshold=500).translate())
    joined = MultiZarrToZarr(
        singles, concat_dims=["time"], identical_dims=["lat", "lon", "wind_lat", "wind_lon"],
        inline_threshold=500,
    ).translate()  # fmt: skip
    return dict(joined["refs"])


def _land() -> References:
    """Add a mask whose only chunk is a whole file, as the chunks of a plain Zarr store are."""
    mask = ocean.land().astype("u1")
    Path("land.bin").write_bytes(mask.tobytes())
    array = {
        "zarr_format": 2, "shape": mask.shape, "chunks": mask.shape, "dtype": "|u1",
        "fill_value": None, "order": "C", "filters": None, "compressor": None,
        "dimension_separator": ".",
    }  # fmt: skip
    attributes = {
        "_ARRAY_DIMENSIONS": ["lat", "lon"],
        "long_name": "land",
        "flag_values": [0, 1],
        "flag_meanings": "sea land",
    }
    return {
        "land/.zarray": json.dumps(array),
        "land/.zattrs": json.dumps(attributes),
        "land/0.0": ["land.bin"],
    }


def _version_1(v0: References) -> References:
    """Write the same set with templates for the URLs, and the wind as one `gen`."""
    refs = {}
    for key, value in v0.items():
        if not key.startswith("wind/") or key.startswith("wind/."):
            refs[key] = _templated(value)
    _, offset, length = v0["wind/0.0.0"]
    months = len(DAYS)
    generated = {
        "key": f"wind/{{{{m * {months} + day}}}}.0.0",
        "url": "{{file(month='%02d' | format(m + 7))}}",
        "offset": f"{{{{{offset} + day * {length}}}}}",
        "length": f"{length}",
        "dimensions": {"m": {"stop": len(MONTHS)}, "day": {"stop": months}},
    }
    templates = {"file": "sst_2025-{{month}}.nc"} | {
        f"m{month}": f"sst_2025-{month}.nc" for month in MONTHS
    }
    return {"version": 1, "templates": templates, "gen": [generated], "refs": refs}


def _templated(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    url, *span = value
    month = url.removeprefix("sst_2025-").removesuffix(".nc")
    return [f"{{{{m{month}}}}}" if month in MONTHS else url, *span]


def _checked(document: References, v0: References) -> References:
    """Give `document`, once fsspec has expanded it to exactly `v0`."""
    expanded = ReferenceFileSystem(
        document, simple_templates=False, fs=fsspec.filesystem("file")
    ).references
    if dict(sorted(expanded.items())) != v0:
        raise AssertionError("the V1 set does not expand to the V0 set")
    return document


def _broken(v0: References) -> References:
    """Make ten mistakes that sets out there have; all other keys stay good."""
    refs = {key: value for key, value in v0.items() if key != "sst/4.0.1"}
    url, offset, length = v0["sst/1.0.0"]
    refs["sst/1.0.0"] = [url, offset + 64, length]
    url, offset, length = v0["sst/2.0.0"]
    refs["sst/2.0.0"] = [url, offset, length // 2]
    refs["sst/3.0.0"] = ["sst_2025-10.nc", offset, length]
    refs["sst/5.0.0"] = ["{{september}}", offset, length]
    refs["sst/6.0.0"] = ["{{m09", offset, length]
    refs["sst/7.0.0"] = [url, -1, length]
    refs["sst/8.0.0"] = [url, offset]
    refs["lat/0"] = "base64:not base64!"
    generated = {
        "key": "wind/{{i}}.0.0",
        "url": "{{m09}}",
        "offset": "{{start + i * 4608}}",
        "length": "4608",
        "dimensions": {"i": {"start": 18, "stop": 24}},
    }
    return {
        "version": 1, "templates": {"m09": "sst_2025-09.nc"}, "gen": [generated], "refs": refs,
    }  # fmt: skip


def _write_parquet(name: str, v0: References) -> None:
    """Write records of 12 rows, so that the arrays of 18 chunks need two files each."""
    shutil.rmtree(name, ignore_errors=True)
    with warnings.catch_warnings():  # kerchunk writes by an engine that pandas 4 will drop
        warnings.simplefilter("ignore")
        refs_to_dataframe(v0, name, record_size=12)


def _write_json(name: str, document: References) -> None:
    Path(name).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


SPEC_EXAMPLE_V0: References = {
    ".zgroup": {"zarr_format": 2},
    ".zattrs": {"Conventions": "UGRID-0.9.0\n"},
    "x/.zattrs": {"_ARRAY_DIMENSIONS": ["node"]},
    "x/.zarray": {
        "chunks": [9228245],
        "compressor": None,
        "dtype": "<f8",
        "fill_value": None,
        "filters": None,
        "order": "C",
        "shape": [9228245],
        "zarr_format": 2,
    },
    "x/0": ["s3://bucket/path/file.nc", 294094376, 73825960],
}
"""The example of the reference specification, Version 0, with all fields that an array needs."""

SPEC_EXAMPLE: References = {
    "version": 1,
    "templates": {"u": "server.domain/path", "f": "{{c}}"},
    "gen": [
        {
            "key": "gen_key{{i}}",
            "url": "http://{{u}}_{{i}}",
            "offset": "{{(i + 1) * 1000}}",
            "length": "1000",
            "dimensions": {"i": {"stop": 5}},
        }
    ],
    "refs": {
        "key0": "data",
        "key1": ["http://target_url", 10000, 100],
        "key2": ["http://{{u}}", 10000, 100],
        "key3": ["http://{{f(c='text')}}", 10000, 100],
    },
}
"""The example of the reference specification, Version 1."""


if __name__ == "__main__":
    make(Path(sys.argv[1]) if sys.argv[1:] else demo.path("sst.v0.json").parent)
