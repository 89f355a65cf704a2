"""Try the widgets in hosts that are no dependency: ``python -m tests.hosts.places [ENVIRONMENT]``.

Installs the clone with marimo, Voila and jupyterlab-h5web into an environment of its own, and opens
the explorer in each of them in Chromium, offline. What it prints are rows for the table of
``docs/reference/hosts.md``. Needs pip's index.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from playwright.sync_api import Error, Page, expect, sync_playwright

from refexplorer import demo
from tests.helpers.browser import launch_options
from tests.helpers.hosts import Lab, free_port, running_lab

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("marimo", "voila", "jupyterlab", "jupyterlab-h5web", "h5py", "ipykernel", "kerchunk")
CODE = """import refexplorer as rx
from refexplorer import demo
explorer = rx.explore(demo.path("sst.v1.json"))"""
MARIMO = f"""import marimo
app = marimo.App()
@app.cell
def _():
    import marimo as mo
    {CODE.replace(chr(10), chr(10) + "    ")}
    mo.ui.anywidget(explorer)
    return
if __name__ == "__main__":
    app.run()
"""


def main(place: str | None = None) -> int:
    """Make the environment if it is not there, and try each host."""
    with TemporaryDirectory() as folder:
        environment = make_environment(Path(place or folder))
        if environment is None:
            return 0
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(**launch_options())  # type: ignore[arg-type]
            rows = []
            for try_host in (marimo, voila, beside_h5web):
                work = Path(folder) / try_host.__name__
                work.mkdir()
                page = browser.new_context().new_page()
                rows.append(_row(try_host, environment / "bin", work, page))
                page.context.close()
            browser.close()
    print("\n".join(f"| {' | '.join(row)} |" for row, _ in rows))
    return int(not all(worked for _, worked in rows))


def make_environment(folder: Path) -> Path | None:
    """Install the clone and the hosts into an environment in a folder, unless it is there."""
    environment = folder / "environment"
    if not environment.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [str(environment / "bin" / "pip"), "install", "--quiet", str(ROOT), *PACKAGES]
        if subprocess.run(pip).returncode:
            print("Not run: the packages could not be installed (no index of packages?).")
            return None
    return environment


def _row(
    try_host: Callable[[Path, Path, Page], str], programs: Path, work: Path, page: Page
) -> tuple[tuple[str, ...], bool]:
    name = {"beside_h5web": "jupyterlab-h5web"}.get(try_host.__name__, try_host.__name__)
    asked = "from importlib.metadata import version; print(version(input()))"
    command = [str(programs / "python"), "-c", asked]
    version = subprocess.run(command, input=name, capture_output=True, text=True).stdout.strip()
    try:
        result, worked = try_host(programs, work, page), True
    except (AssertionError, Error, OSError) as error:
        result, worked = f"not shown: {str(error).strip().splitlines()[0]}", False
        page.screenshot(path=f"{name}.png")
    return (name, version, date.today().isoformat(), result), worked


def marimo(programs: Path, work: Path, page: Page) -> str:
    """Show the explorer as a cell of an app."""
    (work / "app.py").write_text(MARIMO)
    options = ("run", "app.py", "--headless", "--no-token", "--port")
    with _served([programs / "marimo", *options], work) as url:
        page.goto(url)
        _use(page)
    return "works: an explorer opens, a key is chosen, an array is read and drawn"


def voila(programs: Path, work: Path, page: Page) -> str:
    """Show a notebook that ends with the explorer."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "id": "a",
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document: dict[str, object] = {
        "cells": [cell | {"source": f"{CODE}\nexplorer"}],
        "metadata": kernel,
    }
    document |= {"nbformat": 4, "nbformat_minor": 5}
    (work / "n.ipynb").write_text(json.dumps(document))
    with _served([programs / "voila", "n.ipynb", "--no-browser", "--port"], work) as url:
        page.goto(url)
        _use(page)
    return "works: an explorer opens, a key is chosen, an array is read and drawn"


def beside_h5web(programs: Path, work: Path, page: Page) -> str:
    """Open a set and a NetCDF file from the file browser, with h5web installed, too."""
    files = work / "root" / "files"
    files.mkdir(parents=True)
    for name in ("sst.v1.json", "sst_2025-07.nc", "sst_2025-08.nc", "sst_2025-09.nc"):
        shutil.copy(demo.path(name), files)
    with running_lab(work, programs / "python", files.parent) as lab:
        for name in ("sst.v1.json", "sst_2025-07.nc"):
            _open_from_menu(lab, page, name)
        page.locator(".jp-DirListing-item").filter(has_text="sst_2025-08.nc").click(button="right")
        expect(page.get_by_text("View HDF5 file contents")).to_be_visible()
    return "works beside it: the menu opens sets and NetCDF files, and has the entry of H5Web"


def _open_from_menu(lab: Lab, page: Page, name: str) -> None:
    page.goto(lab.address("files"))
    page.locator(".jp-DirListing-item").filter(has_text=name).click(button="right")
    page.locator(".lm-Menu-item").filter(has_text="Open as reference set").click()
    explorer = page.get_by_role("region", name=f"Reference set {name}")
    expect(explorer.get_by_role("treegrid")).to_be_visible(timeout=90_000)


def _use(page: Page) -> None:
    """Choose an array, and read a part of it."""
    tree = page.get_by_role("treegrid")
    expect(tree).to_be_visible(timeout=90_000)
    tree.get_by_role("row").filter(has_text="sst").first.click()
    values = page.get_by_role("button", name="Values", exact=True)
    if values.count() and values.first.is_enabled():
        values.first.click()
    expect(page.locator("canvas").first).to_be_visible(timeout=60_000)


@contextmanager
def _served(command: list[object], work: Path) -> Iterator[str]:
    """Run a server on a free port until it answers, and end it."""
    port = free_port()
    environment = os.environ | {"HOME": str(work), "JUPYTER_CONFIG_DIR": str(work / "jupyter")}
    log = (work / "log").open("w")
    whole = [*map(str, command), str(port)]
    process = subprocess.Popen(whole, cwd=work, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urlopen(url, timeout=60).close()
                break
            except OSError:
                time.sleep(1)
        yield url
    finally:
        process.terminate()
        process.wait(30)
        log.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
