"""Groups and datasets open from metadata alone, and give the values of the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr

import refexplorer as rx
from tests.helpers.servers import RangeServer
from tests.helpers.sets import DEMO


def hdf5(path: Path) -> None:
    """A file with groups, filters, texts, records, big-endian numbers and a single value."""
    with h5py.File(path, "w") as file:
        values = np.arange(60, dtype="f4").reshape(6, 10)
        packed = {"chunks": (4, 5), "compression": "gzip", "shuffle": True, "fletcher32": True}
        file.create_dataset("a/values", data=values, **packed)
        file.create_dataset("a/b/big", data=np.arange(5, dtype=">i4"), chunks=(2,))
        file.create_dataset("a/b/single", data=2.5)
        file.create_dataset("records", data=np.array([(1, 2.5)] * 3, [("n", "<i2"), ("v", "<f8")]))
        file.create_dataset("names", data=np.array([b"ab", b"cd"], dtype="S2"))


def described(path: Path) -> dict[str, Any]:
    """References to the chunks of a file, where h5py finds them."""
    document: dict[str, Any] = {".zgroup": {"zarr_format": 2}}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Group):
            document[f"{name}/.zgroup"] = {"zarr_format": 2}
            return
        packed = [{"id": "shuffle", "elementsize": item.dtype.itemsize}] if item.shuffle else []
        checked = [{"id": "fletcher32"}] if item.fletcher32 else []
        zipped = [{"id": "zlib", "level": 4}] if item.compression else []
        dtype = item.dtype.descr if item.dtype.names else item.dtype.str
        document[f"{name}/.zarray"] = {
            "zarr_format": 2, "shape": item.shape, "chunks": item.chunks or item.shape,
            "dtype": dtype, "order": "C", "fill_value": None, "compressor": None,
            "filters": packed + zipped + checked or None,
        }  # fmt: skip
        names = [f"{name.replace('/', '_')}_{axis}" for axis in range(item.ndim)]
        document[f"{name}/.zattrs"] = {"_ARRAY_DIMENSIONS": names}
        if item.chunks is None:
            key = ".".join("0" for _ in item.shape) or "0"
            size = item.id.get_storage_size()
            document[f"{name}/{key}"] = [str(path), item.id.get_offset(), size]
            return
        for number in range(item.id.get_num_chunks()):
            chunk = item.id.get_chunk_info(number)
            places = zip(chunk.chunk_offset, item.chunks, strict=True)
            key = ".".join(str(start // step) for start, step in places)
            document[f"{name}/{key}"] = [str(path), chunk.byte_offset, chunk.size]

    with h5py.File(path) as file:
        file.visititems(visit)
    return document


@pytest.fixture
def groups(tmp_path: Path) -> tuple[rx.ReferenceSet, Path]:
    hdf5(tmp_path / "f.h5")
    text = json.dumps(described(tmp_path / "f.h5"), default=list)
    return rx.open_references(text), tmp_path / "f.h5"


def test_a_tree_of_groups_has_the_values_of_the_file(groups: tuple[rx.ReferenceSet, Path]) -> None:
    refs, path = groups
    tree = refs.allowing(str(path.parent)).to_datatree()
    assert set(tree.groups) == {"/", "/a", "/a/b"}
    with h5py.File(path) as file:
        for name in ("a/values", "a/b/big", "a/b/single", "names"):
            np.testing.assert_array_equal(tree[f"/{name}"].values, file[name][()])
    tree.close()


def test_one_group(groups: tuple[rx.ReferenceSet, Path]) -> None:
    refs, path = groups
    with refs.allowing(str(path.parent)).to_xarray(group="/a/b") as dataset:
        assert set(dataset.data_vars) == {"big", "single"}
    for name, why in (("nowhere", "no such path"), ("a/values", "is an array")):
        with pytest.raises(rx.errors.DecodeError, match=why):
            refs.to_xarray(group=name)


def test_ladders_and_chunks_have_the_values_of_the_file(
    groups: tuple[rx.ReferenceSet, Path],
) -> None:
    refs, path = groups
    with h5py.File(path) as file:
        ladder = refs.allowing(str(path.parent)).trace("a/values/0.1")
        np.testing.assert_array_equal(ladder.values, file["a/values"][:4, 5:])
        chunk = refs.allowing(str(path.parent)).chunk("records", (0,))
        np.testing.assert_array_equal(chunk.values, file["records"][()])


def test_opening_a_tree_reads_nothing(server: RangeServer) -> None:
    document: dict[str, Any] = {".zgroup": '{"zarr_format": 2}', "g/.zgroup": '{"zarr_format": 2}'}
    metadata = (
        '{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f8", "compressor": null, '
        '"filters": null, "order": "C", "fill_value": 0}'
    )
    units = '{"_ARRAY_DIMENSIONS": ["time"], "units": "days since 2000-01-01"}'
    for name in ("time", "g/time"):
        document[f"{name}/.zarray"] = metadata
        document[f"{name}/.zattrs"] = units
        document[f"{name}/0"] = [f"{server.url}/f", 0, 32]
    refs = rx.open_references(document)
    tree = refs.allowing(server.url).to_datatree(coordinates=False)
    assert repr(tree)
    assert server.requests == []
    server.files["/f"] = np.arange(4, dtype="<f8").tobytes()
    with refs.allowing(server.url).to_xarray(coordinates=True) as dataset:
        assert dataset["time"].dtype.kind == "M"
    tree.close()


def test_a_tree_of_zarr_3(tmp_path: Path) -> None:
    root = zarr.open_group(str(tmp_path / "s"), mode="w")
    root.create_array("g/x", shape=(3,), dtype="i2", dimension_names=["x"])[...] = [1, 2, 3]
    files = [path for path in (tmp_path / "s").rglob("*") if path.is_file()]
    refs = rx.open_references(
        {
            str(path.relative_to(tmp_path / "s")): path.read_text()
            if path.name == "zarr.json"
            else [str(path)]
            for path in files
        }
    )
    tree = refs.allowing(str(tmp_path)).to_datatree()
    assert np.asarray(tree["/g/x"]).tolist() == [1, 2, 3]
    tree.close()


def test_dask_is_optional_and_lazy() -> None:
    pytest.importorskip("dask")
    with rx.open_references(DEMO / "sst.v0.json").to_xarray(chunks={}) as dataset:
        assert dataset["sst"].chunks is not None


def test_a_group_that_holds_groups_alone_is_no_empty_dataset(tmp_path: Path) -> None:
    hdf5(tmp_path / "f.h5")
    document = {key: value for key, value in described(tmp_path / "f.h5").items()
                if not key.startswith(("records", "names"))}  # fmt: skip
    refs = rx.open_references(document)
    with pytest.raises(
        rx.errors.DecodeError, match=r"The root group has no arrays.*group='a'"
    ) as raised:
        refs.to_xarray()
    assert "refs.to_datatree() opens all" in str(raised.value)
    assert rx.open_references({".zgroup": '{"zarr_format": 2}'}).to_xarray().sizes == {}
