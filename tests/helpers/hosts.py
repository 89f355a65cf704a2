"""The two real hosts of the front end, each a process of its own: JupyterLab and the Panel page."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from uuid import uuid4

import psutil
from playwright.sync_api import Locator, Page

from tests.helpers.forking import COMMAND, Interpreter
from tests.helpers.labextension import install

START_SECONDS = 90.0
_SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "apputils-extension/themes": {"adaptive-theme": False},
}
_PAGE = {"buildAvailable": False, "buildCheck": False}
"""Otherwise JupyterLab checks on each load whether to build itself, and starts node."""
_KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
_IS_READY = """
([path, cells]) => {
  const widget = window.jupyterapp?.shell.currentWidget;
  return widget?.context?.path === path
    && widget.content.widgets.filter(({ model }) => model.type === "code").length === cells
    && widget.sessionContext?.session?.kernel?.status === "idle";
}
"""
"""Before this, running cells opens a dialog that asks for a kernel, or runs another notebook.

What is out of sight need not be drawn yet, for which JupyterLab takes its time.
"""


_IN_SIGHT = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-CodeCell"
_OPEN = """
async ([path, id, clear]) => {
  const { commands, serviceManager: { kernels } } = window.jupyterapp;
  const kernel = id && (await kernels.findById(id)) ? { id } : undefined;
  if (kernel) {
    const connection = kernels.connectTo({ model: kernel });
    const { content } = await connection.requestExecute({ code: clear }).done;
    connection.dispose();
    if (content.status !== "ok") throw new Error(content.evalue);
  }
  await commands.execute("docmanager:open", { path, kernel });
}
"""
_KEPT = "kept-"
"""The prefix of the name of the notebook that a page keeps for the cells of many tests."""
_CLOSE = """
kept => {
  // The visible one last: a toolbar that is shown and gone in one turn is an error of JupyterLab.
  const tabs = [...window.jupyterapp.shell.widgets("main")];
  tabs.sort((one, other) => one.isVisible - other.isVisible);
  for (const tab of tabs) if (!kept || !tab.context?.path.startsWith(kept)) tab.dispose();
}
"""
_REPLACE = """
([name, notebook]) => {
  const { shell } = window.jupyterapp;
  const kept = [...shell.widgets("main")].find(each => each.context?.path.startsWith(name));
  if (!kept) return null;
  shell.activateById(kept.id);
  kept.context.model.fromJSON(notebook);
  return kept.context.path;
}
"""


@dataclass(frozen=True)
class Notebook:
    """A notebook that is open in JupyterLab."""

    page: Page

    def run(self) -> None:
        """Start running all cells; an `output` appears when its cell has run."""
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def output(self, cell: int) -> Locator:
        """The output of a code cell, counted from 0."""
        return self.page.locator(_IN_SIGHT).nth(cell).locator(".jp-OutputArea")

    def kernel(self) -> str:
        """The id of its kernel."""
        return str(self.page.evaluate(_KERNEL))


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    url: str
    folder: Path

    def address(self, path: str) -> str:
        """Give the address of a file or folder in a new workspace.

        Pages that share one write its layout in turns, and a reload restores what another had open.
        """
        return f"{self.url}/lab/workspaces/{uuid4().hex[:8]}/tree/{path}"

    def close_tabs(self, page: Page, kept: str = "") -> None:
        """Close what is open, saved or not, but for files that are called so."""
        page.evaluate(_CLOSE, kept)

    def show(self, page: Page, cells: Sequence[str]) -> Notebook:
        """Run code cells in the notebook that the page keeps, and close all others.

        Its kernel stays, which has imported the package: 3 s of a processor for each test.
        """
        notebook = _notebook(cells)
        path = None
        if page.url.startswith(self.url):
            self.close_tabs(page, _KEPT)
            path = page.evaluate(_REPLACE, [_KEPT, notebook])
        if path is None:
            return self.open_written(page, f"{_KEPT}{uuid4().hex[:8]}", notebook)
        return _run(page, path, len(cells))

    def open(self, page: Page, name: str, cells: Sequence[str]) -> Notebook:
        """Run code cells in a notebook and a kernel of their own."""
        return self.open_written(page, name, _notebook(cells))

    def open_written(
        self, page: Page, name: str, notebook: dict[str, Any], kernel: str = ""
    ) -> Notebook:
        """Open a notebook and run it, in a new kernel or cleared in that of an id, if it is there.

        A page that has JupyterLab keeps it, since its scripts take 5 s of a processor.
        """
        file = self.folder / f"{name}.ipynb"
        file.write_text(json.dumps(notebook))
        if page.url.startswith(self.url):
            clear = f"__import__('os').chdir({str(self.folder)!r})\n%reset -f"
            page.evaluate(_OPEN, [file.name, kernel, clear])
        else:
            page.goto(self.address(file.name))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        return _run(page, file.name, len(code))


@dataclass(frozen=True)
class PanelPage:
    """The running Panel page.

    Attributes
    ----------
    url
        Its address.
    process
        The number of its server's process.
    owned
        The address with the secret that makes its visitor the owner.
    """

    url: str
    process: int
    owned: str = ""


def _printed(line: str, process: int) -> PanelPage:
    owned = _address_in(line)
    return PanelPage(owned.partition("?")[0], process, owned)


@contextmanager
def running_lab(
    folder: Path, python: str | Path = sys.executable, root: Path | None = None
) -> Iterator[Lab]:
    """Start JupyterLab with settings of its own: kernel `python`, files of `root`."""
    port = free_port()
    notebooks = root or folder / "notebooks"
    notebooks.mkdir(exist_ok=True)
    install(folder / "data")
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
        _kill(process)


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
        yield _printed(line, process.pid)
    finally:
        _stop(process)
        process.stdout.close()


@contextmanager
def forked_page(
    interpreter: Interpreter, *arguments: str, code: str = COMMAND
) -> Iterator[PanelPage]:
    """Start a page as a fork of an interpreter that has imported what it needs."""
    program = interpreter.start(code, *arguments, "--no-browser", "--port", "0", patience=900)
    try:
        yield _printed(program.line(), program.pid)
    finally:
        program.send_signal(signal.SIGTERM)
        program.communicate()


def _address_in(line: str) -> str:
    assert "http://" in line, f"no address in {line!r}"
    return "http://" + re.split(r'[\s"]', line.split("http://")[1])[0]


def _run(page: Page, path: str, cells: int) -> Notebook:
    """Run the notebook that was opened, once it is there with so many code cells."""
    page.wait_for_function(_IS_READY, arg=[path, cells], timeout=60_000)
    opened = Notebook(page)
    opened.run()
    return opened


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
    page = folder / "config" / "labconfig" / "page_config.json"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(json.dumps(_PAGE))
    kept = {name: value for name, value in os.environ.items() if name != "JUPYTER_PATH"}
    return kept | {name: str(folder / place) for name, place in variables.items()}


def free_port() -> int:
    """Return an unused port."""
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


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End JupyterLab, then its kernels, since it takes 5 s and more to do so itself."""
    server = psutil.Process(process.pid)
    for each in [server, *server.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
