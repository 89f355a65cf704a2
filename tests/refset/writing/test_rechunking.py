"""Coordinates held in the set, and chunks divided: the same values, in chunks that cost less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import refexplorer as rx
from refexplorer.refset.writing.rechunking import Reshaping
from tests.helpers.costly_sets import costly_sets

URL = "https://host.example/f"


@pytest.fixture
def costly(tmp_path: Path) -> dict[str, Any]:
    """Return a set with times and rows in files of this disk, on which they are written."""
    made = costly_sets(f"file://{tmp_path}")["file for each time"]
    for path, body in made.files.items():
        (tmp_path / path.strip("/")).write_bytes(body)
    return made.refs


def converted(source: Any, output: Path, **how: Any) -> rx.ReferenceSet:
    """Convert, and open what was written."""
    keys = rx.convert(source, output, rx.Conversion(**how))
    refs = rx.open_references(output)
    assert refs.count == keys
    return refs


def values(refs: rx.ReferenceSet, allow: list[str]) -> dict[str, Any]:
    root: Any = refs.allowing(*allow).to_zarr()
    return {path: root[path][...] for path in refs.arrays()}


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for path, found in one.items():
        assert found.dtype == other[path].dtype
        np.testing.assert_array_equal(found, other[path])


@pytest.mark.parametrize("form", ["v0", "v1", "parquet"])
def test_opening_reads_no_target_once_coordinates_are_held(
    form: str, costly: dict[str, Any], tmp_path: Path
) -> None:
    before = rx.open_references(costly)
    allow = [str(tmp_path)]
    refs = converted(
        costly, tmp_path / f"a.{form}", form=form, inline_coordinates=True, allow=allow
    )
    assert_same(values(before, allow), values(refs, allow))
    for path in ("time", "y"):
        assert refs.array(path).chunks == refs.array(path).shape
        assert [key for key in refs if key.startswith(f"{path}/") and key[-1].isdigit()] == [
            f"{path}/0"
        ]
    (opening,) = refs.advise().opening
    assert (opening.chunks, opening.readers[0].requests) == (0, 0)
    # nothing is allowed: a target that opening wanted would fail
    store: Any = refs.to_zarr().store
    opened = xr.open_dataset(store, engine="zarr", consolidated=False, mask_and_scale=False)
    np.testing.assert_array_equal(opened.indexes["y"], values(before, allow)["y"])


def test_coordinates_are_read_only_where_it_is_allowed(
    costly: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(rx.RefexplorerError, match="not allowed yet"):
        converted(costly, tmp_path / "a.json", inline_coordinates=True)
    assert not (tmp_path / "a.json").exists()


def test_what_a_set_allows_is_allowed_to_verbs_as_well(
    costly: dict[str, Any], tmp_path: Path
) -> None:
    refs = rx.open_references(costly).allowing(tmp_path)
    rx.convert(refs, tmp_path / "a.json", rx.Conversion(inline_coordinates=True))
    assert rx.repair(refs).references.allowed == (str(tmp_path),)


def test_a_coordinate_with_a_chunk_that_fails_is_not_written(
    costly: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "3.nc").unlink()
    with pytest.raises(rx.RefexplorerError):
        converted(costly, tmp_path / "a.json", inline_coordinates=True, allow=[str(tmp_path)])
    assert not (tmp_path / "a.json").exists()


def plain(
    shape: list[int], chunks: list[int], version: int = 2, url: str = URL, **more: Any
) -> dict[str, Any]:
    """Return a set with one array of which every second chunk is there."""
    names = ["time", "y", "x_"][: len(shape)]
    size = 4 * int(np.prod(chunks))
    grid = [-(-extent // step) for extent, step in zip(shape, chunks, strict=True)]
    if version == 2:
        array = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<i4", "order": "C",
                 "compressor": None, "filters": None, "fill_value": 0} | more  # fmt: skip
        refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
        refs["x/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": names})
    else:
        array = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32",
                 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                 "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                 "fill_value": 0, "attributes": {}, "dimension_names": names} | more  # fmt: skip
        refs = {"zarr.json": '{"zarr_format": 3, "node_type": "group", "attributes": {}}'}
        refs["x/zarr.json"] = json.dumps(array)
    for number, index in enumerate(np.ndindex(*grid)):
        if number % 2 == 0:
            key = ".".join(map(str, index)) if version == 2 else "c/" + "/".join(map(str, index))
            refs[f"x/{key}"] = [url, 7 + number * size, size]
    return refs


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("form", ["v0", "v1", "parquet"])
@pytest.mark.parametrize(
    ("shape", "chunks", "factor", "after"),
    [
        ([8, 6], [4, 6], 4, (1, 6)),
        ([8, 6], [4, 6], None, (1, 6)),
        ([7, 5], [4, 3], 2, (2, 3)),  # chunks that reach beyond the array
        ([7, 5], [4, 6], 8, (1, 3)),  # the second dimension, once the first is divided up
        ([4, 6, 5], [1, 4, 5], 2, (1, 2, 5)),
    ],
)
def test_divided_chunks_have_the_same_values(
    shape: list[int],
    chunks: list[int],
    factor: int | None,
    after: tuple[int, ...],
    form: str,
    version: int,
    tmp_path: Path,
) -> None:
    if form == "parquet" and version == 3:
        pytest.skip("a parquet store is Zarr v2")
    target = tmp_path / "f"
    target.write_bytes(np.random.default_rng(0).bytes(10_000))
    source = plain(shape, chunks, version, url=str(target))
    refs = converted(source, tmp_path / f"a.{form}", form=form, subchunk={"x": factor})
    assert refs.array("x").chunks == after
    allow = [str(tmp_path)]
    assert_same(values(rx.open_references(source), allow), values(refs, allow))
    assert not refs.chunk_grid("x").outside.indices.size
    assert [each.code for each in refs.diagnostics if each.severity == "error"] == []


def test_kerchunk_divides_them_in_the_same_way(tmp_path: Path) -> None:
    kerchunk = pytest.importorskip("kerchunk.utils")
    source = plain([8, 6], [4, 6])
    refs = converted(source, tmp_path / "a.json", subchunk={"x": 2})
    theirs = rx.open_references(kerchunk.subchunk(source, "x", 2))
    # kerchunk leaves keys of the old chunks that have no successor of the same name
    assert refs.array("x").chunks == theirs.array("x").chunks
    for key in refs:
        if key.startswith("x/") and key[-1].isdigit():
            assert refs[key] == theirs[key]


@pytest.mark.parametrize(
    ("more", "factor", "said"),
    [
        ({"compressor": {"id": "zlib", "level": 1}}, 2, "compressed"),
        ({"order": "F"}, 2, "C order"),
        ({}, 3, "cannot be divided into 3"),
        ({}, 5, "cannot be divided into 5"),
    ],
)
def test_what_cannot_be_divided_is_refused(
    more: dict[str, Any], factor: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(rx.RefexplorerError, match=said):
        converted(plain([8, 6], [4, 6], **more), tmp_path / "a.json", subchunk={"x": factor})
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize("odd", [[URL, 0, 95], [URL], "base64:AAAA"])
def test_a_chunk_that_is_no_range_of_its_size_is_not_divided(odd: Any, tmp_path: Path) -> None:
    source = plain([8, 6], [4, 6]) | {"x/1.0": odd}
    with pytest.raises(rx.RefexplorerError, match=r"`x/1\.0` cannot be divided"):
        converted(source, tmp_path / "a.json", subchunk={"x": 2})
    assert not (tmp_path / "a.json").exists()


def test_an_array_that_is_not_there_is_a_key_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="nosuch"):
        converted(plain([8, 6], [4, 6]), tmp_path / "a.json", subchunk={"nosuch": 2})


def test_consolidated_metadata_says_the_same(tmp_path: Path) -> None:
    source = plain([8, 6], [4, 6])
    keys = ("x/.zarray", "x/.zattrs", ".zgroup")
    listed = {key: json.loads(source[key]) for key in keys}
    source[".zmetadata"] = json.dumps({"zarr_consolidated_format": 1, "metadata": listed})
    refs = converted(source, tmp_path / "a.json", subchunk={"x": 4})
    root: Any = zarr.open_group(refs.to_zarr().store, mode="r", use_consolidated=True)
    assert root["x"].chunks == (1, 6)


def test_consolidated_metadata_of_zarr_v3_says_the_same(tmp_path: Path) -> None:
    source = plain([8, 6], [4, 6], 3)
    inner = {"kind": "inline", "must_understand": False}
    inner |= {"metadata": {"x": json.loads(source["x/zarr.json"])}}
    source["zarr.json"] = json.dumps(
        json.loads(source["zarr.json"]) | {"consolidated_metadata": inner}
    )
    refs = converted(source, tmp_path / "a.json", subchunk={"x": 4})
    root: Any = zarr.open_group(refs.to_zarr().store, mode="r", use_consolidated=True)
    assert root["x"].chunks == (1, 6)


@pytest.mark.parametrize("fault", ["offsets", "shape", "values"])
def test_a_value_that_changed_is_seen_before_anything_is_written(
    fault: str, costly: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, held = Reshaping._with_parts, Reshaping._with_one_chunk
    metadata = Reshaping._with_metadata

    def swapped(self: Reshaping, *given: Any) -> Any:
        found = parts(self, *given)
        found.columns.offsets[-2:] = found.columns.offsets[-2:][::-1].copy()
        return found

    def transposed(self: Reshaping, table: Any) -> Any:
        self._texts["x/.zarray"] = self._texts["x/.zarray"].replace("[1,6]", "[6,1]")
        return metadata(self, table)

    def reversed_bytes(self: Reshaping, table: Any, path: str, data: bytes) -> Any:
        return held(self, table, path, data[::-1])

    source, how = plain([8, 6], [4, 6]), dict[str, Any](subchunk={"x": 4})
    if fault == "offsets":
        monkeypatch.setattr(Reshaping, "_with_parts", swapped)
    elif fault == "shape":
        monkeypatch.setattr(Reshaping, "_with_metadata", transposed)
    else:
        monkeypatch.setattr(Reshaping, "_with_one_chunk", reversed_bytes)
        source, how = costly, {"inline_coordinates": True, "allow": [str(tmp_path)]}
    with pytest.raises(rx.RefexplorerError, match="different values in its new chunks"):
        converted(source, tmp_path / "a.json", **how)
    assert not (tmp_path / "a.json").exists()


def test_the_record_size_goes_by_what_is_read(tmp_path: Path) -> None:
    keys = {f"x/{n}.{m}": [URL, n, 4] for n in range(300) for m in range(10)}
    metadata = plain([300, 10], [1, 1])["x/.zarray"]
    refs = rx.open_references({".zgroup": '{"zarr_format": 2}', "x/.zarray": metadata} | keys)
    rx.convert(refs, tmp_path / "a.parq", rx.Conversion(record_size=None))
    written = json.loads((tmp_path / "a.parq" / ".zmetadata").read_text())
    assert written["record_size"] in (1_000, 10_000, 100_000)
    assert not rx.diff(refs, tmp_path / "a.parq")
