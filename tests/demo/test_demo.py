"""The shipped files: each set says the same, other readers agree, and they can be made again."""

from __future__ import annotations

import json
from pathlib import Path

import fsspec
import numpy as np
import pytest
import xarray

import refexplorer as rx
from refexplorer import demo as shipped
from tests.demo import ocean
from tests.helpers.loops import without_loop

# fsspec reads parquet by an engine that pandas 4 will drop
pytestmark = pytest.mark.filterwarnings("ignore:The 'fastparquet' engine:DeprecationWarning")
SST_SETS = ("sst.v0.json", "sst.v1.json", "sst.parq")


@pytest.fixture(scope="module")
def made_again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.demo.make import make

    folder = tmp_path_factory.mktemp("demo")
    without_loop(make, folder)
    return folder


def by_fsspec(path: Path, monkeypatch: pytest.MonkeyPatch) -> xarray.Dataset:
    """Decode a set with nothing of ours; fsspec takes relative URLs from the working directory."""
    monkeypatch.chdir(path.parent)
    filesystem = fsspec.filesystem(
        "reference",
        fo=str(path),
        remote_protocol="file",
        simple_templates=False,
        skip_instance_cache=True,
    )
    options = {"consolidated": False, "zarr_format": 2}
    return xarray.open_dataset(filesystem.get_mapper(), engine="zarr", backend_kwargs=options)


def test_every_set_is_there() -> None:
    assert list(shipped.sets().values())
    assert all(path.exists() for path in shipped.sets().values())
    with pytest.raises(KeyError, match=r"sst\.v1\.json"):
        shipped.path("nosuch.json")


def test_v1_and_parquet_say_what_v0_says(demo: Path) -> None:
    v0 = rx.open_references(demo / "sst.v0.json")
    v1 = rx.open_references(demo / "sst.v1.json")
    parquet = rx.open_references(demo / "sst.parq")
    assert json.loads((demo / "sst.v0.json").read_text()) == v0.to_v0() == v1.to_v0()
    assert set(parquet) == set(v0)
    for key in (key for key in v0 if v0[key].kind in ("url", "range")):
        assert parquet[key] == v0[key]


def test_all_kinds_and_a_gen_are_shown(demo: Path) -> None:
    refs = rx.open_references(demo / "sst.v1.json")
    assert all(refs.summary().kinds[kind] for kind in rx.types.Kind)
    assert refs.origin("wind/7.0.0") == "gen[0]"


@pytest.mark.parametrize("name", SST_SETS)
def test_fsspec_decodes_what_was_invented(
    name: str, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = by_fsspec(demo / name, monkeypatch)
    np.testing.assert_allclose(dataset.sst[8], ocean.temperature(43), atol=0.0051)
    np.testing.assert_allclose(dataset.wind[8], ocean.wind(43), rtol=1e-6)
    assert dataset.time[8] == np.datetime64("2025-08-13")


@pytest.mark.parametrize("name", SST_SETS)
def test_we_decode_what_was_invented(name: str, demo: Path) -> None:
    dataset = rx.open_references(demo / name).allowing(str(demo)).to_xarray()
    np.testing.assert_allclose(dataset.sst[8], ocean.temperature(43), atol=0.0051)


def test_broken_set_keeps_its_good_keys(demo: Path) -> None:
    refs = rx.open_references(demo / "broken.json")
    codes = [diagnostic.code for diagnostic in refs.diagnostics if diagnostic.severity == "error"]
    assert len(codes) == 6
    assert "sst/0.0.0" in refs
    assert "sst/5.0.0" not in refs


def test_made_again_it_has_the_same_content(
    made_again: Path, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = by_fsspec(demo / SST_SETS[0], monkeypatch).load()
    for name in SST_SETS:
        xarray.testing.assert_identical(by_fsspec(made_again / name, monkeypatch).load(), ours)
    assert {path.name for path in made_again.iterdir()} <= {path.name for path in demo.iterdir()}


def test_files_stay_small(demo: Path) -> None:
    sizes = {path: path.stat().st_size for path in demo.rglob("*") if path.suffix != ".pyc"}
    assert max(sizes.values()) < 150_000
    assert sum(sizes.values()) < 600_000
