"""Opening a large set in JupyterLab shows how far it is; an interrupt stops it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.hosts import Lab

SLOWLY = """
import time
import refexplorer as rx
from refexplorer.formats.json import blocks
from refexplorer.hosts.notebook import widgets
widgets.AFTER = 0
blocks.BLOCK = 2**14  # many small reads
read = blocks.match_ranges
def slow(block):
    time.sleep({pause})
    return read(block)
blocks.match_ranges = slow
rx.explore("{path}")
"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    entries = (f'"x/{number}": ["s3://bucket/file.nc", {number}, 1]' for number in range(40_000))
    path = tmp_path / "large.json.gz"
    path.write_bytes(gzip.compress(("{" + ", ".join(entries) + "}").encode()))
    return path


def test_the_bar_goes_when_the_set_is_there(lab: Lab, page: Page, large: Path) -> None:
    notebook = lab.open(page, "opening", [SLOWLY.format(pause=0.02, path=large)])
    output = notebook.output(0)
    expect(output).to_contain_text(" MB; interrupt the kernel to stop", timeout=30_000)
    expect(output.get_by_role("treegrid")).to_contain_text("x", timeout=30_000)
    expect(output).not_to_contain_text("interrupt the kernel")


def test_an_interrupt_stops_it(lab: Lab, page: Page, large: Path) -> None:
    notebook = lab.open(page, "stopping", [SLOWLY.format(pause=0.5, path=large)])
    output = notebook.output(0)
    expect(output).to_contain_text("interrupt the kernel to stop", timeout=30_000)
    page.evaluate("void window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    expect(output).to_contain_text("KeyboardInterrupt", timeout=30_000)
    expect(output).not_to_contain_text("interrupt the kernel to stop")
