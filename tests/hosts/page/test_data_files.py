"""Data files on the page, for its owner and for visitors, and in a notebook."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.hosts.page.library import Library
from refexplorer.hosts.page.page import ServedPage
from refexplorer.hosts.page.server import _open_source
from tests.helpers.explorer import Host
from tests.helpers.visiting import choose, hear

pytest.importorskip("kerchunk")
VALUES = np.arange(1, 13, dtype="<f8").reshape(3, 4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "air.nc"
    with h5py.File(path, "w") as made:
        made.create_dataset("air", data=VALUES, chunks=(3, 2), compression="gzip")
    return path


def values_seen(host: Host) -> Any:
    """Read both chunks as the inspector does."""
    found = []
    for column in (0, 1):
        message, values = host.read("air", [0, column])
        assert message["state"] == "fetched", message
        found.append(values.reshape(3, 2))
    return np.hstack(found).tolist()


def test_serve_shows_it_to_visitors(file: Path) -> None:
    refs, library = _open_source(str(file), Library())
    assert refs is not None
    page = ServedPage(library)
    choose(page, "air.nc")  # the name that the address of the page gives it
    assert page._frame.problem == ""
    shown = page._references
    assert shown is refs
    host = Host(shown, allow=library.grants(shown), served=True)
    assert host.ask("hello")["form"] == "data file"
    assert values_seen(host) == VALUES.tolist()
    hear(page, op="turn", view="editor")  # it has no text of its own
    assert "air.nc is not JSON text" in page._frame.notice


def test_a_visitor_opens_one_in_an_allowed_folder(file: Path) -> None:
    library = Library([str(file.parent)])
    page = ServedPage(library)
    choose(page, str(file))
    assert page._frame.problem == ""
    shown = page._references
    assert shown is not None
    assert shown.source.form == "data file"
    host = Host(shown, allow=library.grants(shown), served=True)
    assert values_seen(host) == VALUES.tolist()
    other = ServedPage(Library())
    choose(other, str(file))
    assert "is not opened on this page" in other._frame.problem
    assert other._references is None


def test_explore_shows_it(file: Path) -> None:
    explorer: Any = rx.explore(file)
    controller = explorer._controller
    host = Host(controller.references)
    assert host.ask("hello")["form"] == "data file"
    assert values_seen(host) == VALUES.tolist()


@pytest.mark.server
def test_the_command_serves_it(file: Path) -> None:
    command = [sys.executable, "-m", "refexplorer", "serve", str(file), "--no-browser"]
    with subprocess.Popen(
        [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout is not None
            url = json.loads(served.stdout.readline())["url"]
            with urllib.request.urlopen(url) as answer:
                assert "<title>refexplorer</title>" in answer.read().decode()
        finally:
            served.terminate()
