"""Build and install as users do: ``python -m tests.packaging.wheel``.

Makes sdist and wheel, the wheel from the sdist, with no node on the path; installs the wheel
into an empty environment and asks it for the demo and the page.
Needs pip's registry and two minutes.
"""

# ruff: noqa: T201

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST = 5_000_000
NEEDED = ("py.typed", "widgets/static/explorer.js", "widgets/static/editor.js",
          "widgets/static/page.js", "widgets/static/LICENSES.txt", "app/page.html",
          "demo/sst.v1.json", "demo/sst_2025-07.nc", "demo/sst.parq/.zmetadata",
          "spec/schema.v1.json", "spec/DIAGNOSTICS.md", "reference/CLI.md")  # fmt: skip
UNWANTED = ("node_modules", "frontend/", "__pycache__", "tests/")
_PROBE = """
import refexplorer as rx
from refexplorer import demo
assert not rx.__file__.startswith({root!r}), rx.__file__
refs = rx.open_references(demo.path("sst.v1.json"))
print(refs, rx.explore(refs).code, float(refs.to_xarray()["sst"][12, 40, 40]))
from refexplorer.app import page
page(refs)
"""


def main() -> None:
    """Build, look inside, install, use; a step that fails ends it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = _environment(place / "build")
        _run(environment, place, "-m", "pip", "install", "--quiet", "build")
        # Without `--wheel` the wheel is built from the sdist, as by installers.
        _run(environment, place, "-m", "build", "--outdir", place, ROOT)
        (sdist,), (wheel,) = place.glob("*.tar.gz"), place.glob("*.whl")
        with zipfile.ZipFile(wheel) as opened:
            _check(wheel, opened.namelist(), UNWANTED)
        with tarfile.open(sdist) as unpacked:
            _check(sdist, unpacked.getnames(), ("node_modules",))
        used = _environment(place / "use")
        _run(used, place, "-m", "pip", "install", "--quiet", wheel)
        _run(used, place, "-c", _PROBE.format(root=str(ROOT)))
        _run(used, place, "-m", "refexplorer", "--help")


def _environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def _run(python: Path, folder: Path, *arguments: str | Path) -> None:
    print("$ python", *(str(argument)[:60] for argument in arguments), flush=True)
    variables = {**os.environ, "PATH": f"{python.parent}:/usr/bin:/bin"}
    subprocess.run([python, *arguments], cwd=folder, env=variables, check=True)


def _check(archive: Path, names: list[str], unwanted: tuple[str, ...]) -> None:
    """Say what an archive weighs; refuse one that lacks something or brings too much."""
    size = archive.stat().st_size
    print(f"{archive.name}: {size / 1e6:.2f} MB, {len(names)} files")
    missing = [name for name in NEEDED if not any(found.endswith(name) for found in names)]
    extra = [found for found in names if any(name in found for name in unwanted)]
    if size > LARGEST or missing or extra:
        sys.exit(f"{archive.name}: missing {missing}, unwanted {extra[:5]}, {size} bytes")


if __name__ == "__main__":
    main()
