"""What stands where in the tree, and the chunks of an array as a strip beside it."""

from __future__ import annotations

import json
from pathlib import Path

import refexplorer as rx
from tests.helpers.explorer import Host, later

ZGROUP = json.dumps({"zarr_format": 2})


def array(shape: list[int], chunks: list[int], **attributes: object) -> dict[str, str]:
    dimensions = attributes.pop("dimensions", None)
    metadata = {
        "zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<i2", "order": "C",
        "fill_value": 0, "compressor": None, "filters": None,
    }  # fmt: skip
    if dimensions is not None:
        attributes["_ARRAY_DIMENSIONS"] = dimensions
    return {".zarray": json.dumps(metadata), ".zattrs": json.dumps(attributes)}


def refs_of(**arrays: dict[str, str]) -> rx.ReferenceSet:
    found = {".zgroup": ZGROUP, ".zattrs": "{}"}
    for path, keys in arrays.items():
        found |= {f"{path}/{name}": text for name, text in keys.items()}
    return rx.open_references(found)


def names(host: Host) -> list[str]:
    return [row["path"] for row in host.ask("tree.rows", start=0, n=100)["rows"]]


def test_an_array_whose_metadata_cannot_be_used_is_listed_with_the_others() -> None:
    broken = {".zarray": '{"zarr_format": 2,}', "0": "ab", ".zattrs": "{}"}
    refs = refs_of(x=array([4, 6], [4, 6]), sst=broken, time=array([4], [4], dimensions=["t"]))
    assert [name for name in names(Host(refs)) if "." not in name] == ["x", "time", "sst"]


def test_data_variables_come_first_the_largest_before_the_others() -> None:
    refs = refs_of(
        crs=array([], [], grid_mapping_name="latitude_longitude"),
        height=array([4, 6], [4, 6], dimensions=["lat", "lon"]),
        lat=array([4], [4], dimensions=["lat"]),
        lon=array([6], [6], dimensions=["lon"]),
        quality=array([4, 6], [4, 6], dimensions=["lat", "lon"]),
        tas=array(
            [9, 4, 6], [1, 4, 6], dimensions=["time", "lat", "lon"], coordinates="wet time",
            long_name="air temperature", units="K", ancillary_variables="quality",
        ),
        time=array([9], [9], dimensions=["time"]),
        wet=array([4, 6], [4, 6], dimensions=["lat", "lon"]),
    )  # fmt: skip
    host = Host(refs)
    order = ["tas", "height", "quality", "lat", "lon", "time", "wet", "crs", ".zattrs", ".zgroup"]
    assert names(host) == order
    assert host.ask("hello")["variables"] == ["tas", "height", "quality"]
    for number, path in enumerate(order):
        assert host.ask("tree.reveal", path=path)["index"] == number
    assert host.ask("tree.toggle", path="height", open=True)["index"] == 1
    assert names(host)[1:5] == ["height", "height/.zarray", "height/.zattrs", "quality"]
    assert host.ask("tree.reveal", path="time")["index"] == order.index("time") + 2


def test_a_row_says_what_an_array_is() -> None:
    refs = refs_of(
        tas=array([9], [3], long_name="air temperature", units="K"),
        named=array([9], [3], standard_name="sea_ice_fraction", units="1"),
        plain=array([9], [3], units="days since 2000-01-01"),
    )
    rows = {row["path"]: row["label"] for row in Host(refs).ask("tree.rows", start=0, n=9)["rows"]}
    assert rows["tas"] == "air temperature (K)"
    assert rows["named"] == "sea ice fraction"
    assert rows["plain"] is None


def counted(host: Host) -> None:
    later(host, "health.rows", start=0, n=1, sort="trouble", descending=True)


def test_the_strip_of_an_array_has_the_worst_state_of_each_part(tmp_path: Path) -> None:
    (tmp_path / "all.bin").write_bytes(bytes(1000))
    keys: dict[str, object] = dict(array([6, 4], [1, 2], dimensions=["time", "x"]))
    for row in range(6):
        for column in range(2):
            keys[f"{row}.{column}"] = ["all.bin", 10 * row, 4]
    del keys["2.0"], keys["2.1"], keys["3.1"]
    keys["4.0"] = ["gone.bin", 0, 4]
    keys["5.0"] = ["all.bin", -3, 4]
    found = {".zgroup": ZGROUP} | {f"v/{name}": each for name, each in keys.items()}
    path = tmp_path / "set.json"
    path.write_text(json.dumps(found))
    host = Host(rx.open_references(path))
    strip = {row["path"]: row["strip"] for row in host.ask("tree.rows", start=0, n=9)["rows"]}
    assert strip["v"] is None  # not before the chunks are counted
    counted(host)
    strip = {row["path"]: row["strip"] for row in host.ask("tree.rows", start=0, n=9)["rows"]}
    assert strip["v"] == "rr-prx"
    host.read("v", [1, 0])
    host.read("v", [4, 0])
    assert host.ask("tree.strips", array="v")["strips"] == ["rv-pxx", "xp"]
    # what is wrong keeps its letter whatever the others show
    assert host.ask("tree.strips", array="v", by="kind")["strips"] == ["RR-Rxx", "xR"]


def strips_by(host: Host, by: str, access: str = "") -> dict[str, str]:
    rows = host.ask("tree.rows", start=0, n=9, strips=by, access=access)["rows"]
    return {row["path"]: row["strip"] for row in rows}


def test_a_file_has_one_colour_in_the_strips_and_maps_of_all_arrays() -> None:
    def chunks(name: str, files: str) -> dict[str, object]:
        return {f"{name}/{n}": [f"{file}.nc", 100 * n, 10 + n] for n, file in enumerate(files)}

    meta = array([4], [1], dimensions=["time"])
    keys: dict[str, object] = {
        f"{name}/{each}": text for name in "uv" for each, text in meta.items()
    }
    refs = rx.open_references(
        {".zgroup": ZGROUP, **keys, **chunks("u", "abcc"), **chunks("v", "cb")}
    )
    host = Host(refs)
    counted(host)
    assert strips_by(host, "target") == strips_by(host, "state")  # sorting takes long
    later(host, "targets.summary")
    strips = strips_by(host, "target")
    assert (strips["u"], strips["v"]) == ("0122", "21--")
    for name, urls in (("u", "abc"), ("v", "bc")):
        shown = later(host, "grid.show", array=name)[0]["map"]["targets"]
        numbers = {each["url"][0]: each["number"] for each in shown}
        assert numbers == {url: "abc".index(url) for url in urls}


def test_strips_follow_sizes_offsets_and_accesses() -> None:
    chunks: dict[str, object] = {f"{i}.{j}": ["f", 10 * i, 4] for i in range(3) for j in range(2)}
    chunks["2.0"] = ["f", 20, 6]
    chunks["1.0"] = chunks["1.1"] = "base64:AAA="
    host = Host(refs_of(v={**array([3, 2], [1, 1], dimensions=["time", "x"]), **chunks}))  # type: ignore[dict-item]
    counted(host)
    assert strips_by(host, "size")["v"] == "hal"  # 4, 2 and 5 bytes on average
    assert strips_by(host, "offset")["v"] == "ail"
    assert strips_by(host, "access", "one map")["v"] == "lii"
    assert strips_by(host, "access", "2, :")["v"] == "iil"
    assert strips_by(host, "access")["v"] == "lll"  # that which is shaded at first
    assert strips_by(host, "access", "no access")["v"] == "iii"


def test_a_long_dimension_is_drawn_in_parts_and_a_generated_one_costs_no_more() -> None:
    document = {
        "version": 1,
        "gen": [{
            "key": "v/{{i}}.0", "url": "{{i}}.nc", "offset": "0", "length": "4",
            "dimensions": {"i": {"stop": 10**9}},
        }],
        "refs": {
            ".zgroup": ZGROUP,
            **{f"v/{name}": text for name, text in array([10**9, 2], [1, 2]).items()},
        },
    }  # fmt: skip
    host = Host(rx.open_references(document))
    counted(host)
    (strip, other) = host.ask("tree.strips", array="v")["strips"]
    assert set(strip) == set(other) == {"r"}
    assert (len(strip), len(other)) == (96, 1)
