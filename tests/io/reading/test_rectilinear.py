"""Chunks of varying lengths: read, checked, drawn and priced like others."""

import json
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr

import refexplorer as rx
from tests.helpers.explorer import Host, later, show

SWITCH = "array.rectilinear_chunks"
HAS_GRID = zarr.config.get(SWITCH, None) is not None
newest = pytest.mark.skipif(not HAS_GRID, reason="Zarr 3.2 and newer have rectilinear grids")
EDGES = [[2, 3, 5], [4, 3]]
VALUES = np.arange(70, dtype="<i4").reshape(10, 7)
DAYS = [31, 28, 31]


def metadata(shape: list[int], chunk_shapes: list[Any], **fields: Any) -> dict[str, Any]:
    grid = {"kind": "inline", "chunk_shapes": chunk_shapes}
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32",
        "chunk_grid": {"name": "rectilinear", "configuration": grid}, "fill_value": -1,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {},
        "dimension_names": ["t", "y"][: len(shape)], "storage_transformers": [],
    } | fields  # fmt: skip


def parts(edges: list[list[int]]) -> list[tuple[tuple[int, ...], tuple[slice, ...]]]:
    sides = [[0, *np.cumsum(along).tolist()] for along in edges]
    indices = np.ndindex(*map(len, edges))
    return [
        (index, tuple(slice(side[at], side[at + 1]) for side, at in zip(sides, index, strict=True)))
        for index in indices
    ]


@pytest.fixture
def refs(tmp_path: Path) -> rx.ReferenceSet:
    """A set whose chunks are ranges of one file, but for one that it has no reference for."""
    found: dict[str, Any] = {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group"})}
    found["x/zarr.json"] = json.dumps(metadata([10, 7], EDGES))
    data = b""
    for index, part in parts(EDGES):
        chunk = VALUES[part].tobytes()
        if index != (1, 1):
            key = f"x/c/{'/'.join(map(str, index))}"
            found[key] = [str(tmp_path / "data"), len(data), len(chunk)]
        data += chunk
    (tmp_path / "data").write_bytes(data)
    return rx.open_references(found).allowing(str(tmp_path))


@pytest.fixture
def expected() -> np.ndarray:
    values = VALUES.copy()
    values[2:5, 4:7] = -1
    return values


@pytest.mark.parametrize(
    "part", [..., (slice(1, 9, 3),), (4, slice(3, 5)), (slice(5, 5),), (slice(None), 6)]
)
def test_every_part_is_read(refs: rx.ReferenceSet, expected: np.ndarray, part: Any) -> None:
    np.testing.assert_array_equal(np.asarray(refs.read("x", part)), expected[part])
    if not HAS_GRID:
        return
    opened: Any = refs.to_zarr()
    np.testing.assert_array_equal(opened["x"][part], expected[part])
    np.testing.assert_array_equal(refs.to_xarray(mask_and_scale=False)["x"][part], expected[part])


def _total(refs: rx.ReferenceSet) -> int:
    opened: Any = refs.to_zarr()
    return int(opened["x"][:].sum()) + int(np.asarray(refs.read("x")).sum())


@newest
def test_another_process_reads_the_same(refs: rx.ReferenceSet, expected: np.ndarray) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(_total, refs).result() == 2 * expected.sum()


def test_a_picture_and_a_value_are_of_the_right_chunk(
    refs: rx.ReferenceSet, expected: np.ndarray
) -> None:
    host = Host(refs)
    reading, values = host.read("x", None, slices=["1:9", ":"])
    assert reading["state"] == "fetched"
    assert reading["chunk_runs"] == [
        [[0, 0, 2], [1, 2, 3], [2, 5, 5]],
        [[0, 0, 4], [1, 4, 3]],
    ]
    found = np.where(np.isnan(values), -1, values).reshape(8, 7)
    np.testing.assert_array_equal(found, expected[1:9])
    traced = refs.why("x", (6, 5))
    assert (traced.chunk, traced.raw) == ((2, 1), VALUES[6, 5])
    assert refs.why("x", (3, 5)).state == "fill"


def test_the_map_counts_the_chunks_of_the_grid(refs: rx.ReferenceSet) -> None:
    grid, (counts, *_) = show(Host(refs), "x")
    assert grid["grid"] == [3, 2]
    assert counts.reshape(len(grid["states"]), -1)[0].sum() == 1
    assert refs.summary("x").missing == 1
    page = later(Host(refs), "health.rows", sort="path", descending=False, start=0, n=9)[0]
    assert [(row["chunks"], row["varying"]) for row in page["rows"]] == [([5, 4], True)]


def test_nothing_is_wrong_with_a_sound_set(refs: rx.ReferenceSet) -> None:
    assert not [each for each in refs.diagnostics if each.code != "missing-chunks"] or not HAS_GRID
    assert "5 chunks decode" in str(refs.audit())
    assert refs.trace("x/c/2/1").values.tolist() == VALUES[5:, 4:].tolist()  # type: ignore[union-attr]


def test_a_chunk_of_another_length_is_found(refs: rx.ReferenceSet, tmp_path: Path) -> None:
    document: dict[str, Any] = dict(refs.to_v0())
    document["x/c/0/0"][2] -= 4
    broken = rx.open_references(document).allowing(str(tmp_path))
    assert "28 B (28 bytes) were decoded, but 8 elements of <i4 take 32" in str(broken.audit())
    (finding,) = [each for each in broken.diagnostics if each.code == "chunk-length"]
    assert "`x/c/0/0` has 28 bytes" in finding.message
    assert "takes 32: 2 x 4 elements" in finding.message


def test_advice_counts_the_values_of_each_chunk(refs: rx.ReferenceSet) -> None:
    report = refs.advise()
    row = next(each for each in report.accesses if each.selection == "[0, :]")
    assert (row.chunks, row.decoded, row.used) == (2, 4 * 14, 4 * 7)
    given = refs.advise({"x": [slice(4, 8)]})
    row = next(each for each in given.accesses if each.name == "as given")
    assert (row.chunks or 0) + (row.absent or 0) == 2 * 2  # 4-5 5-8


@pytest.mark.skipif(HAS_GRID, reason="for a Zarr that does not know the grid")
@pytest.mark.parametrize("read", [lambda r: r.to_zarr()["x"], lambda r: r.to_xarray()])
def test_an_older_zarr_is_named(refs: rx.ReferenceSet, read: Callable[[Any], Any]) -> None:
    with pytest.raises(
        rx.errors.DecodeError, match=r"which Zarr reads from version 3\.2 on, with Python"
    ):
        read(refs)
    (finding,) = [each for each in refs.diagnostics if each.code == "bad-metadata"]
    assert "which Zarr reads from version 3.2 on" in finding.message


@newest
def test_no_more_chunks_than_zarr_can_list_are_given_to_it(refs: rx.ReferenceSet) -> None:
    document = dict(refs.to_v0())
    document["x/zarr.json"] = json.dumps(metadata([2 * 10**12, 7], [[[1, 10**12], [2, 10**12]], 7]))
    large = rx.open_references(document)
    assert large.array("x").grid == (15 * 10**11, 1)
    with pytest.raises(rx.errors.DecodeError, match="chunks of varying lengths along a dimension"):
        large.to_zarr()["x"]  # type: ignore[index]


@pytest.fixture
def months(tmp_path: Path) -> rx.ReferenceSet:
    """Days of months, one HDF5 file a month, joined along a grid with the months' lengths."""
    found: dict[str, Any] = {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group"})}
    fields = {"dimension_names": ["time", "y"], "fill_value": 0}
    found["x/zarr.json"] = json.dumps(metadata([sum(DAYS), 3], [DAYS, 3], **fields))
    for number, days in enumerate(DAYS):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w") as file:
            values = np.arange(days * 3, dtype="<i4").reshape(days, 3) + 1000 * number
            data = file.create_dataset("x", data=values, chunks=(days, 3))
            chunk = data.id.get_chunk_info(0)
        found[f"x/c/{number}/0"] = [str(path), chunk.byte_offset, chunk.size]
    return rx.open_references(found).allowing(str(tmp_path))


def test_files_of_months_are_the_same(months: rx.ReferenceSet, tmp_path: Path) -> None:
    assert months.verify(values="all").headline.text == "the same as its files"
    document: dict[str, Any] = dict(months.to_v0())
    document["x/zarr.json"] = document["x/zarr.json"].replace("[31, 28, 31]", "[30, 29, 31]")
    odd = rx.open_references(document).allowing(str(tmp_path)).verify(values="all")
    assert odd.headline.text == "differs from its files"
    assert "different chunk shape (x/c/0/0: chunk shape (31, 3), the set says (30, 3)" in str(odd)


@newest
def test_code_for_others_turns_the_grid_on(refs: rx.ReferenceSet, expected: np.ndarray) -> None:
    code = refs.code("x")
    assert "zarr.config.set({'array.rectilinear_chunks': True})" in code
    named: dict[str, Any] = {"refs": refs}
    exec(code, named)
    np.testing.assert_array_equal(named["array"][:], expected)
