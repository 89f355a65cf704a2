"""What is not there: a root, groups on the way, references of an array or of a whole file."""

from __future__ import annotations

import json
from typing import Any

import fsspec
import pytest
import xarray as xr
from zarr.storage import FsspecStore

import refexplorer as rx

GROUP = {"zarr_format": 2}


def array(shape: list[int], chunks: list[int], *names: str, **attributes: Any) -> dict[str, Any]:
    metadata = {
        "zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": -1,
    }  # fmt: skip
    return {".zarray": metadata, ".zattrs": {"_ARRAY_DIMENSIONS": list(names)} | attributes}


def below(path: str, keys: dict[str, Any]) -> dict[str, Any]:
    return {f"{path}/{key}": value for key, value in keys.items()}


INLINE = {"0": "base64:AQAAAAIAAAA="}
X = below("x", array([2], [2], "x") | INLINE)


def joined(*files: int, coordinate: str = "whole") -> dict[str, Any]:
    """Return a set of files with two times each; those that are not named have no reference."""
    document: dict[str, Any] = {".zgroup": GROUP}
    length = 2 if coordinate == "chunks" else 8
    document |= below("time", array([8], [length], "time"))
    if coordinate == "whole":
        document["time/0"] = ["all.nc", 0, 32]
    for name, size in (("v", 1), ("w", 2)):
        document |= below(name, array([8, 3], [size, 3], "time", "y"))
        for file in files:
            for chunk in range(2 // size):
                at = file * 2 // size + chunk
                document[f"{name}/{at}.0"] = [f"f{file}.nc", 12 * size * chunk, 12 * size]
    if coordinate == "chunks":
        document |= {f"time/{file}": [f"f{file}.nc", 100, 8] for file in files}
    return document


def found(document: dict[str, Any]) -> dict[str, str]:
    return {
        each.code: str(each.severity)
        for each in rx.open_references(document).diagnostics
        if each.code in ("no-root", "no-group", "array-without-references", "no-references-at")
    }


def opened(document: dict[str, Any], group: str | None = None) -> list[str]:
    """Return the variables that xarray shows."""
    texts = {key: json.dumps(v) if isinstance(v, dict) else v for key, v in document.items()}
    files = fsspec.filesystem("reference", fo=texts, asynchronous=True)
    store = FsspecStore(files, path="")
    with xr.open_zarr(store, group=group, consolidated=False) as dataset:
        return list(map(str, dataset.variables))


def test_a_set_without_a_root_cannot_be_opened() -> None:
    with pytest.raises(FileNotFoundError):
        opened(X)
    assert found(X) == {"no-root": "error"}
    whole = X | {".zgroup": GROUP}
    assert opened(whole) == ["x"]
    assert found(whole) == {}
    root_array = array([2], [2], "x") | INLINE
    assert found(root_array) == {}


def test_a_set_of_zarr_v3_needs_its_groups_too() -> None:
    metadata = {
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }  # fmt: skip
    document: dict[str, Any] = {"g/x/zarr.json": metadata, "g/x/c/0": INLINE["0"]}
    assert found(document) == {"no-root": "error", "no-group": "error"}
    group = {"zarr_format": 3, "node_type": "group"}
    assert found(document | {"zarr.json": group, "g/zarr.json": group}) == {}


@pytest.mark.filterwarnings("ignore:Object at g is not recognized")
def test_a_group_that_is_missing_on_the_way_hides_its_arrays() -> None:
    document = {".zgroup": GROUP} | below("g/h", {".zgroup": GROUP} | X)
    assert opened(document) == []
    assert found(document) == {"no-group": "error"}
    (said,) = (d for d in rx.open_references(document).diagnostics if d.code == "no-group")
    assert (said.pointer, "`g/h/x`" in said.message) == ("/g~1.zgroup", True)
    assert found(document | {"g/.zgroup": GROUP}) == {}


@pytest.mark.parametrize("stray", ["1/0", "01.0", "1-0", "c/1/0", "1.0.bin"])
@pytest.mark.parametrize("is_generated", [False, True])
def test_a_key_that_only_looks_like_a_chunk_is_named(stray: str, is_generated: bool) -> None:
    document = {".zgroup": GROUP} | below("v", array([2, 2], [1, 2], "y", "x"))
    item = {"key": f"v/{stray[:-1]}{{{{i}}}}", "url": "u", "dimensions": {"i": [0]}}
    chunks = {} if is_generated else {f"v/{stray}": ["u"], "v/0.0": ["u"]}
    gen = [item] if is_generated and stray[-1] == "0" else []
    v1 = {"version": 1, "refs": document | (chunks if not gen else {}), "gen": gen}
    absent = {"array-without-references", "missing-chunks"}
    (said,) = (each for each in rx.open_references(v1).diagnostics if each.code in absent)
    assert (f"`v/{stray}`" in said.hint) == bool(gen or chunks)


def test_a_chunk_below_another_unicode_form_of_the_name_says_so() -> None:
    document = (
        {".zgroup": GROUP} | below("\u00e9", array([2], [2], "x")) | {"e\u0301/0": "abcdefgh"}
    )
    said = [one for one in rx.open_references(document).diagnostics if one.code == "orphan-chunk"]
    assert "NFC" in said[0].message


def test_an_array_without_any_reference_is_a_warning() -> None:
    document = {".zgroup": GROUP} | X
    assert found(document | below("v", array([4], [2], "y"))) == {
        "array-without-references": "warning"
    }
    containers = below("c", array([], [])) | below("one", array([1], [1], "n"))
    containers |= below("crs", array([4], [1], "time", grid_mapping_name="mercator"))
    assert found(document | containers) == {}
    said = rx.open_references(document | containers).diagnostics
    assert [d.key for d in said if d.code == "missing-chunks"] == ["one/.zarray"]


def test_a_place_that_no_array_has_is_a_lost_file() -> None:
    assert found(joined(0, 1, 2, 3)) == {}
    lost = joined(0, 2, 3)
    assert found(lost) == {"no-references-at": "warning"}
    (said,) = (d for d in rx.open_references(lost).diagnostics if d.code == "no-references-at")
    assert "elements 2 to 3 along `time`" in said.message
    two = joined(0, 3)
    (said,) = (d for d in rx.open_references(two).diagnostics if d.code == "no-references-at")
    assert "elements 2 to 5 along `time`" in said.message


def test_it_is_an_error_where_the_coordinate_has_no_values() -> None:
    assert found(joined(0, 1, 2, 3, coordinate="chunks")) == {}
    assert found(joined(0, 2, 3, coordinate="chunks")) == {"no-references-at": "error"}


def test_a_place_that_one_array_has_is_not_lost() -> None:
    document = joined(0, 2, 3)
    document["w/1.0"] = ["f1.nc", 0, 24]
    assert found(document) == {}


def test_one_file_and_a_store_may_leave_chunks_out() -> None:
    """They were never written: of no file it can be said that it is lost."""
    one = joined(0, 2, 3)
    alike = {
        key: ["one.nc", number * 100, value[2]] if isinstance(value, list) else value
        for number, (key, value) in enumerate(one.items())
    }
    assert found(alike) == {}
    store = {
        key: [f"s3://b/store/{key}"] if isinstance(value, list) else value
        for key, value in one.items()
    }
    assert found(store) == {}


@pytest.mark.parametrize(
    ("dtype", "attributes", "codes"),
    [
        ("|O", {}, ["array-without-references"]),
        ("|O", {"grid_mapping_name": "mercator"}, []),
        ("|S1", {}, []),  # as netCDF has the containers of attributes
        ("<i4", {}, []),
    ],
)
def test_a_text_without_dimensions_is_written_for_its_value(
    dtype: str, attributes: dict[str, str], codes: list[str]
) -> None:
    keys = array([], [], **attributes)
    keys[".zarray"] |= {"dtype": dtype, "fill_value": None, "filters": None}
    if dtype == "|O":
        keys[".zarray"]["filters"] = [{"id": "vlen-utf8"}]
    assert list(found({".zgroup": GROUP} | X | below("note", keys))) == codes


@pytest.mark.parametrize(
    ("attributes", "group", "lacking"),
    [
        ({"coordinates": "x lat lon"}, "", "`lat` (coordinates), `lon` (coordinates)"),
        ({"coordinates": "x"}, "", ""),
        ({"coordinates": "x"}, "g/h", ""),  # of a group above
        ({"coordinates": "/x ../x"}, "g", ""),
        ({"grid_mapping": "crs"}, "", "`crs` (grid_mapping)"),
        ({"grid_mapping": "x"}, "", ""),
        ({"grid_mapping": "x: crs lat"}, "", "`crs` (grid_mapping), `lat` (grid_mapping)"),
        (
            {"coordinates": "lat", "grid_mapping": "crs"},
            "",
            "`lat` (coordinates), `crs` (grid_mapping)",
        ),
        ({"coordinates": 5}, "", ""),
    ],
)
def test_attributes_that_name_no_array(
    attributes: dict[str, Any], group: str, lacking: str
) -> None:
    path = f"{group}/y" if group else "y"
    document = {".zgroup": GROUP} | X | below(path, array([2], [2], "y", **attributes) | INLINE)
    for folder in ("g", "g/h")[: len(group.split("/")) if group else 0]:
        document[f"{folder}/.zgroup"] = GROUP
    notes = [
        each for each in rx.open_references(document).diagnostics if each.code == "names-nothing"
    ]
    messages = [f"`{path}` names {lacking}, but the set has no such array"] if lacking else []
    assert [note.message.rstrip("s.") for note in notes] == messages
    assert {note.severity for note in notes} <= {"info"}


def test_xarray_cannot_open_an_array_at_the_root() -> None:
    """What is said of it names it, and nothing is said of how xarray would read it."""
    metadata = array([4], [2])[".zarray"] | {"fill_value": 0}
    document = {".zarray": metadata, "0": ["s3://b/f", 0, 8], "1": ["s3://b/f", 8, 7]}
    refs = rx.open_references(document)
    notes = {each.code: each for each in refs.diagnostics}
    assert notes.keys() == {"root-array", "chunk-length"}
    assert "an array, not a group, so xarray cannot open it" in notes["root-array"].message
    assert "a chunk of the root array" in notes["chunk-length"].message
    assert "the root array, all of it" in str(refs.advise())
    with pytest.raises(rx.errors.DecodeError, match="is an array, not a group"):
        refs.to_xarray()
    lost = rx.open_references({".zarray": metadata})
    assert any("The root array has 4 values" in each.message for each in lost.diagnostics)
