"""In xarray's own places: the engine and the accessor, against what xarray itself reads."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import refexplorer as rx
from refexplorer import demo

SET = demo.path("sst.v0.json")
PLAIN: dict[str, Any] = {"engine": "refexplorer"}
LABELS: dict[str, Any] = {"time": "2025-07-08", "lat": 45, "lon": -30, "method": "nearest"}


def by_fsspec(tmp_path: Path) -> xr.Dataset:
    """The same set, read by fsspec and Zarr alone."""
    document = json.loads(SET.read_text())
    refs = document.get("refs", document)
    for value in refs.values():
        if isinstance(value, list) and "://" not in value[0]:
            value[0] = str(SET.parent / value[0])
    path = tmp_path / "absolute.json"
    path.write_text(json.dumps(document))
    options = {"storage_options": {"fo": str(path)}, "consolidated": False}
    return xr.open_dataset("reference://", engine="zarr", backend_kwargs=options)


def test_the_engine_reads_what_fsspec_reads(tmp_path: Path) -> None:
    with xr.open_dataset(SET, **PLAIN) as ours, by_fsspec(tmp_path) as other:
        xr.testing.assert_identical(ours, other)
        assert {*ours.xindexes} == {*other.xindexes}
    with xr.open_dataset(SET, chunks={}, **PLAIN) as lazy, by_fsspec(tmp_path) as other:
        xr.testing.assert_identical(pickle.loads(pickle.dumps(lazy)).compute(), other)
    with xr.open_dataset(SET, mask_and_scale=False, drop_variables=["wind"], **PLAIN) as raw:
        assert raw.sst.dtype == "int16"
        assert "wind" not in raw


def test_the_engine_opens_groups() -> None:
    document = {f"a/b/{key}": value for key, value in json.loads(SET.read_text()).items()}
    document |= {".zgroup": {"zarr_format": 2}, "a/.zgroup": {"zarr_format": 2}}
    for value in document.values():
        if isinstance(value, list):
            value[0] = str(SET.parent / value[0])
    allow = [str(SET.parent)]
    with xr.open_dataset(document, group="a/b", allow=allow, **PLAIN) as inner:  # type: ignore[arg-type]
        assert inner.sst.shape == (18, 96, 192)
    tree = xr.open_datatree(document, allow=allow, **PLAIN)  # type: ignore[arg-type]
    assert tree["a/b/sst"].shape == (18, 96, 192)
    assert "/a/b" in xr.open_groups(document, allow=allow, **PLAIN)  # type: ignore[arg-type]


def test_the_engine_keeps_the_access_policy(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    document = json.loads(SET.read_text())
    for value in document.values():
        if isinstance(value, list):
            value[0] = str(SET.parent / value[0])
    (folder / "set.json").write_text(json.dumps(document))
    with pytest.raises(rx.errors.AccessError, match=r"allow=\["):
        xr.open_dataset(folder / "set.json", **PLAIN)
    unread = xr.open_dataset(
        folder / "set.json", create_default_indexes=False, decode_times=False, **PLAIN
    )
    with pytest.raises(rx.errors.AccessError):
        unread.sst.load()
    with xr.open_dataset(folder / "set.json", allow=[str(SET.parent)], **PLAIN) as allowed:
        assert np.isfinite(allowed.sst.isel(time=0)).any()
    with pytest.raises(rx.errors.SourceError):
        xr.open_dataset(tmp_path / "none.json", **PLAIN)


def test_why_by_labels_is_the_value_that_xarray_shows(tmp_path: Path) -> None:
    with by_fsspec(tmp_path) as ds:
        whole = ds.refs.allowing(str(SET.parent))
        trace = whole.why("sst", **LABELS)
        expected = ds.sst.sel(time="2025-07-08").sel(lat=45, lon=-30, method="nearest")
        assert str(expected.item())[:5] in str(trace)
        places = {name: np.atleast_1d(expected[name].values) for name in ds.sst.dims}
        index = [int(ds.indexes[name].get_indexer(place)[0]) for name, place in places.items()]
        assert _first(trace).startswith(f"sst{index}")
        # A part of it, turned around and under another name, is still traced to its own place.
        part = ds.isel(time=slice(1, 9), lat=slice(None, None, -1)).rename(sst="warmth")
        again = part.refs.allowing(str(SET.parent)).why("warmth", **LABELS)
        assert _first(again) == _first(trace)
        one = ds.sst.isel(time=1).refs.allowing(str(SET.parent))
        assert _first(one.why(lat=45, lon=-30, method="nearest")) == _first(trace)


def test_a_value_that_was_computed_is_not_explained_as_a_stored_one(monkeypatch: Any) -> None:
    pytest.importorskip("kerchunk.xarray_backend")
    monkeypatch.chdir(SET.parent)  # fsspec resolves the demo's relative paths against it
    with xr.open_dataset(str(SET), engine="kerchunk") as ds:
        names = {name: ds[name][40 if name == "lon" else 9].values for name in ds.sst.dims}
        said = _first(ds.sst.refs.why(**names))
        assert f"attributes {float(ds.sst.sel(names)):.4g}"[:15] in said
        assert _first(ds.sst.copy().load().refs.why(**names)) == said
        computed = ds.sst * 2, ds.sst.shift(time=1), ds.sst - ds.sst.mean("time")
        for each in computed:
            with pytest.raises(rx.RefexplorerError, match="This value was computed: it is "):
                each.rename("sst").refs.why(**names)
        with pytest.raises(rx.RefexplorerError, match="which this array no longer has"):
            ds.sst.mean("time").refs.why(lat=names["lat"], lon=names["lon"])


def _first(trace: rx.types.Trace) -> str:
    return str(trace).splitlines()[0]


def test_file_of_names_the_file(tmp_path: Path) -> None:
    with by_fsspec(tmp_path) as ds:
        accessor = ds.refs.allowing(str(SET.parent))
        assert accessor.file_of("sst", **LABELS) == str(SET.parent / "sst_2025-07.nc")
        with pytest.raises(rx.RefexplorerError, match="in the set itself"):
            accessor.file_of("time", time="2025-07-08")


def test_a_dataset_has_one_set_after_its_accessor_was_used_and_pickled() -> None:
    dataset = xr.open_dataset(SET, **PLAIN)
    keys = set(dataset.refs.references)
    assert set(rx.open_references(dataset)) == keys
    again = pickle.loads(pickle.dumps(dataset))
    assert set(again.refs.references) == keys


def test_labels_that_are_not_of_one_value_are_refused(tmp_path: Path) -> None:
    with by_fsspec(tmp_path) as ds:
        accessor = ds.refs.allowing(str(SET.parent))
        cases: dict[str, dict[str, Any]] = {
            "add lat=": {"array": "sst", "time": "2025-07-08"},
            "no such label": {"array": "sst", "time": "1999-01-01", "lat": 45, "lon": 0},
            "Name one variable": {"time": "2025-07-08"},
            "no variable 'x'": {"array": "x"},
            "names 12 values of sst; name one, such as time=": {
                "array": "sst", "time": slice("2025-07", "2025-08"), "lat": 45.25, "lon": -29.75
            },
        }  # fmt: skip
        for match, asked in cases.items():
            with pytest.raises(rx.RefexplorerError, match=match):
                accessor.why(**asked)
        with pytest.raises(rx.RefexplorerError, match="has no dimension depth"):
            accessor.why("sst", depth=3, **LABELS)


def test_explore_shows_the_array(tmp_path: Path) -> None:
    with by_fsspec(tmp_path) as ds:
        assert ds.refs.explore().references.arrays() == ds.refs.references.arrays()
        assert ds.sst.refs.explore().selection == "sst"
        assert "<div" in ds.refs._repr_html_()
        assert repr(ds.refs) == repr(ds.refs.references)


def test_what_has_no_set_says_so() -> None:
    with pytest.raises(rx.errors.SourceError, match="does not come from a reference set"):
        _ = xr.Dataset({"x": ("t", [1])}).refs.references


@pytest.mark.parametrize(
    "first",
    ["import refexplorer, xarray", "import xarray, refexplorer", "import xarray"],
)
def test_the_accessor_is_there_whatever_is_imported_first(first: str) -> None:
    code = (
        f"{first}; import sys; ds = xarray.open_dataset({str(SET)!r}, engine='refexplorer'); "
        "print(len(ds.refs.references) > 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "True\n", ran.stderr


def test_importing_xarray_imports_nothing_of_ours() -> None:
    """And what its first opening imports is small: no reader, no widget, no front end."""
    code = (
        "import sys, xarray; print([n for n in sys.modules if 'refexplorer' in n]); "
        "xarray.backends.list_engines(); print(*(n for n in sys.modules if n.startswith('refex')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = ran.stdout.splitlines()
    assert before == "[]"
    assert len(after.split()) < 8, after
