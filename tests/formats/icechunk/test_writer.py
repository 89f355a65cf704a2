"""`convert` to Icechunk: what it wrote is what Icechunk reads, and nothing is committed else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr

import refexplorer as rx
from tests.helpers.commands import run
from tests.helpers.newer_python import has_two

if not has_two():
    pytest.skip("icechunk 2 is not installed; it needs Python 3.12", allow_module_level=True)
icechunk: Any = pytest.importorskip("icechunk")
VALUES = np.arange(24, dtype="<i4").reshape(4, 6)


def metadata(shape: list[int], chunks: list[int], **more: Any) -> str:
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"units": "m"},
    }
    return json.dumps(document | more)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write a set with a chunk in a file, one inline, one large and inline, and one left out."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/f.bin").write_bytes(bytes(100) + VALUES[:2, :3].tobytes())
    refs = {
        "zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}),
        "g/zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}),
        "g/x/zarr.json": metadata([4, 6], [2, 3]),
        "g/x/c/0/0": ["data/f.bin", 100, 24],
        "g/x/c/0/1": "a" * 24,
        "g/x/c/1/1": ["s3://bucket/some/f.nc", 7, 24],
        "text/zarr.json": metadata([1000], [1000]),
        "text/c/0": "abcd" * 1000,
    }
    path = tmp_path / "set.json"
    path.write_text(json.dumps(refs))
    return path


def test_icechunk_reads_what_was_written(source: Path) -> None:
    target = source.with_name("made.icechunk")
    assert rx.convert(source, target, rx.Conversion(message="from kerchunk")) == 8
    folder = f"file://{source.parent}/data/"
    access = {folder: icechunk.credentials.LocalFileSystemAccess}
    opened = icechunk.Repository.open(
        icechunk.local_filesystem_storage(str(target)), authorize_virtual_chunk_access=access
    )
    assert next(iter(opened.ancestry(branch="main"))).message == "from kerchunk"
    assert set(opened.config.virtual_chunk_containers) == {folder, "s3://bucket/"}
    root: Any = zarr.open_group(opened.readonly_session("main").store, mode="r")
    assert root.attrs["a"] == 1
    assert root["g/x"].attrs["units"] == "m"
    assert root["g/x"][:2, :3].tolist() == VALUES[:2, :3].tolist()
    assert root["g/x"][:2, 3:].tobytes() == b"a" * 24
    assert root["g/x"][2:, :3].tolist() == [[0] * 3] * 2
    assert root["text"][:].tobytes() == b"abcd" * 1000
    assert not source.with_name("made.icechunk.partial").exists()


def test_it_opens_again_as_the_same_references(source: Path) -> None:
    target = source.with_name("made.icechunk")
    rx.convert(source, target)
    again = rx.open_references(target)
    assert again["g/x/c/0/0"] == rx.types.Range(f"file://{source.parent}/data/f.bin", 100, 24)
    assert again["g/x/c/1/1"] == rx.types.Range("s3://bucket/some/f.nc", 7, 24)
    assert "g/x/c/1/0" not in again


def test_chunks_of_varying_lengths_are_written(source: Path) -> None:
    refs = json.loads(source.read_text())
    (source.parent / "data/g.bin").write_bytes(VALUES.tobytes())
    lengths = {"kind": "inline", "chunk_shapes": [[1, 3], 6]}
    refs["y/zarr.json"] = metadata(
        [4, 6], [], chunk_grid={"name": "rectilinear", "configuration": lengths}
    )
    refs |= {"y/c/0/0": ["data/g.bin", 0, 24], "y/c/1/0": ["data/g.bin", 24, 72]}
    source.write_text(json.dumps(refs))
    target = source.with_name("made.icechunk")
    rx.convert(source, target)
    again = rx.open_references(target).allowing(str(source.parent))
    np.testing.assert_array_equal(np.asarray(again.read("y")), VALUES)
    opened = icechunk.Repository.open(
        icechunk.local_filesystem_storage(str(target)),
        authorize_virtual_chunk_access={
            f"file://{source.parent}/data/": icechunk.credentials.LocalFileSystemAccess
        },
    )
    with zarr.config.set({"array.rectilinear_chunks": True}):
        root: Any = zarr.open_group(opened.readonly_session("main").store, mode="r")
        np.testing.assert_array_equal(root["y"][:], VALUES)


def test_overwriting_is_one_more_commit(source: Path) -> None:
    target = source.with_name("made.icechunk")
    rx.convert(source, target)
    refs = json.loads(source.read_text())
    del refs["g/x/c/1/1"]
    source.write_text(json.dumps(refs))
    with pytest.raises(rx.errors.SourceError, match="exists"):
        rx.convert(source, target)
    rx.convert(source, target, rx.Conversion(overwrite=True, message="one less"))
    known = rx.history(target).snapshots()
    assert [each.message for each in known][:2] == ["one less", "References written by refexplorer"]
    assert "g/x/c/1/1" not in rx.open_references(target)
    facts = rx.open_references(target).source.repository
    assert facts is not None
    assert "s3://bucket/" in {each.prefix for each in facts.containers or ()}
    assert "g/x/c/1/1" in rx.open_references(f"{target}@{known[1].id}")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("g/x/c/0/0", ["data/f.bin"], r"`g/x/c/0/0` refers to a whole file"),
        ("g/x/c/9/9", ["data/f.bin", 0, 1], r"`g/x/c/9/9` is neither metadata nor a chunk"),
        (
            "dots/zarr.json",
            metadata([1], [1], chunk_key_encoding={"name": "v2"}),
            r"`dots` names its chunks differently from Icechunk",
        ),
        ("g/zarr.json", ["data/f.bin", 0, 5], "`g/zarr.json` is metadata in another file"),
    ],
)
def test_what_icechunk_has_no_place_for_leaves_nothing_behind(
    source: Path, key: str, value: Any, said: str
) -> None:
    refs = json.loads(source.read_text()) | {key: value}
    source.write_text(json.dumps(refs))
    before = sorted(source.parent.iterdir())
    with pytest.raises(rx.RefexplorerError, match=said):
        rx.convert(source, source.with_name("made.icechunk"))
    assert [path for path in sorted(source.parent.iterdir()) if path.suffix != ".lock"] == before


@pytest.mark.parametrize("url", ["s3://bucket/a/../f.nc", "s3://bucket/a?b#c", "http://h:80/a"])
def test_odd_locations_read_back_as_they_were(source: Path, url: str) -> None:
    target = source.with_name("made.icechunk")
    refs = json.loads(source.read_text()) | {"g/x/c/0/0": [url, 0, 24]}
    source.write_text(json.dumps(refs))
    rx.convert(source, target)
    assert rx.open_references(target)["g/x/c/0/0"] == rx.types.Range(url, 0, 24)


@pytest.mark.parametrize("name", ["a b", "a%20b", "a#b", "a?b", "\N{GREEK SMALL LETTER PI}"])
def test_icechunk_reads_files_with_odd_names(source: Path, name: str) -> None:
    folder, target = source.with_name(f"in {name}"), source.with_name("made.icechunk")
    folder.mkdir()
    (folder / f"{name}.bin").write_bytes(VALUES[:2, :3].tobytes())
    refs = json.loads(source.read_text()) | {"g/x/c/0/0": [f"file://{folder}/{name}.bin", 0, 24]}
    source.write_text(json.dumps(refs))
    rx.convert(source, target)
    place = icechunk.local_filesystem_storage(str(target))
    access = dict.fromkeys(
        icechunk.Repository.open(place).config.virtual_chunk_containers,
        icechunk.credentials.LocalFileSystemAccess,
    )
    access = {prefix: each for prefix, each in access.items() if prefix.startswith("file:")}
    made = icechunk.Repository.open(place, authorize_virtual_chunk_access=access)
    root: Any = zarr.open_group(made.readonly_session("main").store, mode="r")
    assert root["g/x"][:2, :3].tolist() == VALUES[:2, :3].tolist()


def test_a_set_with_a_location_that_icechunk_changes_is_not_kept(source: Path) -> None:
    target = source.with_name("made.icechunk")
    refs = json.loads(source.read_text()) | {"g/x/c/0/0": ["S3://bucket/f.nc", 0, 24]}
    source.write_text(json.dumps(refs))
    with pytest.raises(rx.RefexplorerError, match="does not read back as the same references"):
        rx.convert(source, target)
    assert not target.exists()


def test_a_refused_overwriting_commits_nothing(source: Path) -> None:
    target = source.with_name("made.icechunk")
    rx.convert(source, target)
    before = rx.open_references(target).to_v0()
    refs = json.loads(source.read_text()) | {"g/x/c/0/0": ["data/f.bin"]}
    source.write_text(json.dumps(refs))
    with pytest.raises(rx.RefexplorerError, match="refers to a whole file"):
        rx.convert(source, target, rx.Conversion(overwrite=True))
    assert rx.open_references(target).to_v0() == before


def test_a_rule_that_fits_nothing_commits_nothing(source: Path) -> None:
    target = source.with_name("made.icechunk")
    with pytest.raises(rx.RefexplorerError, match="starts with 'gs://'"):
        rx.convert(source, target, rx.Conversion(renames=[("gs://", "s3://")]))
    assert not target.exists()


def test_the_command(source: Path) -> None:
    target = source.with_name("made")
    ran = run("convert", source, target, "--to", "icechunk", "--message", "by hand")
    assert ran.status == 0, ran.err
    assert "8 keys as Icechunk, read back and identical" in ran.out
    assert rx.history(target).snapshots()[0].message == "by hand"


def v2(tmp_path: Path, **how: Any) -> tuple[Path, Any]:
    """Write an array of Zarr v2 into one file, and references to its chunks."""
    folder = tmp_path / "made.zarr"
    group = zarr.open_group(folder, mode="w", zarr_format=2)
    values = np.arange(24).reshape(4, 6)
    array: Any = group.create_array("g/x", shape=(4, 6), chunks=(2, 3), **({"dtype": "<i4"} | how))
    array[:2] = values[:2]
    array[2:, 3:] = values[2:, 3:]
    array.attrs["_ARRAY_DIMENSIONS"] = ["a", "b"]
    group.attrs["title"] = "made here"
    body, refs = bytes(7), dict[str, Any]()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        key, data = str(path.relative_to(folder)), path.read_bytes()
        if path.name.startswith("."):
            refs[key] = data.decode()
        else:
            refs[key] = ["all.bin", len(body), len(data)]
            body += data
    (tmp_path / "all.bin").write_bytes(body)
    (tmp_path / "v2.json").write_text(json.dumps(refs))
    return tmp_path / "v2.json", array


ZLIB = {"id": "zlib", "level": 1}
SHUFFLED = [{"id": "shuffle", "elementsize": 4}, ZLIB]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"dtype": ">f8", "fill_value": -9.5},
        {"dtype": "f4", "fill_value": np.nan},
        {"dtype": "u1", "compressors": None},
        {"dtype": "bool"},
        {"dtype": "c16"},
        {"order": "F"},
        {"compressors": numcodecs.Blosc()},
        {"compressors": numcodecs.GZip(3)},
        {"compressors": numcodecs.Zlib(1), "filters": [numcodecs.Shuffle(4)]},
        {"compressors": None, "filters": [*map(numcodecs.get_codec, SHUFFLED)]},
        {"filters": [numcodecs.Delta("<i4")]},
        {"filters": [numcodecs.FixedScaleOffset(1, 2, "<f8", "<i4")], "dtype": "<f8"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not", "ignore:The codec `vlen")
def test_zarr_v2_becomes_v3_with_the_same_values(how: dict[str, Any], tmp_path: Path) -> None:
    source, array = v2(tmp_path, **how)
    target = tmp_path / "made.icechunk"
    rx.convert(source, target)
    folder = f"file://{tmp_path}/"
    access = {folder: icechunk.credentials.LocalFileSystemAccess}
    opened = icechunk.Repository.open(
        icechunk.local_filesystem_storage(str(target)), authorize_virtual_chunk_access=access
    )
    store = opened.readonly_session("main").store
    root: Any = zarr.open_group(store, mode="r")
    found = root["g/x"]
    assert np.array_equal(found[:], array[:], equal_nan=found.dtype.kind in "fc")
    assert found.metadata.dimension_names == ("a", "b")
    assert root.attrs["title"] == "made here"
    # what xarray takes for missing stays what it was
    kept = {"_ARRAY_DIMENSIONS": ["a", "b"]}
    assert array.attrs.asdict() == kept
    now = xr.open_zarr(store, group="g", consolidated=False)["x"]
    before = xr.open_zarr(str(tmp_path / "made.zarr"), group="g", consolidated=False)["x"]
    xr.testing.assert_equal(now.load(), before.load())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dtype": "|S4", "fill_value": None}, r"with the data type \|S4"),
        ({"fill_value": 2**40}, "with the fill value"),
        ({"fill_value": "x"}, "with the fill value"),
        ({"filters": [{"id": "unheard"}]}, "with the codec unheard"),
        ({"filters": [ZLIB, {"id": "delta", "dtype": "<i4"}]}, "with the codec delta"),
    ],
    ids=str,
)
def test_zarr_v2_that_is_not_exact_in_v3_is_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    source, _ = v2(tmp_path)
    refs = json.loads(source.read_text())
    refs["g/x/.zarray"] = json.dumps(json.loads(refs["g/x/.zarray"]) | change)
    source.write_text(json.dumps(refs))
    with pytest.raises(rx.RefexplorerError, match=said):
        rx.convert(source, tmp_path / "made.icechunk")
    assert not (tmp_path / "made.icechunk").exists()
