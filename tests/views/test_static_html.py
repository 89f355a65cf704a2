"""A view where no script runs: facts, notes, tree, and one picture that costs no request."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser

import h5py
import numpy as np
import pytest
from PIL import Image

import refexplorer as rx
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.static_html import explorer_html, explorer_text
from tests.helpers.explorer import Host
from tests.helpers.servers import range_server
from tests.helpers.sets import DEMO, GEN, HOSTILE, raw_set


class Inert(HTMLParser):
    """Refuses whatever could act, load or style."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "style", "iframe", "svg", "link", "a", "object"}
        for name, value in attrs:
            assert name in {"class", "src", "alt", "width", "height"}
            assert name != "src" or str(value).startswith("data:image/png;base64,")


def still(refs: rx.ReferenceSet, selection: str = "", **options: object) -> str:
    controller = ExplorerController(refs, **options)  # type: ignore[arg-type]
    controller.selection = selection
    html = explorer_html(controller)
    Inert().feed(html)
    assert html.count("<img") <= 1
    return html


def picture_in(html: str) -> Image.Image:
    (data,) = re.findall(r'image/png;base64,([^"]*)"', html)
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def test_a_chosen_array_is_drawn_with_its_own_values() -> None:
    refs = rx.open_references(DEMO / "sst.v0.json")
    assert "<img" not in still(refs)
    for chosen in ("sst", "sst/0.0.0", "sst/.zattrs"):
        html = still(refs, chosen)
        assert "60 keys" in html
        assert "wind_lat" in html
        assert 'alt="sea surface temperature' in html
    assert "<code>sst[:, :, :]</code>" in html
    assert "first value along time" in html
    with h5py.File(DEMO / "sst_2025-07.nc") as file:
        values = file["sst"][0].astype("f8")
        values[values == file["sst"].attrs["_FillValue"]] = np.nan
    rows, columns = values.shape
    drawn = picture_in(html)
    cell = drawn.width // columns
    assert drawn.size == (columns * cell, rows * cell)
    inks = np.asarray(drawn)[cell // 2 :: cell, cell // 2 :: cell].astype(int)[::-1]  # north above
    assert (np.ptp(inks, axis=-1) == 0).tolist() == np.isnan(values).tolist()  # grey is no number
    coldest, warmest = np.nanargmin(values), np.nanargmax(values)
    green = inks[..., 1].ravel()  # rises along viridis
    assert green[coldest] == green[~np.isnan(values).ravel()].min()
    assert green[warmest] == green[~np.isnan(values).ravel()].max()


def test_the_picture_is_of_what_was_read_last() -> None:
    host = Host(DEMO / "sst.v0.json")
    host.read("sst", None, slices=["2", ":", ":"])
    for chosen in ("", "sst/0.0.0"):
        host.controller.selection = chosen
        assert "sst[2, :, :]" in explorer_html(host.controller)
    host.read("time", None)
    host.controller.selection = ""
    assert explorer_html(host.controller).count("2025-07-03 to 2025-09-28") == 2


def test_what_may_not_be_read_or_takes_a_request_is_not_read_for_a_picture() -> None:
    with range_server() as server:
        server.files["/f"] = b"abcd"
        refs = rx.open_references(raw_set([f"{server.url}/f", 0, 4]))
        for allow in ((), [server.url]):
            assert "<img" not in still(refs, "x", allow=allow)
        assert server.requests == []
    for served in (False, True):
        outside = rx.open_references(raw_set(["/etc/hostname", 0, 4]))
        assert "<img" not in still(outside, "x", served=served)
    assert "<img" in still(rx.open_references(raw_set("abcd", "efgh")), "x")


def test_garbled_bytes_are_no_warning() -> None:
    """A signalling NaN of float32, which numpy warns of when it is cast."""
    data = np.array([0x7F800001, 0x3F800000], "<u4").tobytes()
    refs = {
        "x/.zarray": '{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<f4",'
        '"compressor": null, "filters": null, "order": "C", "fill_value": null}',
        "x/0": "base64:" + base64.b64encode(data).decode(),
    }
    assert "1 missing" in still(rx.open_references(refs), "x")


def test_noise_is_of_bounded_size() -> None:
    values = np.random.default_rng(0).random((1000, 1000)).astype("<f4")
    refs = {
        "x/.zarray": '{"zarr_format": 2, "shape": [1000, 1000], "chunks": [1000, 1000],'
        '"dtype": "<f4", "compressor": null, "filters": null, "order": "C", "fill_value": 0}',
        "x/0.0": "base64:" + base64.b64encode(values.tobytes()).decode(),
    }
    assert len(still(rx.open_references(refs), "x")) <= 150_000


def test_a_file_is_shown_as_text() -> None:
    refs = rx.open_references(HOSTILE)
    for key in ("", *HOSTILE):
        assert not {"\u202e", "\x1b"} & {*still(refs, key)}
    assert "\x1b" not in explorer_text(ExplorerController(refs), "explorer")


@pytest.mark.parametrize(("source", "keys"), [({"version": 1, "gen": [GEN]}, ""), ({}, "0 keys")])
def test_a_trillion_keys_and_none_are_no_trouble(source: dict[str, object], keys: str) -> None:
    html = still(rx.open_references(source))
    assert len(html) < 20_000
    assert keys in html
