"""Sets joined along a dimension: the values are xarray's, and unlike ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
import zarr

import refexplorer as rx
from tests.helpers.commands import run
from tests.helpers.servers import range_server

pytestmark = pytest.mark.filterwarnings(
    "ignore::refexplorer.errors.LeftOutWarning",
    "ignore:Numcodecs codecs are not in the Zarr version 3",
)
SCALED = {"dtype": "i2", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": np.int16(-9)}


_WRITTEN: dict[str, bytes] = {}
"""What was written before: xarray takes some ten milliseconds for each file."""


def month(path: Path, number: int, encoding: dict[str, Any] | None = None, **more: Any) -> Path:
    """Write two days of a month; `more` are other variables."""
    name = repr((number, encoding, {each: value.to_dict() for each, value in more.items()}))
    if name not in _WRITTEN:
        _write_month(path, number, encoding or {}, more)
        _WRITTEN[name] = path.read_bytes()
    path.write_bytes(_WRITTEN[name])
    return path


def _write_month(path: Path, number: int, encoding: dict[str, Any], more: dict[str, Any]) -> None:
    days = np.array([f"2024-{number:02}-01", f"2024-{number:02}-02"], "M8[ns]")
    values = np.arange(20.0).reshape(2, 10) + 100 * number
    made = xr.Dataset(
        {"v": (("time", "x"), values, {"units": "K"})},
        coords={"time": days, "x": np.arange(10.0)},
    ).assign(more)
    how = {"chunksizes": (1, 10), "zlib": True} | encoding
    units = {"units": f"days since 2024-{number:02}-01"}  # each file with its own
    made.to_netcdf(path, engine="h5netcdf", encoding={"v": how, "time": units})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in (1, 2, 3):
        month(tmp_path / f"{number}.nc", number)
    return tmp_path


def decoded(refs: Any) -> xr.Dataset:
    return xr.decode_cf(refs.to_xarray().load())


def expected(*paths: Path) -> xr.Dataset:
    parts = [xr.load_dataset(path, engine="h5netcdf") for path in paths]
    return xr.concat(parts, "time", data_vars="minimal")


def test_the_values_are_those_of_xarray(folder: Path) -> None:
    refs = rx.open_references(str(folder / "*.nc"), concat_dim="time")
    paths = sorted(folder.glob("*.nc"))
    xr.testing.assert_equal(decoded(refs), expected(*paths))
    assert {target.url for target in refs.targets()} == {*map(str, paths)}
    assert refs.source.joined_along == "time"
    assert f"open_references({str(folder / '*.nc')!r}, concat_dim='time')" in refs.code()


@pytest.mark.parametrize("bounds", ["bounds", "climatology"])
def test_bounds_of_times_with_other_epochs(bounds: str, tmp_path: Path) -> None:
    for number in (1, 2):
        day = ("time", "nv"), np.array([[0, 1], [1, 2]], "i4")  # in the units of the times
        month(tmp_path / f"{number}.nc", number, edges=xr.Variable(*day))
        with h5py.File(tmp_path / f"{number}.nc", "a") as file:
            file["time"].attrs[bounds] = "edges"
    refs = rx.open_references(str(tmp_path / "*.nc"), concat_dim="time")
    starts = refs.read("edges").values[:, 0]
    assert (starts == refs.read("time").values).all()
    assert refs.allowing(f"file://{tmp_path}").verify(values="all").status == 0


def test_in_the_order_given(folder: Path) -> None:
    paths = [folder / "3.nc", folder / "1.nc"]
    refs = rx.open_references(paths, concat_dim="time")
    xr.testing.assert_equal(decoded(refs), expected(*paths))


def test_along_a_new_dimension(tmp_path: Path) -> None:
    paths = [month(tmp_path / "a.nc", 1), month(tmp_path / "b.nc", 1)]
    refs = rx.open_references(paths, concat_dim="run")
    assert refs.to_xarray()["v"].dims == ("run", "time", "x")
    with pytest.raises(rx.errors.SourceError, match="cannot be concatenated along 'run'"):
        rx.open_references([paths[0], month(tmp_path / "c.nc", 2)], concat_dim="run")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"scale_factor": 0.25}, "scale_factor of v is 0.5 in a.nc and 0.25 in b.nc"),
        ({"add_offset": 2.0}, "add_offset of v"),
        ({"dtype": "i4"}, "dtype of v"),
        ({"_FillValue": np.int16(-8)}, "of v"),
        ({"zlib": False}, "of v"),
        ({"chunksizes": (2, 5)}, "has chunks of"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_means_different_things_is_refused(
    change: dict[str, Any], what: str, tmp_path: Path
) -> None:
    paths = [
        month(tmp_path / "a.nc", 1, SCALED),
        month(tmp_path / "b.nc", 2, SCALED | change),
    ]
    with pytest.raises(rx.errors.SourceError, match=what):
        rx.open_references(paths, concat_dim="time")


def test_units_that_differ_are_refused(tmp_path: Path) -> None:
    other = xr.Variable(("time", "x"), np.zeros((2, 10)), {"units": "degC"})
    paths = [month(tmp_path / "a.nc", 1), month(tmp_path / "b.nc", 2, v=other)]
    with pytest.raises(
        rx.errors.SourceError, match=r'units of v is "K" in a\.nc and "degC" in b\.nc'
    ):
        rx.open_references(paths, concat_dim="time")


def test_arrays_that_are_not_in_each(tmp_path: Path) -> None:
    more = xr.Variable(("x",), np.zeros(10))
    paths = [month(tmp_path / "a.nc", 1), month(tmp_path / "b.nc", 2, w=more)]
    with pytest.raises(rx.errors.SourceError, match=r"w is in b\.nc but not in a\.nc"):
        rx.open_references(paths, concat_dim="time")


def test_what_was_not_compared_is_reported(tmp_path: Path) -> None:
    mask = xr.Variable(("x",), np.arange(10.0))
    paths = [month(tmp_path / f"{number}.nc", number, mask=mask) for number in (1, 2)]
    with pytest.warns(
        rx.errors.LeftOutWarning, match=r"time are those of 1\.nc and were not .* mask\."
    ):
        rx.open_references(paths, concat_dim="time")


def test_sets_of_references_are_joined_too(folder: Path) -> None:
    paths = [folder / "1.nc", folder / "2.nc"]
    for path in paths:
        rx.open_references(path).to_json(path.with_suffix(".json"))
    refs = rx.open_references([path.with_suffix(".json") for path in paths], concat_dim="time")
    xr.testing.assert_equal(decoded(refs), expected(*paths))


def test_one_source_is_not_joined(folder: Path) -> None:
    with pytest.raises(rx.errors.SourceError, match="Several sources are concatenated"):
        rx.open_references(folder / "1.nc", concat_dim="time")


def test_the_commands(folder: Path) -> None:
    pattern = folder / "*.nc"
    ran = run("convert", pattern, folder / "all.json", "--concat-dim", "time")
    assert ran.status == 0, ran.err
    xr.testing.assert_equal(
        decoded(rx.open_references(folder / "all.json")), expected(*sorted(folder.glob("*.nc")))
    )
    told = json.loads(run("info", pattern, "--concat-dim", "time", "--json").out)
    assert {each["path"]: each["shape"] for each in told["arrays"]}["v"] == [6, 10]
    ran = run("info", folder / "1.nc", "--concat-dim", "time")
    assert (ran.status, ran.out) == (2, "")


@pytest.mark.server
def test_from_servers(folder: Path) -> None:
    with range_server() as server:
        for name in ("1.nc", "2.nc"):
            server.files[f"/{name}"] = (folder / name).read_bytes()
        urls = [f"{server.url}/1.nc", f"{server.url}/2.nc"]
        refs = rx.open_references(urls, concat_dim="time")
        xr.testing.assert_equal(decoded(refs), expected(folder / "1.nc", folder / "2.nc"))
        assert {target.url for target in refs.targets()} == {*urls}


def parts(folder: Path, *lengths: int, **more: Any) -> list[tuple[Path, xr.Dataset]]:
    """Write stores of Zarr v3 with a few times each."""
    made, begin = [], 0
    for number, length in enumerate(lengths):
        values = np.arange(begin * 12, (begin + length) * 12, dtype="f4").reshape(length, 3, 4)
        dataset = xr.Dataset(
            {
                "v": (("time", "y", "x"), values, {"units": "K", "from": number}),
                "area": (("y", "x"), np.ones((3, 4))),
            },
            coords={
                "time": np.arange(begin, begin + length).astype("M8[D]").astype("M8[ns]"),
                "x": np.arange(4) * 10,
            },
            attrs={"title": "of all", "number": number},
        )
        path = folder / f"{number}.zarr"
        how = {
            "v": {"chunks": (2, 3, 4)} | more,
            "time": {"units": f"hours since 202{number}-01-01"},
        }
        dataset.to_zarr(path, zarr_format=3, consolidated=False, encoding=how)
        made.append((path, dataset))
        begin += length
    return made


def of_v3(refs: rx.ReferenceSet) -> xr.Dataset:
    assert {refs.array(path).zarr_format for path in refs.arrays()} == {3}
    return refs.to_xarray(coordinates=True).load()


@pytest.mark.parametrize("more", [{}, {"chunks": (2, 2, 2), "shards": (2, 4, 4)}])
def test_zarr_v3(more: dict[str, Any], tmp_path: Path) -> None:
    made = parts(tmp_path, 2, 4, 1, **more)
    refs = rx.open_references([path for path, _ in made], concat_dim="time")
    found = of_v3(refs)
    wanted = xr.concat(
        [each for _, each in made], "time", data_vars="minimal", combine_attrs="drop_conflicts"
    )
    xr.testing.assert_identical(found, wanted)
    assert not [key for key in refs if key.startswith("v/c/") and refs[key].kind != "url"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"chunks": (1, 2, 2), "shards": (2, 4, 4)},
        {"filters": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}}]},
    ],
)
def test_zarr_v3_along_a_new_dimension(more: dict[str, Any], tmp_path: Path) -> None:
    ((path, dataset),) = parts(tmp_path, 3, **more)
    found = of_v3(rx.open_references([path, path], concat_dim="run"))
    wanted = xr.concat([dataset, dataset], "run", data_vars="all", coords="minimal")
    xr.testing.assert_identical(found.transpose(*wanted.dims), wanted.transpose(*wanted.dims))


def test_chunks_that_are_not_full_in_the_middle_are_refused(tmp_path: Path) -> None:
    paths = [path for path, _ in parts(tmp_path, 2, 1, 2)]
    with pytest.raises(rx.errors.SourceError, match=r"v would have an incomplete chunk before 2\."):
        rx.open_references(paths, concat_dim="time")


def days(path: Path, month: int, count: int) -> Path:
    """Write a month of days as one chunk."""
    times = np.datetime64(f"2024-{month:02}-01") + np.arange(count)
    values = np.arange(count * 4.0).reshape(count, 4) + 1000 * month
    made = xr.Dataset({"v": (("time", "x"), values)}, coords={"time": times.astype("M8[ns]")})
    encoding = {"v": {"chunksizes": (count, 4), "zlib": True, "shuffle": True}}
    made.to_netcdf(path, engine="h5netcdf", encoding=encoding)
    return path


def test_months_of_days_get_chunks_of_their_lengths(tmp_path: Path) -> None:
    paths = [days(tmp_path / f"{n}.nc", n, count) for n, count in ((1, 31), (2, 29), (3, 31))]
    refs = rx.open_references(paths, concat_dim="time")
    (axis, _) = refs.array("v").axes
    assert [axis.part(number) for number in range(axis.count)] == [
        slice(0, 31), slice(31, 60), slice(60, 91)
    ]  # fmt: skip
    assert refs.verify(values="all").headline.text == "the same as its files"
    if zarr.config.get("array.rectilinear_chunks", None) is None:
        with pytest.raises(rx.errors.DecodeError, match=r"which Zarr reads from version 3\.2 on"):
            refs.to_xarray()
    else:
        xr.testing.assert_equal(decoded(refs), expected(*paths))


def test_months_of_one_length_are_still_regular(tmp_path: Path) -> None:
    paths = [days(tmp_path / f"{n}.nc", n, count) for n, count in ((1, 31), (3, 31), (4, 30))]
    refs = rx.open_references(paths[:2], concat_dim="time")
    assert refs.array("v").zarr_format == 2
    xr.testing.assert_equal(decoded(refs), expected(*paths[:2]))


def test_other_codecs_and_other_versions_are_refused(folder: Path, tmp_path: Path) -> None:
    one = parts(tmp_path, 2)[0][0]
    (tmp_path / "other").mkdir()
    other = parts(tmp_path / "other", 2, compressors=None)[0][0]
    with pytest.raises(rx.errors.SourceError, match=r"codecs of v is .* would be wrong"):
        rx.open_references([one, other], concat_dim="time")
    with pytest.raises(rx.errors.SourceError, match=r"1\.nc uses Zarr format 2 and 0\.zarr"):
        rx.open_references([folder / "1.nc", one], concat_dim="time")


@pytest.mark.parametrize("version", [2, 3])
def test_groups(version: int, tmp_path: Path) -> None:
    trees: list[tuple[Path, Any]] = []
    for number in (0, 1):
        root, inner = (
            xr.Dataset(
                {name: (("time", "x"), np.full((2, 3), 10.0 * number + at))},
                coords={"time": np.arange(2) + 2 * number, "x": [1.0, 2.0, 3.0]},
            )
            for at, name in enumerate(("v", "w"))
        )
        still = xr.Dataset({"mask": (("x",), np.arange(3))})
        tree = xr.DataTree.from_dict({"/": root, "/a/b": inner.drop_vars("time"), "/c": still})
        path = tmp_path / (f"{number}.nc" if version == 2 else f"{number}.zarr")
        if version == 2:
            tree.to_netcdf(path, engine="h5netcdf")
        else:
            tree.to_zarr(path, zarr_format=3, consolidated=False)
        trees.append((path, tree))
    refs = rx.open_references([path for path, _ in trees], concat_dim="time")
    found: Any = refs.to_datatree(coordinates=True).load()
    for node in ("", "a/b", "c"):
        datasets = [tree[f"/{node}"].to_dataset(inherit=False) for _, tree in trees]
        wanted = datasets[0] if node == "c" else xr.concat(datasets, "time", data_vars="minimal")
        xr.testing.assert_equal(found[f"/{node}"].to_dataset(inherit=False), wanted)


def test_values_that_sets_hold_are_joined_by_keys_or_as_values(tmp_path: Path) -> None:
    def held(begin: int, length: int) -> dict[str, Any]:
        meta = {"zarr_format": 2, "shape": [length], "chunks": [length], "dtype": "|u1",
                "compressor": None, "filters": None, "order": "C", "fill_value": None}  # fmt: skip
        chunk = bytes(range(begin, begin + length)).decode()
        return {".zgroup": {"zarr_format": 2}, "n/.zarray": meta, "n/0": chunk,
                "n/.zattrs": {"_ARRAY_DIMENSIONS": ["time"]}}  # fmt: skip

    for name, lengths in (("same", (2, 2)), ("unlike", (2, 3))):
        paths = []
        for number, length in enumerate(lengths):
            paths.append(tmp_path / f"{name}{number}.json")
            paths[-1].write_text(json.dumps(held(10 * number + 1, length)))
        refs = rx.open_references(paths, concat_dim="time")
        assert refs.to_xarray()["n"].to_numpy().tolist() == [1, 2, 11, 12, 13][: sum(lengths)]
        assert ("n/1" in refs) == (name == "same")
