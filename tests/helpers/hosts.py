"""The two real hosts of the front end, each a process of its own: JupyterLab and the Panel page."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError

from playwright.sync_api import Locator, Page, expect

START_SECONDS = 90.0
_SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "apputils-extension/themes": {"adaptive-theme": False},
}
_KERNEL_IS_IDLE = """
window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === "idle"
"""
"""Before this, running cells opens a dialog that asks for a kernel."""


@dataclass(frozen=True)
class Notebook:
    """A notebook that is open in JupyterLab."""

    page: Page

    def run(self) -> None:
        """Start running all cells; an `output` appears when its cell has run."""
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def output(self, cell: int) -> Locator:
        """The output of a code cell, counted from 0."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell).locator(".jp-OutputArea")


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    url: str
    folder: Path

    def open(self, page: Page, name: str, cells: Sequence[str]) -> Notebook:
        """Write a notebook of code cells, open it and run it."""
        return self.open_written(page, name, _notebook(cells))

    def open_written(self, page: Page, name: str, notebook: dict[str, Any]) -> Notebook:
        """Open a notebook and run it."""
        (self.folder / f"{name}.ipynb").write_text(json.dumps(notebook))
        count = len([cell for cell in notebook["cells"] if cell["cell_type"] == "code"])
        page.goto(f"{self.url}/lab/tree/{name}.ipynb?reset")
        expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(count, timeout=60_000)
        page.wait_for_function(_KERNEL_IS_IDLE, timeout=60_000)
        opened = Notebook(page)
        opened.run()
        return opened


@dataclass(frozen=True)
class PanelPage:
    """The running Panel page."""

    url: str


@contextmanager
def running_lab(
    folder: Path, python: str | Path = sys.executable, root: Path | None = None
) -> Iterator[Lab]:
    """Start JupyterLab with settings of its own: kernel `python`, files of `root`."""
    port = _free_port()
    notebooks = root or folder / "notebooks"
    notebooks.mkdir(exist_ok=True)
    command = [
        str(python), "-m", "jupyterlab", "--no-browser", "--allow-root",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
        "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly", f"--ServerApp.root_dir={notebooks}",
    ]  # fmt: skip
    log = folder / "lab.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=notebooks, env=_environment(folder), stdout=output, stderr=output
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/api/status", process, log)
        yield Lab(url, notebooks)
    finally:
        _stop(process)


@contextmanager
def running_page(
    *arguments: str, program: Sequence[str] = ("-m", "refexplorer")
) -> Iterator[PanelPage]:
    """Start ``refexplorer`` with a page and read the address that it prints."""
    command = [sys.executable, *program, *arguments, "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert "http://" in line, f"no address in {line!r}"
        yield PanelPage("http://" + re.split(r'[\s"]', line.split("http://")[1])[0])
    finally:
        _stop(process)
        process.stdout.close()


def _notebook(cells: Sequence[str]) -> dict[str, Any]:
    """Write code cells in the notebook format, version 4.5."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "cells": [
            {
                "cell_type": "code", "id": f"cell-{number}", "metadata": {},
                "source": cell, "outputs": [], "execution_count": None,
            }
            for number, cell in enumerate(cells)
        ],
    }  # fmt: skip


def _environment(folder: Path) -> dict[str, str]:
    """Keep JupyterLab away from what the user has configured or installed."""
    variables = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    for name, settings in _SETTINGS.items():
        file = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    kept = {name: value for name, value in os.environ.items() if name != "JUPYTER_PATH"}
    return kept | {name: str(folder / place) for name, place in variables.items()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (URLError, TimeoutError):
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")


def _stop(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
