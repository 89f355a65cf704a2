"""What an xarray user holds opens: the set behind a dataset, a store, a filesystem, a file."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import icechunk
import numpy as np
import pytest
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from zarr.storage import MemoryStore

import refexplorer as rx
from refexplorer import demo

FOLDER = demo.path("sst.v0.json").parent
ZARR: dict[str, Any] = {"engine": "zarr", "consolidated": False}


@pytest.fixture(autouse=True)
def _in_the_folder_of_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As fsspec resolves relative targets."""
    for each in FOLDER.glob("sst*"):
        copy = shutil.copytree if each.is_dir() else shutil.copy
        copy(each, tmp_path / each.name)
    shutil.copy(FOLDER / "land.bin", tmp_path)
    monkeypatch.chdir(tmp_path)


def filesystem(fo: object = "sst.v0.json", **options: Any) -> Any:
    return fsspec.filesystem("reference", fo=fo, **options)


def mapper() -> Any:
    return filesystem().get_mapper("")


def by_url() -> xr.Dataset:
    options = {"fo": "sst.v0.json"}
    return xr.open_dataset("reference://", backend_kwargs={"storage_options": options}, **ZARR)


HELD: dict[str, Callable[[], object]] = {
    "filesystem": filesystem,
    "filesystem of a dict": lambda: filesystem(json.loads(Path("sst.v0.json").read_text())),
    "mapper": mapper,
    "kerchunk": lambda: xr.open_dataset("sst.v0.json", engine="kerchunk"),
    "kerchunk in dask": lambda: xr.open_dataset("sst.v0.json", engine="kerchunk", chunks={}),
    "zarr over a mapper": lambda: xr.open_dataset(mapper(), **ZARR),
    "zarr over a URL": by_url,
    "after sel": lambda: by_url().isel(time=0, drop=True)[["sst"]],
    "after sel in dask": lambda: by_url().chunk({"time": 2}).isel(time=[0, 3])[["sst"]],
    "an array": lambda: by_url().sst,
    "datatree": lambda: xr.open_datatree(
        "reference://", storage_options={"fo": "sst.v0.json"}, **ZARR
    ),
    "group": lambda: zarr.open_group(mapper(), mode="r", zarr_format=2),
    "array": lambda: zarr.open_group(mapper(), mode="r", zarr_format=2)["sst"],
    "store": lambda: zarr.open_group(mapper(), mode="r", zarr_format=2).store,
    "own dataset": lambda: rx.open_references("sst.v0.json").to_xarray(),
    "own group": lambda: rx.open_references("sst.v0.json").to_zarr(),
    "own filesystem": lambda: rx.open_references("sst.v0.json").filesystem(),
    "open file": lambda: Path("sst.v0.json").open("rb"),  # noqa: SIM115
    "open text": lambda: Path("sst.v0.json").open(encoding="utf-8"),  # noqa: SIM115
    "fsspec's file": lambda: fsspec.open("sst.v0.json"),
    "fsspec's opened file": lambda: fsspec.filesystem("file").open("sst.v0.json"),
    "bytes in memory": lambda: io.BytesIO(Path("sst.v0.json").read_bytes()),
    "text in memory": lambda: io.StringIO(Path("sst.v0.json").read_text()),
    "path-like": lambda: Path("sst.v0.json"),
    "a set": lambda: rx.open_references("sst.v0.json"),
}


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # what is open stays with who opened it
def test_it_opens_as_the_document_does(kind: str) -> None:
    held = HELD[kind]()
    refs = rx.open_references(held)
    assert refs.to_v0() == rx.open_references("sst.v0.json").to_v0()
    if "memory" not in kind and "dict" not in kind:  # whose targets are relative to nothing
        assert refs.read("sst", (0, 0, 0)).count("fetched") == 1
    if hasattr(held, "close"):
        held.close()


def test_a_parquet_store_of_a_filesystem_opens() -> None:
    refs = rx.open_references(filesystem("sst.parq", remote_protocol="file"))
    assert refs.source.form == "parquet"


def test_a_filesystem_keeps_its_options_and_templates() -> None:
    held = filesystem(
        "sst.v1.json",
        remote_protocol="s3",
        remote_options={"anon": True},
        template_overrides={"u": "s3://other"},
    )
    refs = rx.open_references(held)
    assert refs.storage_options["s3"]["anon"] is True
    assert not refs.allowed  # what it may read is still to be said


def test_datasets_of_icechunk_open(tmp_path: Path) -> None:
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repository"))
    session = icechunk.Repository.create(storage).writable_session("main")
    xr.Dataset({"x": ("t", np.arange(4.0))}).to_zarr(session.store, consolidated=False)
    session.commit("x")
    repository = icechunk.Repository.open(storage)
    held = xr.open_zarr(repository.readonly_session("main").store, consolidated=False)
    refs = rx.open_references(held)
    assert refs.source.form == "Icechunk"
    assert refs.arrays() == rx.open_references(tmp_path / "repository").arrays()
    tree = xr.open_datatree(repository.readonly_session("main").store, **ZARR)  # type: ignore[arg-type]
    assert rx.open_references(tree).arrays() == refs.arrays()


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not")
def test_datasets_of_a_manifest_store_open(tmp_path: Path) -> None:
    parser = pytest.importorskip("virtualizarr.parsers").HDFParser()
    from obstore.store import LocalStore

    store = parser(
        f"file://{tmp_path}/sst_2025-07.nc", ObjectStoreRegistry({"file://": LocalStore()})
    )
    held = xr.open_zarr(store, consolidated=False, zarr_format=3)
    refs = rx.open_references(held)
    assert refs.source.form == "VirtualiZarr"
    assert "sst" in refs.arrays()


def test_what_leads_to_no_set_says_what_to_pass() -> None:
    loaded = by_url().load()
    loaded.close()
    cases = {
        "Dataset": xr.Dataset({"x": ("t", np.arange(4.0))}),
        "DataArray": xr.DataArray([1]),
        "Group": zarr.open_group(MemoryStore(), mode="w"),
        "DataTree": xr.DataTree(),
    }
    for kind, held in cases.items():
        with pytest.raises(
            rx.errors.SourceError,
            match=rf"This {kind} does not come from a reference set.*Pass the path",
        ):
            rx.open_references(held)
    netcdf = xr.open_dataset("sst_2025-07.nc", engine="h5netcdf")
    with pytest.raises(rx.errors.SourceError, match=r'rx\.explore\("sst_2025-07\.nc"\)\.$'):
        rx.open_references(netcdf)
    netcdf.close()


def test_values_of_two_sets_are_not_one() -> None:
    document = json.loads(Path("sst.v0.json").read_text())
    one = xr.open_dataset(filesystem(document).get_mapper(""), chunks={}, **ZARR)[["sst"]]
    document.pop("sst/0.0.0")
    two = xr.open_dataset(filesystem(document).get_mapper(""), chunks={}, **ZARR)
    with pytest.raises(rx.errors.SourceError, match="combines 2 reference sets"):
        rx.open_references(one.assign(wind=two.wind))


def test_a_list_of_sets_is_a_set_of_groups() -> None:
    refs = rx.open_references(["sst.v0.json", "sst.parq"])
    assert {path.partition("/")[0] for path in refs.arrays()} == {"sst.v0.json", "sst.parq"}
    assert refs.read("sst.parq/sst", (0, 0, 0)).count("fetched") == 1
    held = [
        rx.open_references("sst.v0.json"),
        by_url(),
        json.loads(Path("sst.v1.json").read_text()),
    ]
    third = rx.open_references(held)
    assert {path.partition("/")[0] for path in third.arrays()} == {"0", "1", "2"}
    assert third.read("1/sst", (0, 0, 0)).values == refs.read("sst.parq/sst", (0, 0, 0)).values
    assert third.to_datatree()["0/sst"].shape == (18, 96, 192)


def test_a_set_of_groups_reads_no_further_than_its_sets(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    secret = tmp_path / "secret"
    secret.write_bytes(b"12345678")
    metadata = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<f8", "fill_value": None}
    metadata |= {"order": "C", "filters": None, "compressor": None}
    document = {".zgroup": {"zarr_format": 2}, "x/.zarray": metadata, "x/0": ["../secret"]}
    for name in ("a", "b"):
        (tmp_path / name / "set.json").write_text(json.dumps(document))
    refs = rx.open_references([tmp_path / "a/set.json", tmp_path / "b/set.json"])
    with pytest.raises(rx.errors.AccessError):
        refs.read("a/set.json/x")


def test_errors_of_grouped_sets_are_reported() -> None:
    with pytest.warns(rx.errors.LeftOutWarning, match="not listed in the combined set"):
        rx.open_references([{"x/0": "a"}, {"x/0": 5}])


def test_an_open_set_takes_no_templates() -> None:
    refs = rx.open_references("sst.v1.json")
    with pytest.raises(rx.errors.SourceError, match="open already: pass templates"):
        rx.open_references(refs, templates={"u": "x"})
    assert rx.open_references(refs) is refs
    assert rx.open_references(refs, storage_options={"s3": {}}).storage_options == {"s3": {}}
