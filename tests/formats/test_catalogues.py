"""STAC items and intake catalogues: what they point to opens, where that may be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded
from tests.helpers.servers import RangeServer, range_server

SET = {"x/0": ["f.nc", 0, 4]}
INTAKE = """
metadata:
  version: 1
sources:
  sst:
    driver: zarr
    args:
      urlpath: "reference://"
      storage_options:
        fo: "{place}"
        remote_protocol: s3
  table:
    driver: csv
    args:
      urlpath: "a.csv"
"""


def item(**places: str) -> str:
    assets: dict[str, Any] = {"data": {"href": "s3://b/f.nc", "type": "application/netcdf"}}
    for name, place in places.items():
        assets[name] = {"href": place, "type": "application/json", "roles": ["references"]}
    return json.dumps({"type": "Feature", "stac_version": "1.0.0", "links": [], "assets": assets})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/set.json").write_text(json.dumps(SET))
    return tmp_path


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        running.files["/d/set.json"] = json.dumps(SET).encode()
        yield running


@pytest.mark.parametrize("place", ["d/set.json", "./d/set.json"])
def test_the_only_link_nearby_is_followed(place: str, folder: Path) -> None:
    (folder / "item.json").write_text(item(kerchunk=place))
    (folder / "intake.yaml").write_text(INTAKE.format(place="{{ CATALOG_DIR }}/" + place))
    for name in ("item.json", "intake.yaml", "item.json#0"):
        refs = rx.open_references(str(folder / name))
        assert {**refs} == {"x/0": rx.Range("f.nc", 0, 4)}
        assert refs.source.pointed_by == name.removesuffix("#0")
        assert refs.source.location == str(folder / "d")
        assert refs.source.part is None
        assert f"open_references({str(folder / 'd/set.json')!r})" in refs.code() or (
            str(folder / "d/set.json") in refs.code()
        )


def test_chained_urls_of_intake(folder: Path) -> None:
    (folder / "a.yml").write_text(
        "sources:\n  a:\n    driver: zarr\n    args:\n      urlpath: reference::d/set.json\n"
    )
    assert rx.open_references(folder / "a.yml").count == 1


def test_of_several_links_one_is_chosen(folder: Path) -> None:
    (folder / "d/other.json").write_text(json.dumps(SET | {"x/1": "abc"}))
    (folder / "item.json").write_text(item(one="d/set.json", two="d/other.json"))
    with pytest.raises(rx.SpecError) as caught:
        rx.open_references(str(folder / "item.json"))
    said = str(caught.value)
    assert said.startswith("item.json is a STAC item, not a reference set; it points to #0 one (")
    assert f"#1 two ({folder / 'd/other.json'})" in said
    assert "'item.json#0'" in said
    assert rx.open_references(str(folder / "item.json#1")).count == 2
    with pytest.raises(rx.SpecError, match="it points to #0 one"):
        rx.open_references(str(folder / "item.json#2"))


@pytest.mark.server
def test_a_link_to_a_server_is_not_followed_unasked(folder: Path, server: RangeServer) -> None:
    (folder / "item.json").write_text(item(one=f"{server.url}/d/set.json"))
    with pytest.raises(rx.SpecError, match="it points to #0 one"):
        rx.open_references(str(folder / "item.json"))
    assert not server.requests
    assert rx.open_references(str(folder / "item.json#0")).count == 1


@pytest.mark.server
def test_on_the_same_server(server: RangeServer) -> None:
    server.files["/item.json"] = item(one="d/set.json").encode()
    refs = rx.open_references(f"{server.url}/item.json")
    assert refs.source.location == f"{server.url}/d"
    server.files["/d/item.json"] = item(one="../d/set.json").encode()
    assert rx.open_references(f"{server.url}/d/item.json").count == 1
    server.files["/d/up.json"] = item(one="../secret.json").encode()
    with pytest.raises(rx.SpecError, match="it points to"):
        rx.open_references(f"{server.url}/d/up.json")


@pytest.mark.server
def test_a_visitor_is_led_nowhere_else(folder: Path, server: RangeServer) -> None:
    (folder / "open").mkdir()
    policy = AccessPolicy(None, [str(folder / "open")], served=True)
    for number, place in enumerate([str(folder / "d/set.json"), f"{server.url}/d/set.json"]):
        (folder / f"open/{number}.json").write_text(item(one=place))
        with pytest.raises(rx.AccessError):
            open_guarded(str(folder / f"open/{number}.json#0"), policy, rx.Limits())
    assert not server.requests
    both = AccessPolicy(None, [str(folder / "open"), server.url], served=True)
    assert open_guarded(str(folder / "open/1.json#0"), both, rx.Limits()).count == 1


def test_a_catalogue_of_catalogues_ends(folder: Path) -> None:
    (folder / "item.json").write_text(item(kerchunk="item.json"))
    refs = rx.open_references(folder / "item.json")  # read as references, which it has none of
    assert refs.error_count


def test_what_points_to_no_set(folder: Path) -> None:
    (folder / "item.json").write_text(item())
    with pytest.raises(rx.SpecError, match=r"is a STAC item, .* none of its 1 link says"):
        rx.open_references(folder / "item.json")
    collection = {"type": "Catalog", "stac_version": "1.0.0", "links": [{"href": "a"}]}
    with pytest.raises(rx.SpecError, match="text is a STAC catalogue, not"):
        rx.open_references(json.dumps(collection))


ALIASES = "sources:\n  a: &a\n    driver: x\n" + "".join(
    f"  b{number}: &b{number} [{', '.join(['*a' if not number else f'*b{number - 1}'] * 10)}]\n"
    for number in range(12)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ALIASES, "an intake catalogue with aliases"),
        ("sources:\n  a:\n    driver: !!python/object/apply:os.system ['false']\n", "JSON"),
        ("sources:\n  a:\n    driver: [" + "[" * 200_000 + "\n", "JSON"),
        ("sources:\n  a:\n    driver: {\n", "JSON"),
        ("sources:\n - a\nargs:\n  driver: x\n", "none of its 0 links"),
    ],
    ids=["aliases", "code", "deep", "torn", "a list"],
)
def test_hostile_catalogues(text: str, said: str) -> None:
    with pytest.raises(rx.SpecError, match=said):
        rx.open_references(text)


def test_a_set_with_such_keys_is_a_set() -> None:
    refs = {".zgroup": '{"zarr_format": 2}', "stac_version": "1", "sources:": "x"}
    assert rx.open_references(json.dumps(refs)).count == 3


def described(as_collection: bool = False) -> dict[str, Any]:
    """Return an item that has references itself, as xstac writes them."""
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    attributes = {"kerchunk:zarray": metadata, "kerchunk:zattrs": {"_ARRAY_DIMENSIONS": ["t"]}}
    time = {"0": "base64:AAAAAAEAAAA=", "1": "base64:AgAAAAMAAAA="}
    values = {"0": ["d/f.bin", 4, 8], "1": ["d/f.bin", 12, 8]}
    within: dict[str, Any] = {
        "kerchunk:zgroup": {"zarr_format": 2},
        "kerchunk:zattrs": {"title": "made here"},
        "cube:dimensions": {
            "t": {"type": "temporal"} | attributes | {"kerchunk:value": time},
            "band": {"type": "bands", "values": ["a"]},
        },
        "cube:variables": {"x": {"type": "data"} | attributes | {"kerchunk:value": values}},
    }
    kind = "Collection" if as_collection else "Feature"
    whole = {"type": kind, "stac_version": "1.0.0", "links": [], "assets": {}}
    return whole | (within if as_collection else {"properties": within})


@pytest.mark.parametrize("as_collection", [False, True])
def test_a_document_that_has_references_itself(as_collection: bool, folder: Path) -> None:
    (folder / "d/f.bin").write_bytes(np.arange(5, dtype="<i4").tobytes())
    document = described(as_collection)
    (folder / "item.json").write_text(json.dumps(document))
    refs = rx.open_references(folder / "item.json")
    assert (refs.source.form, refs.arrays(), refs.error_count) == ("STAC", ("t", "x"), 0)
    dataset = refs.to_xarray()
    assert dataset.x.values.tolist() == [1, 2, 3, 4]
    assert dataset.t.values.tolist() == [0, 1, 2, 3]
    assert dataset.attrs == {"title": "made here"}
    assert f"refexplorer.open_references({str(folder / 'item.json')!r})" in refs.code()
    assert rx.open_references(document).to_v0() == refs.to_v0()
    policy = AccessPolicy(None, [str(folder)], served=True)
    guarded = open_guarded(str(folder / "item.json"), policy, rx.Limits())
    assert guarded.to_v0() == refs.to_v0()


@pytest.mark.parametrize(
    "within",
    [
        {"kerchunk:zgroup": 5},
        {"kerchunk:zarray": [], "cube:variables": {"x": {"kerchunk:value": {"0": 5}}}},
        {"kerchunk:zgroup": {}, "cube:variables": {"x": []}, "cube:dimensions": []},
        {"kerchunk:zgroup": {}, "cube:variables": {"../x": {"kerchunk:zarray": "{"}}},
    ],
)
def test_references_in_a_document_that_are_wrong_are_diagnostics(within: dict[str, Any]) -> None:
    whole = {"stac_version": "1.0.0", "type": "Feature", "properties": within}
    text = json.dumps(whole | {"kerchunk:z": 1})
    refs = rx.open_references(text)
    assert refs.source.form == "STAC"
    assert refs.diagnostics
