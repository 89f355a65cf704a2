from __future__ import annotations

import base64
from html.parser import HTMLParser

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.registry import snapshot_html, snapshot_text
from refexplorer.views.snapshots.explorer_snapshot import LONGEST
from tests.helpers.explorer import Host
from tests.helpers.sets import DEMO, GEN, HOSTILE

PARTS = ("explorer", "tree", "key", "data", "chunks", "targets")


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


@pytest.mark.parametrize("part", PARTS)
def test_a_file_is_shown_as_text(part: str) -> None:
    refs = rx.open_references(HOSTILE)
    for key in ("", *HOSTILE):
        html = still(refs, part, key)
        assert "\u202e" not in html
        assert "\x1b" not in html
    assert "\x1b" not in snapshot_text(ExplorerController(refs), part)


@pytest.mark.parametrize("part", PARTS)
def test_a_trillion_keys_are_no_trouble(part: str) -> None:
    assert len(still(rx.open_references({"version": 1, "gen": [GEN]}), part)) < 20_000


@pytest.mark.parametrize("part", PARTS)
def test_an_empty_set(part: str) -> None:
    assert "0 keys" in still(rx.open_references({}), part)
