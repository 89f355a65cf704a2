"""Soft links of LINDI: what they lead to is shown in their place, and no link leads astray."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import refexplorer as rx

GROUP = {"zarr_format": 2}
ARRAY = {
    "zarr_format": 2, "shape": [6], "chunks": [2], "dtype": "<i4", "compressor": None,
    "filters": None, "order": "C", "fill_value": 0,
}  # fmt: skip
VALUES = np.arange(1, 7, dtype="<i4")


def link(path: object) -> dict[str, Any]:
    return {"_SOFT_LINK": {"path": path}}


def array(folder: str, *without: int) -> dict[str, Any]:
    chunks = {
        f"{folder}/{at}": VALUES[2 * at : 2 * at + 2].tobytes().decode()
        for at in range(3)
        if at not in without
    }
    return {f"{folder}/.zarray": ARRAY, f"{folder}/.zattrs": {"units": "m"}, **chunks}


def linked(**paths: object) -> dict[str, Any]:
    """Return links, as LINDI writes them, by folders in which `__` is a slash."""
    refs: dict[str, Any] = {}
    for name, path in paths.items():
        folder = name.replace("__", "/")
        refs |= {f"{folder}/.zgroup": GROUP, f"{folder}/.zattrs": link(path)}
    return refs


def opened(refs: dict[str, Any], **more: Any) -> rx.ReferenceSet:
    return rx.open_references({"version": 1, "refs": {".zgroup": GROUP} | refs}, **more)


def told(refs: rx.ReferenceSet) -> dict[str, str]:
    """Return the messages about links by their folders."""
    return {
        str(each.key).rpartition("/")[0]: f"{each.code}: {each.message}"
        for each in refs.diagnostics
        if each.code in ("soft-link", "broken-link")
    }


# what LINDI 0.4.6 wrote of an HDF5 file that h5py made, but for the compressed chunk
WRITTEN = {
    **linked(gl="/group1", group1__sub__rel="/gl/x", xl="/group1/x"),
    "group1/.zattrs": {"a": "v"},
    "group1/.zgroup": GROUP,
    "group1/sub/.zgroup": GROUP,
    **array("group1/x"),
}


def test_what_lindi_writes_reads_as_lindi_reads_it() -> None:
    refs = opened(WRITTEN)
    places = ("gl/sub/rel", "gl/x", "group1/sub/rel", "group1/x", "xl")
    assert sorted(refs.arrays()) == list(places)
    group: Any = refs.to_zarr()
    for place in places:
        assert group[place][:].tolist() == VALUES.tolist()
        assert group[place].attrs.asdict() == {"units": "m"}
    assert group["gl"].attrs.asdict() == {"a": "v"}
    assert "xl/.zgroup" not in refs
    assert {*told(refs)} == {"gl", "group1/sub/rel", "xl"}
    assert {node.path for node in refs.children("gl").rows} >= {"gl/.zattrs", "gl/sub", "gl/x"}
    assert pickle.loads(pickle.dumps(refs)).to_v0() == refs.to_v0()


def test_every_reader_finds_what_was_converted() -> None:
    v0 = opened(WRITTEN).to_v0()
    assert not any("_SOFT_LINK" in str(value) for value in v0.values())
    assert rx.open_references(v0).to_v0() == v0
    assert not told(rx.open_references(v0))


def test_a_long_document() -> None:
    ranges = {f"y/{at}": ["s3://b/f", 8 * at, 8] for at in range(5_000)}
    more = {"y/.zarray": ARRAY | {"shape": [10_000]}, **ranges, **linked(z="y")}
    refs = rx.open_references(json.dumps({"version": 1, "refs": more}))
    assert refs["z/4999"] == rx.Range("s3://b/f", 39_992, 8)
    assert refs.array("z").shape == (10_000,)


def test_zarr_v3() -> None:
    node = {"zarr_format": 3, "node_type": "group"}
    refs = {
        "zarr.json": node,
        "a/zarr.json": node | {"attributes": {"of": 1}},
        "b/zarr.json": node | {"attributes": link("/a")},
    }
    found = rx.open_references(refs)
    assert found["b/zarr.json"] == found["a/zarr.json"]


def test_chunks_without_references_and_those_that_are_rejected_stay_apart() -> None:
    refs = opened({**array("x", 1), "x/2": ["s3://b/f", -1, 8], **linked(l="/x")})
    for path in ("x", "l"):
        assert f"{path}/0" in refs
        assert refs.rejection(f"{path}/1") is None
        rejected = refs.rejection(f"{path}/2")
        assert rejected is not None
        assert rejected.code == "bad-offset"


@pytest.mark.parametrize(
    ("refs", "folder", "said"),
    [
        (linked(l="/nowhere"), "l", "the set has nothing there"),
        (linked(l=""), "l", "leads to a group that it is itself in"),
        (linked(a__l="/a"), "a/l", "leads to a group that it is itself in"),
        (linked(l="/l"), "l", "back to itself"),
        (linked(l="/m", m="/l"), "l", "back to itself"),
        ({**linked(a__x="/b", b__y="/a")}, "a/x", "back to itself"),
        ({**linked(a__x="/b", b__y="/a")}, "b/y", "back to itself"),
        ({**array("x"), **linked(l="/x"), "l/0": "abcd"}, "l", "it holds keys of its own"),
        ({**array("x"), **linked(l="/x"), "l/0": 7}, "l", "it holds keys of its own"),
        (
            {**array("x"), **array("a/x"), **linked(a__l="x")},
            "a/l",
            "is `a/x` for HDF5 and `x` for LINDI",
        ),
        ({**array("x"), **linked(l="/x/../x")}, "l", "the set has nothing there"),
    ],
)
def test_a_link_that_is_not_followed_stays_what_it_is(
    refs: dict[str, Any], folder: str, said: str
) -> None:
    found = opened(refs)
    assert told(found)[folder].startswith(f"broken-link: `{folder}` is a soft link to ")
    assert said in told(found)[folder]
    assert f"{folder}/.zattrs" in found


@pytest.mark.parametrize(("path", "leads"), [("x", "a/x"), ("a/x", "a/x"), ("./x", "a/x")])
def test_a_relative_path_is_that_of_hdf5_or_of_lindi(path: str, leads: str) -> None:
    refs = opened({**array("a/x"), **linked(a__l=path)})
    assert refs["a/l/0"] == refs[f"{leads}/0"]


def test_keys_of_gen_items_are_not_left_out_without_a_word() -> None:
    made = {"key": "x/{{i}}", "url": "s3://b/f", "offset": "{{i}}", "length": "4",
            "dimensions": {"i": {"stop": 3}}}  # fmt: skip
    refs = {".zgroup": GROUP, "x/.zarray": ARRAY, **linked(l="/x")}
    found = rx.open_references({"version": 1, "refs": refs, "gen": [made]})
    assert "gen items make keys there" in told(found)["l"]
    assert "l/.zarray" not in found


def test_a_cycle_takes_no_other_link_with_it() -> None:
    refs = opened({**array("b/z"), **linked(a__x="/b", b__y="/a", l="/b", m="/b/z")})
    assert {folder for folder, said in told(refs).items() if said[:4] == "soft"} == {"l", "m"}
    assert refs["l/z/0"] == refs["m/0"] == refs["b/z/0"]
    assert refs["l/y/.zattrs"] == refs["b/y/.zattrs"]


def test_links_that_double_each_other_end() -> None:
    refs: dict[str, Any] = array("g40/x")
    for depth in range(40):
        refs |= linked(**{f"g{depth}__l": f"/g{depth + 1}", f"g{depth}__m": f"/g{depth + 1}"})
    found = opened(refs, limits=rx.Limits(linked_keys=2_000))
    assert found.count < 4_000
    assert "`Limits.linked_keys` raises the limit" in told(found)["g0/l"]


def test_a_long_row_of_links_ends() -> None:
    refs = {**array("x"), **linked(**{f"l{at}": f"/l{at + 1}" for at in range(500)}, l500="/x")}
    found = opened(refs)
    assert "back to itself" in next(said for said in told(found).values() if said[:6] == "broken")
    assert "l500/0" in found
    assert "l0/0" not in found


def test_keys_do_not_grow_beyond_their_limit() -> None:
    refs = {**array("x/" + 900 * "a"), **linked(**{900 * "b": "/x"})}
    found = opened(refs, limits=rx.Limits(key_bytes=1_000))
    assert "keys of more than 1,000 bytes" in told(found)[900 * "b"]
