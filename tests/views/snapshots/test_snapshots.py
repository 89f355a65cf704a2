from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import refexplorer as rx
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.registry import EXPLORER, PARTS, snapshot_html, snapshot_text
from refexplorer.views.snapshots import pictures
from refexplorer.views.snapshots.explorer_snapshot import LONGEST
from tests.helpers.earth_sets import global_set, goes_set
from tests.helpers.explorer import Host, later, show
from tests.helpers.sets import DEMO, GEN, HOSTILE

NAMES = (EXPLORER, *(part.name for part in PARTS if part.alone))


class Inert(HTMLParser):
    """Refuses whatever could act, load or style."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "style", "iframe", "svg", "link", "a", "object"}
        for name, value in attrs:
            assert name in {"class", "scope", "src", "alt", "width", "height"}
            assert name != "src" or str(value).startswith("data:image/png;base64,")


def still(refs: rx.ReferenceSet, part: str, selection: str = "") -> str:
    controller = ExplorerController(refs)
    controller.selection = selection
    html = snapshot_html(controller, part)
    Inert().feed(html)
    assert len(html) <= LONGEST
    return html


@pytest.mark.parametrize(
    ("part", "texts"),
    [
        ("tree", ["wind_lat", "20 children", "inline"]),
        ("key", ["sst/0.0.0", "sst_2025-07.nc", "range"]),
        ("data", ["No values have been read."]),
        (
            "chunks",
            [
                "9 \N{MULTIPLICATION SIGN} 1 \N{MULTIPLICATION SIGN} 2 chunks of sst",
                "<img ",
                "sst_2025-09.nc",
            ],
        ),
        ("targets", ["land.bin", "ranges", "<img "]),
        (
            "explorer",
            ["60 keys", "wind_lat", "9 \N{MULTIPLICATION SIGN} 1 \N{MULTIPLICATION SIGN} 2 chunks"],
        ),
    ],
)
def test_each_part_says_what_it_shows(part: str, texts: list[str]) -> None:
    html = still(rx.open_references(DEMO / "sst.v0.json"), part, "sst/0.0.0")
    for text in texts:
        assert text in html


def test_overlaps_are_counted() -> None:
    html = still(rx.open_references({"a": ["f", 0, 10], "b": ["f", 5, 10]}), "targets")
    assert "2 ranges, 0 gaps, 1 overlap" in html


def test_what_was_read_is_kept_as_a_picture() -> None:
    host = Host(DEMO / "sst.v0.json")
    host.read("sst", None, slices=["0", ":", ":"])
    html = snapshot_html(host.controller, "data")
    Inert().feed(html)
    assert "sst[0, :, :]" in html
    assert "14" in html
    assert 'alt="sea surface temperature' in html
    host.read("lat", None)
    assert "10.25 to 57.75" in snapshot_html(host.controller, "data")
    host.read("time", None)
    assert snapshot_html(host.controller, "data").count("2025-07-03 to 2025-09-28") == 2


def test_noise_stays_below_the_cap() -> None:
    values = np.random.default_rng(0).random((1000, 1000)).astype("<f4")
    refs = {
        "x/.zarray": '{"zarr_format": 2, "shape": [1000, 1000], "chunks": [1000, 1000],'
        '"dtype": "<f4", "compressor": null, "filters": null, "order": "C", "fill_value": 0}',
        "x/0.0": "base64:" + base64.b64encode(values.tobytes()).decode(),
    }
    host = Host(refs)
    host.read("x", None)
    html = snapshot_html(host.controller, "explorer")
    assert "<img" in html
    assert len(html) <= LONGEST


@pytest.mark.parametrize("part", NAMES)
def test_a_file_is_shown_as_text(part: str) -> None:
    refs = rx.open_references(HOSTILE)
    for key in ("", *HOSTILE):
        html = still(refs, part, key)
        assert "\u202e" not in html
        assert "\x1b" not in html
    assert "\x1b" not in snapshot_text(ExplorerController(refs), part)


@pytest.mark.parametrize("part", NAMES)
def test_a_trillion_keys_are_no_trouble(part: str) -> None:
    assert len(still(rx.open_references({"version": 1, "gen": [GEN]}), part)) < 20_000


@pytest.mark.parametrize("part", NAMES)
def test_an_empty_set(part: str) -> None:
    assert "0 keys" in still(rx.open_references({}), part)


def image(html: str, words: str) -> Image.Image:
    """Return the picture that a text stands for."""
    found = re.search(f'base64,([^"]*)" alt="[^"]*{words}', html)
    assert found is not None, html[:2_000]
    return Image.open(io.BytesIO(base64.b64decode(found[1]))).convert("RGB")


def test_the_map_of_the_earth_has_coastlines_chunks_and_values() -> None:
    document = global_set()
    del document["t2m/0.0.0"], document["t2m/1.0.0"]  # 90 N to 0, around Greenwich and east
    host = Host(document)
    assert "map of the earth" not in snapshot_html(host.controller, "explorer")
    later(host, "earth.show", array="t2m")
    show(host, "t2m", axes=[1, 2])
    html = snapshot_html(host.controller, "explorer")
    Inert().feed(html)
    by_state = image(html, "without one grey")
    assert by_state.size == (480, 240)

    def at(picture: Image.Image, latitude: float, longitude: float) -> tuple[int, ...]:
        found = picture.getpixel(
            (int((longitude + 180) / 360 * 480), int((90 - latitude) / 180 * 240))
        )
        assert isinstance(found, tuple)
        return found

    assert at(by_state, 33, 31) == pictures.PAPER  # no reference: in the middle of 36 by 36
    assert at(by_state, -33, 31) == pictures.colour(0)
    lines = int((np.asarray(by_state) == (40, 44, 52)).all(-1).sum())
    assert 1_000 < lines < 20_000  # the coast

    host.read("t2m", None, slices=["1", ":", ":"])
    by_value = image(snapshot_html(host.controller, "explorer"), "values of 1, :, :")
    north, south = at(by_value, 65, -150), at(by_value, -55, -150)
    assert north[1] > south[1]  # green is more in the middle of viridis than where it begins
    assert at(by_value, 33, 31) == pictures.PAPER


def test_the_map_of_a_disk_is_empty_beside_the_earth() -> None:
    pytest.importorskip("pyproj")
    host = Host(goes_set(61))
    later(host, "earth.show", array="sst")
    host.read("sst", None, slices=[":", ":"])
    picture = image(snapshot_html(host.controller, "explorer"), "map of the earth")
    assert 300 < picture.width <= 480  # as wide as high: both are 2 * 81 degrees, about
    corners = [
        picture.getpixel((x, y)) for x in (3, picture.width - 4) for y in (3, picture.height - 4)
    ]
    assert set(corners) == {pictures.PAPER}


def test_two_parts_side_by_side_and_their_difference_are_there() -> None:
    host = Host(global_set())
    parts = [{"array": "t2m", "slices": [str(at), ":", ":"]} for at in (0, 1)]
    later(host, "beside.read", left=parts[0], right=parts[1])
    html = snapshot_html(host.controller, "explorer")
    Inert().feed(html)
    left, right, gap = (
        html.index("<b>Left</b>"),
        html.index("<b>Right</b>"),
        html.index("<b>Difference</b>, 100 to 100"),
    )
    assert left < right < gap
    assert html.count("<img ", left) >= 3
    assert "Right minus left." in html
